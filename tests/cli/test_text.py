"""Text models cross between command line and Python: one file, asked about texts in both."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests import children
from tests.cli.test_cli import run_json

import labeltrees
from labeltrees import ConditionalTreeClassifier, TextClassifier, store
from labeltrees.cli import main
from labeltrees.models.registry import model_from


def columns_of(path):
    """Return the labels and the texts of a TSV file."""
    return zip(*(line.split("\t") for line in path.read_text().splitlines()), strict=True)


def predicted(capsys, *arguments):
    assert main(["predict", *map(str, arguments), "--json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("options", [[], ["--model", "xreg"]], ids=str)
def test_what_the_command_line_trained_answers_about_texts_in_python(options, data, tmp_path):
    path = tmp_path / "m"
    assert children.run(children.CLI, "train", data[0], "-o", path, "-q", *options)[0] == 0
    model = labeltrees.load(path)
    assert isinstance(model, TextClassifier)
    labels, texts = columns_of(data[1])
    assert (model.predict_top_k(texts, 1).labels[:, 0] == np.array(labels)).mean() > 0.9
    asked = ["predict", path, data[1], "--json", "-k", "2"]
    code, printed, _ = children.run(children.CLI, *asked)
    assert code == 0
    top = model.predict_top_k(texts, 2)
    rows = [json.loads(line) for line in printed.splitlines()]
    assert [row["labels"] for row in rows] == top.labels.tolist()
    assert [row["probabilities"] for row in rows] == top.probabilities.tolist()


@pytest.mark.parametrize("keep_state", [True, False])
def test_what_python_trained_is_asked_on_the_command_line(data, tmp_path, capsys, keep_state):
    labels, texts = columns_of(data[0])
    model = TextClassifier().fit(texts, labels)
    model.save(tmp_path / "m", keep_state=keep_state)
    rows = predicted(capsys, tmp_path / "m", data[1], "-k", 3)
    expected = labeltrees.load(tmp_path / "m").predict_top_k(list(columns_of(data[1]))[1], 3)
    assert [row["labels"] for row in rows] == expected.labels.tolist()
    assert [row["probabilities"] for row in rows] == expected.probabilities.tolist()
    assert run_json(capsys, "evaluate", tmp_path / "m", data[1])["scores"]["accuracy"] > 0.9
    told = run_json(capsys, "explain", tmp_path / "m", data[1])
    words = {c["feature"] for step in told["steps"] for c in step["contributions"]}
    assert words
    assert all(isinstance(word, str) for word in words)


def test_files_without_a_transformer_are_read_as_before(data, tmp_path, capsys):
    run_json(capsys, "stream", data[0], "-o", tmp_path / "new")
    stored = store.read(tmp_path / "new")
    model = model_from(stored)
    model.save(tmp_path / "old", extra=stored.extra)  # hashing was stored as nothing
    expected = predicted(capsys, tmp_path / "new", data[1])
    assert predicted(capsys, tmp_path / "old", data[1]) == expected
    assert isinstance(labeltrees.load(tmp_path / "old"), ConditionalTreeClassifier)


def test_a_scaler_in_front_of_the_model_is_applied_to_rows_of_files(tmp_path, capsys):
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = (rng.normal(size=(90, 4)) + 3 * np.eye(3, 4)[y]) * [1, 100, 1e4, 1e-3] + 7
    scaled = make_pipeline(StandardScaler(), ConditionalTreeClassifier()).fit(X, y)
    labeltrees.save(scaled, tmp_path / "m")
    lines = [
        f"{label} " + " ".join(f"{column}:{np.float32(value)}" for column, value in enumerate(row))
        for label, row in zip(y, X, strict=True)
    ]
    (tmp_path / "d.svm").write_text("\n".join(lines))
    rows = predicted(capsys, tmp_path / "m", tmp_path / "d.svm", "-k", 3)
    expected = scaled.predict_proba(X.astype(np.float32))
    for row, p in zip(rows, expected, strict=True):
        assert row["probabilities"] == pytest.approx(sorted(p, reverse=True), abs=1e-4)
    (tmp_path / "wide.svm").write_text("1 0:1 9:1\n")
    assert main(["predict", str(tmp_path / "m"), str(tmp_path / "wide.svm")]) == 1
    assert "X must have 4 features, got the feature number 9" in capsys.readouterr().err
