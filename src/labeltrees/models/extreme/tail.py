"""Tail classifiers rank labels with few examples by the distance of a row to their mean example.

The best labels and rows that trees find are reranked by these scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from labeltrees import store
from labeltrees.data.ragged import starts_of
from labeltrees.errors import ModelFormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from scipy import sparse

    from labeltrees.data.rows import Rows
    from labeltrees.models.extreme.relevance import Relevance
    from labeltrees.store import Tensors

    IntArray = NDArray[np.int64]
    FloatArray = NDArray[np.float64]
    Query = Callable[[IntArray, int], "Found"]

_GAMMA = 30.0
_MOST_NEAR = 1.001  # largest cosine with a mean that is rounded to 16 bits
_PAIRS_AT_ONCE = 2**15
N_CANDIDATES = 100
"""Minimum number of candidates that trees propose. It does not depend on k, so that the first of
many labels are the same as the first of few."""
_GROWTH = 4
_ENTRIES_AT_ONCE = 2**23


@dataclass(frozen=True)
class TailClassifier:
    """Scores ``value^weight t(x, label)^(1 - weight)``, which rank and are not probabilities.

    ``means`` has for every label the normalised mean of its rows, each of length 1, regardless of
    their relevance. With ``kind="xreg"``, t is the cosine of x and the mean, 0 if they have no
    feature in common. With ``kind="pfastrexml"``, t = 1 / (1 + exp(30 |x - mean|^2)).
    """

    kind: str
    weight: float
    means: sparse.csr_array

    @classmethod
    def fit(
        cls,
        rows: Rows,
        relevance: Relevance,
        kind: str,
        weight: float,
        *,
        ranges: Sequence[tuple[int, int]] = (),
    ) -> TailClassifier:
        """Return the classifier of these rows.

        With ``ranges``, which together contain all labels, it needs memory for the rows of only
        one range at a time.
        """
        n_labels, labels = len(relevance.vocabulary), relevance.labels
        if not ranges:
            return cls(kind, weight, cls.means_of(rows, relevance.starts, labels, n_labels))
        row_of = np.repeat(np.arange(rows.n_rows), np.diff(relevance.starts))
        means = []
        for begin, end in ranges:
            kept = (labels >= begin) & (labels < end)
            own, counts = np.unique(row_of[kept], return_counts=True)
            starts = starts_of(counts)
            found = cls.means_of(rows.take(own), starts, labels[kept], n_labels)
            means.append(found[begin:end])
        return cls.of_ranges(kind, weight, means)

    @classmethod
    def of_ranges(
        cls, kind: str, weight: float, means: Sequence[sparse.csr_array]
    ) -> TailClassifier:
        """Return the classifier of means of consecutive labels."""
        from scipy import sparse

        return cls(kind, weight, sparse.csr_array(sparse.vstack(means, format="csr")))

    @staticmethod
    def means_of(
        rows: Rows, starts: NDArray[np.int64], labels: NDArray[np.int32], n_labels: int
    ) -> sparse.csr_array:
        """Return the means of labels; row ``r`` has ``labels[starts[r]:starts[r + 1]]``.

        The mean of a label depends only on the rows that have it.
        """
        from scipy import sparse

        X = unit_rows(rows)
        ones = np.ones(len(labels), dtype=np.float32)
        has = sparse.csr_array((ones, labels, starts), shape=(rows.n_rows, n_labels))
        # SciPy's product needs memory for every column, so empty columns are left out.
        used, columns = np.unique(X.indices, return_inverse=True)
        narrow = sparse.csr_array((X.data, columns, X.indptr), shape=(rows.n_rows, len(used)))
        sums = sparse.csr_array(has.T @ narrow, dtype=np.float32)
        means = _normalised(
            sparse.csr_array(
                (sums.data, used[sums.indices], sums.indptr), shape=(n_labels, rows.n_features)
            )
        )
        means.data = means.data.astype(np.float16).astype(np.float32)  # rounded as in model files
        return means

    def scores(
        self,
        X: sparse.csr_array,
        row: NDArray[np.integer],
        label: NDArray[np.integer],
        values: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return the score of each pair of a row of ``X`` and a label, arrays of one shape.

        ``X`` is the result of `unit_rows`, and ``values`` are the trees' scores. A pair with -1 has
        score 0.
        """
        used = np.flatnonzero((row.ravel() >= 0) & (label.ravel() >= 0))
        rows, labels = row.ravel()[used], label.ravel()[used]
        near = np.empty(len(used))
        for begin in range(0, len(used), _PAIRS_AT_ONCE):
            part = slice(begin, begin + _PAIRS_AT_ONCE)
            cosine = X[rows[part]].multiply(self.means[labels[part]]).sum(axis=1)
            near[part] = np.asarray(cosine).ravel()
        if self.kind == "xreg":
            near = np.maximum(near, 0)
        else:  # |x - mean|^2 = 2 - 2 cosine, both of length 1 unless a file is damaged
            near = 1 / (1 + np.exp(_GAMMA * np.clip(2 - 2 * near, -1, 5)))
        scores = np.zeros(row.size)
        scores[used] = values.ravel()[used] ** self.weight * near ** (1 - self.weight)
        return scores.reshape(row.shape)

    def most(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return scores that no pair of these values exceeds."""
        return np.asarray(values**self.weight * _MOST_NEAR ** (1 - self.weight))

    def to_tensors(self) -> Tensors:
        """Return the means as arrays, for the model file."""
        return {
            "tail.starts": self.means.indptr.astype(np.int64),
            "tail.indices": self.means.indices.astype(np.int32),
            "tail.values": self.means.data.astype(np.float16),
            "tail.width": np.array([self.means.shape[1]], dtype=np.int64),
        }

    @classmethod
    def from_tensors(
        cls, tensors: Tensors, kind: str, weight: float, shape: tuple[int, int]
    ) -> TailClassifier:
        """Return the classifier that `to_tensors` saved, with ``shape`` (n_labels, n_features)."""
        from scipy import sparse

        # SciPy does not check starts if the last one is below 0.
        starts = store.tensor(tensors, "tail.starts", np.int64)
        indices = store.tensor(tensors, "tail.indices", np.int32)
        values = store.tensor(tensors, "tail.values", np.float16)
        width = store.tensor(tensors, "tail.width", np.int64)
        store.check_starts("tail.starts", starts, shape[0], len(indices))
        store.check_ids("tail.indices", indices, shape[1])
        if width.tolist() != [shape[1]] or len(values) != len(indices):
            raise ModelFormatError("the tail classifier does not fit the model.")
        if not (np.abs(values) <= 1).all():  # of vectors of length 1
            raise ModelFormatError("a value of the tail classifier is not in [-1, 1].")
        return cls(
            kind, weight, sparse.csr_array((values.astype(np.float32), indices, starts), shape)
        )


class Found(NamedTuple):
    """Results of the trees for several queries, (n_queries, n), by falling value."""

    ids: NDArray[Any]
    """Labels of a row or rows of a label; -1 where there is none."""
    probabilities: FloatArray
    values: FloatArray
    """Scores that rank the results, expected relevance or the tail classifier's score."""


def rerank_labels(
    tail: TailClassifier, rows: Rows, query: Query, k: int, *, n_labels: int, exact: bool
) -> Found:
    """Return the k labels of each row that the tail classifier ranks first.

    ``query(rows, n)`` finds the n labels of largest value of these rows; there are ``n_labels``.
    """
    X = unit_rows(rows)

    def score(queried: IntArray, found: Found) -> FloatArray:
        row = np.broadcast_to(queried[:, np.newaxis], found.ids.shape)
        return tail.scores(X, row, found.ids, found.values)

    sizes = {"n_queries": rows.n_rows, "n_ids": n_labels, "k": k}
    return _reranked(query, score, tail.most, **sizes, exact=exact)


def rerank_rows(
    tail: TailClassifier,
    rows: Rows,
    query: Query,
    k: int,
    *,
    labels: NDArray[np.int32],
    exact: bool,
) -> Found:
    """Return the k rows of each of the labels that the tail classifier ranks first.

    ``query(labels, n)`` finds the n rows of largest value of these labels, by place in ``labels``.
    """
    X = unit_rows(rows)

    def score(queried: IntArray, found: Found) -> FloatArray:
        label = np.broadcast_to(labels[queried][:, np.newaxis], found.ids.shape)
        return tail.scores(X, found.ids, label, found.values)

    sizes = {"n_queries": len(labels), "n_ids": rows.n_rows, "k": k}
    return _reranked(query, score, tail.most, **sizes, exact=exact)


def _reranked(
    query: Query,
    score: Callable[[IntArray, Found], FloatArray],
    most: Callable[[FloatArray], FloatArray],
    *,
    n_queries: int,
    n_ids: int,
    k: int,
    exact: bool,
) -> Found:
    """Return the k best candidates of each query, by their scores.

    ``query(queries, n)`` finds the n candidates of largest value for these queries, ``score``
    scores them, and ``most`` bounds the score of a candidate by its value. Candidates are the first
    100, or k if that is more. With ``exact`` their number grows until no other of the ``n_ids``
    ids can be among the k best.
    """
    best = Found(
        np.full((n_queries, k), -1, dtype=np.int64),
        np.zeros((n_queries, k)),
        np.zeros((n_queries, k)),
    )
    left, n = np.arange(n_queries), min(max(k, N_CANDIDATES), n_ids)
    while len(left):
        open_ = []
        step = max(1, _ENTRIES_AT_ONCE // n)
        for begin in range(0, len(left), step):
            part = left[begin : begin + step]
            found = query(part, n)
            first = _first(found, score(part, found), k)
            for whole, own in zip(best, first, strict=True):
                whole[part] = own
            if exact and n < n_ids:
                sure = first.values[:, -1] > most(found.values[:, -1])
                open_.append(part[~sure & (found.ids[:, -1] >= 0)])
        left = np.concatenate(open_) if open_ else left[:0]
        n = min(_GROWTH * n, n_ids)
    return best


def _first(found: Found, scores: FloatArray, k: int) -> Found:
    """Return the k candidates with the largest scores, ties by larger value."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    parts = (found.ids, found.probabilities, scores)
    return Found(*(np.take_along_axis(each, order, axis=1) for each in parts))


def unit_rows(rows: Rows) -> sparse.csr_array:
    """Return the rows, each of length 1."""
    return _normalised(rows.to_csr())


def _normalised(matrix: sparse.csr_array) -> sparse.csr_array:
    from scipy import sparse

    with np.errstate(over="ignore", under="ignore"):
        lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    odd = np.flatnonzero(~((lengths > 1e-15) & (lengths < 1e15)) & (np.diff(matrix.indptr) > 0))
    lengths[odd] = 0
    scale = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    data = matrix.data * np.repeat(scale, np.diff(matrix.indptr))
    for row in odd.tolist():  # squares past float32, or a row of stored zeros
        entries = slice(matrix.indptr[row], matrix.indptr[row + 1])
        wide = matrix.data[entries].astype(np.float64)
        data[entries] = wide / max(float(np.linalg.norm(wide)), np.finfo(np.float64).tiny)
    return sparse.csr_array(
        (data.astype(np.float32), matrix.indices, matrix.indptr), shape=matrix.shape
    )
