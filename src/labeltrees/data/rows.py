"""From whatever the user has to compressed sparse rows the core can trust."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from labeltrees import _core
from labeltrees.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["MAX_FEATURES", "Rows", "as_rows", "as_weights"]

MAX_FEATURES = 2**31 - 1
"""Feature indices are 32-bit; a matrix may be at most this wide."""


@dataclass(frozen=True)
class Rows:
    """Checked compressed sparse rows: indices increase in every row, values are finite or NaN.

    NaN only where the caller of `as_rows` allowed missing values.

    Row ``r`` holds entries ``starts[r]`` to ``starts[r + 1]`` of ``indices`` and ``values``.
    """

    starts: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float32]
    n_features: int

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.starts) - 1

    def take(self, rows: NDArray[np.intp]) -> Rows:
        """Return the rows with these numbers, in their order."""
        numbers = np.ascontiguousarray(rows, dtype=np.int64)
        return Rows(*_core.take_rows(*self.arrays, numbers), self.n_features)

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
        """The three arrays, in the order the core takes them."""
        return self.starts, self.indices, self.values


def as_rows(X: Any, *, n_features: int | None = None, missing: bool = False) -> Rows:
    """Return ``X`` as checked sparse rows; raise `DataError` naming the first bad row.

    Parameters
    ----------
    X : sparse matrix or array, array, data frame or nested lists of shape (n_rows, n_features)
        Nothing is copied that is already float32 CSR with sorted indices.
    n_features : int, optional
        The width that ``X`` must have.
    missing : bool
        Whether NaN is a value like others. Zeros of dense ``X`` are then kept: it is faster.

    Examples
    --------
    >>> rows = as_rows([[0, 2.5], [1, 0]])
    >>> rows.starts, rows.indices, rows.values
    (array([0, 1, 2]), array([1, 0], dtype=int32), array([2.5, 1. ], dtype=float32))
    """
    matrix = X.tocsr() if sparse.issparse(X) else _dense(X)
    if matrix.ndim != 2:
        raise DataError(
            f"X must have two dimensions, got {matrix.ndim}. Reshape your data: "
            "X.reshape(1, -1) is one row, X.reshape(-1, 1) one feature."
        )
    _check_shape(matrix.shape, n_features)
    if not sparse.issparse(matrix):
        if missing:
            return _all_entries(matrix)
        matrix = sparse.csr_array(matrix)
    return _checked(matrix, missing=missing)


def _dense(X: Any) -> NDArray[Any]:
    array = np.asarray(X)
    if array.dtype.kind == "c":
        raise DataError("Complex data not supported: X must be real.")
    if array.dtype.kind in "OSUV":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else DataError
            raise kind(f"X must be numbers: {error}") from None
    elif array.dtype.kind not in "fiub":
        raise DataError(f"X must be numbers, got dtype {array.dtype}.")
    return array


def _all_entries(array: NDArray[Any]) -> Rows:
    """Return dense rows with their zeros; NaN is allowed."""
    n_rows, n_features = array.shape
    indices = np.tile(np.arange(n_features, dtype=np.int32), n_rows)
    starts = np.arange(0, indices.size + 1, n_features, dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.ascontiguousarray(array, dtype=np.float32).ravel()
    _refuse(np.isinf(values), starts, array.ravel(), "inf or a number past float32")
    return Rows(starts, indices, values, n_features)


def _check_shape(shape: tuple[int, int], n_features: int | None) -> None:
    if shape[0] == 0:
        raise DataError(
            f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required."
        )
    if shape[1] == 0:
        raise DataError(
            f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required."
        )
    if shape[1] > MAX_FEATURES:
        raise DataError(f"X may have at most {MAX_FEATURES} features, got {shape[1]}.")
    if n_features is not None and shape[1] != n_features:
        raise DataError(f"X must have {n_features} features, got {shape[1]}.")


def _checked(matrix: Any, *, missing: bool = False) -> Rows:
    starts = np.asarray(matrix.indptr, dtype=np.int64)
    indices, values = matrix.indices, matrix.data
    if indices.dtype == np.int32 and values.dtype == np.float32 and len(starts) > matrix.shape[0]:
        arrays = starts, np.ascontiguousarray(indices), np.ascontiguousarray(values)
        if _core.is_tidy(*arrays, matrix.shape[1], missing):  # the common case, in one pass
            return Rows(*arrays, int(matrix.shape[1]))
    if values.dtype.kind == "c":
        raise DataError("Complex data not supported: X must be real.")
    if len(starts) != matrix.shape[0] + 1 or starts[0] != 0 or np.any(np.diff(starts) < 0):
        raise DataError("the row pointers of X must start at 0 and never decrease.")
    if starts[-1] > len(indices) or starts[-1] > len(values):
        raise DataError(f"the row pointers of X end past its {len(indices)} entries.")
    indices, values = indices[: starts[-1]], values[: starts[-1]]
    wrong = (indices < 0) | (indices >= matrix.shape[1])
    _refuse(wrong, starts, indices, f"a feature index outside [0, {matrix.shape[1]})")
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.ascontiguousarray(values, dtype=np.float32)
    wrong, named = ~np.isfinite(values), "NaN, inf or a number past float32"
    if missing:
        wrong, named = np.isinf(values), "inf or a number past float32"
    _refuse(wrong, starts, matrix.data, named)
    indices = np.ascontiguousarray(indices, dtype=np.int32)
    inside = np.ones(len(indices), dtype=bool)  # entries that follow another of their row
    inside[starts[:-1][starts[:-1] < len(inside)]] = False
    if np.any((np.diff(indices, prepend=-1) <= 0) & inside):
        tidy = sparse.csr_array((values, indices, starts), shape=matrix.shape, copy=True)
        tidy.sum_duplicates()
        starts, indices, values = tidy.indptr.astype(np.int64), tidy.indices, tidy.data
        past = np.isinf(values) if missing else ~np.isfinite(values)
        _refuse(past, starts, values, "duplicates that add up past float32")
        indices = np.ascontiguousarray(indices, dtype=np.int32)
    return Rows(starts, indices, values, int(matrix.shape[1]))


def _refuse(
    wrong: NDArray[np.bool_], starts: NDArray[np.int64], shown: NDArray[Any], what: str
) -> None:
    if not wrong.any():
        return
    entry = int(np.argmax(wrong))
    row = int(np.searchsorted(starts, entry, side="right")) - 1
    raise DataError(f"row {row} of X has {what}: {shown[entry]}.")


def as_weights(sample_weight: ArrayLike | None, n_rows: int) -> NDArray[np.float32]:
    """Return one float32 weight per row, or an empty array for "all rows count once".

    >>> as_weights([1, 0.5], 2)
    array([1. , 0.5], dtype=float32)
    """
    if sample_weight is None:
        return np.empty(0, dtype=np.float32)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise ArgumentError.of(
            "sample_weight", f"shape {weights.shape}", f"of shape ({n_rows},), one weight a row"
        )
    with np.errstate(over="ignore"):
        narrow = weights.astype(np.float32)
    wrong = ~(np.isfinite(narrow) & (weights >= 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ArgumentError.of(f"sample_weight[{row}]", float(weights[row]), "finite and >= 0")
    return narrow
