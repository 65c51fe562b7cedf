"""`which`, `train` and `stream` describe a file alike, on both sides of each threshold."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.cli.test_cli import run_json

import labeltrees
from labeltrees.cli import main
from labeltrees.data.readers import DataProfile, open_reader, profile_file
from labeltrees.data.readers.detection.profile import SORTED_RUNS_SHARE

if TYPE_CHECKING:
    from pathlib import Path

N_ROWS = 401


def write_runs(path: Path, n_runs: int) -> Path:
    """Rows of two labels, almost equally frequent, in this number of runs."""
    ends = np.linspace(0, N_ROWS, n_runs + 1).round().astype(int)
    labels = np.repeat(np.arange(n_runs) % 2, np.diff(ends))
    path.write_text("".join(f"{'ab'[at]}\tword {at} {row}\n" for row, at in enumerate(labels)))
    return path


def n_shuffled(path: Path) -> float:
    """The number of runs of such a file when shuffled, by the formula of the docstring."""
    labels = np.array([line[0] for line in path.read_text().splitlines()])
    shares = np.array([(labels == name).mean() for name in "ab"])
    return float(1 + (N_ROWS - 1) * (1 - (shares**2).sum()))


def write_dense(path: Path, n_features: int, n_values: int) -> Path:
    """Rows that each have this number of values other than zero, in columns that all occur."""
    X = np.zeros((210, n_features), np.float32)
    for row in range(len(X)):
        X[row, (np.arange(n_values) + 7 * row) % n_features] = 1 + row % 3
    np.savez(path, X=X, y=np.arange(len(X)) % 3)
    return path


def same_profiles(path: Path) -> DataProfile:
    """The profile of the file, checked to be that of its rows in memory."""
    first = profile_file(path)
    whole = DataProfile.of(open_reader(path))
    chunked = DataProfile.of(open_reader(path, chunk_rows=17))
    assert first.is_whole
    facts = first.to_dict() | {"format": None}
    assert facts == whole.to_dict() == chunked.to_dict()
    return first


@pytest.mark.parametrize(
    ("n_runs", "is_sorted"), [(2, True), (50, True), (51, False), (101, False)]
)
def test_all_commands_agree_on_what_is_sorted(n_runs, is_sorted, tmp_path, capsys):
    path = write_runs(tmp_path / "rows.tsv", n_runs)
    assert (n_runs < SORTED_RUNS_SHARE * n_shuffled(path)) is is_sorted
    assert same_profiles(path).sorted_labels is is_sorted
    assert run_json(capsys, "which", path)["sorted_labels"] is is_sorted
    trained = run_json(capsys, "train", path, "-o", tmp_path / "m", "--fast")
    assert any("sorted by label" in sentence for sentence in trained["found"]) is is_sorted
    assert main(["stream", str(path)]) == 0
    assert ("sorted by label" in capsys.readouterr().err) is is_sorted


@pytest.mark.parametrize(
    ("n_features", "n_values", "is_dense"),
    [(100, 2, True), (101, 2, False), (104, 25, False), (104, 26, True)],
)
def test_all_commands_agree_on_what_is_dense(n_features, n_values, is_dense, tmp_path, capsys):
    path = write_dense(tmp_path / "rows.npz", n_features, n_values)
    profile = same_profiles(path)
    assert (profile.n_features, profile.is_dense) == (n_features, is_dense)
    assert run_json(capsys, "which", path)["is_dense"] is is_dense
    run_json(capsys, "train", path, "-o", tmp_path / "trained", "--fast")
    assert main(["stream", str(path), "-o", str(tmp_path / "streamed")]) == 0
    for name in ("trained", "streamed"):  # a model standardises the columns of dense rows
        model = labeltrees.load(tmp_path / name)
        assert (model.model_.columns.moments is not None) is is_dense


@pytest.mark.parametrize(("n_pairs", "several"), [(2, False), (3, True)])
def test_all_commands_agree_on_what_has_several_labels(n_pairs, several, tmp_path, capsys):
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1\n2 2:1\n" * ((300 - n_pairs) // 2) + "1,2 1:1 2:1\n" * n_pairs)
    profile = same_profiles(path)
    assert profile.several_labels is several
    found = run_json(capsys, "which", path)
    assert (found["several_labels"], found["model"] == "xreg") == (several, several)
    trained = run_json(capsys, "train", path, "-o", tmp_path / "m", "--fast")
    assert (trained["method"] == "xreg") is several
    assert main(["stream", str(path)]) == 0
    assert ("--model multilabel" in capsys.readouterr().err) is several


def test_a_long_beginning_with_one_label_is_sorted_and_a_whole_file_of_one_label_is_not():
    (chunk,) = open_reader(_lines("a\tsome words\n" * 50))
    assert not DataProfile.of([chunk]).sorted_labels
    assert DataProfile.of([chunk], is_whole=False).sorted_labels


def test_a_profile_is_refined_by_all_rows():
    (first,) = open_reader(_lines("1,2 1:1\n" * 3 + "3 2:1\n" * 3))
    (whole,) = open_reader(_lines("1,2 1:1\n" + "".join(f"{at} 1:1\n" for at in range(3, 202))))
    profile = DataProfile.of([first], is_whole=False, n_unlabelled=2)
    assert (profile.n_rows, profile.n_unlabelled, profile.n_labelled) == (8, 2, 6)
    refined = profile.refined(whole, n_unlabelled=5)
    assert (refined.n_rows, refined.n_labelled, refined.n_labels) == (205, 200, 201)
    assert refined.labels_per_row == pytest.approx(201 / 200)
    assert (refined.several_labels, DataProfile.of([whole]).several_labels) == (True, False)
    assert refined.is_whole
    assert refined.n_features == 2


def _lines(text: str):
    return io.BytesIO(text.encode())
