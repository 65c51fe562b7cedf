"""`labeltrees predict`: a coprocess, candidates, ids, names, several files, forms of answers."""

from __future__ import annotations

import csv
import io
import json

import pytest
from tests.cli.test_cli import write_tsv
from tests.cli.test_signals import Process

import labeltrees
from labeltrees.cli import main


def run(capsys, *arguments):
    assert main(["predict", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def run_lines(capsys, *arguments):
    return [json.loads(line) for line in run(capsys, *arguments, "--json").splitlines()]


@pytest.fixture(scope="module")
def text_model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    assert main(["stream", str(write_tsv(folder / "d.tsv", 0)), "-o", str(folder / "m")]) == 0
    return folder / "m"


@pytest.fixture(scope="module")
def number_model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("numbers")
    (folder / "d.vw").write_text("0 'a|f sun\n1 'b|f rain\n3 'c|f snow\n" * 50)
    assert main(["stream", str(folder / "d.vw"), "-o", str(folder / "m")]) == 0
    return folder / "m"


def test_each_line_of_a_pipe_is_answered_as_it_comes(text_model):
    with Process("predict", text_model, "-") as process:
        for text, label in (("apple pear", "fruit"), ("saw drill", "tool"), ("nile po", "river")):
            assert process.ask(f"{text}\n".encode()).startswith(label.encode())
            assert process.ask(f"\t{text}\n".encode()).startswith(label.encode())
        process.child.stdin.close()
        assert process.end() == (0, "")
        process.child.stdin = None


def test_a_text_can_be_typed(text_model, capsys):
    assert run(capsys, text_model, "--text", "apple plum").startswith("fruit\t")
    said = run_lines(capsys, text_model, "-t", "saw", "-t", "the nile", "--top", 2)
    assert [row["labels"][0] for row in said] == ["tool", "river"]


def test_plain_lines_are_texts(text_model, tmp_path, capsys):
    (tmp_path / "plain.txt").write_text("apple pear\n\nrhine nile\n")
    (tmp_path / "d.tsv").write_text("fruit\tapple pear\n\trhine nile\n")
    plain = run(capsys, text_model, tmp_path / "plain.txt")
    assert plain == run(capsys, text_model, tmp_path / "d.tsv")
    assert len(plain.splitlines()) == 2


def test_more_labels_than_there_are_is_all_of_them(text_model, capsys):
    (row,) = run_lines(capsys, text_model, "--text", "apple", "--top", 50)
    assert sorted(row["labels"]) == ["fruit", "river", "tool"]
    assert sum(row["probabilities"]) == pytest.approx(1)


def test_several_files_and_patterns_are_one_input(text_model, tmp_path, capsys):
    parts = [write_tsv(tmp_path / f"part-{i}.tsv", i, 10) for i in range(3)]
    (tmp_path / "all.tsv").write_text("".join(part.read_text() for part in parts))
    expected = run(capsys, text_model, tmp_path / "all.tsv")
    assert run(capsys, text_model, *parts) == expected
    assert run(capsys, text_model, tmp_path / "part-*.tsv") == expected
    limited = run(capsys, text_model, tmp_path / "part-*.tsv", "--limit", 15)
    assert limited.splitlines() == expected.splitlines()[:15]


def test_candidates_are_named_by_the_row_a_file_or_a_field(text_model, tmp_path, capsys):
    texts, lists = ["apple pear", "saw the plane"], [["tool", "fruit"], ["river", "fog"]]
    rows = [
        {"text": text, "labels": own, "maybe": own} for text, own in zip(texts, lists, strict=True)
    ]
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "d.tsv").write_text(
        "".join(f"{' '.join(own)}\t{text}\n" for text, own in zip(texts, lists, strict=True))
    )
    (tmp_path / "c").write_text("".join("\t".join(own) + "\n" for own in lists))
    answers = [
        run_lines(capsys, text_model, tmp_path / "d.jsonl", "--candidates", "maybe"),
        run_lines(capsys, text_model, tmp_path / "d.jsonl", "--candidates", "labels"),
        run_lines(capsys, text_model, tmp_path / "d.tsv", "--named"),
        run_lines(capsys, text_model, tmp_path / "d.tsv", "--candidates", tmp_path / "c"),
    ]
    assert all(answer == answers[0] for answer in answers)
    assert [row["labels"] for row in answers[0]] == lists
    whole = run_lines(capsys, text_model, tmp_path / "d.tsv", "--top", 3)
    known = dict(zip(whole[0]["labels"], whole[0]["probabilities"], strict=True))
    assert answers[0][0]["probabilities"] == [known["tool"], known["fruit"]]
    assert answers[0][1]["probabilities"][1] == 0  # never seen


def test_integer_candidates_come_from_a_file(number_model, tmp_path, capsys):
    (tmp_path / "d.vw").write_text("|f sun\n|f rain\n")
    (tmp_path / "c").write_text("0\t3\n1\n")
    said = run_lines(capsys, number_model, tmp_path / "d.vw", "--candidates", tmp_path / "c")
    assert [row["labels"] for row in said] == [[0, 3], [1]]
    assert said[0]["probabilities"][0] > 0.5


def test_ids_are_carried_through(text_model, number_model, tmp_path, capsys):
    (tmp_path / "d.jsonl").write_text(
        '{"key": "x-1", "text": "apple"}\n\n{"key": 7, "text": "saw"}\n{"text": "nile"}\n'
    )
    said = run_lines(capsys, text_model, tmp_path / "d.jsonl", "--id", "key")
    assert [row["id"] for row in said if "id" in row] == ["x-1", 7]
    lines = run(capsys, text_model, tmp_path / "d.jsonl", "--id", "line").splitlines()
    assert [line.split("\t")[:2] for line in lines] == [
        ["1", "fruit"],
        ["3", "tool"],
        ["4", "river"],
    ]
    (tmp_path / "d.vw").write_text("'first|f sun\n'second |f snow\n")
    lines = run(capsys, number_model, tmp_path / "d.vw", "--id", "tag").splitlines()
    assert [line.split("\t")[:2] for line in lines] == [["first", "0"], ["second", "3"]]


def test_ids_are_those_of_their_rows_whatever_the_chunks(text_model, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("labeltrees.data.readers.source.BLOCK_BYTES", 64)
    rows = [{"n": i, "text": ["apple", "saw", "nile"][i % 3]} for i in range(50)]
    (tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, rows)))
    said = run_lines(capsys, text_model, tmp_path / "d.jsonl", "--id", "n")
    assert [row["id"] for row in said] == list(range(50))
    assert [row["labels"][0] for row in said[:3]] == ["fruit", "tool", "river"]


