"""`labeltrees card`: what it prints, writes and measures."""

from __future__ import annotations

import json

import labeltrees
from labeltrees.cli import main


def run(capsys, *arguments):
    assert main([*map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_a_card_is_printed_with_what_was_said(model, capsys):
    said = (
        "--name",
        "Things",
        "--license",
        "mit",
        "--dataset",
        "Made up",
        "--tag",
        "a",
        "--tag",
        "b",
    )
    out = run(capsys, "card", model, *said)
    assert out.startswith("---\nlicense: mit\n")
    for words in ("# Things", "- a\n- b\n", "| data | Made up |", "was not evaluated"):
        assert words in out
    assert f"{model.stat().st_size:,} bytes" in out


def test_a_card_says_what_evaluate_says(model, data, capsys):
    quality = json.loads(run(capsys, "card", model, data[1], "--json"))["quality"]
    expected = json.loads(run(capsys, "evaluate", model, data[1], "--json"))
    assert quality["rows"] == expected["rows"]
    assert quality["scores"] == {name: expected["scores"][name] for name in quality["scores"]}
    assert {"accuracy", "log loss", "ECE@1"} <= set(quality["scores"])


def test_a_folder_gets_the_card_and_its_picture(model, data, tmp_path, capsys):
    folder = tmp_path / "there" / "card"
    named = run(capsys, "card", model, data[1], "--out", folder, "--limit", 50).splitlines()
    assert named == [str(folder / "README.md"), str(folder / "reliability.svg")]
    assert "Measured on 50 held-out rows" in (folder / "README.md").read_text()
    assert 'labeltrees.load("' + model.name in (folder / "README.md").read_text()


def test_rows_of_several_labels_and_none(tmp_path, capsys):
    rows = tmp_path / "rows.xc"
    rows.write_text("4 2 3\n0,1 0:1\n2 1:1\n0 0:1\n 1:1\n")
    X, y = [[1, 0], [0, 1], [1, 0]] * 10, [["0", "1"], ["2"], ["0"]] * 10
    labeltrees.ExtremeRegressor(n_trees=1).fit(X, [[int(a) for a in b] for b in y]).save(
        tmp_path / "x"
    )
    tree = labeltrees.ConditionalTreeClassifier().fit(X, [int(b[0]) for b in y])
    tree.save(tmp_path / "c")
    many = json.loads(run(capsys, "card", tmp_path / "x", rows, "--format", "xc", "--json"))
    one = json.loads(run(capsys, "card", tmp_path / "c", rows, "--format", "xc", "--json"))
    assert many["quality"]["rows"] == 4  # a row without a label is one where nothing is right
    assert one["quality"]["rows"] == 4
    assert "P@1" in one["quality"]["scores"]  # some row has two labels


def test_rows_without_a_label_measure_nothing(model, tmp_path, capsys):
    rows = tmp_path / "rows.vw"
    rows.write_text("| apple pear\n")
    assert main(["card", str(model), str(rows), "--format", "vw"]) == 1
    assert capsys.readouterr().err.count("\n") == 1
