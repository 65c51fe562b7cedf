"""Errors, calibration and filtering of predicted relevances.

``truth`` and ``scores`` are matrices of one shape (n_rows, n_labels) with entries >= 0, sparse or
dense; what is not stored is 0. Functions return a mean over rows, or over labels for
``per="label"``. Errors are those of section 3 of the extreme regression paper. They divide by k,
even where there are fewer labels. With M the larger of ranking and regression error at k,
``M / 2 <= XMAD@2k <= XRMSE@2k`` (Lemma 3.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from labeltrees.checks import choice, integer, number
from labeltrees.errors import ArgumentError
from labeltrees.metrics._calibration import Bins, ReliabilityCurve, curve_of
from labeltrees.metrics._losses import LOG_FLOOR, negative_log
from labeltrees.metrics._multilabel import weighted_precision
from labeltrees.metrics._rankings import Pairs, Per, Ranking, checked_matrix, mean, top_positions

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    FloatArray = NDArray[np.float64]

Variant: TypeAlias = Literal["paper", "release"]
Keep: TypeAlias = Literal["relevance", "top_k", "random"]
_NAMES = {"relevance": "by relevance", "top_k": "top k", "random": "by random relevance"}
_COLOURS = {"relevance": "#0072B2", "top_k": "#D55E00", "random": "#7F7F7F"}


def xmad_at_k(
    truth: Any,
    scores: Any,
    k: int,
    *,
    variant: Variant = "paper",
    per: Per = "row",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return XMAD@k, the mean of the k largest errors ``|score - truth|`` of a row (equation 6).

    With k the number of labels it is the mean absolute deviation.

    Parameters
    ----------
    truth, scores : sparse matrix or array of shape (n_rows, n_labels)
        True and predicted relevances, finite and >= 0; 0 where not stored.
    k : int >= 1
        How many errors count.
    variant : {"paper", "release"}, default "paper"
        ``"release"`` is the value that the authors' program prints under this name, the regression
        error at k divided by `weighted_precision_at_k`. Like values in the paper's tables, it can
        be lower than equation 6 allows.
    per : {"row", "label"}, default "row"
        Whether to score the labels of each row, or the rows of each label.
    sample_weight : array, optional
        Weights >= 0 of the rows, or of the labels for ``per="label"``.

    Examples
    --------
    >>> xmad_at_k([[1, 0, 0.5, 0]], [[0.5, 0.25, 0.5, 0]], 2)
    0.375
    """
    pairs = Pairs.checked(truth, scores, per=per, sample_weight=sample_weight)
    if choice("variant", variant, get_args(Variant)) == "paper":
        return xmad(largest_errors(pairs, k), integer("k", k, 1), pairs.weight)
    return released_xmad(pairs.ranking(k), pairs.weight)


def xrmse_at_k(
    truth: Any, scores: Any, k: int, *, per: Per = "row", sample_weight: ArrayLike | None = None
) -> float:
    """Return XRMSE@k, the root of the mean square of a row's k largest errors (equation 7).

    It takes the arguments of `xmad_at_k`.

    Examples
    --------
    >>> round(xrmse_at_k([[1, 0, 0, 0]], [[0.2, 0.6, 0, 0]], 2), 4)
    0.7071
    """
    pairs = Pairs.checked(truth, scores, per=per, sample_weight=sample_weight)
    return xrmse(largest_errors(pairs, k), integer("k", k, 1), pairs.weight)


def ranking_error_at_k(
    truth: Any, scores: Any, k: int, *, per: Per = "row", sample_weight: ArrayLike | None = None
) -> float:
    """Return the relevance that the first k labels lack of the best k, over k (equation 4).

    It takes the arguments of `xmad_at_k`.

    Examples
    --------
    >>> ranking_error_at_k([[1, 0, 0.5]], [[0.2, 0.6, 0]], 1)
    1.0
    """
    pairs = Pairs.checked(truth, scores, per=per, sample_weight=sample_weight)
    return ranking_error(pairs.ranking(k), pairs.weight)


