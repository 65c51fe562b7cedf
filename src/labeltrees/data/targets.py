"""From whatever the user has to rows, one label each, and their weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.data.rows import Rows, as_rows, as_weights
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["as_targets", "check_training", "learned_labels"]


def check_training(
    X: Any, y: ArrayLike, sample_weight: ArrayLike | None, *, missing: bool = False
) -> tuple[Rows, NDArray[Any], NDArray[np.float32]]:
    """Return rows, labels and weights (none: empty) to learn from, or raise and change nothing.

    ``missing`` allows NaN in ``X``.
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
    """Return one label a row as an array, or raise."""
    if y is None:
        raise DataError("this estimator requires y to be passed, but the target y is None.")
    array = np.asarray(y) if hasattr(y, "__array__") else np.array(y, dtype=object)
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise DataError("Input y contains NaN or infinity.")
        _refuse_fractions(array)
        array = array.astype(np.int64)  # whole numbers, by the line above
    return array if array.ndim == 1 else _one_column(array)


def _refuse_fractions(array: NDArray[Any]) -> None:
    from sklearn.utils.multiclass import check_classification_targets  # slow to import: when needed

    check_classification_targets(array)


def _one_column(array: NDArray[Any]) -> NDArray[Any]:
    from sklearn.utils.validation import column_or_1d

    return np.asarray(column_or_1d(array, warn=True))
