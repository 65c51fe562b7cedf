"""Sets of labels that maximise expected metrics: the F1 of each row, or metrics over all labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from labeltrees.checks import flag, integer, number
from labeltrees.decisions._matrices import (
    by_probability,
    checked_marginals,
    checked_weights,
    indicator,
    rows_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

    FloatArray = NDArray[np.float64]
    IntArray = NDArray[np.int64]
    BoolArray = NDArray[np.bool_]

_ENTRIES_AT_ONCE = 2**21
#: Numbers of true labels less likely than exp(-37) = 1e-16 together are left out.
_RARE = 37.0
_ITERATIONS = 20
_TOLERANCE = 1e-6


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


class JointSets(NamedTuple):
    """Sets that were chosen together for all rows.

    ``expected`` is the value that was maximised, and ``n_iterations`` the number of passes over all
    rows. ``weights`` and ``offsets`` are the final rule, with one number for each label. Use
    ``weighted_top_k(P, k, weights, offsets=offsets)`` to apply it to other rows.
    """

    sets: csr_array
    expected: float
    n_iterations: int
    weights: FloatArray
    offsets: FloatArray


def weighted_top_k(
    P: Any, k: int, weights: ArrayLike, *, offsets: ArrayLike | None = None
) -> csr_array:
    """Return the k labels of each row with the largest ``weights * p + offsets``.

    Weights 1 / prior, with the prior of a label among training rows, maximise the expected
    macro-recall@k; 1 / propensity the expected PSP@k; and 1 the expected precision@k.

    Parameters
    ----------
    P : sparse matrix or array of shape (n_rows, n_labels)
        The probability of each label. Only stored labels are chosen, so a row with fewer than k
        stored labels has fewer in its set. Rare labels need a low floor, such as
        ``predict_above(X, 0.001)``.
    k : int >= 1
    weights : array of shape (n_labels,)
        Finite and >= 0.
    offsets : array of shape (n_labels,), optional
        Finite; 0 by default.

    Returns
    -------
    sparse csr_array of shape (n_rows, n_labels)
        1 for each label of a row's set. Of equally good labels, the first columns are taken.

    Examples
    --------
    >>> P, prior = [[0.6, 0.3, 0.1], [0.5, 0.0, 0.2]], np.array([0.5, 0.3, 0.01])
    >>> weighted_top_k(P, 1, 1 / prior).toarray().tolist()
    [[0, 0, 1], [0, 0, 1]]
    """
    p = checked_marginals(P)
    k = integer("k", k, 1)
    gain = p.data * checked_weights("weights", weights, p.shape[1], signed=False)[p.indices]
    if offsets is not None:
        gain += checked_weights("offsets", offsets, p.shape[1], signed=True)[p.indices]
    return indicator(p, _first_k(p, gain, k))


def macro_f1_top_k(
    P: Any,
    k: int,
    *,
    fill: bool = True,
    iterations: int = _ITERATIONS,
    tolerance: float = _TOLERANCE,
) -> JointSets:
    """Return k labels for each row, chosen for all rows together, with a high macro-F1.

    The expected macro-F1 is about the mean over labels of ``2 H / (N + T)``. H is the sum of a
    label's probabilities over the rows that get it, N is the number of these rows, and T is the sum
    over all rows. The sets start with the k most likely labels. Row after row then takes the k
    labels that raise the value most while the other rows keep theirs. So the value never falls, and
    the result depends on the order of rows (block coordinate ascent: Schultheis, Wydmuch,
    Kotlowski, Babbar and Dembczynski, 2023).

    Parameters
    ----------
    P : sparse matrix or array of shape (n_rows, n_labels)
        The probability of each label. Only labels that are stored are chosen.
    k : int >= 1
    fill : bool, default True
        Whether every row gets k labels even where one lowers the macro-F1.
    iterations : int >= 1, default 20
        Maximum number of passes over all rows. Each is a loop over rows in Python.
    tolerance : float >= 0, default 1e-6
        Stop when a pass over all rows raises the value by no more than this.

    Returns
    -------
    JointSets
        The sets, their expected macro-F1, the number of iterations, and a rule for other rows, by
        which the set of a row does not depend on the other rows.

    Examples
    --------
    >>> P = [[0.9, 0.4, 0.0], [0.8, 0.3, 0.0], [0.9, 0.0, 0.3]]
    >>> found = macro_f1_top_k(P, 1)
    >>> found.sets.toarray().tolist(), round(found.expected, 3)
    ([[0, 1, 0], [1, 0, 0], [0, 0, 1]], 0.459)
    """
    return _ascend(P, k, _MacroF1, fill, iterations, tolerance)


def coverage_top_k(
    P: Any, k: int, *, iterations: int = _ITERATIONS, tolerance: float = _TOLERANCE
) -> JointSets:
    """Return k labels for each row, chosen together, so that many labels are rightly named once.

    The expected number of labels that are true in some row which gets them, over the number of
    labels that P stores: the mean of ``1 - prod_i (1 - p_i)`` over the rows i that get the label,
    where rows count as independent. It is maximised as in `macro_f1_top_k`, whose arguments it has.

    Examples
    --------
    >>> P = [[0.9, 0.4, 0.0], [0.8, 0.3, 0.0], [0.9, 0.0, 0.3]]
    >>> found = coverage_top_k(P, 1)
    >>> found.sets.toarray().tolist(), round(found.expected, 3)
    ([[0, 1, 0], [0, 1, 0], [1, 0, 0]], 0.493)
    """
    return _ascend(P, k, _Coverage, True, iterations, tolerance)


class _Utility(Protocol):
    """A sum over labels of what the rows that get the label make of it."""

    def __init__(self, p: csr_array) -> None: ...

    def move(self, labels: IntArray, p: FloatArray, sign: int) -> None:
        """Let a row take (1) or give back (-1) labels of which it has these probabilities."""

    def rule(self, labels: Any) -> tuple[FloatArray, FloatArray]:
        """Return a, b such that a label is worth a p + b to a row that does not have it."""

    def value(self) -> float:
        """Return the utility now."""


class _MacroF1:
    def __init__(self, p: csr_array) -> None:
        self._expected = np.bincount(p.indices, weights=p.data, minlength=p.shape[1])
        self._right, self._given = np.zeros(p.shape[1]), np.zeros(p.shape[1])

    def move(self, labels: IntArray, p: FloatArray, sign: int) -> None:
        self._right[labels] += sign * p
        self._given[labels] += sign

    def rule(self, labels: Any) -> tuple[FloatArray, FloatArray]:
        below = self._given[labels] + self._expected[labels]
        now = np.divide(2 * self._right[labels], below, out=np.zeros_like(below), where=below > 0)
        return 2 / (below + 1), -now / (below + 1)

    def value(self) -> float:
        below = self._given + self._expected
        f1 = np.divide(2 * self._right, below, out=np.zeros_like(below), where=below > 0)
        return float(f1.mean()) if len(f1) else 0.0


class _Coverage:
    def __init__(self, p: csr_array) -> None:
        # A probability of 1 would leave nothing to subtract from when it is given back.
        self._least = 1e-12
        self._log_missed = np.zeros(p.shape[1])
        self._is_used = np.bincount(p.indices, minlength=p.shape[1]) > 0

    def move(self, labels: IntArray, p: FloatArray, sign: int) -> None:
        self._log_missed[labels] += sign * np.log(np.maximum(1 - p, self._least))

    def rule(self, labels: Any) -> tuple[FloatArray, FloatArray]:
        missed = np.exp(np.minimum(self._log_missed[labels], 0))
        return missed, np.zeros_like(missed)

    def value(self) -> float:
        covered = -np.expm1(np.minimum(self._log_missed[self._is_used], 0))
        return float(covered.mean()) if len(covered) else 0.0


def _ascend(
    P: Any, k: int, kind: type[_Utility], fill: bool, iterations: int, tolerance: float
) -> JointSets:
    """Return the sets that block coordinate ascent ends with."""
    p = checked_marginals(P)
    k, iterations = integer("k", k, 1), integer("iterations", iterations, 1)
    fill, tolerance = flag("fill", fill), number("tolerance", tolerance, 0)
    utility = kind(p)
    kept = _first_k(p, p.data, k)
    for start, stop in zip(p.indptr[:-1], p.indptr[1:], strict=True):
        chosen = np.flatnonzero(kept[start:stop]) + start
        utility.move(p.indices[chosen], p.data[chosen], 1)
    value, done, gained = utility.value(), 0, np.inf
    while done < iterations and gained > tolerance:
        _go_through(p, k, utility, kept, fill)
        gained, value = utility.value() - value, utility.value()
        done += 1
    weights, offsets = utility.rule(slice(None))
    return JointSets(indicator(p, kept), value, done, weights, offsets)


def _go_through(p: csr_array, k: int, utility: _Utility, kept: BoolArray, fill: bool) -> None:
    """Let every row choose again, in order, while the others keep what they have."""
    for start, stop in zip(p.indptr[:-1].tolist(), p.indptr[1:].tolist(), strict=True):
        labels, of_row, has = p.indices[start:stop], p.data[start:stop], kept[start:stop]
        if fill and len(labels) <= k:
            continue
        utility.move(labels[has], of_row[has], -1)
        slope, offset = utility.rule(labels)
        gain = slope * of_row + offset
        best = np.argsort(-gain, kind="stable")[:k]
        if not fill:
            best = best[gain[best] > 0]
        has[:] = False
        has[best] = True
        utility.move(labels[best], of_row[best], 1)


def _first_k(p: csr_array, gain: FloatArray, k: int) -> BoolArray:
    """Return which entries are among the k of their row with the largest gain."""
    rows = rows_of(p)
    order = np.lexsort((p.indices, -gain, rows))
    kept = np.empty(len(order), dtype=bool)
    kept[order] = np.arange(len(order)) - p.indptr[rows] < k
    return kept
