"""Accuracy, the share of rows whose true label is among the k most likely."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.errors import ArgumentError
from labeltrees.metrics.arrays import check_length, checked_labels, weighted_mean

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def top_k_accuracy(
    y_true: ArrayLike, top_labels: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return the fraction of rows whose true label is among the k that were returned.

    Parameters
    ----------
    y_true : array of shape (n_rows,)
        The true labels, strings or integers.
    top_labels : array of shape (n_rows, k)
        The labels that ``predict_top_k`` returned; ``top_labels[:, :1]`` gives accuracy. A row with
        fewer labels is padded with a value that is not a label, for example None.
    sample_weight : array of shape (n_rows,), optional
        Weights >= 0 of the rows.

    Examples
    --------
    >>> top_k_accuracy(["a", "b"], [["c", "a"], ["a", "c"]])
    0.5
    """
    hits = np.asarray(matches(y_true, top_labels).any(axis=1), dtype=np.float64)
    return weighted_mean(hits, sample_weight)


def matches(y_true: Any, top_labels: Any) -> NDArray[np.bool_]:
    """Return, of shape (n_rows, k), whether each returned label is its row's true label."""
    truth = checked_labels("y_true", y_true, ndim=1)
    top = checked_labels("top_labels", top_labels, ndim=2)
    check_length("top_labels", top, len(truth))
    if truth.dtype == object and any(label is None for label in truth):
        raise ArgumentError.of("y_true", None, "strings or integers")
    kinds = {"text" if a.dtype.kind in "UT" else a.dtype.kind for a in (truth, top)}
    if "text" in kinds and kinds & {"i", "u"}:
        raise ArgumentError(
            "y_true and top_labels must both be strings or both be integers, got "
            f"{truth.dtype.name} and {top.dtype.name}."
        )
    return np.asarray(top == truth[:, np.newaxis], dtype=bool)
