"""Rows with many labels on the command line: learned one by one, all labels of a row together."""

from __future__ import annotations

import csv
import json
import signal

import numpy as np
import pytest
from tests.cli.test_cli import run_json, without_times
from tests.cli.test_signals import Process

import labeltrees
from labeltrees import store
from labeltrees.autotrain._fitting import fit
from labeltrees.autotrain._options import Recipe
from labeltrees.cli import main
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.readers import open_reader
from labeltrees.models.multilabel.settings import MultiLabelSettings
from labeltrees.models.registry import methods

WORDS = {"fruit": "apple pear plum fig", "tool": "saw drill plane file", "river": "rhine nile po"}
LABELS_OF = {0: [0], 1: [1, 4], 2: [2], 3: [3, 4, 5]}


def write_texts(path, seed=0, n_rows=400):
    """Texts with one to three labels, two words of each."""
    rng = np.random.default_rng(seed)
    lines = []
    for n in rng.choice([1, 1, 2, 3], n_rows):
        labels = rng.choice(list(WORDS), n, replace=False)
        text = " ".join(word for each in labels for word in rng.choice(WORDS[each].split(), 2))
        lines.append(f"{','.join(labels)}\t{text}\n")
    path.write_text("".join(lines))
    return path


def write_rows(path, seed=0, n_rows=300):
    """The same rows in the format that the suffix names: one feature tells the labels."""
    rng = np.random.default_rng(seed)
    lines = {"txt": f"{n_rows} 12 6\n", "csv": "subjects,text\n"}.get(path.suffix[1:], "")
    for kind, other in zip(rng.integers(4, size=n_rows), rng.integers(4, 12, n_rows), strict=True):
        labels = LABELS_OF[int(kind)]
        names = [f"l{label}" for label in labels]
        lines += {
            "txt": f"{','.join(map(str, labels))} {kind}:1 {other}:0.5\n",
            "svm": f"{','.join(map(str, labels))} {kind}:1 {other}:0.5\n",
            "vw": f"{','.join(map(str, labels))} | f{kind} f{other}\n",
            "jsonl": json.dumps({"labels": names, "text": f"w{kind} w{other}"}) + "\n",
            "csv": f"{'|'.join(rng.permutation(names))},w{kind} w{other}\n",
        }[path.suffix[1:]]
    path.write_text(lines)
    return path


def stream(*arguments):
    assert main(["stream", *map(str, arguments), "--quiet"]) == 0


@pytest.mark.parametrize("suffix", ["txt", "svm", "vw", "jsonl", "csv"])
def test_rows_of_every_format_are_learned_with_all_their_labels(suffix, tmp_path, capsys):
    path, out = write_rows(tmp_path / f"d.{suffix}"), tmp_path / "m"
    more = ["--label-separator", "|"] if suffix == "csv" else []
    assert main(["stream", str(path), "-o", str(out), "--json", *more]) == 0
    printed = capsys.readouterr()
    assert "labeltrees: Rows have several labels, so --model multilabel was chosen" in printed.err
    told = json.loads(printed.out)
    assert (told["n_rows"], told["n_new_labels"]) == (300, 6)
    assert told["precision_at_1"] > 0.9
    assert told["ndcg_at_5"] > 0.9
    assert store.read(out).model == "MultiLabelTreeModel"
    scores = run_json(capsys, "evaluate", out, path)["scores"]
    assert scores["P@1"] > 0.99
    assert scores["ECE@1"] < 0.1
    assert scores["nDCG@5"] > 0.95
    assert main(["predict", str(out), str(path), "--top", "3", "--limit", "2"]) == 0
    assert [len(line.split("\t")) for line in capsys.readouterr().out.splitlines()] == [6, 6]


@pytest.mark.parametrize("n_top", [1, 2, 20])
def test_predictions_are_made_before_the_row_is_learned(tmp_path, n_top):
    path, found = write_rows(tmp_path / "d.svm", 3, 60), tmp_path / "found.jsonl"
    stream(path, "--predictions", found, "--predictions-top", n_top)
    lines = [json.loads(line) for line in found.read_text().splitlines()]
    (chunk,) = open_reader(path)
    sets = RaggedLabels.of_chunk(chunk)
    model = labeltrees.MultiLabelTreeClassifier()
    assert len(lines) == 60
    for row, line in enumerate(lines):
        x, own = chunk.features[[row]], sets.take(np.array([row])).labels.tolist()
        assert (line["line"], line["label"]) == (row + 1, own)
        if row:
            known = [label in model.classes_ for label in own]
            p = [model.predict_label_proba(x, [label])[0] * known[i] for i, label in enumerate(own)]
            assert line["p_label"] == pytest.approx(p, abs=1e-12)
            top = model.predict_top_k(x, min(n_top, len(model.classes_)))
            n = len(line["labels"])
            assert n == len(line["probabilities"]) <= n_top
            assert line["labels"] == top.labels[0, :n].tolist()
            assert line["probabilities"] == pytest.approx(top.probabilities[0, :n], abs=1e-12)
        model.partial_fit(x, [own])
    assert len(lines[-1]["labels"]) >= min(n_top, 2)


