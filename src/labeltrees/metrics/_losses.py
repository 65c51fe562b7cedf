"""Accuracy and losses of predicted probabilities, Hoeffding's radius and equivalent labels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.checks import number
from labeltrees.errors import ArgumentError
from labeltrees.metrics._arrays import (
    check_length,
    checked_labels,
    checked_probabilities,
    weighted_mean,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

LOG_FLOOR = 1e-9
_MASS_ERROR = 1e-5  # what rounding float32 probabilities can add to the sum of a row


def top_k_accuracy(
    y_true: ArrayLike, top_labels: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return the fraction of rows whose true label is among the k that were returned.

    Parameters
    ----------
    y_true : array of shape (n_rows,)
        The true labels, strings or integers.
    top_labels : array of shape (n_rows, k)
        The labels that ``predict_top_k`` returned; ``top_labels[:, :1]`` gives accuracy. A row with
        fewer labels is padded with a value that is not a label, for example None.
    sample_weight : array of shape (n_rows,), optional
        Weights >= 0 of the rows.

    Examples
    --------
    >>> top_k_accuracy(["a", "b"], [["c", "a"], ["a", "c"]])
    0.5
    """
    hits = np.asarray(matches(y_true, top_labels).any(axis=1), dtype=np.float64)
    return weighted_mean(hits, sample_weight)


def matches(y_true: Any, top_labels: Any) -> NDArray[np.bool_]:
    """Return, of shape (n_rows, k), whether each returned label is its row's true label."""
    truth = checked_labels("y_true", y_true, ndim=1)
    top = checked_labels("top_labels", top_labels, ndim=2)
    check_length("top_labels", top, len(truth))
    if truth.dtype == object and any(label is None for label in truth):
        raise ArgumentError.of("y_true", None, "strings or integers")
    kinds = {"text" if a.dtype.kind in "UT" else a.dtype.kind for a in (truth, top)}
    if "text" in kinds and kinds & {"i", "u"}:
        raise ArgumentError(
            "y_true and top_labels must both be strings or both be integers, got "
            f"{truth.dtype.name} and {top.dtype.name}."
        )
    return np.asarray(top == truth[:, np.newaxis], dtype=bool)


