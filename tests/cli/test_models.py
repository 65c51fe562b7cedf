"""`labeltrees train --model`: every model is learned, asked and inspected the same way."""

from __future__ import annotations

import json

import numpy as np
import pytest

import labeltrees
from labeltrees.cli import main
from labeltrees.data.readers import open_reader


@pytest.mark.parametrize("model", ["lomtree", "filtertree"])
def test_every_model_is_trained_evaluated_explained_and_inspected(data, tmp_path, capsys, model):
    def run(*arguments):
        assert main([*map(str, arguments), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    path = tmp_path / "m"
    trained = run("train", data[0], "--model", model, "-o", path, "--passes", 3, "-l", 0.7)
    assert trained["labels"] == 3
    assert run("evaluate", path, data[1])["scores"]["accuracy"] > 0.9
    assert 0 < run("explain", path, data[1], "--row", 2)["p_label"] <= 1
    inspected = run("inspect", path, "--dot", tmp_path / "dot")
    assert inspected["settings"]["learning_rate"] == 0.7
    assert inspected["described"]["depth"] == trained["depth"]
    assert "digraph" in (tmp_path / "dot").read_text()
    assert run("stream", data[0], "--model", model, "--limit", 500)["tail"]["accuracy"] > 0.9
    assert main(["predict", str(path), str(data[1]), "--above", "0.2"]) == 0
    assert capsys.readouterr().out


def test_inspect_tells_the_quality_of_a_lomtree(data, tmp_path, capsys):
    path = tmp_path / "m"
    options = ["--max-splits", "4", "--swap-resistance", "8", "--quiet"]
    assert main(["train", str(data[0]), "--model", "lomtree", "-o", str(path), *options]) == 0
    assert main(["inspect", str(path)]) == 0
    out = capsys.readouterr().out
    for words in ("mean objective", "mean impurity", "mean balance", "entropy of leaves",
                  "recyclings", "largest leaf"):  # fmt: skip
        assert words in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "forest"], "--model must be 'auto', 'conditional', 'multilabel'"),
        (
            ["--model", "lomtree", "--alpha", "0.5"],
            "--alpha is not a setting of the method lomtree",
        ),
        (["--max-splits", "5"], "--max-splits is not a setting of the method conditional"),
        (
            ["--model", "lomtree", "--swap-resistance", "0"],
            "--swap-resistance must be",
        ),
    ],
)
def test_options_of_another_model_are_refused(data, tmp_path, capsys, options, message):
    assert main(["train", str(data[0]), "-o", str(tmp_path / "m"), *options]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("model", "estimator"),
    [
        ("conditional", labeltrees.ConditionalTreeClassifier()),
        ("lomtree", labeltrees.LOMTreeClassifier()),
        ("filtertree", labeltrees.FilterTreeClassifier()),
    ],
)
def test_the_model_is_the_estimator_s(data, tmp_path, capsys, model, estimator):
    path = tmp_path / "m"
    assert main(["stream", str(data[0]), "--model", model, "-o", str(path), "-q"]) == 0
    loaded = labeltrees.load(path).estimator_
    chunk = next(iter(open_reader(data[0])))
    estimator.partial_fit(chunk.features, chunk.labels)
    expected = estimator.predict_proba(chunk.features[:50])
    assert np.array_equal(loaded.predict_proba(chunk.features[:50]), expected)
    params = estimator.get_params()
    assert loaded.get_params() | {"n_jobs": None} == params | {"n_jobs": None}


def test_a_file_of_another_width_is_refused_in_one_line(data, tmp_path, capsys):
    path, other = tmp_path / "m", tmp_path / "other.xc"
    assert main(["stream", str(data[0]), "-o", str(path), "-q"]) == 0
    other.write_text("1 4 9\n3 0:1\n")
    capsys.readouterr()
    for command in ("predict", "evaluate", "explain"):
        assert main([command, str(path), str(other)]) == 1
        assert capsys.readouterr().err == (
            f"labeltrees: {other} was read as xc with features, but this model takes texts. "
            "If the format is wrong, set --format.\n"
        )
