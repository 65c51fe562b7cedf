"""`labeltrees stream`: what it predicts, saves and goes on from; options that do not fit."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from tests.cli.test_cli import run_json, without_times, write_tsv

import labeltrees
from labeltrees import store
from labeltrees.cli import main
from labeltrees.data.readers import open_reader


def stream(*arguments):
    assert main(["stream", *map(str, arguments), "--quiet"]) == 0


def predicted(path, n_top=1):
    """What a model of its own says of each row, asked before it learns the row."""
    model = labeltrees.ConditionalTreeClassifier()
    (chunk,) = open_reader(path)
    rows = []
    for i in range(chunk.n_rows):
        x, label = chunk.features[[i]], chunk.labels[i]
        if i == 0:
            rows.append((label, 0.0, [], []))
        else:
            k = min(n_top, len(model.classes_))
            labels, p = model.predict_top_k(x, k)
            own = model.predict_label_proba(x, [label])[0]
            rows.append((label, own, labels[0].tolist(), p[0].tolist()))
        model.partial_fit(x, [label])
    return rows


@pytest.mark.parametrize("n_top", [1, 2, 5])
def test_predictions_are_made_before_the_row_is_learned(tmp_path, n_top):
    path, found = write_tsv(tmp_path / "d.tsv", 3, 60), tmp_path / "found.jsonl"
    stream(path, "--predictions", found, "--predictions-top", n_top)
    lines = [json.loads(line) for line in found.read_text().splitlines()]
    expected = predicted(path, n_top)
    assert len(lines) == len(expected)
    for number, (line, (label, p_label, labels, p)) in enumerate(
        zip(lines, expected, strict=True), 1
    ):
        assert line["line"] == number
        assert line["label"] == label
        assert line["p_label"] == pytest.approx(p_label, abs=1e-12)
        assert line["labels"] == labels
        assert line["probabilities"] == pytest.approx(p, abs=1e-12)


def test_predictions_come_as_tsv_and_csv(tmp_path, capsys):
    path = write_tsv(tmp_path / "d.tsv", 3, 40)
    stream(path, "--predictions", "-", "--predictions-top", 2)
    printed = capsys.readouterr()
    rows = [line.split("\t") for line in printed.out.splitlines()]
    assert [row[0] for row in rows] == [
        line.split("\t")[0] for line in path.read_text().splitlines()
    ]
    assert len(rows[-1]) == 6
    assert "predicted before it was learned, in the order of the stream" in printed.err
    stream(path, "--predictions", tmp_path / "p.csv", "--predictions-top", 2)
    with (tmp_path / "p.csv").open() as file:
        table = list(csv.DictReader(file))
    assert list(table[0]) == ["line", "label", "p_label", "top_1", "p_1", "top_2", "p_2"]
    assert table[0]["top_1"] == ""
    assert [row["top_1"] for row in table[5:]] == [row[2] for row in rows[5:]]
    assert [row["p_label"] for row in table] == [row[1] for row in rows]


def test_rows_without_a_label_are_counted(tmp_path, capsys):
    path = tmp_path / "d.tsv"
    path.write_text("a\tx\n\ty\nb\tz\n\tw\n\tv\n")
    assert run_json(capsys, "stream", path)["unlabelled"] == 3
    assert main(["stream", str(path)]) == 0
    said = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["rows", "without", "a", "label", "3"] in said


def test_a_stream_goes_on_from_a_saved_model_and_its_way_of_reading(data, tmp_path, capsys):
    first, second = tmp_path / "first", tmp_path / "second"
    train, test = data
    run_json(capsys, "train", train, "-o", first, "--vectorizer", "tfidf")
    begun = run_json(capsys, "stream", test, "--init", first, "-o", second)
    assert begun["n_new_labels"] == 0
    assert begun["n_rows"] == 100
    assert begun["accuracy"] > 0.9
    assert labeltrees.load_model(second).n_features == labeltrees.load_model(first).n_features
    extra = store.read(second).extra
    assert extra["input"] == store.read(first).extra["input"]
    assert extra["stream"]["rows"] == 100
    assert run_json(capsys, "evaluate", second, train)["scores"]["accuracy"] > 0.9


def test_learning_in_two_halves_is_learning_at_once(tmp_path, capsys):
    lines = write_tsv(tmp_path / "all.tsv", 0, 3000).read_text().splitlines(keepends=True)
    (tmp_path / "a.tsv").write_text("".join(lines[:1700]))
    (tmp_path / "b.tsv").write_text("".join(lines[1700:]))
    stream(tmp_path / "all.tsv", "-o", tmp_path / "whole")
    stream(tmp_path / "a.tsv", "-o", tmp_path / "half")
    stream(tmp_path / "b.tsv", "--init", tmp_path / "half", "-o", tmp_path / "both")
    whole, both = (store.read(tmp_path / name) for name in ("whole", "both"))
    assert whole.checksums() == both.checksums()


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_file_that_has_grown_is_read_from_where_it_was(tmp_path, capsys, jobs):
    """The same file as from one run: model, position and scores, to the last bit."""
    lines = write_tsv(tmp_path / "all.tsv", 0, 5000).read_text().splitlines(keepends=True)
    options = ["--jobs", jobs, "--predictions"]
    stream(tmp_path / "all.tsv", "-o", tmp_path / "once", *options, tmp_path / "p.once")
    log = tmp_path / "log.tsv"
    for n in (1024, 3072, 3072, 5000):
        log.write_text("".join(lines[:n]))
        stream(log, "-o", tmp_path / "m", "--resume", *options, tmp_path / "p.grown")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "once").read_bytes()
    assert (tmp_path / "p.grown").read_bytes() == (tmp_path / "p.once").read_bytes()
    capsys.readouterr()
    again = run_json(capsys, "stream", log, "-o", tmp_path / "m", "--resume")
    assert again["n_rows"] == 5000
    if jobs == 1:
        assert without_times(again) == without_times(run_json(capsys, "stream", log))


def test_a_bad_line_costs_only_what_follows(tmp_path, capsys):
    path = write_tsv(tmp_path / "d.tsv", 0, 40_000)
    good = path.read_text()
    path.write_text(good + "no tab here\n")
    assert main(["stream", str(path), "-o", str(tmp_path / "m")]) == 1
    assert "d.tsv:40001" in capsys.readouterr().err
    n_rows = store.read(tmp_path / "m").extra["stream"]["rows"]
    assert 0 < n_rows <= 40_000
    path.write_text(good)
    stream(path, "-o", tmp_path / "m", "--resume")
    stream(path, "-o", tmp_path / "once")
    assert store.read(tmp_path / "m").checksums() == store.read(tmp_path / "once").checksums()


def test_memory_can_be_bounded(tmp_path):
    rng = np.random.default_rng(0)
    lines = (
        f"{rng.integers(50)} " + " ".join(f"{i}:1" for i in np.sort(rng.integers(1, 10**6, 40)))
        for _ in range(3000)
    )
    (tmp_path / "d.svm").write_text("\n".join(dict.fromkeys(lines)))
    stream(tmp_path / "d.svm", "-o", tmp_path / "m", "--max-memory", "4.5MB")
    stream(tmp_path / "d.svm", "-o", tmp_path / "free")
    assert labeltrees.load_model(tmp_path / "m").settings.max_memory == 4_500_000
    assert (tmp_path / "m").stat().st_size < 10_000_000 < (tmp_path / "free").stat().st_size


FAILURES = {
    "resume without out": (["--resume"], 2, "--resume needs --out"),
    "checkpoints without out": (["--checkpoint-every", "10"], 2, "--checkpoint-every needs --out"),
    "no time": (["-o", "x", "--checkpoint-every", "often"], 2, "--checkpoint-every must be rows"),
    "no rows": (["-o", "x", "--checkpoint-every", "0"], 2, "--checkpoint-every must be rows"),
    "no size": (["--max-memory", "lots"], 2, "--max-memory must be a size such as 500MB"),
    "too small": (["--max-memory", "10"], 2, "--max-memory must be"),
    "not its option": (
        ["--model", "lomtree", "--max-memory", "1GB"],
        2,
        "--max-memory is not a setting of the method lomtree",
    ),
    "no folder": (["-o", "nowhere/m"], 1, "--out nowhere/m: the folder nowhere does not exist"),
    "a folder": (["-o", "folder"], 1, "--out folder: this is a folder"),
    "below a file": (["-o", "d.tsv/m"], 1, "--out d.tsv/m: d.tsv is not a folder"),
    "a device": (["-o", "/dev/null"], 1, "is not a regular file"),
    "no predictions": (["--predictions", "nowhere/p"], 1, "--predictions nowhere/p: the folder"),
    "no form": (
        ["--predictions", "p", "--predictions-format", "xml"],
        2,
        "--predictions-format must be 'tsv', 'csv' or 'jsonl'",
    ),
    "no model": (["--init", "nowhere"], 1, "nowhere does not exist"),
    "not a stream's": (
        ["-o", "trained", "--resume"],
        2,
        "--resume: trained was not saved by a stream",
    ),
    "other data": (["-o", "other", "--resume"], 2, "was trained on another input than d.tsv"),
    "frozen": (["--init", "frozen"], 2, "frozen was saved with --no-keep-state"),
    "no learner": (["--init", "xreg"], 2, "cannot learn row by row"),
    "another setting": (
        ["--init", "trained", "--alpha", "0.1"],
        2,
        "--alpha is a setting of new models, but the model in trained has 0.6",
    ),
    "shorter": (
        ["-o", "mine", "--resume", "--predictions", "d.csv"],
        2,
        "is shorter than at the last checkpoint",
    ),
    "damaged": (["-o", "damaged", "--resume"], 2, "the position in damaged is damaged"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("streams")
    for name, seed in (("d.tsv", 0), ("e.tsv", 1)):
        write_tsv(path / name, seed, 30)
    (path / "folder").mkdir()
    (path / "d.csv").write_text("")
    data, other = str(path / "d.tsv"), str(path / "e.tsv")
    for arguments in (
        ["train", data, "-o", str(path / "trained")],
        ["train", data, "-o", str(path / "frozen"), "--no-keep-state"],
        ["train", data, "-o", str(path / "xreg"), "--model", "xreg"],
        ["stream", other, "-o", str(path / "other")],
        ["stream", data, "-o", str(path / "mine"), "--predictions", str(path / "p.csv")],
    ):
        assert main(arguments) == 0
    extra = store.read(path / "mine").extra
    extra["stream"]["validation"]["sums"] = 7
    labeltrees.load_model(path / "mine").save(path / "damaged", extra=extra)
    return path


@pytest.mark.parametrize("case", FAILURES)
def test_failures_are_one_line_and_the_right_code(case, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    capsys.readouterr()
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    arguments, code, message = FAILURES[case]
    assert main(["stream", "d.tsv", *arguments]) == code
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.startswith("labeltrees: ")
    assert printed.err.count("\n") == 1
    assert printed.out == ""
    assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before