def squared_loss(p_label: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Return the mean of ``(1 - p)^2``, where p is the probability of the true label.

    It is the loss of the conditional probability tree's paper (section 4.3). It is bounded and
    needs one probability per row. Over more than two labels it is not proper: it rewards
    over-confidence. Use it to compare with the paper, and `log_loss`, `brier_score` or
    calibration to choose a model.

    Parameters
    ----------
    p_label : array of shape (n_rows,)
        P(y_i given x_i), as ``predict_label_proba`` returns it.
    sample_weight : array of shape (n_rows,), optional
        Weights >= 0 of the rows.

    Examples
    --------
    >>> squared_loss([1.0, 0.5, 0.5])
    0.16666666666666666
    """
    p = checked_probabilities("p_label", p_label)
    return weighted_mean((1 - p) ** 2, sample_weight)


def log_loss(
    p_label: ArrayLike, *, floor: float = LOG_FLOOR, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean of ``-log max(p, floor)``, where p is the probability of the true label.

    Parameters
    ----------
    p_label : array of shape (n_rows,)
        P(y_i given x_i).
    floor : float in [0, 1), default 1e-9
        A label that was never seen has probability 0 and would make the mean infinite; it costs
        ``-log floor`` instead, 20.7 by default. With ``floor=0`` the mean may be ``inf``.
    sample_weight : array of shape (n_rows,), optional
        Weights >= 0 of the rows.

    Examples
    --------
    >>> round(log_loss([0.5, 0.25]), 4)
    1.0397
    >>> log_loss([0.5, 0.0], floor=0)
    inf
    """
    p = checked_probabilities("p_label", p_label)
    return weighted_mean(negative_log(p, checked_floor(floor)), sample_weight)


def checked_floor(floor: float) -> float:
    """Return the floor of a log loss, in [0, 1)."""
    return number("floor", floor, 0, 1, open_high=True)


def negative_log(p: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
    """Return ``-log max(p, floor)``, positive zero and infinity included."""
    with np.errstate(divide="ignore"):
        return np.abs(np.log(np.maximum(p, floor)))


def brier_score(
    y_true: ArrayLike,
    proba: ArrayLike,
    *,
    labels: Any = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean over rows of ``sum_y (1[y = y_i] - p_y)^2``, between 0 and 2.

    Parameters
    ----------
    y_true : array of shape (n_rows,)
        The true labels, as column numbers of ``proba``, or as labels if ``labels`` is given.
        A label without a column (number -1) has probability 0.
    proba : array of shape (n_rows, n_labels)
        The whole distribution, as ``predict_proba`` returns it.
    labels : array of shape (n_labels,), optional
        The label of each column.
    sample_weight : array of shape (n_rows,), optional
        Weights >= 0 of the rows.

    Examples
    --------
    >>> round(brier_score([0, 1], [[0.8, 0.2], [0.5, 0.5]]), 4)
    0.29
    >>> round(brier_score(["b"], [[0.8, 0.2]], labels=["a", "b"]), 4)
    1.28
    """
    p = checked_probabilities("proba", proba, ndim=2)
    column = _columns(y_true, labels, p.shape[1])
    check_length("y_true", column, len(p))
    p_label = np.where(column >= 0, p[np.arange(len(p)), column], 0.0)
    others = np.maximum(np.einsum("ij,ij->i", p, p) - p_label**2, 0)  # rounding may go below 0
    return weighted_mean((1 - p_label) ** 2 + others, sample_weight)


def _columns(y_true: ArrayLike, labels: Any, n_labels: int) -> NDArray[np.int64]:
    truth = checked_labels("y_true", y_true, ndim=1)
    if labels is not None:
        names = checked_labels("labels", labels, ndim=1)
        check_length("labels", names, n_labels)
        column_of = {name: column for column, name in enumerate(names.tolist())}
        if len(column_of) != n_labels:
            raise ArgumentError.of("labels", "a label twice", "different labels")
        return np.array([column_of.get(label, -1) for label in truth.tolist()], dtype=np.int64)
    if truth.dtype.kind not in "iu":
        raise ArgumentError.of("the type of y_true", truth.dtype.name, "integers without labels=")
    bad = np.flatnonzero((truth < -1) | (truth >= n_labels))
    if bad.size:
        allowed = f"in [-1, n_labels={n_labels})"
        raise ArgumentError.of(f"y_true[{bad[0]}]", int(truth[bad[0]]), allowed)
    return truth.astype(np.int64)


def brier_from_top_k(
    p_label: ArrayLike, top_probabilities: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> tuple[float, float]:
    """Return a lower and an upper bound of the Brier score from the k largest probabilities.

    The score of a row is ``1 - 2 p_label + sum_y p_y^2``. The labels that were not returned share
    the mass r that is left, and none is likelier than the k-th, so their squares sum to at most
    ``r min(r, p_k)``; and to at least ``p_label^2`` where the true label is among them. Both hold
    for an exact search over a distribution that sums to 1, and meet when all labels are returned.

    Parameters
    ----------
    p_label : array of shape (n_rows,)
        P(y_i given x_i).
    top_probabilities : array of shape (n_rows, k)
        The k largest probabilities; NaN or 0 where a row has fewer labels.
    sample_weight : array of shape (n_rows,), optional
        Weights >= 0 of the rows.

    Examples
    --------
    >>> [round(bound, 4) for bound in brier_from_top_k([0.6], [[0.6, 0.3]])]
    [0.25, 0.26]
    """
    p = checked_probabilities("p_label", p_label)
    top = checked_probabilities("top_probabilities", top_probabilities, ndim=2, padded=True)
    check_length("top_probabilities", top, len(p))
    top = np.nan_to_num(top)
    mass = top.sum(axis=1)
    bad = np.flatnonzero(mass > 1 + _MASS_ERROR)
    if bad.size:
        name = f"the sum of top_probabilities[{bad[0]}]"
        raise ArgumentError.of(name, float(mass[bad[0]]), "at most 1")
    rest, p_last = np.maximum(1 - mass, 0), top.min(axis=1)
    known = 1 - 2 * p + np.einsum("ij,ij->i", top, top)
    lower = known + np.where(p < p_last, p**2, 0.0)
    upper = known + rest * np.minimum(rest, p_last)
    return weighted_mean(lower, sample_weight), weighted_mean(upper, sample_weight)


def hoeffding_radius(n: float, *, delta: float = 0.05, span: float = 1.0) -> float:
    """Return ``span sqrt(ln(2 / delta) / (2 n))``, the half-width of Hoeffding's interval.

    The mean of n independent values in an interval of length ``span`` is within this distance of
    its expectation with probability at least ``1 - delta``.

    Parameters
    ----------
    n : float > 0
        How many values; for weighted ones ``(sum w)^2 / sum w^2``.
    delta : float in (0, 1), default 0.05
        The probability of being outside.
    span : float >= 0, default 1
        The length of the interval the values are in.

    Examples
    --------
    >>> round(hoeffding_radius(20_000), 4)
    0.0096
    """
    n = number("n", n, 0, open_low=True)
    delta = number("delta", delta, 0, 1, open_low=True, open_high=True)
    span = number("span", span, 0)
    return span * math.sqrt(math.log(2 / delta) / (2 * n))


def equivalent_labels(squared_loss: float) -> float:
    """Return ``1 / (1 - sqrt(loss))``, for how many labels a uniform guess has this loss.

    The "Equivalent" column of the conditional probability tree's paper. A loss of 1 gives ``inf``.

    Examples
    --------
    >>> round(equivalent_labels(0.7632), 2)
    7.91
    """
    loss = number("squared_loss", squared_loss, 0, 1)
    root = math.sqrt(loss)
    # The same as 1 / (1 - root), without the cancellation near 1.
    return (1 + root) / (1 - loss) if loss < 1 else math.inf
