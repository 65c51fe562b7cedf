"""Pairs of a more and a less relevant cell of the matrix of rows and labels: what rankers learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from labeltrees.errors import TooLargeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MAX_PAIRS", "LabelPairs", "label_pairs"]

MAX_PAIRS = 2**27


@dataclass(frozen=True)
class LabelPairs:
    """Cells of a matrix of scores, and pairs of them: the first is the more relevant one."""

    cells: sparse.csr_array
    """Of shape (n_rows, n_labels); its entries are the cells in their order, whatever they hold."""
    better: NDArray[np.int64]
    worse: NDArray[np.int64]
    """Of each pair the numbers of two cells."""

    def loss(self, scores: NDArray[np.float64]) -> tuple[float, sparse.csr_array]:
        """Return the sum over pairs of max(0, 1 - (s_better - s_worse))^2, and its gradient.

        >>> Y = sparse.csr_array([[1.0, 0.0]])
        >>> pairs = label_pairs(Y, "row", None, np.random.default_rng(0))
        >>> loss, gradient = pairs.loss(np.array([[0.5, 0.0]]))
        >>> loss, gradient.toarray().tolist()
        (0.25, [[-1.0, 1.0]])
        """
        cells = self.cells
        row = np.repeat(np.arange(cells.shape[0]), np.diff(cells.indptr))
        own = scores[row, cells.indices]
        slack = np.maximum(0, 1 - (own[self.better] - own[self.worse]))
        n = len(own)
        gradient = np.bincount(self.worse, slack, n) - np.bincount(self.better, slack, n)
        answer = sparse.csr_array((2 * gradient, cells.indices, cells.indptr), shape=cells.shape)
        return float(slack @ slack), answer


def label_pairs(
    Y: sparse.csr_array, per: str, n_zeros: int | None, rng: np.random.Generator
) -> LabelPairs:
    """Return all pairs of a row's labels, or of a label's rows, that differ in relevance.

    ``per`` is "row" or "label". Of what has no relevance ``n_zeros`` of each row or label take
    part, chosen at random; None is all. `TooLargeError` if there are more than `MAX_PAIRS`.

    >>> Y = sparse.csr_array([[2.0, 0.0, 1.0]])
    >>> pairs = label_pairs(Y, "row", None, np.random.default_rng(0))
    >>> sorted(zip(pairs.better.tolist(), pairs.worse.tolist(), strict=True))
    [(0, 1), (0, 2), (2, 1)]
    """
    groups = Y.tocsr() if per == "row" else sparse.csr_array(Y.T)
    groups.sort_indices()
    width = groups.shape[1]
    counts = np.diff(groups.indptr).astype(np.int64)
    n_others = width - counts if n_zeros is None else np.minimum(width - counts, n_zeros)
    _check_count(counts, n_others, n_zeros)
    members, values = [], []
    better, worse = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    begin = 0
    for group in np.flatnonzero(counts).tolist():
        own = slice(groups.indptr[group], groups.indptr[group + 1])
        relevant, relevance = groups.indices[own], groups.data[own]
        others = np.setdiff1d(np.arange(width), relevant, assume_unique=True)
        if n_others[group] < len(others):
            others = np.sort(rng.choice(others, n_others[group], replace=False))
        above, below = np.nonzero(relevance[:, np.newaxis] > relevance)
        n, m = len(relevant), len(others)
        better += [begin + above, begin + np.repeat(np.arange(n), m)]
        worse += [begin + below, begin + n + np.tile(np.arange(m), n)]
        members += [relevant, others]
        values.append(np.full(n + m, group))
        begin += n + m
    inner, outer = np.concatenate(members), np.concatenate(values)
    row, column = (outer, inner) if per == "row" else (inner, outer)
    order = np.lexsort((column, row))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    starts = np.searchsorted(row[order], np.arange(Y.shape[0] + 1))
    ones = np.ones(len(order))
    cells = sparse.csr_array((ones, column[order], starts), shape=Y.shape)
    return LabelPairs(cells, place[np.concatenate(better)], place[np.concatenate(worse)])


def _check_count(
    counts: NDArray[np.int64], n_others: NDArray[np.int64], n_zeros: int | None
) -> None:
    n_pairs = int((counts * n_others + counts * (counts - 1) // 2).sum())
    if n_pairs > MAX_PAIRS:
        raise TooLargeError(
            f"there may be {n_pairs:,} pairs of relevance to learn from, over {MAX_PAIRS:,}: "
            f"choose a smaller n_zeros (now {n_zeros})."
        )
