"""benchmarks/extreme_refinement.py: experts are logistic regressions, and the table is printed."""

from __future__ import annotations

import gzip
import re
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array

import labeltrees


def pairs_of(row, label, p, true):
    from extreme_refinement import Candidates

    return Candidates(np.array(row), np.array(label), np.array(p), np.array(true, dtype=bool))


def test_proposals_know_which_are_true():
    from extreme_refinement import Candidates

    X, Y = csr_array(np.eye(3)[[0, 1, 2] * 20]), csr_array(np.eye(3)[[0, 1, 2] * 20])
    model = labeltrees.ExtremeRegressor(n_trees=1).fit(X, Y)
    asked = Candidates.proposed(model, X[:3], csr_array(np.eye(3)), 3)
    assert len(asked.row) == 9
    assert (asked.true == (asked.row == asked.label)).all()
    assert asked.p[asked.true].min() > asked.p[~asked.true].max()


def test_each_expert_is_the_logistic_regression_of_its_own_pairs():
    from sklearn.linear_model import LogisticRegression

    from extreme_refinement import Experts

    rng = np.random.default_rng(0)
    X = csr_array(rng.normal(size=(60, 3)) * (rng.random((60, 3)) < 0.7))
    row, label = np.repeat(np.arange(60), 2), np.tile([0, 4], 60)
    true = rng.random(120) < 0.4
    pairs = pairs_of(row, label, np.full(120, 0.5), true)  # log-odds of 0
    f = Experts.fitted(X, pairs, offset=0.5, cost=2.0, min_weight=0.0).ask(X, pairs)
    for each in (0, 4):
        with_one = np.column_stack([X.toarray(), np.ones(60)])  # a bias that is kept small, too
        learner = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-8)
        learner.fit(with_one, true[label == each])
        wanted = learner.decision_function(with_one)
        assert f[label == each] == pytest.approx(wanted, abs=0.01)  # L-BFGS stops before the end


def test_a_label_without_an_expert_gets_zero():
    from extreme_refinement import Experts

    X = csr_array(np.eye(2))
    learned = pairs_of([0, 1], [0, 0], [0.5, 0.5], [True, False])
    experts = Experts.fitted(X, learned, offset=1.0, cost=1.0, min_weight=0.0)
    f = experts.ask(X, pairs_of([0, 0, 1], [0, 7, 0], [0.5] * 3, [False] * 3))
    assert f[0] > 0 > f[2]
    assert f[1] == 0


def test_a_mixture_is_found_again():
    from extreme_refinement import mixed, mixture

    rng = np.random.default_rng(0)
    inputs, v = rng.normal(size=(50_000, 2)), np.array([0.5, -1.0, 0.3])
    true = rng.random(50_000) < mixed(inputs, v)
    assert mixture(inputs, true) == pytest.approx(v, abs=0.05)  # four standard errors


def test_first_labels_are_compared_row_by_row():
    from extreme_refinement import first_is_true

    asked = pairs_of([0, 0, 2], [1, 0, 1], [0.1, 0.2, 0.3], [True, False, True])
    assert first_is_true(csr_array((3, 2)), asked, asked.p).tolist() == [0, 0, 1]
    assert first_is_true(csr_array((3, 2)), asked, np.array([0.3, 0.2, 0.1])).tolist() == [1, 0, 1]


def test_the_table_is_printed_without_reading_test_rows(monkeypatch, capsys, tmp_path):
    import extreme_refinement

    rng = np.random.default_rng(0)
    labels = rng.integers(6, size=300)
    lines = ["300 30 6", *(f"{each} {5 * each + rng.integers(5)}:1" for each in labels)]
    (tmp_path / "bibtex").mkdir()
    with gzip.open(tmp_path / "bibtex" / "train.txt.gz", "wt") as file:
        file.write("\n".join(lines) + "\n")
    arguments = ["--data", str(tmp_path), "--trees", "1", "--candidates", "3", "--limit", "250"]
    monkeypatch.setattr(sys, "argv", ["extreme_refinement.py", *arguments])
    extreme_refinement.BENCHMARK.main()
    said = capsys.readouterr().out
    assert "### bibtex: 200 rows learned, 50 asked" in said
    first = re.findall(r"^\| ([^|]+) \| ([\d.]+) \|", said, re.MULTILINE)
    names = ["trees: 1", "trees: 2", "trees: 1, refined", "experts alone"]
    assert [name for name, _ in first] == names
    assert min(float(p1) for _, p1 in first) > 90  # the features name the labels


@pytest.mark.parametrize("wrong", [["--limit", "5"], ["--data", "nowhere"], ["--folds", "1"]])
def test_wrong_calls_are_refused(monkeypatch, tmp_path, wrong):
    import extreme_refinement

    arguments = ["--data", str(tmp_path), *wrong]
    monkeypatch.setattr(sys, "argv", ["extreme_refinement.py", *arguments])
    with pytest.raises(SystemExit, match="2"):
        extreme_refinement.BENCHMARK.main()