def regression_error_at_k(
    truth: Any, scores: Any, k: int, *, per: Per = "row", sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean error ``|score - truth|`` of the first k labels (equation 5).

    It takes the arguments of `xmad_at_k`.

    Examples
    --------
    >>> regression_error_at_k([[1, 0, 0.5]], [[0.25, 0.75, 0]], 2)
    0.75
    """
    pairs = Pairs.checked(truth, scores, per=per, sample_weight=sample_weight)
    return regression_error(pairs.ranking(k), pairs.weight)


def largest_errors(pairs: Pairs, k: int) -> FloatArray:
    """Return the k largest errors of each row, of shape (n_rows, at most k), largest first."""
    error = abs(pairs.scores - pairs.truth)
    places = top_positions(error, integer("k", k, 1))
    errors = np.zeros(places.shape)
    errors[places >= 0] = error.data[places[places >= 0]]
    return errors


def xmad(errors: FloatArray, k: int, weight: FloatArray) -> float:
    """Return XMAD@k of what `largest_errors` returned for at least this k."""
    return mean(errors[:, :k].sum(axis=1) / k, weight)


def xrmse(errors: FloatArray, k: int, weight: FloatArray) -> float:
    """Return XRMSE@k of what `largest_errors` returned for at least this k."""
    # Scaled by the largest, so that squares neither overflow nor vanish.
    first = errors[:, :1].sum(axis=1)
    share = errors[:, :k] / np.where(first > 0, first, 1)[:, np.newaxis]
    return mean(first * np.sqrt((share**2).sum(axis=1) / k), weight)


def released_xmad(ranking: Ranking, weight: FloatArray) -> float:
    """Return the released program's XMAD@k of a ranking."""
    precision = weighted_precision(ranking, weight, "ratio")
    if precision == 0:
        raise ArgumentError.of("the relevance of the first k labels", 0.0, "> 0 for 'release'")
    return regression_error(ranking, weight) / precision


def ranking_error(ranking: Ranking, weight: FloatArray) -> float:
    """Return equation 4 of a ranking."""
    lost = ranking.ideal.sum(axis=1) - ranking.relevance.sum(axis=1)
    return mean(np.maximum(lost, 0) / ranking.k, weight)  # rounding may go below 0


def regression_error(ranking: Ranking, weight: FloatArray) -> float:
    """Return equation 5 of a ranking."""
    return mean(np.abs(ranking.score - ranking.relevance).sum(axis=1) / ranking.k, weight)


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


@dataclass(frozen=True, eq=False)
class FilteringCurve:
    """Precision and recall of growing parts of the predictions.

    Attributes
    ----------
    threshold : array
        The least relevance that is kept, falling; for ``keep="top_k"`` the k, rising.
    n_kept : array
        How many predictions are kept.
    precision : array
        The mean true relevance of those kept.
    recall : array
        Their true relevance as a share of the whole truth's.
    """

    threshold: FloatArray
    n_kept: NDArray[np.int64]
    precision: FloatArray
    recall: FloatArray


def filtering_curve(
    truth: Any,
    scores: Any,
    *,
    keep: Keep = "relevance",
    per: Per = "row",
    max_points: int = 200,
    random_state: int = 0,
) -> FilteringCurve:
    """Return precision and recall of keeping predictions by a threshold.

    Parameters
    ----------
    truth, scores : sparse matrix or array of shape (n_rows, n_labels)
        True and predicted relevances, finite and >= 0; what ``scores`` does not store is not
        predicted.
    keep : {"relevance", "top_k", "random"}, default "relevance"
        ``"relevance"`` keeps what is predicted at least as relevant as a threshold; ``"top_k"``
        the first k of each row; ``"random"`` goes by uniform random relevances that rank each
        row's labels as the predictions do, which shows what the numbers add to the ranking.
    per : {"row", "label"}, default "row"
        Whether labels are ranked for each row, or rows for each label.
    max_points : int, default 200
        The largest number of points, spaced about evenly by number kept.
    random_state : int, default 0
        The seed of ``"random"``.

    Examples
    --------
    >>> curve = filtering_curve([[1, 0], [0, 1]], [[0.9, 0.2], [0.8, 0.1]])
    >>> curve.threshold.tolist(), curve.precision.round(2).tolist(), curve.recall.tolist()
    ([0.9, 0.8, 0.2, 0.1], [1.0, 0.5, 0.33, 0.5], [0.5, 0.5, 0.5, 1.0])
    """
    keep = choice("keep", keep, get_args(Keep))
    max_points = integer("max_points", max_points, 2)
    seed = integer("random_state", random_state, 0)
    pairs = Pairs.checked(truth, scores, per=per)
    if not pairs.scores.nnz or not pairs.truth.nnz:
        raise ArgumentError("truth and scores must both have an entry above 0.")
    ranking = pairs.ranking(int(np.diff(pairs.scores.indptr).max()))
    rank = np.arange(ranking.score.shape[1])
    used = rank < ranking.n_found[:, np.newaxis]
    level = np.where(used, ranking.score, -np.inf)
    if keep == "top_k":
        level = np.broadcast_to(-(rank + 1.0), used.shape)
    elif keep == "random":
        drawn = np.random.default_rng(seed).random(used.shape)
        level = -np.sort(np.where(used, -drawn, 1.0), axis=1)
    curve = _cumulated(level[used], ranking.relevance[used], pairs.truth.data.sum())
    places = _spread(curve.n_kept, max_points)
    return FilteringCurve(
        np.abs(curve.threshold[places]),
        curve.n_kept[places],
        curve.precision[places],
        curve.recall[places],
    )


def plot_filtering_curves(
    truth: Any,
    scores: Any,
    *,
    per: Per = "row",
    max_points: int = 200,
    random_state: int = 0,
    ax: Any = None,
) -> Any:
    """Draw the curves of all three ways to keep predictions into matplotlib axes; return those.

    It takes the arguments of `filtering_curve`.

    Examples
    --------
    >>> ax = plot_filtering_curves([[1, 0], [0, 1]], [[0.9, 0.2], [0.8, 0.1]])
    >>> [line.get_label() for line in ax.lines]
    ['by relevance', 'top k', 'by random relevance']
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            "drawing curves needs matplotlib. Run pip install matplotlib first."
        ) from None
    axes = Figure(layout="constrained").add_subplot() if ax is None else ax
    for keep in get_args(Keep):
        curve = filtering_curve(
            truth, scores, keep=keep, per=per, max_points=max_points, random_state=random_state
        )
        style = "o-" if keep == "top_k" else "-"
        colour = _COLOURS[keep]
        axes.plot(100 * curve.recall, 100 * curve.precision, style, ms=4, color=colour)
        axes.lines[-1].set_label(_NAMES[keep])
    axes.set(xlabel="recall of relevance (%)", ylabel="mean true relevance (%)")
    axes.grid(color="#DDDDDD", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return axes


def _cumulated(level: FloatArray, relevance: FloatArray, whole: float) -> FilteringCurve:
    """Return the curve over all levels; predictions of equal level are kept together."""
    order = np.argsort(-level, kind="stable")
    level, gain = level[order], np.cumsum(relevance[order])
    last = np.flatnonzero(np.concatenate((level[1:] != level[:-1], [True])))
    n_kept = last + 1
    return FilteringCurve(level[last], n_kept, gain[last] / n_kept, gain[last] / whole)


def _spread(n_kept: NDArray[np.int64], max_points: int) -> NDArray[np.int64]:
    """Return which points to keep, first and last among them, evenly by number kept."""
    if len(n_kept) <= max_points:
        return np.arange(len(n_kept))
    wanted = np.linspace(n_kept[0], n_kept[-1], max_points)
    return np.unique(np.searchsorted(n_kept, wanted).clip(max=len(n_kept) - 1))