def test_integer_labels_can_be_named(number_model, tmp_path, capsys):
    (tmp_path / "names").write_text("sunny\nrainy\ncloudy\n")
    (tmp_path / "d.vw").write_text("|f sun\n|f rain\n|f snow\n")
    said = run(capsys, number_model, tmp_path / "d.vw", "--label-names", tmp_path / "names")
    assert [line.split("\t")[0] for line in said.splitlines()] == ["sunny", "rainy", "3"]


def test_csv_has_a_line_for_each_row_and_rank(text_model, tmp_path, capsys):
    path = tmp_path / "d.tsv"
    path.write_text("\tapple\n\tsaw\n")
    table = list(csv.DictReader(io.StringIO(run(capsys, text_model, path, "--csv", "-k", 2))))
    assert [(row["row"], row["rank"]) for row in table] == [
        ("0", "1"), ("0", "2"), ("1", "1"), ("1", "2"),
    ]  # fmt: skip
    assert table[0]["label"] == "fruit"
    assert float(table[0]["probability"]) > 0.5
    assert run(capsys, text_model, path, "--csv", "--above", "1").count("\n") == 1
    with_id = run(capsys, text_model, path, "--csv", "--id", "line")
    assert with_id.splitlines()[0] == "id,rank,label,probability"


FAILURES = {
    "nothing to answer": (["m"], 2, "Give DATA (files, or '-' for stdin) or --text"),
    "two inputs": (["m", "d.tsv", "--text", "x"], 2, "not both"),
    "no match": (["m", "no-*.tsv"], 2, "no file matches 'no-*.tsv'"),
    "stdin twice": (["m", "-", "-"], 2, "only once"),
    "two forms": (["m", "d.tsv", "--csv", "--json"], 2, "--csv and --json"),
    "two questions": (["m", "d.tsv", "--candidates", "labels", "--above", ".1"], 2, "--candidates"),
    "no candidates": (["m", "d.tsv", "--candidates", "maybe"], 2, "--candidates must be 'labels'"),
    "few candidates": (["m", "d.tsv", "--candidates", "c"], 1, "c:1: the file of candidates ends"),
    "no integer": (
        ["n", "e.vw", "--candidates", "c"],
        1,
        "of another type: 'fruit' is not a 64-bit",
    ),
    "no list": (["m", "d.jsonl", "--candidates", "key"], 1, "d.jsonl:1: 'key' must be a list"),
    "no tag": (["m", "d.tsv", "--id", "tag"], 2, "--id must be 'line' for the format tsv"),
    "no field": (["n", "e.vw", "--id", "key"], 2, "--id must be 'line' or 'tag' for the format vw"),
    "named already": (["m", "d.tsv", "--label-names", "c"], 2, "--label-names is for integer"),
    "no names": (["n", "e.vw", "--label-names", "nowhere"], 1, "nowhere"),
    "no text": (["n", "--text", "snow"], 2, "--text: this model was not trained on texts"),
    "no file": (["m", "nowhere.tsv"], 1, "nowhere.tsv"),
    "a folder": (["m", "."], 1, "directory"),
    "bad json": (["m", "bad.jsonl"], 1, "bad.jsonl:1: not JSON"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, text_model, number_model):
    path = tmp_path_factory.mktemp("failures")
    for name, model in (("m", text_model), ("n", number_model)):
        (path / name).write_bytes(model.read_bytes())
    write_tsv(path / "d.tsv", 0, 10)
    (path / "e.vw").write_text("|f sun\n")
    (path / "c").write_text("fruit\n")
    (path / "d.jsonl").write_text('{"key": 3, "text": "apple"}\n')
    (path / "bad.jsonl").write_text("{\n")
    return path


@pytest.mark.parametrize("case", FAILURES)
def test_failures_are_one_line_and_the_right_code(case, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    capsys.readouterr()
    arguments, code, message = FAILURES[case]
    if case == "a folder":
        arguments = [*arguments, "--format", "tsv"]
    assert main(["predict", *arguments]) == code
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.startswith("labeltrees: ")
    assert printed.err.count("\n") == 1


def test_the_answers_are_the_library_s(number_model, tmp_path, capsys):
    (tmp_path / "d.vw").write_text("|f sun rain\n")
    (row,) = run_lines(capsys, number_model, tmp_path / "d.vw", "--top", 3)
    (chunk,) = labeltrees.data.readers.open_reader(tmp_path / "d.vw")
    labels, p = labeltrees.load(number_model).predict_top_k(chunk.features, 3)
    assert row == {"labels": labels[0].tolist(), "probabilities": p[0].tolist()}