def test_predictions_come_as_tsv_and_csv(tmp_path, capsys):
    path = write_texts(tmp_path / "d.tsv", 3, 40)
    stream(path, "--predictions", "-", "--predictions-top", 2)
    printed = capsys.readouterr()
    rows = [line.split("\t") for line in printed.out.splitlines()]
    own = [line.split("\t")[0] for line in path.read_text().splitlines()]
    assert [row[0] for row in rows] == own
    assert [len(row[1].split(",")) for row in rows] == [len(o.split(",")) for o in own]
    assert "P@1" in printed.err
    stream(path, "--predictions", tmp_path / "p.csv", "--predictions-top", 2)
    with (tmp_path / "p.csv").open() as file:
        table = list(csv.DictReader(file))
    assert list(table[0]) == ["line", "label", "p_label", "top_1", "p_1", "top_2", "p_2"]
    assert [row["label"] for row in table] == own
    assert [row["top_1"] for row in table[5:]] == [row[2] for row in rows[5:]]


def test_a_file_that_has_grown_is_read_from_where_it_was(tmp_path, capsys):
    """The same file as from one run: model, position and scores, to the last bit."""
    lines = write_texts(tmp_path / "all.tsv", 0, 2600).read_text().splitlines(keepends=True)
    options = ["--predictions-top", "2", "--checkpoint-every", "700", "--predictions"]
    stream(tmp_path / "all.tsv", "-o", tmp_path / "once", *options, tmp_path / "p.once")
    log = tmp_path / "log.tsv"
    for n in (1024, 2048, 2048, 2600):
        log.write_text("".join(lines[:n]))
        stream(log, "-o", tmp_path / "m", "--resume", *options, tmp_path / "p.grown")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "once").read_bytes()
    assert (tmp_path / "p.grown").read_bytes() == (tmp_path / "p.once").read_bytes()
    capsys.readouterr()
    again = run_json(capsys, "stream", log, "-o", tmp_path / "m", "--resume")
    assert without_times(again) == without_times(run_json(capsys, "stream", log))


def test_a_stream_goes_on_from_a_trained_model_and_its_way_of_reading(tmp_path, capsys):
    first, second = tmp_path / "first", tmp_path / "second"
    train, more = write_texts(tmp_path / "a.tsv", 0), write_texts(tmp_path / "b.tsv", 1, 100)
    told = run_json(capsys, "train", train, "-o", first, "--model", "multilabel", "-q")
    assert told["method"] == "multilabel"
    assert told["scores"]["labeltrees"]["P@1"] > 0.95
    begun = run_json(capsys, "stream", more, "--init", first, "-o", second)
    assert (begun["n_rows"], begun["n_new_labels"]) == (100, 0)
    assert begun["precision_at_1"] > 0.95
    assert labeltrees.load_model(second).n_features == labeltrees.load_model(first).n_features
    gone_on = run_json(capsys, "train", more, "--init", first, "-o", second, "-q")
    assert gone_on["method"] == "MultiLabelTreeModel"
    assert gone_on["progressive_precision_at_1"] > 0.95


def test_two_halves_are_the_whole_and_memory_can_be_bounded(tmp_path):
    lines = write_texts(tmp_path / "all.tsv", 0, 600).read_text().splitlines(keepends=True)
    (tmp_path / "a.tsv").write_text("".join(lines[:350]))
    (tmp_path / "b.tsv").write_text("".join(lines[350:]))
    options = ["--max-memory", "5MB"]
    stream(tmp_path / "all.tsv", "-o", tmp_path / "whole", *options)
    stream(tmp_path / "a.tsv", "-o", tmp_path / "half", *options)
    stream(tmp_path / "b.tsv", "--init", tmp_path / "half", "-o", tmp_path / "both", *options)
    whole, both = (store.read(tmp_path / name) for name in ("whole", "both"))
    assert whole.checksums() == both.checksums()
    assert labeltrees.load_model(tmp_path / "both").settings.max_memory == 5_000_000


