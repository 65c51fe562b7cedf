"""The set of labels with the highest expected F1, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from labeltrees.checks import number
from labeltrees.decisions.matrices import by_probability, checked_marginals, indicator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    FloatArray = NDArray[np.float64]
    IntArray = NDArray[np.int64]

_ENTRIES_AT_ONCE = 2**21
#: Numbers of true labels less likely than exp(-37) = 1e-16 together are left out.
_RARE = 37.0


class ExpectedF1Sets(NamedTuple):
    """The result of `expected_f1_sets`."""

    sets: csr_array
    expected_f1: FloatArray


def expected_f1_sets(P: Any, *, zero_division: float = 1.0) -> ExpectedF1Sets:
    """Return for each row the set of labels that maximises its expected F1.

    ``F1(S, Y) = 2 |S and Y| / (|S| + |Y|)`` for the set S and the true labels Y. The labels of a
    row are assumed to be independent given the row. The best set is then the k most likely labels
    for some k (Lewis, 1995), and the expected F1 of all k takes O(k^2) steps (Ye, Chai, Lee and
    Chieu, 2012). An upper bound for k is computed first. The result is exact up to rounding.

    Parameters
    ----------
    P : sparse matrix or array of shape (n_rows, n_labels)
        The probability of each label, such as ``predict_above(X, 0.01)`` returns. A label that is
        not stored has probability 0. Leaving out labels whose probabilities sum to e changes the
        expected F1 of any set by at most e.
    zero_division : float in [0, 1], default 1
        The F1 of the empty set where no label is true. With 0, which is the default of
        scikit-learn, only rows without any probability get the empty set.

    Returns
    -------
    sets : sparse csr_array of shape (n_rows, n_labels)
        1 for each label of a row's set, which is the smallest of equally good sets.
    expected_f1 : array of shape (n_rows,)
        The expected F1 of each set.

    Examples
    --------
    >>> best = expected_f1_sets([[0.9, 0.6, 0.1], [0.1, 0.0, 0.2]])
    >>> best.sets.toarray().tolist()
    [[1, 1, 0], [0, 0, 0]]
    >>> best.expected_f1.round(3).tolist()
    [0.802, 0.72]
    """
    p = checked_marginals(P)
    nothing = number("zero_division", zero_division, 0, 1)
    order = by_probability(p)
    counts = np.diff(p.indptr).astype(np.int64)
    size, value = np.zeros(len(counts), np.int64), np.full(len(counts), nothing)
    for rows, at_most, n_true in _blocks(p.data[order], p.indptr, counts):
        sorted_p = _padded(p.data[order], p.indptr, rows)
        expected = _prefix_f1(sorted_p, at_most, n_true)
        expected[:, 0] = nothing * np.prod(1 - sorted_p, axis=1)
        size[rows] = expected.argmax(axis=1)
        value[rows] = expected.max(axis=1)
    rank = np.arange(len(order)) - np.repeat(p.indptr[:-1], counts)
    kept = np.empty(len(order), dtype=bool)
    kept[order] = rank < np.repeat(size, counts)
    return ExpectedF1Sets(indicator(p, kept), value)


def _blocks(
    sorted_p: FloatArray, indptr: IntArray, counts: IntArray
) -> Iterator[tuple[IntArray, int, int]]:
    """Yield rows to do at once, how long their best sets may be and how many labels be true."""
    at_most, n_true = _bounds(sorted_p, indptr, counts)
    # Rows of about equal length stand together, so that little is padded.
    waiting = np.lexsort((counts, at_most))
    waiting = waiting[counts[waiting] > 0]
    while len(waiting):
        # The longest row of a block is its last; how many fit is found by doubling.
        fits = 1
        while fits < len(waiting):
            part = waiting[: min(2 * fits, len(waiting))]
            wide = (at_most[part].max() + 1) * (n_true[part].max() + 1) + counts[part].max()
            if len(part) * wide > _ENTRIES_AT_ONCE:
                break
            fits = len(part)
        rows, waiting = waiting[:fits], waiting[fits:]
        yield rows, int(at_most[rows].max()), int(n_true[rows].max())


def _bounds(sorted_p: FloatArray, indptr: IntArray, counts: IntArray) -> tuple[IntArray, IntArray]:
    """Return upper bounds for each row's number of labels in the best set and of true labels.

    With m = E|Y| and k labels taken, by Jensen's inequality ``E F1 <= 2 m / (k + m)``, since F1 is
    at most 2 |Y| / (k + |Y|), and ``E F1 >= sum_i 2 p_i / (k + 1 + m)``, since label i adds
    2 p_i E[1 / (k + 1 + the other true ones)]. A k whose upper bound is below the best lower bound
    cannot be the best.
    The number of true labels is bounded by Bernstein's inequality.
    """
    sums = np.concatenate(([0.0], np.cumsum(sorted_p)))
    mean = np.maximum(sums[indptr[1:]] - sums[indptr[:-1]], 0)
    rows = np.repeat(np.arange(len(counts)), counts)
    k = np.arange(len(sorted_p)) - indptr[rows] + 1
    lower = 2 * (sums[1:] - sums[indptr[rows]]) / (k + 1 + mean[rows])
    best = np.zeros(len(counts))
    np.maximum.at(best, rows, lower)
    longest = np.divide(2 * mean, best, out=np.zeros_like(mean), where=best > 0) - mean
    # One is added to the bound to allow for rounding.
    at_most = np.minimum(np.floor(np.minimum(longest, 2.0**53)).astype(np.int64) + 1, counts)
    above = _RARE / 3 + np.sqrt(_RARE**2 / 9 + 2 * _RARE * mean)
    return at_most, np.minimum(np.ceil(mean + above).astype(np.int64), counts)


def _padded(sorted_p: FloatArray, indptr: IntArray, rows: IntArray) -> FloatArray:
    """Return the probabilities of some rows, padded with zeros, which change no expectation."""
    counts = indptr[rows + 1] - indptr[rows]
    columns = np.arange(int(counts.max()))
    filled = columns < counts[:, np.newaxis]
    padded = np.zeros(filled.shape)
    padded[filled] = sorted_p[(indptr[rows, np.newaxis] + columns)[filled]]
    return padded


def _prefix_f1(p: FloatArray, at_most: int, n_true: int) -> FloatArray:
    """Return E F1 of the k most likely labels for k = 0, ..., at_most, with 0 for k = 0.

    ``E F1(k) = 2 sum_a a P(a of the first k are true) s_k(k + a)`` where ``s_k(c)`` is
    E[1 / (c + the true ones after the first k)], and
    ``s_(k-1)(c) = p_k s_k(c + 1) + (1 - p_k) s_k(c)``.
    """
    n_rows = len(p)
    hits = np.zeros((at_most + 1, n_rows, n_true + 1))  # P(a of the first k are true)
    hits[0, :, 0] = 1
    for k in range(at_most):
        _count_one_more(hits[k], p[:, k], out=hits[k + 1])
    after = np.zeros((n_rows, n_true + 1))
    after[:, 0] = 1
    for k in range(at_most, p.shape[1]):
        after = _count_one_more(after, p[:, k], out=np.empty_like(after))
    # s at c = 1, 2, ..., which are all values that the k below need.
    c = np.arange(1, 2 * at_most + 1)
    s = after @ (1 / (np.arange(n_true + 1)[:, np.newaxis] + c))
    expected = np.zeros((n_rows, at_most + 1))
    for k in range(at_most, 0, -1):
        a = np.arange(1, min(k, n_true) + 1)
        expected[:, k] = 2 * np.einsum(
            "ra,ra,a->r", hits[k, :, a[0] : a[-1] + 1], s[:, k + a - 1], a
        )
        s = s[:, :-1] + p[:, k - 1, np.newaxis] * (s[:, 1:] - s[:, :-1])
    return expected


def _count_one_more(counted: FloatArray, p: FloatArray, *, out: FloatArray) -> FloatArray:
    """Return the distribution of the number of true labels when a label of probability p joins."""
    np.multiply(counted, 1 - p[:, np.newaxis], out=out)
    out[:, 1:] += counted[:, :-1] * p[:, np.newaxis]
    return out
