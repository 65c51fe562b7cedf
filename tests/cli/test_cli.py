"""The command line: what each command prints, its exit code, and its one line of complaint."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys

import numpy as np
import pytest
from tests import children

import labeltrees
from labeltrees.cli import main

WORDS = {"fruit": "apple pear plum fig", "tool": "saw drill plane file", "river": "rhine nile po"}


def write_tsv(path, seed, n_rows=600):
    rng = np.random.default_rng(seed)
    lines = []
    for label in rng.choice(list(WORDS), size=n_rows):
        text = " ".join(rng.choice(WORDS[label].split(), size=3))
        lines.append(f"{label}\t{text} {rng.choice(['a', 'the', 'one'])}\n")
    path.write_text("".join(lines))
    return path


def run_json(capsys, *arguments):
    assert main([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_train_evaluate_and_predict_agree(data, tmp_path, capsys):
    path = tmp_path / "m"
    trained = run_json(capsys, "train", data[0], "--out", path, "--passes", 3)
    assert trained["examples"] == 600
    assert trained["labels"] == 3
    assert trained["file_bytes"] == path.stat().st_size
    scores = run_json(capsys, "evaluate", path, data[1], "--top", 2)["scores"]
    assert scores["accuracy"] > 0.95
    assert scores["log loss"] < 0.3
    assert main(["predict", str(path), str(data[1]), "--top", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    truth = [line.split("\t")[0] for line in data[1].read_text().splitlines()]
    assert np.mean([line.split("\t")[0] == t for line, t in zip(lines, truth, strict=True)]) == (
        pytest.approx(scores["accuracy"])
    )
    assert all(len(line.split("\t")) == 4 for line in lines)


def test_predict_json_and_named_probabilities_match_the_library(model, data, capsys):
    assert main(["predict", str(model), str(data[1]), "--json", "--top", "3"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert all(sum(row["probabilities"]) == pytest.approx(1) for row in rows)
    assert main(["predict", str(model), str(data[1]), "--json", "--named"]) == 0
    named = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for row, own in zip(rows, named, strict=True):
        place = row["labels"].index(own["labels"][0])
        assert own["probabilities"] == [row["probabilities"][place]]


def test_tfidf_travels_with_the_model(data, tmp_path, capsys):
    path = tmp_path / "m"
    run_json(capsys, "train", data[0], "--out", path, "--vectorizer", "tfidf", "--passes", 3)
    assert labeltrees.load_model(path).n_features < 100
    assert run_json(capsys, "evaluate", path, data[1])["scores"]["accuracy"] > 0.95


def test_stream_reports_progressive_validation(data, capsys):
    result = run_json(capsys, "stream", data[0], "--limit", 500)
    assert result["n_rows"] == 500
    assert result["n_new_labels"] == 3
    assert result["tail"]["n_rows"] == 100
    assert result["tail"]["accuracy"] > result["accuracy"]
    assert main(["stream", str(data[0])]) == 0
    out = capsys.readouterr().out
    assert "accuracy" in out
    assert "±" in out


def test_stream_reads_a_folder_of_python_code(tmp_path, capsys):
    (tmp_path / "code.py").write_text("def f(x):\n    return [x, x, x, x, x]\n" * 50)
    result = run_json(capsys, "stream", tmp_path, "--format", "python")
    assert result["n_rows"] > 300
    assert result["accuracy"] > 0.9


def test_gzip_and_stdin_give_the_same_as_the_file(data, tmp_path, capsys):
    plain = run_json(capsys, "stream", data[0])
    packed = tmp_path / "train.tsv.gz"
    packed.write_bytes(gzip.compress(data[0].read_bytes()))
    assert without_times(run_json(capsys, "stream", packed)) == without_times(plain)
    piped = subprocess.run(
        [sys.executable, "-m", "labeltrees", "stream", "-", "--format", "tsv", "--json"],
        input=data[0].read_bytes(), capture_output=True, check=True,
    )  # fmt: skip
    assert without_times(json.loads(piped.stdout)) == without_times(plain)
    assert piped.stderr == b""  # no bar in a pipe


def without_times(result):
    return {k: v for k, v in result.items() if k not in ("seconds", "examples_per_second")}


def test_inspect_shows_the_model_and_draws_its_tree(model, tmp_path, capsys):
    dot = tmp_path / "tree.dot"
    facts = run_json(capsys, "inspect", model, "--dot", dot)
    assert facts["labels"] == 3
    assert facts["described"]["can_learn"] is True
    assert facts["described"]["leaves"] == 3
    assert facts["settings"]["alpha"] == 0.6
    assert all(len(tensor["sha256"]) == 64 for tensor in facts["tensors"])
    assert dot.read_text().startswith("digraph")
    assert "fruit" in dot.read_text()
    assert main(["inspect", str(model)]) == 0
    assert "mean leaf depth" in capsys.readouterr().out


def test_inspect_shows_a_pool_of_trees(tmp_path, capsys):
    pool = labeltrees.ConditionalTreeClassifier(n_trees=2, structure="random")
    pool.fit(np.eye(3), ["a", "b", "c"]).save(tmp_path / "pool")
    assert run_json(capsys, "inspect", tmp_path / "pool")["settings"]["n_trees"] == 2


FORGED_INPUTS = [
    3,
    [],
    {"format": ["tsv"]},
    {"tfidf": None},
    {"tfidf": {"terms": ["a"], "idf": []}},
    {"tfidf": {"terms": [1], "idf": [1.0]}},
    {"tfidf": {"terms": ["a"], "idf": [float("nan")]}},
    {"tfidf": {"terms": "ab", "idf": [1, "x"]}},
]


@pytest.mark.parametrize("forged", FORGED_INPUTS, ids=str)
def test_a_model_that_says_nonsense_of_its_input_is_refused(forged, model, data, capsys):
    labeltrees.load_model(model).save(model, extra={"input": forged})
    argument = ["-"] if isinstance(forged, dict) and "format" in forged else [str(data[1])]
    assert main(["predict", str(model), *argument]) in (1, 2)
    err = capsys.readouterr().err
    assert err.startswith("labeltrees: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", ["evaluate", "predict", "explain"])
def test_commands_refuse_long_lines_unless_told_otherwise(command, model, tmp_path, capsys):
    path = tmp_path / "long.tsv"
    path.write_text("fruit\t" + "apple " * 5000 + "\n")
    line = [command, str(model), str(path), "--max-line-bytes"]
    assert main([*line, "30000"]) == 1
    assert "long.tsv:1: the line is longer than max_line_bytes=30000" in capsys.readouterr().err
    assert main([*line, "40000"]) == 0


def test_a_file_of_predictions_may_have_no_endless_line_either(model, data, tmp_path, capsys):
    found = tmp_path / "found.tsv"
    found.write_text("fruit\t0.5\t" * 9)
    line = ["evaluate", str(found), str(data[1]), "--predictions", "--max-line-bytes", "80"]
    assert main(line) == 1
    assert "found.tsv:1: the line is longer than max_line_bytes=80" in capsys.readouterr().err


def test_demo_learns_any_folder_and_completes_code(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = tmp_path / "code"
    code.mkdir()
    (code / "a.py").write_text("import os\nfor name in os.listdir('.'):\n    print(name)\n" * 200)
    result = run_json(capsys, "demo", "--folder", code, "--limit", 2000)
    assert result["tree"]["tail"]["accuracy"] > 0.95
    assert result["completions"][0]["labels"][0] == "listdir"
    assert labeltrees.load("labeltrees-demo.safetensors").model_.frozen
    assert main(["demo", "--folder", str(code), "--order", "shuffled"]) == 0
    out = capsys.readouterr().out
    assert "frequency table" in out
    assert "last label after the same" in out


FAILURES = {
    "no such file": (["stream", "nowhere.tsv"], 1, "nowhere.tsv"),
    "no such model": (["predict", "nowhere", "train.tsv"], 1, "nowhere does not exist"),
    "bad line": (["stream", "bad.tsv"], 1, "bad.tsv:2: "),
    "long line": (
        ["stream", "train.tsv", "--max-line-bytes", "5"],
        1,
        "train.tsv:1: the line is longer than max_line_bytes=5. "
        "If the line is right, increase that",
    ),
    "not a model": (["inspect", "bad.tsv"], 1, "is not a model file"),
    "no labels": (["train", "empty.vw", "-o", "m"], 1, "No row of empty.vw has a label"),
    "unknown format": (["stream", "train.tsv", "--format", "arff"], 2, "--format must be 'xc'"),
    "no file of no format": (["stream", "data.bin"], 1, "data.bin: No such file or directory"),
    "bad parameter": (["stream", "train.tsv", "--alpha", "2"], 2, "alpha must be in [0, 1]"),
    "not a number": (["stream", "train.tsv", "--alpha", "x"], 2, "--alpha"),
    "unknown option": (["stream", "train.tsv", "--nonsense"], 2, "--nonsense"),
    "unknown command": (["grow"], 2, "grow"),
    "unused option": (["train", "train.tsv", "--model", "xreg", "--alpha", ".3"], 2, "--alpha is"),
    "two efforts": (["train", "train.tsv", "--fast", "--best"], 2, "--fast and --best"),
    "no such folder": (
        ["train", "train.tsv", "-o", "nowhere/m"],
        1,
        "folder nowhere does not exist",
    ),
    "whole file": (["train", "train.tsv", "--online", "--model", "xreg"], 2, "to learn row by row"),
    "card in a file": (["card", "m", "--out", "train.tsv"], 2, "--out must be a folder, got"),
    "card of no rows": (["card", "m", "--limit", "5"], 2, "--limit and --format need DATA"),
    "card of no model": (["card", "bad.tsv"], 1, "is not a model file"),
    "not a named model": (["serve", "new", "--model", "model"], 2, "--model must be NAME=FILE"),
    "no log": (["replay", "nowhere", "m", "-o", "m"], 1, "log.sqlite does not exist"),
    "no such right": (["keys", "new", "--add", "me", "--right", "all"], 2, "right must be 'read'"),
    "stdin twice": (
        ["train", "-", "--format", "tsv", "-o", "m", "--online", "--passes", "2"],
        2,
        "only once",
    ),
    "bad labels": (["stream", "train.tsv", "--labels", "all"], 2, "--labels must be 'each'"),
    "bad order": (["demo", "--order", "sorted"], 2, "--order must be 'files' or 'shuffled'"),
    "no folder": (["demo", "--folder", "nowhere"], 2, "folder"),
    "unwritable": (["train", "train.tsv", "-o", "nowhere/m"], 1, "nowhere"),
}


@pytest.mark.parametrize("case", FAILURES)
def test_failures_are_one_line_and_the_right_code(case, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_tsv(tmp_path / "train.tsv", 0, 50)
    (tmp_path / "bad.tsv").write_text("a\tfine\nno tab here\n")
    (tmp_path / "empty.vw").write_text("| only features\n")
    capsys.readouterr()
    arguments, code, message = FAILURES[case]
    assert main(arguments) == code
    err = capsys.readouterr().err
    assert message in err
    assert err.startswith("labeltrees: ")
    assert err.count("\n") == 1


def test_a_failed_training_leaves_the_old_model(data, tmp_path, capsys):
    path = tmp_path / "m"
    assert main(["train", str(data[0]), "-o", str(path)]) == 0
    before = path.read_bytes()
    data[0].write_text("a\tfine\nno tab here\n")
    assert main(["train", str(data[0]), "-o", str(path)]) == 1
    assert path.read_bytes() == before


def test_a_reader_that_goes_away_is_not_a_failure(model, data):
    process = children.Child(children.CLI, "predict", model, data[0])
    process.stdin.close()
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 0
