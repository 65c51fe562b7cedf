"""One threshold for all labels, chosen on held-out rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from scipy.special import betaincinv

from labeltrees.checks import choice, number
from labeltrees.decisions._matrices import (
    CheckedPairs,
    checked_marginals,
    checked_pairs,
    indicator,
    rows_of,
    values_at,
)
from labeltrees.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

    FloatArray = NDArray[np.float64]
    IntArray = NDArray[np.int64]

Metric: TypeAlias = Literal["micro_f1", "macro_f1", "example_f1", "recall"]
Bound: TypeAlias = Literal["rows", "pairs"]

#: Factor between the numbers of labels that successive thresholds keep, if there is a confidence.
_GROWTH = 1.1


class Threshold(NamedTuple):
    """A threshold that `threshold_for` chose, and its scores on the rows it was chosen on."""

    threshold: float
    score: float
    precision: float
    recall: float
    labels_per_row: float
    precision_bound: float | None


def labels_at(P: Any, threshold: float) -> csr_array:
    """Return the sets of all labels with a probability of at least the threshold.

    Parameters
    ----------
    P : sparse matrix or array of shape (n_rows, n_labels)
        The probability of each label. A label that is not stored is in no set, even at threshold 0.
    threshold : float in [0, 1]

    Returns
    -------
    sparse csr_array of shape (n_rows, n_labels)
        1 for each label of a row's set.

    Examples
    --------
    >>> labels_at([[0.9, 0.4], [0.1, 0.5]], 0.4).toarray().tolist()
    [[1, 1], [0, 1]]
    """
    p = checked_marginals(P)
    return indicator(p, p.data >= number("threshold", threshold, 0, 1))


def threshold_for(
    P: Any,
    truth: Any,
    metric: Metric = "micro_f1",
    *,
    precision: float | None = None,
    confidence: float | None = None,
    bound: Bound = "rows",
    zero_division: float = 1.0,
    unknown: ArrayLike | None = None,
) -> Threshold:
    """Return the threshold with the best score on held-out rows.

    A row's set is all labels with ``p >= threshold``. There is no guarantee for other rows unless
    you pass ``confidence``. Choose on rows that the model has not learned from.

    Parameters
    ----------
    P : sparse matrix or array of shape (n_rows, n_labels)
        The probability of each label, such as ``predict_above(X, 0.01)`` returns. Thresholds below
        the smallest that is stored are not tried.
    truth : sparse matrix or array of shape (n_rows, n_labels)
        A label is true where it is not 0.
    metric : {"micro_f1", "macro_f1", "example_f1", "recall"}, default "micro_f1"
        F1 of all pairs of row and label; the mean F1 of labels, where a label that is neither true
        nor predicted counts as 0; the mean F1 of rows; or the recall of all pairs among thresholds
        that reach ``precision``.
    precision : float in (0, 1], optional
        The least precision of all pairs; for ``metric="recall"``, which needs it.
    confidence : float in (0, 1), optional
        The probability with which a lower bound of the precision holds, which must then reach
        ``precision``. The bound is for the expected precision on rows with the features of the
        held-out rows. It holds for all tried thresholds at once, because they are chosen without
        the truth.
    bound : {"rows", "pairs"}, default "rows"
        ``"rows"`` is Hoeffding's bound, which assumes that rows are independent; labels of one row
        may depend on each other. ``"pairs"`` is the bound of Clopper and Pearson, which assumes
        that all pairs are independent. It is tighter, but wrong where the labels of a row tend to
        be right or wrong together.
    zero_division : float in [0, 1], default 1
        For ``metric="example_f1"``, the F1 of the empty set where no label is true.
    unknown : array of int of shape (n_rows,), optional
        Number of true labels of each row that have no column because the model has never seen them.
        Every threshold misses them; ``metric="macro_f1"`` leaves them out.

    Returns
    -------
    Threshold
        ``threshold``, and on these rows ``score`` (the metric's value), ``precision``, ``recall``,
        ``labels_per_row``, and ``precision_bound``, which is None without ``confidence``.

    Examples
    --------
    >>> P = [[0.9, 0.4, 0.1], [0.3, 0.8, 0.2], [0.2, 0.6, 0.7]]
    >>> truth = [[1, 1, 0], [0, 1, 0], [0, 0, 1]]
    >>> best = threshold_for(P, truth)
    >>> best.threshold, round(best.score, 3), best.precision, best.recall
    (0.4, 0.889, 0.8, 1.0)
    >>> threshold_for(P, truth, "recall", precision=0.9).threshold
    0.7
    """
    choice("metric", metric, get_args(Metric))
    choice("bound", bound, get_args(Bound))
    nothing = number("zero_division", zero_division, 0, 1)
    level, delta = _checked_precision(metric, precision, confidence)
    cuts = _Cuts(checked_pairs(P, truth, unknown))
    if level is None:
        return cuts.best(cuts.scores(metric, nothing))
    if delta is None:
        return cuts.best_recall(level, np.arange(len(cuts.threshold)), None)
    tried = cuts.tried(max(1, math.ceil(math.log(delta) / math.log(level))))
    lower = cuts.precision_bounds(tried, delta / len(tried), bound)
    return cuts.best_recall(level, tried, lower)


def _checked_precision(
    metric: Metric, precision: float | None, confidence: float | None
) -> tuple[float | None, float | None]:
    """Return the required precision and the risk of its bound, each None if not used."""
    if metric != "recall":
        for name, value in (("precision", precision), ("confidence", confidence)):
            if value is not None:
                raise ArgumentError.of(name, value, f"None for metric={metric!r}")
        return None, None
    level = number("precision", precision, 0, 1, open_low=True)
    if confidence is None:
        return level, None
    if level == 1:
        raise ArgumentError.of("precision", precision, "in (0, 1) with confidence")
    return level, 1 - number("confidence", confidence, 0, 1, open_low=True, open_high=True)


class _Cuts:
    """All thresholds that keep different labels, highest first, with the labels they keep."""

    def __init__(self, pairs: CheckedPairs) -> None:
        self._pairs = pairs
        if not pairs.p.nnz:
            raise ArgumentError.of("the number of probabilities in P above 0", 0, "> 0")
        self._order = np.argsort(-pairs.p.data, kind="stable")
        value = pairs.p.data[self._order]
        self._last = np.append(np.flatnonzero(np.diff(value)), len(value) - 1)
        self._hit = values_at(pairs.y, pairs.p)[self._order]
        self.threshold = value[self._last]
        self.n_kept = self._last + 1
        self.n_right = np.cumsum(self._hit)[self._last]
        self.n_true = pairs.y.nnz + int(pairs.unknown.sum())

    def scores(self, metric: Metric, nothing: float) -> FloatArray:
        """Return an F1 at every threshold."""
        p, y, unknown = self._pairs
        if metric == "micro_f1":
            return np.asarray(2 * self.n_right / (self.n_kept + self.n_true))
        if metric == "macro_f1":
            n_true = np.bincount(y.indices, minlength=p.shape[1])
            return self._mean_f1(p.indices, n_true, 0.0)
        return self._mean_f1(rows_of(p), np.diff(y.indptr) + unknown, nothing)

    def _mean_f1(self, group: IntArray, n_true: IntArray, nothing: float) -> FloatArray:
        """Return the mean F1 of groups of pairs at every threshold; a group is a row or a label."""
        order, rank, group = self._ranked(group)
        right = np.cumsum(self._hit[order])
        first = rank == 1
        right -= (right - self._hit[order])[
            np.maximum.accumulate(np.where(first, _places(rank), 0))
        ]
        f1 = 2 * right / (rank + n_true[group])
        empty = np.where(n_true == 0, nothing, 0.0)
        before = np.where(first, empty[group], np.concatenate(([0.0], f1[:-1])))
        gain = np.empty(len(f1))
        gain[order] = f1 - before
        return np.asarray((empty.sum() + np.cumsum(gain)[self._last]) / len(n_true))

    def _ranked(self, group: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return pairs sorted by group, most likely first, with their ranks and groups."""
        group = group[self._order]
        order = np.argsort(group, kind="stable")
        group = group[order]
        first = np.concatenate(([True], group[1:] != group[:-1]))
        start = np.maximum.accumulate(np.where(first, _places(group), 0))
        return order, _places(group) - start + 1, group

    def tried(self, at_least: int) -> IntArray:
        """Return thresholds that keep at_least labels or more, growing by a factor, and the last.

        They do not depend on the truth, so bounds at all of them hold together.
        """
        total = self.n_kept[-1]
        steps = max(0, math.floor(math.log(total / min(at_least, total)) / math.log(_GROWTH)))
        wanted = np.append(min(at_least, total) * _GROWTH ** np.arange(steps + 1), total)
        return np.unique(np.searchsorted(self.n_kept, np.minimum(wanted, total)))

    def precision_bounds(self, tried: IntArray, risk: float, bound: Bound) -> FloatArray:
        """Return lower bounds of the precision at some thresholds, each with this risk of error."""
        right, kept = self.n_right[tried], self.n_kept[tried]
        if bound == "pairs":
            lower = betaincinv(np.maximum(right, 1), kept - right + 1, risk)
            return np.where(right > 0, lower, 0.0)
        order, rank, _ = self._ranked(rows_of(self._pairs.p))
        growth = np.empty(len(rank))
        growth[order] = 2 * rank - 1  # growth of the square of the number of labels of the row
        squares = np.cumsum(growth)[self._last][tried]
        below = np.sqrt(-math.log(risk) * squares / 2)
        return np.asarray(np.maximum((right - below) / kept, 0))

    def best_recall(self, level: float, tried: IntArray, lower: FloatArray | None) -> Threshold:
        """Return the threshold with the highest recall among all that are precise enough."""
        if not self.n_true:
            raise ArgumentError.of("the number of true labels", 0, "> 0")
        precise = self.n_right[tried] / self.n_kept[tried] if lower is None else lower
        good = precise >= level
        if not good.any():
            what = "precision of a threshold" if lower is None else "bound of a precision"
            most = f"at most {precise.max():.6g}, the highest {what} on these rows"
            raise ArgumentError.of("precision", level, most)
        score = np.full(len(self.threshold), -1.0)
        score[tried[good]] = self.n_right[tried[good]] / self.n_true
        best = self.best(score)
        if lower is None:
            return best
        place = np.flatnonzero(self.threshold[tried] == best.threshold)[0]
        return best._replace(precision_bound=float(lower[place]))

    def best(self, score: FloatArray) -> Threshold:
        """Return the threshold with the highest score; the highest threshold of equals."""
        place = int(np.argmax(score))
        right, kept = float(self.n_right[place]), int(self.n_kept[place])
        return Threshold(
            threshold=float(self.threshold[place]),
            score=float(score[place]),
            precision=right / kept,
            recall=right / self.n_true if self.n_true else math.nan,
            labels_per_row=kept / self._pairs.p.shape[0],
            precision_bound=None,
        )


def _places(array: NDArray[Any]) -> IntArray:
    return np.arange(len(array))
