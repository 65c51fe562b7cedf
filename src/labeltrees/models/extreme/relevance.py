"""How relevant labels are to rows: from what the user has to a checked sparse matrix."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ArgumentError, DataError
from labeltrees.metrics.propensity import PROPENSITY_A, PROPENSITY_B, label_propensities

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["MAX_RELEVANCE", "Relevance", "as_relevance", "is_matrix"]

MAX_RELEVANCE = 1e9
_SEVERAL = (list, tuple, set, frozenset, dict, np.ndarray)
_LEAST_SHARE = 1e-30  # of the largest relevance; smaller ones count as this, and costs stay floats


@dataclass(frozen=True)
class Relevance:
    """Relevance in (0, 1] of labels to rows, sparse, and the number that 1 stands for.

    Row ``r`` has the labels ``labels[starts[r]:starts[r + 1]]``, increasing; others have 0.
    """

    starts: NDArray[np.int64]
    labels: NDArray[np.int32]
    values: NDArray[np.float32]
    vocabulary: LabelVocabulary
    scale: float
    label_shares: NDArray[np.float64] | None = None
    """What a label's value is if it is fully relevant, where labels differ in that; else 1."""

    @property
    def is_graded(self) -> bool:
        """Whether values say more than which labels are relevant."""
        return bool((self.values != 1).any())

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.starts) - 1

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
        """The three arrays, in the order the core takes them."""
        return self.starts, self.labels, self.values

    def to_csr(self) -> sparse.csr_array:
        """Return relevance as a matrix of shape (n_rows, n_labels)."""
        shape = (self.n_rows, len(self.vocabulary))
        return sparse.csr_array((self.values, self.labels, self.starts), shape=shape)

    def binary(self) -> Relevance:
        """Return the relevance with 1 for each label that is relevant at all."""
        return replace(self, values=np.ones_like(self.values), scale=1.0)

    def weighted_by_propensity(
        self, *, a: float = PROPENSITY_A, b: float = PROPENSITY_B
    ) -> Relevance:
        """Return the relevance divided by each label's propensity."""
        counts = np.bincount(self.labels, minlength=len(self.vocabulary))
        weight = 1 / label_propensities(counts, self.n_rows, a=a, b=b)
        values = self.scale * self.values.astype(np.float64) * weight[self.labels]
        weighted = _scaled(self.starts, self.labels, values, self.vocabulary)
        return replace(weighted, label_shares=self.scale * weight / weighted.scale)


def as_relevance(Y: Any, *, classes: ArrayLike | None = None) -> Relevance:
    """Return ``Y`` as checked relevance, or raise `DataError` naming the first bad row.

    Parameters
    ----------
    Y : sparse or dense matrix, sequence of label lists, sequence of dicts, or one label per row
        A matrix of shape (n_rows, n_labels) holds relevance in [0, 1e9], a dict a label's
        relevance; labels of a list have relevance 1.
    classes : array of n_labels labels, optional
        Names for the columns of a matrix; 0, 1, ... by default.

    Examples
    --------
    >>> relevance = as_relevance([["sun", "rain"], [], ["rain"]])
    >>> relevance.labels, relevance.vocabulary.labels
    (array([0, 1, 0], dtype=int32), array(['rain', 'sun'], dtype=object))
    """
    if Y is None:
        raise DataError("this estimator requires y to be passed, but the target y is None.")
    if getattr(Y, "ndim", 1) not in (1, 2):
        raise DataError(f"y must have one or two dimensions, got {Y.ndim}.")
    if is_matrix(Y):
        return _of_matrix(Y if hasattr(Y, "ndim") else np.asarray(Y), classes)
    if classes is not None:
        raise ArgumentError.of("classes", classes, "None where y has labels")
    rows = Y.tolist() if hasattr(Y, "tolist") else list(Y)
    if all(isinstance(row, _SEVERAL) for row in rows):
        return _of_lists(rows)
    return _of_labels(Y)


def is_matrix(Y: Any) -> bool:
    """Return whether relevance is a matrix: two dimensions, or equally long lists with floats.

    >>> is_matrix([[1.0, 0.0], [0.0, 1.0]]), is_matrix([[1, 0], [0, 1]]), is_matrix(np.eye(2))
    (True, False, True)
    """
    if sparse.issparse(Y) or getattr(Y, "ndim", 1) == 2:
        return True
    rows = Y.tolist() if hasattr(Y, "tolist") else list(Y)
    several = bool(rows) and all(isinstance(row, _SEVERAL) for row in rows)
    return several and all(map(_is_numbers, rows)) and len({len(row) for row in rows}) == 1


def _is_numbers(row: Any) -> bool:
    return not isinstance(row, (dict, set, frozenset)) and any(isinstance(v, float) for v in row)


def _of_matrix(Y: Any, classes: ArrayLike | None) -> Relevance:
    try:
        matrix = sparse.csr_array(Y, copy=True)
        values = matrix.data.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"y must be labels or a matrix of relevance: {error}") from None
    wrong = ~((values >= 0) & (values <= MAX_RELEVANCE))
    if wrong.any():
        entry = int(np.argmax(wrong))
        row = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
        raise DataError(
            f"row {row} of y has {values[entry]}; relevance must be in [0, {MAX_RELEVANCE:g}]."
        )
    matrix = sparse.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    names = np.arange(matrix.shape[1]) if classes is None else classes
    vocabulary = LabelVocabulary(names)
    if len(vocabulary) != matrix.shape[1]:
        raise ArgumentError.of("classes", names, f"{matrix.shape[1]} different labels")
    starts, labels = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    return _scaled(starts, labels, matrix.data, vocabulary)


def _of_lists(rows: list[Any]) -> Relevance:
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    flat = [label for row in rows for label in row]
    values = [
        value
        for row in rows
        for value in (row.values() if isinstance(row, dict) else [1.0] * len(row))
    ]
    vocabulary = LabelVocabulary(sorted(LabelVocabulary(flat).labels.tolist()))
    try:
        relevance = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"y must hold numbers: {error}") from None
    shape = (len(rows), max(len(vocabulary), 1))
    matrix = sparse.csr_array((relevance, vocabulary.ids(flat), starts), shape=shape)
    if any(not isinstance(row, dict) for row in rows):
        matrix.sum_duplicates()  # a label named twice is as relevant as one named once
        matrix.data = np.minimum(matrix.data, max(values, default=1.0))
    if not len(vocabulary):
        raise DataError("y has no label: at least one row needs one.")
    return _of_matrix(matrix, vocabulary.labels)


def _of_labels(y: Any) -> Relevance:
    array = np.asarray(y) if hasattr(y, "__array__") else np.array(y, dtype=object)
    if array.ndim != 1:
        raise DataError(f"y must have one or two dimensions, got {array.ndim}.")
    vocabulary = LabelVocabulary(sorted(LabelVocabulary(array).labels.tolist()))
    starts = np.arange(len(array) + 1, dtype=np.int64)
    return _scaled(starts, vocabulary.ids(array), np.ones(len(array)), vocabulary)


def _scaled(
    starts: NDArray[np.int64],
    labels: NDArray[np.int32],
    values: NDArray[np.float64],
    vocabulary: LabelVocabulary,
) -> Relevance:
    if not len(values):
        raise DataError("y has no relevance above 0: at least one row needs a label.")
    scale = float(values.max())
    share = np.maximum(values / scale, _LEAST_SHARE).astype(np.float32)
    return Relevance(starts, labels, share, vocabulary, scale)
