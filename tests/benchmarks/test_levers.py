"""benchmarks/levers.py: nodes' log-odds are those of the tree, and every table is printed."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest

from labeltrees import ConditionalTreeClassifier
from labeltrees.data import python_source
from labeltrees.tree import LabelTree


@pytest.fixture
def few_files(monkeypatch, source_files):
    """Let the built-in stream have few files."""
    monkeypatch.setattr(python_source, "source_files", lambda folder=None: source_files[:20])


def test_log_odds_of_a_tree_by_hand(few_files):
    from levers import distribution, node_log_odds

    tree = LabelTree.from_nested([[0, 1], 2])
    p = np.array([[0.1, 0.3, 0.6]])
    odds = node_log_odds(tree, p)[0]
    assert odds[0] == pytest.approx(np.log(0.6 / 0.4))
    assert odds[tree.first_child[0]] == pytest.approx(np.log(3))
    assert distribution(tree, odds[np.newaxis]) == pytest.approx(p)


def test_log_odds_lead_back_to_a_models_probabilities(few_files):
    from levers import distribution, node_log_odds

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 6)), rng.integers(9, size=200)
    model = ConditionalTreeClassifier().fit(X, y)
    p = model.predict_proba(X)
    assert distribution(model.tree_, node_log_odds(model.tree_, p)) == pytest.approx(p, abs=1e-12)


@pytest.mark.parametrize("by_depth", [False, True])
def test_a_temperature_is_found_again(few_files, by_depth):
    from levers import apply_temperature, distribution, fit_temperature

    rng = np.random.default_rng(0)
    tree = LabelTree.balanced(4)
    true = np.array([2.0, 0.5, 1.0]) if by_depth else np.full(3, 1.5)
    odds = rng.normal(size=(20_000, tree.n_nodes))
    p = distribution(tree, apply_temperature(tree, odds, true))
    ids = (p.cumsum(axis=1) < rng.random((len(p), 1))).sum(axis=1)
    fitted = fit_temperature(tree, odds, ids, by_depth=by_depth)
    assert fitted[:2] == pytest.approx(true[:2], rel=0.1)


def test_the_stream_is_scored_under_every_lever(few_files, monkeypatch, capsys):
    import levers

    few = {name: levers.LEVERS[name] for name in ("the plain tree", "`mixing=False`")}
    monkeypatch.setattr(levers, "LEVERS", few)
    monkeypatch.setattr(levers, "REFINED", {"defaults: refined": {}})
    arguments = ["levers.py", "--limit", "2000", "--only", "stream", "batch"]
    monkeypatch.setattr(sys, "argv", arguments)
    levers.BENCHMARK.main()
    said = capsys.readouterr().out
    assert re.findall(r"^### (.+)$", said, re.MULTILINE) == [
        "Stream, 2,000 examples",
        "Stream, frozen after 80 %",
    ]
    assert len(re.findall(r"^\| plain, `structure=", said, re.MULTILINE)) == 4
    assert said.count("| defaults: refined |") == 2
    assert said.count("| `mixing=False` |") == 1


def test_a_small_set_is_scored_under_every_lever(few_files, monkeypatch):
    import levers
    from online_sections.small_data import SmallSet

    monkeypatch.setattr(levers, "LEVERS", {"plain": {}})
    monkeypatch.setattr(levers, "REFINED", {"refined": {}})
    monkeypatch.setattr(levers, "REFINED_BATCH", {"one refined tree": {"n_trees": 1}})
    monkeypatch.setattr(levers, "BATCH_LEVERS", {"two trees": {"n_trees": 2}})
    rng = np.random.default_rng(0)
    y = rng.integers(5, size=300)
    X = np.eye(5)[y] + 0.1 * rng.normal(size=(300, 5))
    parts = [(X[part], y[part]) for part in (slice(0, 200), slice(200, 300))]
    data = SmallSet("easy", parts[0], parts[1], (X[:0], y[:1]))
    printed = str(levers.sets_table(data)).splitlines()[2:]
    errors = [float(line.split("|")[2]) for line in printed]
    assert len(errors) == 6
    assert max(errors) < 10
    assert str(levers.nodes_table(data)).count("\n") == 1 + 6
