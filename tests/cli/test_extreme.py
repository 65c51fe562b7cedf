"""`train --model xreg` and what can be asked of its models; complaints are one line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.cli.test_cli import WORDS, run_json
from tests.cli.test_questions import first_chunk

import labeltrees
from labeltrees.cli import main


@pytest.fixture
def xreg(data, tmp_path, capsys):
    path = tmp_path / "xreg.safetensors"
    assert main(["train", str(data[0]), "--out", str(path), "--model", "xreg", "--quiet"]) == 0
    capsys.readouterr()
    return path


def test_an_extreme_regressor_is_trained_and_asked(xreg, data, capsys):
    assert main(["predict", str(xreg), str(data[1]), "--top", "2", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    labels, p = labeltrees.load(xreg).predict_top_k(first_chunk(data[1]).texts, 2)
    assert [row["labels"] for row in rows] == labels.tolist()
    assert [row["probabilities"] for row in rows] == p.tolist()
    truth = [line.split("\t")[0] for line in data[1].read_text().splitlines()]
    assert np.mean([row["labels"][0] == own for row, own in zip(rows, truth, strict=True)]) > 0.95


def test_labelwise_prediction_prints_rows_for_every_label(xreg, data, capsys):
    assert main(["predict", str(xreg), str(data[1]), "--labelwise", "--top", "3"]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    estimator = labeltrees.load(xreg)
    rows, p = estimator.top_rows(first_chunk(data[1]).texts, estimator.classes_, 3)
    assert [line[0] for line in lines] == estimator.classes_.tolist()
    assert [[int(row) for row in line[1::2]] for line in lines] == rows.tolist()
    assert [float(value) for value in lines[0][2::2]] == pytest.approx(p[0], rel=1e-5)
    assert main(["predict", str(xreg), str(data[1]), "--labelwise", "--top", "3", "--json"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [answer["rows"] for answer in told] == rows.tolist()


def test_other_questions_work_as_for_trees(xreg, data, capsys):
    assert main(["predict", str(xreg), str(data[1]), "--above", "0.5", "--limit", "5"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 5
    assert main(["explain", str(xreg), str(data[1]), "--row", "3", "--full"]) == 0
    assert "evidence for this turn" in capsys.readouterr().out
    assert run_json(capsys, "inspect", xreg)["described"]["trees"] == 3


def test_settings_reach_the_model(data, tmp_path, capsys):
    arguments = ["--model", "xreg", "--trees", "2", "--loss", "hinge", "--relevance", "propensity",
                 "--tail", "xreg", "--jobs", "2", "--cost", "2", "--quiet"]  # fmt: skip
    told = run_json(capsys, "train", data[0], "--out", tmp_path / "m", *arguments)
    assert (told["trees"], told["examples"], told["labels"]) == (2, 600, 3)
    params = labeltrees.load(tmp_path / "m").estimator_.get_params()
    assert (params["loss"], params["tail"], params["cost"]) == ("hinge", "xreg", 2)
    run_json(capsys, "train", data[0], "-o", tmp_path / "m", "--model", "xreg", "--loss", "hinge")
    assert labeltrees.load(tmp_path / "m").estimator_.get_params()["loss"] == "hinge"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["--model", "forest"],
            "--model must be 'auto', 'conditional', 'multilabel', ",
        ),
        (["--model", "xreg", "--trees", "0"], "--trees"),
        (["--model", "xreg", "--tail", "long"], "tail"),
    ],
)
def test_bad_settings_get_one_line(data, tmp_path, capsys, arguments, says):
    assert main(["train", str(data[0]), "--out", str(tmp_path / "m"), *arguments]) != 0
    complaint = capsys.readouterr().err
    assert says in complaint
    assert not (tmp_path / "m").exists()


def test_every_model_answers_for_labels_and_one_question_is_asked_at_a_time(
    model, xreg, data, capsys
):
    for path in (model, xreg):
        assert main(["predict", str(path), str(data[1]), "--labelwise", "-k", "2"]) == 0
        lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
        assert sorted(line[0] for line in lines) == sorted(WORDS)
        assert all(len(line) == 5 and float(line[2]) > 0.5 for line in lines)
    assert main(["predict", str(xreg), str(data[1]), "--labelwise", "--named"]) != 0
    assert "--labelwise cannot be combined with" in capsys.readouterr().err
