"""Check the relevance of labels to rows, and convert it to a sparse matrix."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from labeltrees.data.labels import RaggedLabels
from labeltrees.data.ragged import starts_of
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ArgumentError, DataError
from labeltrees.metrics._propensity import PROPENSITY_A, PROPENSITY_B, label_propensities

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

MAX_RELEVANCE = 1e9
_SEVERAL = (list, tuple, set, frozenset, dict, np.ndarray)
_LEAST_SHARE = 1e-30  # least share of the largest relevance, so that costs stay finite


@dataclass(frozen=True, eq=False, kw_only=True)
class Relevance(RaggedLabels):
    """Relevance in (0, 1] of labels to rows, sparse, and the relevance that 1 stands for.

    The labels of a row are increasing ids of the vocabulary; all others have relevance 0.
    """

    relevance: NDArray[np.float32]
    vocabulary: LabelVocabulary
    scale: float
    label_shares: NDArray[np.float64] | None = None
    """Value of each label if it is fully relevant; None if it is 1 for all labels."""

    @property
    def is_graded(self) -> bool:
        """Whether some relevant labels are less relevant than others."""
        return bool((self.relevance != 1).any())

    def to_csr(self) -> sparse.csr_array:
        """Return relevance as a matrix of shape (n_rows, n_labels)."""
        shape = (self.n_rows, len(self.vocabulary))
        return sparse.csr_array((self.relevance, self.labels, self.starts), shape=shape)

    def binary(self) -> Relevance:
        """Return the relevance with 1 for each label that is relevant at all."""
        return replace(self, relevance=np.ones_like(self.relevance), scale=1.0)

    def weighted_by_propensity(
        self, *, a: float = PROPENSITY_A, b: float = PROPENSITY_B
    ) -> Relevance:
        """Return the relevance divided by each label's propensity."""
        counts = np.bincount(self.labels, minlength=len(self.vocabulary))
        weight = propensity_weights(counts, self.n_rows, a=a, b=b)
        values = weighted(self.relevance, self.labels, self.scale, weight)
        scale = float(values.max())
        return replace(
            self,
            relevance=shares_of(values, scale),
            scale=scale,
            label_shares=self.scale * weight / scale,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class RawRelevance(RaggedLabels):
    """Checked relevance without scaling. The relevance of a row does not depend on other rows.

    The labels of a row are increasing ids of the vocabulary, none with relevance 0.
    """

    relevance: NDArray[np.float64]
    vocabulary: LabelVocabulary
    most: float | None = None
    """Upper limit of the values, so that a label repeated in a list does not count twice."""

    def take(self, rows: NDArray[np.int64]) -> RawRelevance:
        """Return the relevance of these rows, increasing; all labels keep their ids."""
        kept = np.zeros(self.n_rows, bool)
        kept[rows] = True
        entries = np.repeat(kept, self.counts)
        starts = starts_of(self.counts[rows])
        labels, relevance = self.labels[entries], self.relevance[entries]
        return replace(self, labels=labels, starts=starts, relevance=relevance)

    def scaled(self) -> Relevance:
        """Return relevance as shares of the largest, or raise `DataError` if there is none."""
        if not len(self.vocabulary):
            raise DataError("y has no label. At least one row needs a label.")
        if not len(self.relevance):
            raise DataError("y has no relevance above 0. At least one row needs a label.")
        values = self.relevance
        if self.most is not None:
            values = np.minimum(values, self.most)
        scale = float(values.max())
        share = shares_of(values, scale)
        return Relevance(
            labels=self.labels,
            starts=self.starts,
            relevance=share,
            vocabulary=self.vocabulary,
            scale=scale,
        )


def shares_of(values: NDArray[np.float64], scale: float) -> NDArray[np.float32]:
    """Return relevance as shares of the largest relevance.

    >>> shares_of(np.array([1.0, 4.0]), 4.0).tolist()
    [0.25, 1.0]
    """
    return np.maximum(values / scale, _LEAST_SHARE).astype(np.float32)


def propensity_weights(
    counts: NDArray[np.int64], n_rows: int, *, a: float, b: float
) -> NDArray[np.float64]:
    """Return the weights of relevance for labels with these numbers of rows.

    >>> propensity_weights(np.array([1, 100]), 1000, a=0.55, b=1.5).round(1).tolist()
    [6.9, 1.8]
    """
    return np.asarray(1 / label_propensities(counts, n_rows, a=a, b=b))


def weighted(
    shares: NDArray[np.float32],
    labels: NDArray[np.int32],
    scale: float,
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return relevance, given as shares of ``scale``, times the weight of its label.

    >>> weighted(np.float32([0.5, 1.0]), np.int32([1, 0]), 2.0, np.array([3.0, 5.0])).tolist()
    [5.0, 6.0]
    """
    return np.asarray(scale * shares.astype(np.float64) * weights[labels])


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
    return raw_relevance(Y, classes=classes).scaled()


def raw_relevance(Y: Any, *, classes: ArrayLike | None = None) -> RawRelevance:
    """Return ``Y`` (see `as_relevance`) checked and not yet scaled; it may be empty.

    >>> raw_relevance([{"sun": 2.0}, {}]).relevance.tolist()
    [2.0]
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
    """Return whether relevance has two dimensions, or is a list of equally long rows of floats.

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


def _of_matrix(Y: Any, classes: ArrayLike | None) -> RawRelevance:
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
            f"row {row} of y has {values[entry]}, but relevance must be in [0, {MAX_RELEVANCE:g}]."
        )
    matrix = sparse.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    names = np.arange(matrix.shape[1]) if classes is None else classes
    vocabulary = LabelVocabulary(names)
    if len(vocabulary) != matrix.shape[1]:
        raise ArgumentError.of("classes", names, f"{matrix.shape[1]} different labels")
    starts, labels = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    return RawRelevance(labels=labels, starts=starts, relevance=matrix.data, vocabulary=vocabulary)


def _of_lists(rows: list[Any]) -> RawRelevance:
    starts = starts_of([len(row) for row in rows])
    flat = [label for row in rows for label in row]
    values = [
        value
        for row in rows
        for value in (row.values() if isinstance(row, dict) else [1.0] * len(row))
    ]
    try:
        relevance = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"y must hold numbers: {error}") from None
    once_each = all(isinstance(row, dict) for row in rows)
    return relevance_of_entries(starts, flat, relevance, once_each=once_each)


def relevance_of_entries(
    starts: NDArray[np.int64],
    labels: ArrayLike,
    values: NDArray[np.float64],
    *,
    once_each: bool = False,
) -> RawRelevance:
    """Return the relevance of rows whose labels are concatenated.

    ``once_each`` promises that no row names a label twice; otherwise a repeated label counts once.

    >>> raw = relevance_of_entries(np.array([0, 2, 2]), ["sun", "rain"], np.ones(2))
    >>> raw.labels.tolist(), raw.vocabulary.labels.tolist()
    ([0, 1], ['rain', 'sun'])
    """
    met = LabelVocabulary()
    ids = met.add(labels)
    return relevance_of_ids(starts, ids, met, values, once_each=once_each)


def relevance_of_ids(
    starts: NDArray[np.int64],
    ids: NDArray[Any],
    met: LabelVocabulary,
    values: NDArray[np.float64],
    *,
    once_each: bool,
) -> RawRelevance:
    """Return the relevance of rows whose labels have ids in any order; the result's are sorted.

    >>> met = LabelVocabulary(["sun", "rain"])
    >>> starts, ids = np.array([0, 1, 3]), np.array([0, 1, 0])
    >>> relevance_of_ids(starts, ids, met, np.ones(3), once_each=True).labels.tolist()
    [1, 0, 1]
    """
    vocabulary = LabelVocabulary(sorted(met.labels.tolist()))
    if not len(values):
        none = np.empty(0, np.int32)
        return RawRelevance(labels=none, starts=starts, relevance=values, vocabulary=vocabulary)
    shape = (len(starts) - 1, len(vocabulary))
    sorted_ids = vocabulary.ids(met.labels)[ids]
    matrix = sparse.csr_array((values, sorted_ids, starts), shape=shape)
    raw = _of_matrix(matrix, vocabulary.labels)
    return raw if once_each else replace(raw, most=float(values.max()))


def _of_labels(y: Any) -> RawRelevance:
    array = np.asarray(y) if hasattr(y, "__array__") else np.array(y, dtype=object)
    if array.ndim != 1:
        raise DataError(f"y must have one or two dimensions, got {array.ndim}.")
    vocabulary = LabelVocabulary(sorted(LabelVocabulary(array).labels.tolist()))
    starts = np.arange(len(array) + 1, dtype=np.int64)
    ids, ones = vocabulary.ids(array), np.ones(len(array))
    return RawRelevance(labels=ids, starts=starts, relevance=ones, vocabulary=vocabulary)
