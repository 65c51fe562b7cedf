"""A ranking that is not by probability is kept: by `evaluate`, through files, and in Python."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.cli.test_cli import run_json

import labeltrees
from labeltrees import ExtremeRegressor, metrics
from labeltrees.cli import main

N_LABELS = 30
NAMES = [f"{name}@{k}" for name in ("P", "R", "nDCG", "AUC", "coverage") for k in (1, 3, 5)]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A model with a tail classifier that ranks otherwise than the trees, and rows to ask about."""
    rng = np.random.default_rng(0)
    X = (
        rng.random((400, 10)) * (rng.random((400, 10)) < 0.4)
        + 1e-3 * np.eye(10)[np.arange(400) % 10]
    )
    scores = X @ rng.normal(size=(10, N_LABELS)) + rng.normal(size=(400, N_LABELS)) / 3
    Y = (scores > np.quantile(scores, 0.9, axis=1, keepdims=True)).astype(float)
    folder = tmp_path_factory.mktemp("tail")
    model = ExtremeRegressor(n_trees=2, arity=3, max_leaf=4, tail="xreg", tail_weight=0.2)
    model.fit(X[:250], Y[:250]).save(folder / "model")
    lines = [f"150 10 {N_LABELS}"]
    for x, y in zip(X[250:], Y[250:], strict=True):
        features = " ".join(f"{i}:{x[i]:.9g}" for i in np.flatnonzero(x))
        lines.append(f"{','.join(map(str, np.flatnonzero(y)))} {features}")
    (folder / "test.txt").write_text("\n".join(lines) + "\n")
    return folder / "model", folder / "test.txt", X[250:].astype(np.float32), Y[250:]


def in_python(path, X, Y, *, labelwise):
    """What the library's functions say of the scores that rank."""
    model = labeltrees.load(path)
    if labelwise:
        found = model.top_row_scores(X, k=5)
        Y, classes = Y.T, np.arange(len(X))
    else:
        found, classes = model.predict_top_scores(X, 5), model.classes_
    scores = metrics.label_matrix(*found, classes=classes)
    names = {"P": metrics.precision_at_k, "R": metrics.recall_at_k, "nDCG": metrics.ndcg_at_k}
    return {f"{name}@{k}": of(Y, scores, k) for name, of in names.items() for k in (1, 3, 5)}


@pytest.mark.parametrize("labelwise", [False, True])
def test_evaluate_predict_and_python_agree_on_a_tail_ranking(made, tmp_path, capsys, labelwise):
    path, test, X, Y = made
    option = ["--labelwise"] if labelwise else []
    by_model = run_json(capsys, "evaluate", path, test, "--format", "xc", *option)["scores"]
    expected = in_python(path, X, Y, labelwise=labelwise)
    assert {name: by_model[name] for name in expected} == pytest.approx(expected)
    plain = labeltrees.load(path)
    p = plain.predict_proba(X)
    by_p = metrics.precision_at_k(Y, p, 1, per="label" if labelwise else "row")
    assert by_model["P@1"] != by_p  # the tail ranks otherwise
    for n, form in enumerate([[], ["--json"]]):
        arguments = [str(path), str(test), "--format", "xc", "--top", "20", *form, *option]
        assert main(["predict", *arguments]) == 0
        answers = tmp_path / f"answers{n}"
        answers.write_text(capsys.readouterr().out)
        again = run_json(
            capsys, "evaluate", answers, test, "--format", "xc", "--predictions", *option
        )["scores"]
        assert {name: again[name] for name in NAMES} == pytest.approx(
            {name: by_model[name] for name in NAMES}
        )
        assert again == pytest.approx(by_model, abs=1e-5)


def test_few_answers_rank_as_many_do(made, tmp_path, capsys):
    path, test, _, _ = made
    by_model = run_json(capsys, "evaluate", path, test, "--format", "xc")["scores"]
    assert main(["predict", str(path), str(test), "--format", "xc", "--top", "5"]) == 0
    (tmp_path / "answers").write_text(capsys.readouterr().out)
    again = run_json(
        capsys, "evaluate", tmp_path / "answers", test, "--format", "xc", "--predictions"
    )["scores"]
    for name in ("P@1", "P@3", "P@5", "nDCG@5"):
        assert again[name] == pytest.approx(by_model[name])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("4\t0\t0.5\t1", ":2: a line must have a label and row<TAB>score pairs"),
        ("4\tx\t0.5", ":2: a line must have a label"),
        ("4\t150\t0.5", ":2: row 150 is not in [0, 150), the rows"),
        ("4\t-1\t0.5", ":2: row -1 is not"),
        ("4\t0\tnan", ":2: scores must be finite"),
        (json.dumps({"label": 4, "rows": [0.5], "probabilities": [1]}), ":2: a line must"),
        (json.dumps({"label": 4, "rows": [1], "probabilities": []}), ":2: a line must"),
    ],
)
def test_bad_lines_of_labels_are_named(made, tmp_path, capsys, line, message):
    answers = tmp_path / "answers"
    answers.write_text(f"3\t0\t0.5\n{line}\n")
    arguments = [str(answers), str(made[1]), "--format", "xc", "--predictions", "--labelwise"]
    assert main(["evaluate", *arguments]) == 1
    assert message in capsys.readouterr().err


def test_a_beam_that_finds_fewer_labels_than_asked_prints_no_others(made, tmp_path, capsys):
    _, test, X, Y = made
    narrow = ExtremeRegressor(n_trees=1, arity=2, max_leaf=2, beam_width=1).fit(X, Y)
    narrow.save(tmp_path / "m")
    assert main(["predict", str(tmp_path / "m"), str(test), "--format", "xc", "--top", "9"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {len(line.split("\t")) for line in lines} <= {4, 6}
    assert "None" not in "".join(lines)
