"""Options of reading: those that a format or a model does not use are errors."""

from __future__ import annotations

import json

import pytest
from tests.cli.test_cli import run_json, write_tsv
from tests.cli.test_train import write_tags

from labeltrees.cli import main


def refused(capsys, *arguments):
    code = main([*map(str, arguments)])
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    return code, err


@pytest.fixture(scope="module")
def tags(tmp_path_factory):
    return write_tags(tmp_path_factory.mktemp("tags") / "tags.tsv", 0, 300)


def test_labels_is_refused_where_all_labels_of_a_row_are_learned(tags, tmp_path, capsys):
    code, err = refused(capsys, "train", tags, "-o", tmp_path / "m", "--labels", "first")
    assert code == 2
    assert "--labels is for methods of one label per row, but xreg learns all" in err
    assert "because rows have 1.5 labels on average" in err
    assert not (tmp_path / "m").exists()


def test_labels_is_used_where_one_label_of_a_row_is_learned(tags, tmp_path, capsys):
    options = ["--model", "conditional", "--fast"]
    run_json(capsys, "train", tags, "-o", tmp_path / "m", "--labels", "first", *options)
    trained = run_json(capsys, "inspect", tmp_path / "m")
    assert trained["described"]["examples_learned"] == 300


@pytest.mark.parametrize("command", ["train", "stream"])
def test_order_is_for_python_code(tmp_path, capsys, command):
    path = write_tsv(tmp_path / "d.tsv", 0, 30)
    code, err = refused(capsys, command, path, "-o", tmp_path / "m", "--order", "shuffled")
    assert (code, err) == (2, "labeltrees: --order is for the format python only. Remove it.\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--label-separator", ","], "--label-separator is not an option of the format svmlight"),
        (["--quoted-labels"], "--quoted-labels is not an option of the format svmlight"),
    ],
)
def test_options_that_a_format_does_not_use_are_named_as_typed(tmp_path, capsys, options, message):
    (tmp_path / "d.svm").write_text("1 0:1\n2 1:1\n" * 10)
    code, err = refused(capsys, "train", tmp_path / "d.svm", "-o", tmp_path / "m", *options)
    assert code == 2
    assert message in err


def test_evaluate_refuses_labels_where_all_count(tags, tmp_path, capsys):
    assert main(["train", str(tags), "-o", str(tmp_path / "m"), "--fast", "-q"]) == 0
    capsys.readouterr()
    code, err = refused(capsys, "evaluate", tmp_path / "m", tags, "--labels", "first")
    assert code == 2
    assert err.startswith("labeltrees: --labels cannot be used with such a model")


@pytest.fixture
def endings(tmp_path):
    """Vowpal Wabbit rows of which some have a label that starts with a quote."""
    path = tmp_path / "endings.vw"
    path.write_text("'s |w it is\ns |w cat dog\nly |w quick slow\n" * 20)
    return path


def test_labels_with_quotes_are_read_if_one_says_so(endings, tmp_path, capsys):
    code, err = refused(capsys, "train", endings, "-o", tmp_path / "m")
    assert code == 1
    assert "pass quoted_labels=True (--quoted-labels)" in err
    told = run_json(capsys, "train", endings, "-o", tmp_path / "m", "--quoted-labels", "--fast")
    assert told["labels"] == 3
    # The model remembers it, whatever the file is called.
    for name in ("endings.vw", "endings.txt"):
        path = endings.rename(tmp_path / name)
        endings = path
        assert run_json(capsys, "evaluate", tmp_path / "m", path)["unseen_labels"] == 0


def test_a_json_array_is_told_how_to_become_lines(tmp_path, capsys):
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([{"label": "a", "text": "b"}], indent=1))
    code, err = refused(capsys, "train", path)
    assert code == 1
    assert (
        "one JSON array, but one object per line is expected. "
        f"Convert it with jq -c '.[]' {path} >" in err
    )


def write_grades(path, n_rows=20):
    """Rows of two kinds whose two labels have grades in [0, 5]."""
    path.write_text(f"{n_rows} 2 2\n" + "0:5,1:1 0:1\n0:2,1:4 1:1\n" * (n_rows // 2))
    return path


@pytest.mark.parametrize("how", [[], ["--labelwise"]])
def test_graded_truth_is_compared_with_expected_relevance(tmp_path, capsys, how):
    path = write_grades(tmp_path / "stars.xc")
    assert run_json(capsys, "train", path, "-o", tmp_path / "m")["method"] == "xreg"
    found = run_json(capsys, "evaluate", tmp_path / "m", path, *how)["scores"]
    # Probabilities, which are 1, would be wrong by 4 and 3 at best.
    assert found["XMAD@1"] < 0.5
    assert found["regression error@1"] < 0.5
    assert found["WP@1"] == pytest.approx(1)
