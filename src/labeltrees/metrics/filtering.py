"""Precision and recall of keeping only predictions above a relevance threshold (Figure 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from labeltrees.checks import choice, integer
from labeltrees.errors import ArgumentError
from labeltrees.metrics.rankings import Pairs, Per

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

Keep: TypeAlias = Literal["relevance", "top_k", "random"]
_NAMES = {"relevance": "by relevance", "top_k": "top k", "random": "by random relevance"}
_COLOURS = {"relevance": "#0072B2", "top_k": "#D55E00", "random": "#7F7F7F"}


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
        raise ImportError("drawing curves needs matplotlib: pip install matplotlib") from None
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
