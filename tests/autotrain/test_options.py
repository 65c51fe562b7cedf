"""The method that suits rows in memory, by their profile."""

from __future__ import annotations

import numpy as np
import pytest

from labeltrees.autotrain._options import method_for
from labeltrees.data.chunk import Chunk
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.readers import DataProfile
from labeltrees.data.rows import Rows


def profile_of(labels: list[list], relevance: list[float] | None = None) -> DataProfile:
    flat = [label for row in labels for label in row]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in labels])]).astype(np.int64)
    n = len(labels)
    rows = Rows(np.zeros(n + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), 1)
    grades = None if relevance is None else np.array(relevance, np.float32)
    array = np.array(flat, dtype=object if isinstance(flat[0], str) else np.int64)
    return DataProfile.of([Chunk(rows, RaggedLabels(array, starts, grades), None, 1)])


def test_one_label_per_row_gives_conditional_trees() -> None:
    profile = profile_of([["a"], ["b"], ["a"]])
    assert not profile.several_labels
    assert method_for(profile)[0] == "conditional"


def test_several_labels_per_row_give_extreme_regression() -> None:
    profile = profile_of([[1, 2], [3], [1]])
    assert profile.several_labels
    assert profile.labels_per_row == pytest.approx(4 / 3)
    assert method_for(profile)[0] == "xreg"


def test_a_few_rows_with_two_labels_may_be_mistakes() -> None:
    rows: list[list] = [["a"], ["b"]] * 150
    assert not profile_of([*rows, ["a", "b"]]).several_labels
    assert profile_of([*rows, *[["a", "b"]] * 10]).several_labels


def test_grades_of_relevance_give_extreme_regression() -> None:
    assert method_for(profile_of([[1], [2]], [3.5, 1.0]))[0] == "xreg"
    assert method_for(profile_of([[1], [2]], [1.0, 1.0]))[0] == "conditional"


@pytest.mark.parametrize("n_labels", [2, 10, 150])
def test_files_sorted_by_label_are_noticed_and_mixed_ones_are_not(n_labels: int) -> None:
    labels = np.repeat(np.arange(n_labels), 20)
    assert profile_of([[int(label)] for label in labels]).sorted_labels
    mixed = np.random.default_rng(0).permutation(labels)
    assert not profile_of([[int(label)] for label in mixed]).sorted_labels


def test_one_frequent_label_is_not_an_order() -> None:
    labels = np.random.default_rng(0).random(500) < 0.05
    assert not profile_of([[int(label)] for label in labels]).sorted_labels
