"""as_targets and check_training: one label per row, or an error that says what y is instead."""

from __future__ import annotations

import numpy as np
import pytest

from labeltrees.data.targets import as_targets, check_training, learned_labels
from labeltrees.errors import ArgumentError, DataError, LabelTypeError


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (["a", "b"], ["a", "b"]),
        (np.array(["a", "b"]), ["a", "b"]),
        ([3, -1], [3, -1]),
        (np.array([3.0, -1.0]), [3, -1]),
        (np.array([3.0, -1.0], np.float32), [3, -1]),
        (np.array([[3], [1]]), [3, 1]),
        (np.array([[3.0], [1.0]]), [3, 1]),
        ([["a"], ["b"]], ["a", "b"]),
        ([], []),
    ],
)
def test_labels_become_an_array_of_one_dimension(y, expected):
    found = as_targets(y)
    assert found.ndim == 1
    assert found.dtype.kind != "f"
    assert found.tolist() == expected


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed, but the target y is None"),
        (np.array([1, 2, 0.5]), r"^Unknown label type: continuous\. .* got 0\.5 in row 2\."),
        (np.array([[0.25], [1]]), r"^Unknown label type: continuous\. .* got 0\.25 in row 0\."),
        (np.array([np.nan, 1]), "Input y contains NaN or infinity"),
        (np.array([np.inf, 1]), "Input y contains NaN or infinity"),
        (np.zeros((3, 2)), r"y must have one label per row, got an array of shape \(3, 2\)"),
        ([["a", "b"]], r"y must have one label per row, got an array of shape \(1, 2\)"),
        (np.zeros((3, 1, 1)), r"got an array of shape \(3, 1, 1\)"),
        (7, r"got an array of shape \(\)"),
    ],
)
def test_what_is_not_one_label_per_row_is_refused(y, message):
    with pytest.raises(DataError, match=message):
        as_targets(y)


@pytest.mark.parametrize("y", [2.0**63, -(2.0**64), 1e300])
def test_a_float_past_64_bits_is_refused_and_never_wraps(y):
    with pytest.raises(LabelTypeError, match=r"integer labels must lie in \[-2\^63, 2\^63\)"):
        as_targets(np.array([1.0, y]))


def test_training_data_must_agree_in_length_and_have_weight():
    rows, labels, weights = check_training(np.eye(2), ["a", "b"], [1, 0])
    assert (rows.n_rows, labels.tolist(), weights.tolist()) == (2, ["a", "b"], [1, 0])
    assert learned_labels(labels, weights).tolist() == ["a"]
    with pytest.raises(DataError, match="y has 3 labels for the 2 rows of X"):
        check_training(np.eye(2), [1, 2, 3], None)
    with pytest.raises(ArgumentError, match="sample_weight must have a weight above zero"):
        check_training(np.eye(2), [1, 2], [0, 0])