def test_questions_about_a_saved_model(tmp_path, capsys):
    path, out = write_texts(tmp_path / "d.tsv"), tmp_path / "m"
    assert main(["train", str(path), "--model", "multilabel", "-o", str(out), "-q"]) == 0
    loaded = labeltrees.load(out)
    text = "apple fig rhine nile"
    capsys.readouterr()
    assert main(["predict", str(out), "-t", text, "--above", "0.5", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert sorted(answer["labels"]) == ["fruit", "river"]
    assert answer["probabilities"] == sorted(answer["probabilities"], reverse=True)
    assert main(["predict", str(out), str(path), "--labelwise", "--top", "2"]) == 0
    best = dict(line.split("\t", 1) for line in capsys.readouterr().out.splitlines())
    texts = [line.split("\t") for line in path.read_text().splitlines()]
    assert set(best) == set(WORDS)
    for label, rows in best.items():
        assert label in texts[int(rows.split("\t")[0])][0]
    assert main(["explain", str(out), "-t", text, "--label", "river"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("river has probability ")
    assert "rhine" in said
    why = run_json(capsys, "explain", out, "-t", text)
    assert why["p_label"] == pytest.approx(loaded.predict_label_proba([text], [why["label"]])[0])
    facts = run_json(capsys, "inspect", out, "--dot", tmp_path / "tree.dot")
    assert facts["model"] == "MultiLabelTreeModel"
    assert facts["described"]["leaves"] == 3
    assert "river" in (tmp_path / "tree.dot").read_text()
    labelwise = run_json(capsys, "evaluate", out, path, "--labelwise")["scores"]
    assert labelwise["P@1"] > 0.95
    assert main(["which", str(path)]) == 0
    assert f"as it arrives: labeltrees stream {path}" in capsys.readouterr().out


def test_an_explanation_in_words_adds_what_the_label_s_own_expert_adds(tmp_path, capsys):
    path, out = write_texts(tmp_path / "d.tsv"), tmp_path / "m"
    stream(path, "-o", out)
    capsys.readouterr()
    why = run_json(capsys, "explain", out, "-t", "rhine nile", "--label", "river")
    assert why["is_candidate"]
    parts = [*why["steps"], why]
    total = sum(
        each["contribution"]
        for part in parts
        for each in part["contributions"]
        if each["feature"] == "rhine"
    )
    assert main(["explain", str(out), "-t", "rhine nile", "--label", "river"]) == 0
    said = next(line for line in capsys.readouterr().out.splitlines() if line.endswith("  rhine"))
    assert float(said.split()[0]) == pytest.approx(total, abs=1e-3)


@pytest.mark.parametrize("options", [["--online"], ["--in-order"], []])
def test_training_row_by_row_takes_all_labels_of_a_row(options, tmp_path, monkeypatch, capsys):
    """On request, and where the file fits neither into memory nor into files of training."""
    path, out = write_texts(tmp_path / "d.tsv", 0, 800), tmp_path / "m"
    if not options:
        monkeypatch.setattr("labeltrees.autotrain._run.CAN_SPILL", False)
        monkeypatch.setattr("labeltrees.autotrain._run.room_for_data", lambda: 0)
    told = run_json(capsys, "train", path, "-o", out, "-q", *options)
    assert told["method"] == "multilabel"
    assert "rows have several labels and" in told["why"]
    assert told["progressive_precision_at_1"] > 0.9
    assert ("scores" in told) == (options != ["--in-order"])
    assert run_json(capsys, "evaluate", out, path)["scores"]["P@1"] > 0.95
    told = run_json(capsys, "train", path, "-o", out, "-q", *options, "--labels", "each",
                    *([] if options else ["--model", "conditional"]))  # fmt: skip
    assert told["method"] == "conditional"


def test_a_row_of_weight_nothing_is_as_if_it_were_not_there(tmp_path):
    lines = ["1,2 1 | a b", "3,4 0 | c", "2 2 | b"] * 10
    (tmp_path / "with.vw").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "less.vw").write_text("".join(f"{x}\n" for x in lines if "3,4" not in x))
    made = []
    for name in ("with", "less"):
        stream(tmp_path / f"{name}.vw", "-o", tmp_path / name)
        (chunk,) = open_reader(tmp_path / f"{name}.vw")
        trained = fit(Recipe(methods()["multilabel"], MultiLabelSettings()), chunk)
        trained.save(tmp_path / f"{name}.trained")
        assert trained.vocabulary.labels.tolist() == [1, 2]
        made.append([store.read(tmp_path / f).checksums() for f in (name, f"{name}.trained")])
    assert made[0] == made[1]


def test_a_signal_ends_a_silent_stream_that_saves_and_reports(tmp_path):
    out = tmp_path / "m"
    options = ["--format", "tsv", "--model", "multilabel", "-o", out, "--predictions", "-"]
    options += ["--label-separator", ","]
    with Process("stream", "-", *options) as process:
        assert process.ask(b"fruit,red\tan apple\n") == b"fruit,red\t0,0\n"
        second = process.ask(b"fruit\ta pear\n").split(b"\t")
        assert second[0] == b"fruit"
        assert second[2] in (b"fruit", b"red")
        process.child.send_signal(signal.SIGTERM)
        code, err = process.end()
    assert code == 128 + signal.SIGTERM
    assert "labels per row" in err
    assert "after 2 rows of -" in err
    assert "Traceback" not in err
    assert set(labeltrees.load(out).classes_) == {"fruit", "red"}


FAILURES = {
    "one label": (
        ["stream", "d.tsv", "--model", "multilabel", "--labels", "first"],
        "--labels first is for models of one label per row, but --model multilabel learns all",
    ),
    "one label of a saved one": (
        ["stream", "d.tsv", "--init", "m", "--labels", "each"],
        "--labels each is for models of one label per row, but MultiLabelTreeModel learns all",
    ),
    "one label, online": (
        ["train", "d.tsv", "--online", "--model", "multilabel", "--labels", "draw"],
        "--labels is for methods of one label per row",
    ),
    "not its option": (
        ["stream", "d.tsv", "--alpha", "0.3"],
        "--alpha is not a setting of the method multilabel, which was chosen because rows have",
    ),
    "its option, not the other's": (
        ["stream", "one.tsv", "--branching-threshold", "0.3"],
        "--branching-threshold is not a setting of the method conditional, which was chosen "
        "because every row",
    ),
    "wrong value": (
        ["stream", "d.tsv", "--branching-threshold", "2"],
        "--branching-threshold must be in [0, 1], got 2",
    ),
    "nobody's value": (
        ["train", "d.tsv", "--online", "--branching-threshold", "2"],
        "--branching-threshold must be in",
    ),
    "forgetting": (["stream", "d.tsv", "--forget", "9"], "--forget is not an option of --model mu"),
    "forgetting of a saved one": (
        ["stream", "d.tsv", "--init", "m", "--forget", "9"],
        "--forget: m has a MultiLabelTreeModel, which cannot",
    ),
    "another model": (
        ["stream", "d.tsv", "--init", "m", "--model", "conditional"],
        "--model conditional is for new models, but m has a MultiLabelTreeModel",
    ),
    "another setting": (
        ["stream", "d.tsv", "--init", "m", "--max-memory", "1GB"],
        "--max-memory is a setting of new models, but the model in m has None",
    ),
    "all rows": (["stream", "d.tsv", "--structure", "kmeans"], "--structure 'kmeans' needs all"),
    "efforts": (["train", "d.tsv", "--model", "multilabel", "--fast"], "--fast is not available"),
    "other scores": (["stream", "d.tsv", "-o", "mixed", "--resume"], "position in mixed is"),
    "frozen": (["stream", "d.tsv", "--init", "frozen"], "frozen was saved with --no-keep-state"),
    "relevance": (
        ["stream", "graded.jsonl", "--model", "multilabel"],
        "graded.jsonl:2: a label has relevance 3, but relevance must be in [0, 1]",
    ),
    "relevance in training": (
        ["train", "graded.jsonl", "--model", "multilabel"],
        "graded.jsonl:2: a label has relevance 3, but relevance must be in [0, 1]",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("sets")
    write_texts(path / "d.tsv", 0, 60)
    (path / "one.tsv").write_text("fruit\tan apple\ntool\ta saw\n" * 5)
    rows = [{"text": "a", "labels": {"x": 0.5, "y": 1}}, {"text": "b", "labels": {"x": 3, "y": 1}}]
    (path / "graded.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    data = str(path / "d.tsv")
    for arguments in (
        ["stream", data, "-o", str(path / "m")],
        ["stream", data, "-o", str(path / "c"), "--labels", "each"],
        ["train", data, "-o", str(path / "frozen"), "--model", "multilabel", "--no-keep-state"],
    ):
        assert main([*arguments, "-q"]) == 0
    scores = store.read(path / "c").extra["stream"]["validation"]
    extra = store.read(path / "m").extra
    extra["stream"]["validation"] = scores
    labeltrees.load_model(path / "m").save(path / "mixed", extra=extra)
    return path


@pytest.mark.parametrize("case", FAILURES)
def test_failures_are_one_line_and_change_nothing(case, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    capsys.readouterr()
    before = {path: path.read_bytes() for path in folder.iterdir()}
    arguments, message = FAILURES[case]
    assert main([*arguments, "-q"]) == (1 if "relevance" in case else 2)
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.startswith("labeltrees: ")
    assert printed.err.count("\n") == 1
    assert printed.out == ""
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
