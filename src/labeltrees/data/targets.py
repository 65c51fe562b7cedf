"""From the user's data to rows, labels of rows, and weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.data.labels import RaggedLabels
from labeltrees.data.rows import Rows, as_rows, as_weights
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ArgumentError, DataError, LabelTypeError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_LISTS = (list, tuple, set, frozenset, np.ndarray)


def check_training(
    X: Any, y: ArrayLike, sample_weight: ArrayLike | None, *, missing: bool = False
) -> tuple[Rows, NDArray[Any], NDArray[np.float32]]:
    """Return rows, labels and weights to learn from, or raise and change nothing.

    The weights are empty if none are given. ``missing`` allows NaN in ``X``.

    >>> rows, labels, weights = check_training([[0, 1], [2, 0]], ["a", "b"], None)
    >>> rows.n_rows, labels.tolist(), len(weights)
    (2, ['a', 'b'], 0)
    """
    targets = as_targets(y)
    rows = as_rows(X, missing=missing)
    if len(targets) != rows.n_rows:
        raise DataError(f"y has {len(targets)} labels for the {rows.n_rows} rows of X.")
    weights = as_weights(sample_weight, rows.n_rows)
    if len(weights) and not weights.any():
        raise ArgumentError("sample_weight must have a weight above zero, got none.")
    return rows, targets, weights


def learned_labels(targets: NDArray[Any], weights: NDArray[np.float32]) -> NDArray[Any]:
    """Return the labels of rows that count, each once and sorted; ``weights`` may be empty.

    >>> learned_labels(np.array([3, 1, 3, 2]), np.array([1, 1, 1, 0], dtype=np.float32)).tolist()
    [1, 3]
    """
    return np.sort(LabelVocabulary(targets[weights > 0] if len(weights) else targets).labels)


def as_targets(y: Any) -> NDArray[Any]:
    """Return one label per row as an array of one dimension, or raise `DataError`.

    Whole floats become integers, and a single column becomes one dimension.

    >>> as_targets(np.array([[2.0], [1.0]])).tolist()
    [2, 1]
    """
    if y is None:
        raise DataError("this estimator requires y to be passed, but the target y is None.")
    array = np.asarray(y) if hasattr(y, "__array__") else np.array(y, dtype=object)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.ravel()
    if array.ndim != 1:
        raise DataError(f"y must have one label per row, got an array of shape {array.shape}.")
    return _whole(array) if array.dtype.kind == "f" else array


def weighted_by_label(
    targets: NDArray[Any], weights: NDArray[np.float32], class_weight: Any
) -> NDArray[np.float32]:
    """Return the weights of rows times those of their labels; ``weights`` may be empty.

    "balanced" gives a label n_rows / (n_labels n) of its n rows, of weight above zero; a dict gives
    a label its weight, and 1 to labels that it does not have.

    >>> none = np.empty(0, dtype=np.float32)
    >>> weighted_by_label(np.array(["a", "b", "b"]), none, "balanced").tolist()
    [1.5, 0.75, 0.75]
    """
    if class_weight is None:
        return weights
    own = weights.astype(np.float64) if len(weights) else np.ones(len(targets))
    vocabulary = LabelVocabulary()
    ids = vocabulary.add(targets)
    if class_weight == "balanced":
        counts = np.bincount(ids[own > 0], minlength=len(vocabulary))
        of_label = counts.sum() / (np.count_nonzero(counts) * np.maximum(counts, 1))
    else:
        labels = vocabulary.labels.tolist()
        of_label = np.array([class_weight.get(label, 1.0) for label in labels])
    return as_weights(own * of_label[ids], len(targets))


def as_candidates(y: Any) -> RaggedLabels | None:
    """Return several labels of each row, from a matrix or from lists; None if y has one each.

    >>> as_candidates([["a", "b"], [], ["a"]]).starts.tolist(), as_candidates(["a", "b"])
    ([0, 2, 2, 3], None)
    """
    if getattr(y, "ndim", 1) == 2:
        matrix = np.asarray(y)
        starts = np.arange(len(matrix) + 1, dtype=np.int64) * matrix.shape[1]
        return RaggedLabels(matrix.ravel(), starts)
    rows = y.tolist() if hasattr(y, "tolist") else list(y)
    lists = [isinstance(row, _LISTS) for row in rows]
    if not any(lists):
        return None
    if not all(lists):
        row = lists.index(False)
        raise DataError(
            f"y must have labels or lists of labels, got both. Row {row} is not a list."
        )
    return RaggedLabels.of_lists(rows)


def _whole(array: NDArray[Any]) -> NDArray[np.int64]:
    """Return floats as integers; scikit-learn's checks look for the first words of the errors."""
    if not np.isfinite(array).all():
        raise DataError("Input y contains NaN or infinity.")
    fractions = array != np.floor(array)
    if fractions.any():
        raise DataError(
            "Unknown label type: continuous. Labels must be strings or whole numbers, got "
            f"{array[np.argmax(fractions)]} in row {np.argmax(fractions)}."
        )
    if (array < -(2.0**63)).any() or (array >= 2.0**63).any():
        raise LabelTypeError("integer labels must lie in [-2^63, 2^63).")
    return array.astype(np.int64)
