"""Calibration of predicted relevances, where rows have many labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.checks import integer, number
from labeltrees.errors import ArgumentError
from labeltrees.metrics.calibration import Bins, ReliabilityCurve, curve_of
from labeltrees.metrics.losses import LOG_FLOOR, negative_log
from labeltrees.metrics.rankings import Pairs, Per, Ranking, checked_matrix, mean

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    FloatArray = NDArray[np.float64]


def reliability_curve_at_k(
    truth: Any,
    scores: Any,
    k: int,
    *,
    n_bins: int = 15,
    bins: Bins = "mass",
    per: Per = "row",
    sample_weight: ArrayLike | None = None,
) -> ReliabilityCurve:
    """Return bins over the k highest predictions of all rows, of about equal mass.

    ``mean_probability`` is the mean prediction of a bin, ``frequency`` the mean true relevance.
    Where relevances are 0 or 1, that is how often the labels were true. Bins are made as in
    `reliability_curve`.

    Parameters
    ----------
    truth, scores : sparse matrix or array of shape (n_rows, n_labels)
        True and predicted relevances, finite and >= 0. A label that ``scores`` does not store is
        not predicted.
    k : int >= 1
        How many predictions of a row count.
    n_bins : int, default 15
        The number of bins.
    bins : {"mass", "width"}, default "mass"
        Whether bins hold about equally many predictions, or are ``n_bins`` equal parts of [0, 1];
        then what is above 1 counts with the last.
    per : {"row", "label"}, default "row"
        Whether the first k labels of each row count, or the first k rows of each label.
    sample_weight : array, optional
        Weights >= 0 of the rows, or of the labels for ``per="label"``.

    Examples
    --------
    >>> curve = reliability_curve_at_k([[1, 0], [0, 1]], [[0.75, 0.5], [0.25, 0]], 1)
    >>> curve.mean_probability.tolist(), curve.frequency.tolist()
    ([0.25, 0.75], [0.0, 1.0])
    """
    pairs = Pairs.checked(truth, scores, per=per, sample_weight=sample_weight)
    return ranking_reliability(pairs.ranking(k), pairs.weight, n_bins, bins)


def calibration_error_at_k(
    truth: Any,
    scores: Any,
    k: int,
    *,
    n_bins: int = 15,
    bins: Bins = "mass",
    per: Per = "row",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return ECE@k, the mean gap between prediction and truth over the bins.

    It takes the arguments of `reliability_curve_at_k`.

    Examples
    --------
    >>> calibration_error_at_k([[1, 0], [0, 1]], [[0.75, 0.5], [0.25, 0]], 1)
    0.25
    """
    curve = reliability_curve_at_k(
        truth, scores, k, n_bins=n_bins, bins=bins, per=per, sample_weight=sample_weight
    )
    return curve.expected_calibration_error


def brier_at_k(
    truth: Any,
    scores: Any,
    k: int,
    *,
    per: Per = "row",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean of ``(y - p)^2`` over the k highest predictions of all rows.

    It falls with better calibration and with better ranking alike. It takes the arguments
    of `reliability_curve_at_k`.

    Examples
    --------
    >>> brier_at_k([[1, 0], [0, 1]], [[0.75, 0.5], [0.25, 0]], 1)
    0.0625
    """
    pairs = Pairs.checked(truth, scores, per=per, sample_weight=sample_weight)
    return ranking_brier(pairs.ranking(k), pairs.weight)


def label_log_loss(
    truth: Any,
    proba: Any,
    *,
    floor: float = LOG_FLOOR,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean over all rows and labels of ``-y log p - (1 - y) log(1 - p)``.

    Parameters
    ----------
    truth : sparse matrix or array of shape (n_rows, n_labels)
        Relevances in [0, 1].
    proba : sparse matrix or array of shape (n_rows, n_labels)
        Each label's own probability; 0 where not stored.
    floor : float in (0, 1), default 1e-9
        The least that p and 1 - p count as.
    sample_weight : array of shape (n_rows,), optional
        Weights >= 0 of the rows.

    Examples
    --------
    >>> round(label_log_loss([[1, 0]], [[0.5, 0.5]]), 4)
    0.6931
    """
    y, p = checked_matrix("truth", truth, lowest=0), checked_matrix("proba", proba, lowest=0)
    for name, matrix in (("truth", y), ("proba", p)):
        if matrix.nnz and matrix.data.max() > 1:
            raise ArgumentError.of(f"the largest of {name}", float(matrix.data.max()), "at most 1")
    low = number("floor", floor, 0, 1, open_low=True, open_high=True)
    pairs = Pairs.checked(y, p, sample_weight=sample_weight)
    # -log(1 - p) of every prediction, and for each true label what takes its place; labels that
    # are neither cost nothing.
    p_true = pairs.scores_of_truth()
    swap = negative_log(p_true, low) - negative_log(1 - p_true, low)
    costs = _row_sums(pairs.scores, negative_log(1 - pairs.scores.data, low))
    costs += _row_sums(pairs.truth, pairs.truth.data * swap)
    return mean(costs / y.shape[1], pairs.weight)


def ranking_reliability(
    ranking: Ranking, weight: FloatArray, n_bins: int, bins: Bins = "mass"
) -> ReliabilityCurve:
    """Return the reliability curve of a ranking."""
    n_bins = integer("n_bins", n_bins, 1)
    used, weight = _used(ranking, weight)
    return curve_of(ranking.score[used], ranking.relevance[used], weight, n_bins, bins)


def ranking_brier(ranking: Ranking, weight: FloatArray) -> float:
    """Return Brier@k of a ranking."""
    used, weight = _used(ranking, weight)
    return mean((ranking.relevance[used] - ranking.score[used]) ** 2, weight)


def _used(ranking: Ranking, weight: FloatArray) -> tuple[NDArray[np.bool_], FloatArray]:
    """Return which places of a ranking hold a prediction that counts, and the weights of those."""
    spread = np.broadcast_to(weight[:, np.newaxis], ranking.score.shape)
    used = np.arange(ranking.score.shape[1]) < ranking.n_found[:, np.newaxis]
    used &= spread > 0
    if not used.any():
        raise ArgumentError("scores must have an entry in a row that has weight.")
    return used, spread[used]


def _row_sums(matrix: Any, values: FloatArray) -> FloatArray:
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return np.asarray(np.bincount(rows, values, minlength=matrix.shape[0]), dtype=np.float64)
