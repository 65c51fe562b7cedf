"""`stream --forget`: what was learned long ago counts for less."""

from __future__ import annotations

import numpy as np
import pytest
from tests.cli.test_cli import run_json

import labeltrees
from labeltrees.cli import main
from labeltrees.errors import ArgumentError
from labeltrees.models.online.online_model import faded


@pytest.fixture(scope="module")
def traded(tmp_path_factory):
    """Rows of which each names its label by two features; half way labels trade them."""
    rng = np.random.default_rng(0)
    labels = rng.integers(6, size=4000)
    means = np.where(np.arange(4000) < 2000, labels, labels ^ 1)
    own = 4 * means + rng.integers(4, size=4000)
    noise = 24 + rng.integers(50, size=4000)
    path = tmp_path_factory.mktemp("traded") / "rows.svm"
    rows = zip(labels, own, noise, strict=True)
    path.write_text("".join(f"{y} {a}:1 {b}:1\n" for y, a, b in rows))
    return path


def test_a_stream_that_forgets_recovers_sooner(traded, tmp_path, capsys):
    plain = run_json(capsys, "stream", traded, "-q")
    forgetting = run_json(capsys, "stream", traded, "-q", "--forget", "500")
    assert forgetting["log_loss_seen"] < 0.9 * plain["log_loss_seen"]


def test_a_stream_that_is_resumed_forgets_at_the_same_rows(traded, tmp_path, capsys):
    line = ["stream", str(traded), "-q", "--forget", "300", "-o"]
    assert main([*line, str(tmp_path / "whole")]) == 0
    assert main([*line, str(tmp_path / "parts"), "--limit", "1111"]) == 0
    assert main([*line, str(tmp_path / "parts"), "--resume"]) == 0
    capsys.readouterr()
    whole, parts = (
        labeltrees.load_model(tmp_path / name).to_tensors(keep_state=True)[0]
        for name in ("whole", "parts")
    )
    assert all(np.array_equal(whole[name], parts[name]) for name in whole)


def test_only_conditional_trees_forget(traded, capsys):
    assert main(["stream", str(traded), "--model", "lomtree", "--forget", "500"]) == 2
    assert "--forget is not an option of --model lomtree." in capsys.readouterr().err


@pytest.mark.parametrize("refine", [0, 4])
def test_fading_moves_probabilities_towards_what_all_labels_have(refine):
    X, y = np.eye(4)[np.arange(200) % 4], np.arange(200) % 4
    model = labeltrees.ConditionalTreeClassifier(refine=refine, n_trees=1).partial_fit(X, y).model_
    row = model.rows(X[:1])
    p = [model.label_probabilities(row, [0])[0]]
    for _ in range(3):
        model = faded(model, 0.5)
        p.append(model.label_probabilities(row, [0])[0])
    assert p == sorted(p, reverse=True)
    assert model.probabilities(row).sum() == pytest.approx(1)


def test_what_cannot_fade_is_refused():
    trees = labeltrees.FilterTreeClassifier().fit([[1, 0], [0, 1]] * 5, ["a", "b"] * 5)
    assert not trees.model_.fades
    with pytest.raises(ArgumentError, match="model must be a conditional tree with its state"):
        faded(trees.model_, 0.5)
    with pytest.raises(ArgumentError, match=r"share must be in \(0, 1\], got 0."):
        faded(trees.model_, 0)
