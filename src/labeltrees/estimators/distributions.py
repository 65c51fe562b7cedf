"""Check targets that are distributions, which are rows of probabilities, dense or sparse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def is_distributions(y: Any) -> bool:
    """Return whether targets have columns, which makes them distributions instead of labels.

    >>> is_distributions([[0.5, 0.5]]), is_distributions(["a", "b"]), is_distributions([[1], [2]])
    (True, False, False)
    """
    if sparse.issparse(y):
        return True
    array = np.asarray(y) if hasattr(y, "__array__") else np.array(y, dtype=object)
    return array.ndim == 2 and array.shape[1] > 1


def no_class_weight(class_weight: Any) -> None:
    """Raise `ArgumentError` if there are label weights for targets that are distributions.

    >>> no_class_weight("balanced")
    Traceback (most recent call last):
    ...
    labeltrees.errors.ArgumentError: class_weight must be None where y has distributions, ...
    """
    if class_weight is not None:
        raise ArgumentError.of("class_weight", class_weight, "None where y has distributions")


def as_distributions(
    P: Any, n_rows: int, classes: ArrayLike | None
) -> tuple[sparse.csr_array, LabelVocabulary]:
    """Return checked rows of probabilities without zeros, a copy, and the labels of the columns.

    >>> matrix, labels = as_distributions([[0.5, 0.5, 0], [0, 0, 1]], 2, ["a", "b", "c"])
    >>> matrix.indices.tolist(), labels.labels.tolist()
    ([0, 1, 2], ['a', 'b', 'c'])
    """
    try:
        matrix = sparse.csr_array(P, dtype=np.float64, copy=True)
    except (TypeError, ValueError) as error:
        raise DataError(f"y must be labels or rows of probabilities: {error}") from None
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if matrix.shape[0] != n_rows:
        raise DataError(f"y has {matrix.shape[0]} rows for the {n_rows} rows of X.")
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    wrong = ~(np.abs(sums - 1) <= 1e-6)
    if np.any(~(matrix.data > 0)) or wrong.any():
        raise DataError(
            "y has two dimensions, so its rows must be probabilities >= 0 that sum to 1, but "
            f"row {int(np.argmax(wrong))} sums to {sums[np.argmax(wrong)]:g}."
        )
    names = np.arange(matrix.shape[1]) if classes is None else classes
    vocabulary = LabelVocabulary(names)
    if len(vocabulary) != matrix.shape[1]:
        raise ArgumentError.of("classes", names, f"{matrix.shape[1]} different labels")
    return matrix, vocabulary
