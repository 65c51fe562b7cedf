"""Arrays that NumPy or scipy saved as ``.npz``."""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.data.chunk import Chunk
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.readers.assembly import CHUNK_ROWS, check_chunk_rows
from labeltrees.data.readers.parquet import seekable
from labeltrees.data.readers.source import MAX_LINE_BYTES, Source, check_line_limit, source_name
from labeltrees.data.rows import MAX_FEATURES, Rows, as_rows
from labeltrees.errors import DataError, DataFileError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from labeltrees.store import Tensors

_FEATURES = ("X", "x", "features", "data")
_LABELS = ("y", "Y", "labels", "label", "target", "targets", "distributions")
_PARTS = ("data", "indices", "indptr", "shape")
_SUM_ERROR = 1e-4

_DAMAGED = (
    OSError,
    EOFError,
    KeyError,
    ValueError,
    NotImplementedError,  # zipfile does not know the version or the compression.
    zipfile.BadZipFile,
    zlib.error,
)
"""Errors that zipfile and NumPy raise for a damaged archive."""


def read_npz(
    path: Source, *, chunk_rows: int = CHUNK_ROWS, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[Chunk]:
    """Return the chunks of a file of NumPy arrays, which is loaded whole.

    Features are the array ``X`` (or ``x``, ``features``, ``data``) of shape (n_rows, n_features).
    They may also be the parts of a CSR matrix, which are ``X_data``, ``X_indices``, ``X_indptr``
    and ``X_shape``, or the same without ``X_`` as ``scipy.sparse.save_npz`` writes them.

    Labels are the array ``y`` (or ``labels``, ``label``, ``target``, ``targets``,
    ``distributions``). It holds integers or strings of shape (n_rows,), or relevances of shape
    (n_rows, n_labels), dense or in the parts ``y_data`` and so on. A row has the labels whose
    relevance is not 0. Relevances in ``distributions`` are probabilities, and each row sums to 1.
    Without such an array no row has a label. ``label_names`` names the columns of the matrix.
    ``weights`` has one number per row.

    Parameters
    ----------
    path : path, binary file or "-"
        The file.
    chunk_rows : int
        Maximum number of rows in a chunk.
    max_line_bytes : int
        Has no effect, because all rows have the width of the matrix.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> np.savez(file, X=[[1.0, 0], [0, 2]], y=["cat", "dog"])
    >>> (chunk,) = read_npz(io.BytesIO(file.getvalue()))
    >>> chunk.labels.tolist(), chunk.features.toarray().tolist()
    (['cat', 'dog'], [[1.0, 0.0], [0.0, 2.0]])
    """
    check_line_limit(max_line_bytes)
    return _chunks(path, check_chunk_rows(chunk_rows))


def _chunks(source: Source, chunk_rows: int) -> Iterator[Chunk]:
    name = source_name(source)
    try:
        whole = _whole(_load(source), name)
    except _DAMAGED as error:
        if isinstance(error, DataFileError | FileNotFoundError | PermissionError):
            raise
        raise DataFileError(name, 1, f"not a file of NumPy arrays: {error}") from None
    for begin in range(0, whole.n_rows, chunk_rows):
        yield whole.take(np.arange(begin, min(begin + chunk_rows, whole.n_rows)))


def _load(source: Source) -> Tensors:
    with seekable(source) as file, np.load(file, allow_pickle=False) as arrays:
        if not isinstance(arrays, np.lib.npyio.NpzFile):
            raise ValueError("the file has one array. Save X and y with np.savez.")
        return {key: arrays[key] for key in arrays.files}


def _whole(arrays: Tensors, name: str) -> Chunk:
    """Return all rows as one chunk."""
    rows = _rows(arrays, name)
    labels = _labels(arrays, name, rows.n_rows)
    weights = arrays.get("weights")
    if weights is not None:
        if weights.shape != (rows.n_rows,) or not np.all(weights >= 0):
            raise DataFileError(name, 1, f"weights must be {rows.n_rows} numbers >= 0.")
        weights = weights.astype(np.float32)
    targets = RaggedLabels(labels.labels, labels.starts, labels.relevance)
    return Chunk(rows, targets, weights, 1, is_distribution=labels.is_distribution)


def _rows(arrays: Mapping[str, NDArray[Any]], name: str) -> Rows:
    key = next((key for key in _FEATURES if key in arrays or f"{key}_data" in arrays), None)
    sparse = _sparse(arrays, "" if "indptr" in arrays else f"{key}_")
    matrix = sparse if sparse is not None else arrays.get(key or "")
    if matrix is None or matrix.ndim != 2:
        reason = f"there is no matrix X among the arrays {', '.join(arrays) or '(none)'}."
        raise DataFileError(name, 1, reason)
    if matrix.shape[1] > MAX_FEATURES:
        raise DataFileError(
            name, 1, f"X has {matrix.shape[1]} features, but at most {MAX_FEATURES} are allowed."
        )
    try:
        return as_rows(matrix)
    except DataError as error:
        raise DataFileError(name, 1, str(error)) from None


@dataclass(frozen=True)
class _Labels:
    labels: Any
    starts: NDArray[np.int64]
    relevance: NDArray[np.float32] | None = None
    is_distribution: bool = False


def _labels(arrays: Mapping[str, NDArray[Any]], name: str, n_rows: int) -> _Labels:
    used = _FEATURES if "indptr" in arrays else ()
    keys = (key for key in _LABELS if key not in used)
    key = next((key for key in keys if key in arrays or f"{key}_data" in arrays), None)
    if key is None:
        return _Labels(np.empty(0, np.int64), np.zeros(n_rows + 1, np.int64))
    sparse = _sparse(arrays, f"{key}_")
    found = sparse if sparse is not None else arrays[key]
    if found.shape[:1] != (n_rows,) or found.ndim not in (1, 2):
        reason = f"{key} must have {n_rows} rows like X, got shape {found.shape}."
        raise DataFileError(name, 1, reason)
    if found.ndim == 2:
        if key == "distributions":
            found = _normalised(found, name)
        several = _matrix_labels(as_rows(found), arrays.get("label_names"), key, name)
        return replace(several, is_distribution=key == "distributions")
    if found.dtype.kind in "US":
        labels: Any = np.array(found.astype(str).tolist(), np.object_)
    elif found.dtype.kind in "iub" or np.all(found == np.round(found)):
        labels = found.astype(np.int64)
    else:
        raise DataFileError(name, 1, f"the labels {key} must be integers or strings.")
    return _Labels(labels, np.arange(n_rows + 1, dtype=np.int64))


def _normalised(matrix: Any, name: str) -> Any:
    """Return rows of probabilities, or raise `DataFileError` if one does not sum to 1."""
    sums = np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()
    wrong = ~(np.abs(sums - 1) <= _SUM_ERROR)
    if wrong.any():
        row = int(np.argmax(wrong))
        reason = f"row {row} of distributions sums to {sums[row]:g}, not to 1."
        raise DataFileError(name, 1, reason)
    return matrix.astype(np.float32)


def _matrix_labels(matrix: Rows, label_names: NDArray[Any] | None, key: str, name: str) -> _Labels:
    """Return the labels of a matrix of relevances, without the labels of zeros."""
    kept = matrix.values != 0
    if np.any(matrix.values < 0):
        raise DataFileError(name, 1, f"the relevances {key} must be numbers >= 0.")
    starts = np.concatenate([[0], np.cumsum(kept)])[matrix.starts].astype(np.int64)
    labels: Any = matrix.indices[kept].astype(np.int64)
    if label_names is not None:
        if label_names.shape != (matrix.n_features,):
            raise DataFileError(name, 1, f"label_names must be {matrix.n_features} names.")
        labels = np.array(label_names.astype(str).tolist(), np.object_)[labels]
    relevance = matrix.values[kept]
    return _Labels(labels, starts, None if np.all(relevance == 1) else relevance)


def _sparse(arrays: Mapping[str, NDArray[Any]], prefix: str) -> Any:
    """Return the CSR matrix whose parts have names with this prefix, or None."""
    parts = [arrays.get(prefix + part) for part in _PARTS]
    if any(part is None for part in parts):
        return None
    from scipy.sparse import csr_array

    kind = arrays.get(prefix + "format")
    if kind is not None and kind.item() not in ("csr", b"csr"):
        raise ValueError(f"the matrix has the format {kind.item()!r}. Save X.tocsr().")
    data, indices, indptr, shape = parts
    matrix = csr_array((data, indices, indptr), shape=tuple(int(n) for n in shape))  # type: ignore[union-attr]
    matrix.check_format(full_check=True)
    return matrix
