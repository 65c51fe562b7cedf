"""Probabilities and true labels as checked sparse matrices, and sets of labels as a third."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from labeltrees.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    BoolArray = NDArray[np.bool_]
    FloatArray = NDArray[np.float64]
    IntArray = NDArray[np.int64]

_MOST_UNKNOWN = 2**31 - 1


def checked_marginals(P: Any) -> csr_array:
    """Return a copy of the probabilities in canonical CSR of float64, without zeros.

    >>> checked_marginals([[0.5, 0], [0, 1.5]])
    Traceback (most recent call last):
    ...
    labeltrees.errors.ArgumentError: P[1, 1] must be in [0, 1], got 1.5.
    """
    p = _matrix("P", P)
    _raise_at_first("P", p, ~((p.data >= 0) & (p.data <= 1)), "in [0, 1]")
    p.eliminate_zeros()
    return p


class CheckedPairs(NamedTuple):
    """Probabilities, truth with all its entries 1, and how many more labels each row has."""

    p: csr_array
    y: csr_array
    unknown: IntArray


def checked_pairs(P: Any, truth: Any, unknown: ArrayLike | None) -> CheckedPairs:
    """Return probabilities and truth of one shape, neither axis empty."""
    p, y = checked_marginals(P), _matrix("truth", truth)
    _raise_at_first("truth", y, ~(np.isfinite(y.data) & (y.data >= 0)), "finite and >= 0")
    if y.shape != p.shape:
        raise ArgumentError.of("the shape of truth", y.shape, f"{p.shape}, the shape of P")
    if not all(p.shape):
        raise ArgumentError.of("the shape of P", p.shape, "one without zeros")
    y.eliminate_zeros()
    y.data[:] = 1
    return CheckedPairs(p, y, _checked_counts(unknown, p.shape[0]))


def checked_weights(name: str, values: ArrayLike, n_labels: int, *, signed: bool) -> FloatArray:
    """Return a finite number for each label, >= 0 unless ``signed``."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(f"must be an array of numbers: {error}.", argument=name) from None
    if array.shape != (n_labels,):
        raise ArgumentError.of(f"the shape of {name}", array.shape, f"(n_labels={n_labels},)")
    bad = ~np.isfinite(array) if signed else ~(np.isfinite(array) & (array >= 0))
    if bad.any():
        first = int(np.argmax(bad))
        allowed = "finite" if signed else "finite and >= 0"
        raise ArgumentError.of(f"{name}[{first}]", float(array[first]), allowed)
    return array


def rows_of(matrix: csr_array) -> IntArray:
    """Return the row of each stored entry."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def indicator(p: csr_array, kept: BoolArray) -> csr_array:
    """Return the matrix with 1 where a stored entry of ``p`` is kept, in canonical CSR."""
    indptr = np.concatenate(([0], np.cumsum(kept, dtype=np.int64)))[p.indptr]
    ones = np.ones(int(indptr[-1]), dtype=np.int64)
    return csr_array((ones, p.indices[kept], indptr), shape=p.shape)


def by_probability(p: csr_array) -> IntArray:
    """Return the places of the entries of each row, most likely first; equal ones by column.

    Places ``indptr[i]`` to ``indptr[i + 1]`` of the result belong to row i.
    """
    return np.lexsort((p.indices, -p.data, rows_of(p)))


def values_at(matrix: csr_array, places: csr_array) -> FloatArray:
    """Return the values of a canonical matrix at the stored entries of another one, or 0."""
    keys, wanted = (rows_of(each) * matrix.shape[1] + each.indices for each in (matrix, places))
    if not len(keys):
        return np.zeros(len(wanted))
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, matrix.data[place], 0.0)


def _matrix(name: str, matrix: Any) -> csr_array:
    """Return a copy in canonical CSR of float64."""
    if not issparse(matrix):
        try:
            matrix = np.asarray(matrix, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise ArgumentError(f"must be a matrix of numbers: {error}.", argument=name) from None
    if matrix.ndim != 2:
        raise ArgumentError.of(f"the shape of {name}", matrix.shape, "2-dimensional")
    if matrix.dtype.kind not in "biuf":
        raise ArgumentError.of(f"the type of {name}", matrix.dtype.name, "numbers")
    checked = csr_array(matrix, dtype=np.float64, copy=True)
    checked.sum_duplicates()
    return checked


def _raise_at_first(name: str, matrix: csr_array, bad: BoolArray, allowed: str) -> None:
    if bad.any():
        place = int(np.argmax(bad))
        row = int(np.searchsorted(matrix.indptr, place, side="right")) - 1
        where = f"{name}[{row}, {matrix.indices[place]}]"
        raise ArgumentError.of(where, float(matrix.data[place]), allowed)


def _checked_counts(unknown: ArrayLike | None, n_rows: int) -> IntArray:
    """Return how many true labels of each row have no column."""
    if unknown is None:
        return np.zeros(n_rows, dtype=np.int64)
    try:
        counts = np.asarray(unknown)
    except ValueError as error:
        raise ArgumentError(f"must be an array of integers: {error}.", argument="unknown") from None
    if counts.shape != (n_rows,):
        raise ArgumentError.of("the shape of unknown", counts.shape, f"(n_rows={n_rows},)")
    if counts.dtype.kind not in "iu":
        raise ArgumentError.of("the type of unknown", counts.dtype.name, "integers")
    bad = (counts < 0) | (counts > _MOST_UNKNOWN)
    if bad.any():
        first = int(np.argmax(bad))
        raise ArgumentError.of(f"unknown[{first}]", int(counts[first]), "in [0, 2^31 - 1]")
    return counts.astype(np.int64)
