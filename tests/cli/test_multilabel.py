"""`labeltrees evaluate` with many labels a row: of a model, of a file of predictions, by label."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.cli.test_cli import run_json

import labeltrees
from labeltrees import metrics
from labeltrees.cli import main
from labeltrees.data.readers import read_xc

LABELS_OF = {0: [0], 1: [1, 4], 2: [2], 3: [3, 4]}


def write_xc(path, seed, n_rows):
    """Rows of one feature and some noise; two of four features have two labels."""
    rng = np.random.default_rng(seed)
    lines = [f"{n_rows} 12 6"]
    for kind in rng.integers(4, size=n_rows):
        labels = ",".join(map(str, LABELS_OF[kind]))
        lines.append(f"{labels} {kind}:1 {rng.integers(4, 12)}:0.5")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def data(tmp_path):
    return write_xc(tmp_path / "train.txt", 0, 400), write_xc(tmp_path / "test.txt", 1, 80)


@pytest.fixture
def model(data, tmp_path, capsys):
    path = tmp_path / "model.safetensors"
    run_json(capsys, "train", data[0], "--out", path, "--format", "xc", "--model", "conditional")
    return path


def truth_of(path, n_labels=6):
    (chunk,) = read_xc(path)
    classes = np.arange(n_labels)
    return chunk, metrics.label_matrix(chunk.labels, classes=classes, starts=chunk.label_starts)


def test_a_models_scores_are_the_librarys(data, model, capsys):
    said = run_json(
        capsys, "evaluate", model, data[1], "--format", "xc", "--multilabel", "--train", data[0]
    )
    chunk, truth = truth_of(data[1])
    answer = labeltrees.load(model).predict_top_k(chunk.features, 5)
    scores = metrics.label_matrix(*answer, classes=np.arange(6))
    p = metrics.propensities(truth_of(data[0])[1])
    report = metrics.multilabel_report(truth, scores, propensity=p)
    expected = {f"{name}@{k}": value for name in report for k, value in report[name].items()}
    sizes = {"rows": 80, "labels": 5, "true_labels": truth.nnz, "predictions": 400}
    assert {name: said[name] for name in sizes} == sizes
    assert said["unseen_labels"] == 0
    assert said["scores"] == pytest.approx(expected)
    assert said["scores"]["P@1"] == 1
    assert list(said["scores"])[:3] == ["P@1", "P@3", "P@5"]


def test_the_table_has_a_row_for_each_metric(data, model, capsys):
    arguments = [
        "evaluate",
        str(model),
        str(data[1]),
        "--format",
        "xc",
        "--multilabel",
        "--top",
        "2",
    ]
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[5].split() == ["for", "each", "row", "@1", "@2"]
    assert lines[7].split() == ["P", "1.0000", lines[7].split()[-1]]
    assert "XMAD" in "".join(lines)


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_file_of_predictions_scores_as_the_model_does(data, model, tmp_path, capsys, form):
    shared = [str(data[1]), "--format", "xc"]
    assert main(["predict", str(model), *shared, "--top", "5", *form]) == 0
    answers = tmp_path / "answers"
    answers.write_text(capsys.readouterr().out)
    by_model = run_json(capsys, "evaluate", model, *shared, "--multilabel", "--train", data[0])
    by_file = run_json(capsys, "evaluate", answers, *shared, "--predictions", "--train", data[0])
    # Text has six digits of each probability.
    assert by_file["scores"] == pytest.approx(by_model["scores"], abs=1e-5)
    assert by_file["rows"] == by_model["rows"]
    assert "unseen_labels" not in by_file


def test_labelwise_scores_are_of_each_labels_best_rows(data, model, capsys):
    found = run_json(capsys, "evaluate", model, data[1], "--format", "xc", "--labelwise")
    said = found["scores"]
    chunk, truth = truth_of(data[1])
    best = labeltrees.load(model).top_rows(chunk.features, range(5), 20)
    turned = metrics.label_matrix(*best, classes=np.arange(80))
    expected = metrics.multilabel_report(truth[:, :5].T, turned)
    assert said["P@5"] == pytest.approx(expected["P"][5])
    assert said["XMAD@5"] == pytest.approx(expected["XMAD"][5])
    assert found["predictions"] == 100


def test_a_model_of_many_labels_needs_no_option(data, tmp_path, capsys):
    (chunk,) = read_xc(data[0])
    _, truth = truth_of(data[0])
    path = tmp_path / "many"
    labeltrees.ExtremeRegressor(n_trees=1).fit(chunk.features, truth).save(path)
    said = run_json(capsys, "evaluate", path, data[1], "--format", "xc")["scores"]
    assert said["P@1"] > 0.95
    assert said["ECE@1"] < 0.2
    by_label = run_json(capsys, "evaluate", path, data[1], "--format", "xc", "--labelwise")
    labelwise = by_label["scores"]
    assert labelwise["nDCG@5"] > 0.7


def test_predictions_can_be_scored_by_label(data, tmp_path, capsys):
    answers = tmp_path / "answers"
    rows = data[1].read_text().splitlines()[1:]
    answers.write_text("".join(f"{row.split()[0].split(',')[0]}\t1\n" for row in rows))
    arguments = [answers, data[1], "--format", "xc", "--predictions"]
    said = run_json(capsys, "evaluate", *arguments, "--labelwise")["scores"]
    assert said["P@1"] == pytest.approx(4 / 5)  # label 4 is never first
    assert run_json(capsys, "evaluate", *arguments)["scores"]["P@1"] == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0\t0.5\t1", ":2: a line must have"),
        ("0\tmuch", ":2: a line must have"),
        ('{"labels": [1]}', ":2: a line must have"),
        ('{"labels": [1], "probabilities": [0.1, 0.2]}', ":2: a line must have"),
        ("{", ":2: a line must have"),
        ("0\tnan", ":2: scores must be finite"),
        ("0\t-1", ":2: scores must be finite"),
        ("0\t1", "has 2 lines, but"),
    ],
)
def test_bad_predictions_are_named(data, tmp_path, capsys, line, message):
    answers = tmp_path / "answers"
    answers.write_text(f"0\t1\n{line}\n")
    code = main(["evaluate", str(answers), str(data[1]), "--format", "xc", "--predictions"])
    assert code == 1
    assert message in capsys.readouterr().err


def test_training_labels_make_all_labels_count(data, model, tmp_path, capsys):
    single = tmp_path / "single.txt"
    single.write_text("2 12 6\n0 0:1\n2 2:1\n")
    arguments = ["evaluate", model, single, "--format", "xc"]
    assert "accuracy" in run_json(capsys, *arguments)["scores"]
    found = run_json(capsys, *arguments, "--train", data[0])
    assert found["scores"]["PSP@1"] == found["scores"]["P@1"] == 1
    assert main([*map(str, arguments), "--train", str(data[0]), "--labels", "first"]) == 2
    assert "--labels cannot be used with --train, where all labels count" in capsys.readouterr().err


def test_data_without_labels_are_refused(model, tmp_path, capsys):
    path = tmp_path / "none.txt"
    path.write_text("2 12 6\n 0:1\n 1:1\n")
    assert main(["evaluate", str(model), str(path), "--format", "xc", "--multilabel"]) == 1
    assert "No row has a label" in capsys.readouterr().err


def test_an_empty_line_is_a_row_without_predictions(data, tmp_path, capsys):
    answers = tmp_path / "answers"
    answers.write_text(json.dumps({"labels": [0], "probabilities": [1]}) + "\n" + "\n" * 79)
    said = run_json(capsys, "evaluate", answers, data[1], "--format", "xc", "--predictions")
    assert said["predictions"] == 1


def test_the_order_of_answers_ranks_them_whatever_their_probabilities(data, tmp_path, capsys):
    path, lines = tmp_path / "tail", tmp_path / "answers.tsv"
    learned, relevance = truth_of(data[0])
    tail = labeltrees.ExtremeRegressor(n_trees=1, tail="xreg", tail_weight=0.1)
    tail.fit(learned.features, relevance).save(path)
    chunk, truth = truth_of(data[1])
    labels, p = labeltrees.load(path).predict_top_k(chunk.features, 5)
    assert (np.diff(p, axis=1) > 0).any()  # the tail ranks otherwise
    hits = [truth[[row], labels[row, 0]].sum() for row in range(len(labels))]
    arguments = ("evaluate", path, data[1], "--format", "xc")
    said = run_json(capsys, *arguments)["scores"]
    assert said["P@1"] == pytest.approx(np.mean(hits))
    assert main(["predict", str(path), str(data[1]), "--format", "xc", "--top", "5"]) == 0
    lines.write_text(capsys.readouterr().out)
    by_file = run_json(capsys, "evaluate", lines, data[1], "--format", "xc", "--predictions")
    again = by_file["scores"]
    assert again["P@1"] == said["P@1"]
    assert again["ECE@1"] == pytest.approx(said["ECE@1"], abs=1e-5)
