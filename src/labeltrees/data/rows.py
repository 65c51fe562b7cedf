"""Compressed sparse rows that the core can trust, made from the user's matrix."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from labeltrees import _core
from labeltrees.data.ragged import joined_starts, starts_of
from labeltrees.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

MAX_FEATURES = 2**31 - 1
"""Maximum number of features, because feature indices are 32-bit."""

MAX_ROWS = 2**31 - 1
"""Maximum number of rows, because numbers of rows are 32-bit."""

MAX_WEIGHT = 1e9
"""Maximum weight of a row. A float32 holds the squared gradients of 10^20 such rows."""

FEW_FEATURES = 100
"""Maximum number of columns of rows that are a table even if most values are zero, because centring
them costs little."""

DENSE_SHARE = 0.25
"""Smallest share of values that are not zero in a wider table. Texts have 0.01 or less."""

_BAD_OR_MISSING = "inf or a number past float32"
_BAD = f"NaN, {_BAD_OR_MISSING}"


@dataclass(frozen=True, eq=False)
class Rows:
    """Checked compressed sparse rows, with increasing indices and finite values in every row.

    Values may be NaN only if the caller of `as_rows` allowed missing values.

    Row ``r`` holds entries ``starts[r]`` to ``starts[r + 1]`` of ``indices`` and ``values``.

    Examples
    --------
    >>> rows = as_rows([[0, 2.5], [1, 0]])
    >>> rows.shape, rows.take(np.array([1])).indices
    ((2, 2), array([0], dtype=int32))
    """

    starts: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float32]
    n_features: int

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.starts) - 1

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of features."""
        return self.n_rows, self.n_features

    @property
    def is_dense(self) -> bool:
        """Whether the rows are a table of numbers rather than sparse, see `is_dense`."""
        n_places = self.n_rows * self.n_features
        return is_dense(self.n_features, len(self.values) / n_places if n_places else 1.0)

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
        """The three arrays, in the order the core takes them."""
        return self.starts, self.indices, self.values

    def head(self, n_rows: int) -> Self:
        """Return the first rows, without a copy."""
        end = self.starts[n_rows]
        return type(self)(
            self.starts[: n_rows + 1], self.indices[:end], self.values[:end], self.n_features
        )

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Return the rows with these numbers, in their order."""
        numbers = np.arange(self.n_rows)[rows]  # This also allows masks and negative numbers.
        return type(self)(*_core.take_rows(*self.arrays, numbers), self.n_features)

    def cut(self, n_features: int) -> Rows:
        """Return the rows with only the first features.

        >>> as_rows([[0, 2.5], [1, 0]]).cut(1).to_csr().toarray().tolist()
        [[0.0], [1.0]]
        """
        kept = self.indices < n_features
        starts = np.concatenate(([0], np.cumsum(kept)))[self.starts]
        return Rows(starts, self.indices[kept], self.values[kept], n_features)

    def to_csr(self) -> csr_array:
        """Return the rows as a scipy array that shares their indices and values.

        >>> as_rows([[0, 2.5], [1, 0]]).to_csr().toarray()
        array([[0. , 2.5],
               [1. , 0. ]], dtype=float32)
        """
        from scipy.sparse import csr_array

        # With 64-bit row starts, scipy would copy the indices to 64 bits as well.
        starts = self.starts.astype(np.int32) if len(self.indices) < 2**31 else self.starts
        matrix = csr_array((self.values, self.indices, starts), shape=self.shape)
        matrix.has_canonical_format = True  # Indices increase, so scipy need not check them.
        return matrix


def is_dense(n_features: int, density: float) -> bool:
    """Return whether rows are a table of numbers, by their width and their share of values.

    Profiles of files and models that standardise dense columns both go by this rule.

    >>> is_dense(100, 0.01), is_dense(101, 0.24), is_dense(101, 0.25)
    (True, False, True)
    """
    return n_features <= FEW_FEATURES or density >= DENSE_SHARE


def stacked(parts: Sequence[Rows]) -> Rows:
    """Return the rows of all parts, which may differ in width if their files have none.

    >>> stacked([as_rows([[0, 2.5]]), as_rows([[1, 0]])]).shape
    (2, 2)
    """
    if len(parts) == 1:
        return parts[0]
    return Rows(
        joined_starts([part.starts for part in parts]),
        np.concatenate([part.indices for part in parts]),
        np.concatenate([part.values for part in parts]),
        max(part.n_features for part in parts),
    )


def as_rows(X: Any, *, n_features: int | None = None, missing: bool = False) -> Rows:
    """Return ``X`` as checked sparse rows, or raise `DataError` with the first bad row.

    Parameters
    ----------
    X : sparse or dense matrix, data frame, nested lists or `Rows`, (n_rows, n_features)
        Float32 CSR with sorted indices is not copied. Only the shape of `Rows` is checked, because
        their values were checked before.
    n_features : int, optional
        The width that ``X`` must have.
    missing : bool
        Whether NaN is allowed. If so, zeros of dense ``X`` are kept, because this is faster.

    Examples
    --------
    >>> rows = as_rows([[0, 2.5], [1, 0]])
    >>> rows.starts, rows.indices, rows.values
    (array([0, 1, 2]), array([1, 0], dtype=int32), array([2.5, 1. ], dtype=float32))
    """
    if isinstance(X, Rows):
        _check_shape(X.shape, n_features)
        return X
    is_sparse = _is_sparse(X)
    matrix = X.tocsr() if is_sparse else _dense(X)
    if matrix.ndim != 2:
        raise DataError(
            f"X must have two dimensions, got {matrix.ndim}. Reshape your data with "
            "X.reshape(1, -1) for one row or X.reshape(-1, 1) for one feature."
        )
    _check_shape(matrix.shape, n_features)
    if is_sparse:
        return _checked(matrix, missing=missing)
    return _all_entries(matrix) if missing else _nonzero_entries(matrix)


def _is_sparse(X: Any) -> bool:
    """Return whether ``X`` is a scipy matrix, which is impossible before scipy is imported."""
    scipy_sparse = sys.modules.get("scipy.sparse")
    return scipy_sparse is not None and bool(scipy_sparse.issparse(X))


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
    """Return dense rows with their zeros. NaN is allowed."""
    n_rows, n_features = array.shape
    indices = np.tile(np.arange(n_features, dtype=np.int32), n_rows)
    starts = np.arange(0, indices.size + 1, n_features, dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.ascontiguousarray(array, dtype=np.float32).ravel()
    _refuse(np.isinf(values), starts, array.ravel(), _BAD_OR_MISSING)
    return Rows(starts, indices, values, n_features)


def _nonzero_entries(array: NDArray[Any]) -> Rows:
    """Return dense rows without their zeros."""
    n_features = array.shape[1]
    kept = array != 0
    starts = starts_of(np.count_nonzero(kept, axis=1))
    indices = np.broadcast_to(np.arange(n_features, dtype=np.int32), array.shape)[kept]
    entries = array[kept]
    with np.errstate(over="ignore", invalid="ignore"):
        values = entries.astype(np.float32)
    _refuse(~np.isfinite(values), starts, entries, _BAD)
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
    if shape[0] > MAX_ROWS:
        raise DataError(f"X may have at most {MAX_ROWS} rows, got {shape[0]}. Pass them in parts.")
    if shape[1] > MAX_FEATURES:
        raise DataError(f"X may have at most {MAX_FEATURES} features, got {shape[1]}.")
    if n_features is not None and shape[1] != n_features:
        raise DataError(f"X must have {n_features} features, got {shape[1]}.")


def _checked(matrix: Any, *, missing: bool = False) -> Rows:
    starts = np.asarray(matrix.indptr, dtype=np.int64)
    indices, values = matrix.indices, matrix.data
    if indices.dtype == np.int32 and values.dtype == np.float32 and len(starts) > matrix.shape[0]:
        arrays = starts, np.ascontiguousarray(indices), np.ascontiguousarray(values)
        if _core.is_tidy(
            *arrays, matrix.shape[1], missing
        ):  # This is the common case, in one pass.
            return Rows(*arrays, int(matrix.shape[1]))
    if values.dtype.kind == "c":
        raise DataError("Complex data not supported: X must be real.")
    starts = starts.copy()  # Another thread may change them after the check.
    if len(starts) != matrix.shape[0] + 1 or starts[0] != 0 or np.any(np.diff(starts) < 0):
        raise DataError("the row pointers of X must start at 0 and never decrease.")
    if starts[-1] > len(indices) or starts[-1] > len(values):
        raise DataError(f"the row pointers of X end past its {len(indices)} entries.")
    indices, values = indices[: starts[-1]], values[: starts[-1]]
    wrong = (indices < 0) | (indices >= matrix.shape[1])
    _refuse(wrong, starts, indices, f"a feature index outside [0, {matrix.shape[1]})")
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.ascontiguousarray(values, dtype=np.float32)
    wrong, named = (np.isinf(values), _BAD_OR_MISSING) if missing else (~np.isfinite(values), _BAD)
    _refuse(wrong, starts, matrix.data, named)
    indices = np.ascontiguousarray(indices, dtype=np.int32)
    inside = np.ones(len(indices), dtype=bool)  # Entries that are not the first of their row.
    inside[starts[:-1][starts[:-1] < len(inside)]] = False
    if np.any((np.diff(indices, prepend=-1) <= 0) & inside):
        from scipy.sparse import csr_array

        tidy = csr_array((values, indices, starts), shape=matrix.shape, copy=True)
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


def as_weights(
    sample_weight: ArrayLike | None, n_rows: int, *, name: str = "sample_weight"
) -> NDArray[np.float32]:
    """Return one float32 weight per row, or an empty array if ``sample_weight`` is None.

    An empty array stands for rows of weight 1. Errors refer to the weights as ``name``.

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
            name, f"shape {weights.shape}", f"of shape ({n_rows},), one weight per row"
        )
    check_weights(weights, name=name)
    return weights.astype(np.float32)


def check_weights(weights: NDArray[np.floating[Any]], *, name: str = "sample_weight") -> None:
    """Raise `ArgumentError` unless every weight is in [0, MAX_WEIGHT].

    >>> check_weights(np.array([1, -1]))
    Traceback (most recent call last):
    ...
    labeltrees.errors.ArgumentError: sample_weight[1] must be in [0, 1e+09], got -1.0.
    """
    wrong = ~((weights >= 0) & (weights <= MAX_WEIGHT))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ArgumentError.of(f"{name}[{row}]", float(weights[row]), f"in [0, {MAX_WEIGHT:g}]")
