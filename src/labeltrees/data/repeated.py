"""Rows that come more than once: from (row, label) pairs to (row, distribution) pairs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.data.targets import check_training
from labeltrees.data.vocabulary import LabelVocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

    from labeltrees.data.rows import Rows


@dataclass(frozen=True, eq=False)
class RepeatedRows:
    """The distinct rows of some data, each with the distribution of the labels that it came with.

    They are in the order in which they were first seen.
    """

    X: csr_array
    """The distinct rows."""
    P: csr_array
    """Each row's label frequencies, (n_distinct, n_labels): p^x as far as the data tell it."""
    labels: NDArray[Any]
    """The labels of the columns of ``P``, sorted."""
    weights: NDArray[np.float64]
    """How often each row came, or its summed weight."""
    place: NDArray[np.int64]
    """For each row that was given, the number of its distinct row; -1 if it weighs nothing."""
    column: NDArray[np.int64]
    """For each row that was given, the column of its label; -1 if it weighs nothing."""

    @property
    def p_label(self) -> NDArray[np.float64]:
        """The frequency of each given row's own label among all rows equal to it; 0 without weight.

        No model can know more of these rows: the loss of these probabilities is the "best
        possible" one of the conditional probability tree's paper.
        """
        known = self.place >= 0
        p = np.zeros(len(self.place))
        p[known] = np.asarray(self.P[self.place[known], self.column[known]]).ravel()
        return p


def repeated_rows(X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None) -> RepeatedRows:
    """Return the distinct rows, and the share of each label among the rows that are equal.

    A learner of distributions (`AdacondClassifier`, `SelfTerminatingTreeClassifier`) can then be
    fitted to ``X`` and ``P`` with ``sample_weight=weights``. The more often a row came, the nearer
    its frequencies are to its distribution; a row that came once has a single label.

    Parameters
    ----------
    X : array or sparse array of shape (n_rows, n_features)
        Rows are equal if all their features are, as float32.
    y : array of shape (n_rows,)
        One label per row.
    sample_weight : array of shape (n_rows,), optional
        Weights >= 0; rows of weight 0 are left out.

    Returns
    -------
    RepeatedRows

    Examples
    --------
    >>> found = repeated_rows([[1, 0], [0, 2], [1, 0], [1, 0]], ["a", "b", "b", "a"])
    >>> found.P.toarray().round(3).tolist(), found.labels.tolist(), found.weights.tolist()
    ([[0.667, 0.333], [0.0, 1.0]], ['a', 'b'], [3.0, 1.0])
    >>> found.p_label.round(3).tolist()
    [0.667, 1.0, 0.333, 0.667]
    """
    from scipy.sparse import coo_array

    rows, targets, given = check_training(X, y, sample_weight)
    own = given.astype(np.float64) if len(given) else np.ones(rows.n_rows)
    counted = np.flatnonzero(own > 0)
    vocabulary = LabelVocabulary()
    ids = vocabulary.add(targets[counted])
    sorting = np.argsort(vocabulary.labels, kind="stable")
    column_of = np.empty(len(sorting), dtype=np.int64)
    column_of[sorting] = np.arange(len(sorting))

    number_of: dict[bytes, int] = {}
    keys = list(_keys(rows))
    place = np.full(rows.n_rows, -1, dtype=np.int64)
    place[counted] = [number_of.setdefault(keys[row], len(number_of)) for row in counted.tolist()]
    column = np.full(rows.n_rows, -1, dtype=np.int64)
    column[counted] = column_of[ids]
    first = np.unique(place[counted], return_index=True)[1]
    weights = np.bincount(place[counted], weights=own[counted]).astype(np.float64)
    entries = (own[counted], (place[counted], column[counted]))
    P = coo_array(entries, shape=(len(weights), len(sorting))).tocsr()  # adds up what is equal
    P.data /= np.repeat(weights, np.diff(P.indptr))
    return RepeatedRows(
        X=rows.take(counted[first]).to_csr(),
        P=P,
        labels=vocabulary.labels[sorting],
        weights=weights,
        place=place,
        column=column,
    )


def _keys(rows: Rows) -> Iterator[bytes]:
    """Yield the bytes of each row; a stored zero is as if it were not there."""
    for start, stop in pairwise(rows.starts.tolist()):
        indices, values = rows.indices[start:stop], rows.values[start:stop]
        if not values.all():
            indices, values = indices[values != 0], values[values != 0]
        yield indices.tobytes() + values.tobytes()
