"""`predict --above` and `explain`: they print what the library answers, and complain in a line."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from tests.cli.test_cli import WORDS, run_json, write_tsv

import labeltrees
from labeltrees.cli import main
from labeltrees.input import Input


def first_chunk(path):
    return next(iter(Input.choose(str(path), format=None).chunks()))


def test_predict_above_prints_every_label_that_is_likely_enough(model, data, capsys):
    assert main(["predict", str(model), str(data[1]), "--above", "0.05", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    estimator = labeltrees.load(model)
    full = estimator.predict_proba(first_chunk(data[1]).texts)
    assert len(rows) == len(full)
    for row, p in zip(rows, full, strict=True):
        assert row["probabilities"] == sorted(p[p >= 0.05].tolist(), reverse=True)
        assert set(row["labels"]) == set(estimator.classes_[p >= 0.05])


def test_predict_above_prints_an_empty_line_for_a_row_without_any(model, data, capsys):
    assert main(["predict", str(model), str(data[1]), "--above", "1", "--limit", "4"]) == 0
    assert capsys.readouterr().out == "\n" * 4


def test_explain_tells_what_the_library_tells(model, data, capsys):
    told = run_json(capsys, "explain", model, data[1], "--row", 7, "--label", "fruit")
    reason = labeltrees.load(model).explain(first_chunk(data[1]).texts[7], "fruit")
    assert told == json.loads(json.dumps(reason.to_dict()))
    line = ["explain", str(model), str(data[1]), "--row", "7", "--label", "fruit", "--full"]
    assert main(line) == 0
    assert capsys.readouterr().out == f"{reason}\n"


def test_explain_names_words_and_takes_the_likeliest_label(data, tmp_path, capsys):
    path = tmp_path / "m"
    run_json(capsys, "train", data[0], "-o", path, "--vectorizer", "tfidf", "--passes", 3)
    told = run_json(capsys, "explain", path, data[1], "--features", 2)
    truth, text = data[1].read_text().splitlines()[0].split("\t")
    assert told["label"] == truth
    named = {c["feature"] for step in told["steps"] for c in step["contributions"]}
    words = text.split()
    assert named <= {*words, *(f"{a} {b}" for a, b in pairwise(words))}
    assert {part for name in named for part in name.split()} & set(WORDS[truth].split())


def explained(capsys, *arguments):
    assert main(["explain", *map(str, arguments)]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("vectorizer", ["hashing", "tfidf"])
def test_explain_takes_a_text_and_answers_in_its_words(data, tmp_path, capsys, vectorizer):
    path = tmp_path / "m"
    run_json(capsys, "train", data[0], "-o", path, "--vectorizer", vectorizer)
    lines = explained(capsys, path, "--text", "the apple saw and fig")
    assert lines[0].startswith("fruit has probability 0.")
    assert lines[0].endswith("the most likely of 3 labels.")
    words = [line.split() for line in lines if line.startswith("  ")]
    assert {word for _, word, *_ in words if word in ("apple", "fig")} == {"apple", "fig"}
    signs = {name: amount[0] for amount, name, *_ in words}
    assert signs["apple"] == "+"
    assert signs["saw"] == "-"
    told = run_json(capsys, "explain", path, "--text", "the apple saw", "--label", "tool")
    named = {c["feature"] for step in told["steps"] for c in step["contributions"]}
    assert "saw" in named


@pytest.mark.parametrize(
    "options", [["--refine", "0"], [], ["--model", "lomtree"], ["--model", "xreg"]], ids=str
)
def test_an_explanation_has_at_most_a_screen(tmp_path, capsys, options):
    rng = np.random.default_rng(0)
    lines = [
        f"{label}\t" + " ".join(f"w{w}" for w in rng.integers(30 * (label % 7), 200, 60))
        for label in rng.integers(20, size=300)
    ]
    (tmp_path / "d.tsv").write_text("\n".join(lines))
    assert main(["train", str(tmp_path / "d.tsv"), "-o", str(tmp_path / "m"), *options]) == 0
    capsys.readouterr()
    for row in range(3):
        short = explained(capsys, tmp_path / "m", tmp_path / "d.tsv", "--row", row)
        assert 5 < len(short) <= 24
        assert "probability" in short[0]
        assert len(explained(capsys, tmp_path / "m", tmp_path / "d.tsv", "--full")) > 24
    least = explained(capsys, tmp_path / "m", tmp_path / "d.tsv", "--features", 0)
    assert len(least) < 12


def test_explain_reads_integer_labels(tmp_path, capsys):
    (tmp_path / "d.svm").write_text("3 1:1\n5 2:1\n" * 20)
    run_json(capsys, "train", tmp_path / "d.svm", "-o", tmp_path / "m")
    told = run_json(capsys, "explain", tmp_path / "m", tmp_path / "d.svm", "--label", 5)
    assert told["label"] == 5
    assert told["p_label"] < 0.5


FAILURES = {
    "row too large": (["explain", "m", "t.tsv", "--row", "50"], 2, "--row must be below 50"),
    "negative row": (["explain", "m", "t.tsv", "--row", "-1"], 2, "--row"),
    "unseen label": (
        ["explain", "m", "t.tsv", "--label", "fog"],
        2,
        "--label must be one of the 3",
    ),
    "no integer": (["explain", "n", "d.svm", "--label", "fog"], 2, "--label must be an integer"),
    "no model": (["explain", "nowhere", "t.tsv"], 1, "nowhere does not exist"),
    "threshold": (["predict", "m", "t.tsv", "--above", "0"], 2, "--above must be in (0, 1]"),
    "no number": (["predict", "m", "t.tsv", "--above", "much"], 2, "--above"),
    "both": (["predict", "m", "t.tsv", "--above", ".1", "--named"], 2, "cannot be combined"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("failures")
    write_tsv(path / "t.tsv", 0, 50)
    (path / "d.svm").write_text("3 1:1\n5 2:1\n")
    assert main(["train", str(path / "t.tsv"), "-o", str(path / "m")]) == 0
    assert main(["train", str(path / "d.svm"), "-o", str(path / "n")]) == 0
    return path


@pytest.mark.parametrize("case", FAILURES)
def test_failures_are_one_line_and_the_right_code(case, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    capsys.readouterr()
    arguments, code, message = FAILURES[case]
    assert main(arguments) == code
    err = capsys.readouterr().err
    assert message in err
    assert err.startswith("labeltrees: ")
    assert err.count("\n") == 1
