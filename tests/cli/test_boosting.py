"""`train --model adacond`: boosts, saves a model that every command reads, complains in a line."""

from __future__ import annotations

import pytest
from tests.cli.test_cli import run_json

import labeltrees
from labeltrees.cli import main


@pytest.mark.parametrize("base", ["tree", "self-terminating", "one-against-all", "frequency-table"])
def test_train_boosts_a_base_and_the_other_commands_read_it(base, data, tmp_path, capsys):
    path = tmp_path / "m"
    trained = run_json(
        capsys, "train", data[0], "-o", path, "--model", "adacond", "--base", base,
        "--rounds", 3, "--eta", 0.6,
    )  # fmt: skip
    assert trained["examples"] == 600
    assert trained["labels"] == 3
    assert 1 <= trained["rounds"] <= 3
    assert trained["eta"] == 0.6
    assert trained["rows_above_eta"] <= trained["bound"]
    assert isinstance(labeltrees.load(path).estimator_, labeltrees.AdacondClassifier)
    least = 0.6 if base == "frequency-table" else 0.9  # rows seldom come twice
    assert run_json(capsys, "evaluate", path, data[1])["scores"]["accuracy"] > least
    assert run_json(capsys, "inspect", path)["described"]["rounds"] == trained["rounds"]
    assert main(["predict", str(path), str(data[1]), "--top", "2"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 100


def test_eta_may_be_a_name_and_the_report_is_text(data, tmp_path, capsys):
    arguments = ["train", str(data[0]), "-o", str(tmp_path / "m"), "--model", "adacond"]
    assert main([*arguments, "--eta", "median", "--limit", "200"]) == 0
    assert "stop reason" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--model", "bonsai"],
            "--model must be 'auto', 'conditional', 'multilabel', 'lomtree', ",
        ),
        (["--model", "adacond", "--base", "bonsai"], "--base must be 'tree'"),
        (["--model", "adacond", "--eta", "2"], "--eta must be 'auto', 'median' or in (0, 1)"),
        (["--model", "adacond", "--eta", "mean"], "--eta must be 'auto', 'median' or in (0, 1)"),
        (["--model", "adacond", "--rounds", "0"], "--rounds"),
    ],
)
def test_wrong_calls_are_one_line(options, message, data, tmp_path, capsys):
    capsys.readouterr()
    assert main(["train", str(data[0]), "-o", str(tmp_path / "m"), *options]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert not (tmp_path / "m").exists()


def test_a_file_without_labels_is_refused(tmp_path, capsys):
    empty = tmp_path / "empty.vw"
    empty.write_text("| only features\n")
    assert main(["train", str(empty), "-o", str(tmp_path / "m"), "--model", "adacond"]) == 1
    assert "No row of " in capsys.readouterr().err
