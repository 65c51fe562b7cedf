"""Errors of predicted relevances on the few labels where they matter (section 3 of the paper).

``truth`` and ``scores`` are matrices of one shape (n_rows, n_labels) with entries >= 0, sparse or
dense; what is not stored is 0. All return a mean over rows, or over labels for ``per="label"``, and
divide by k, even where there are fewer labels. With M the larger of ranking and regression error
at k, ``M / 2 <= XMAD@2k <= XRMSE@2k`` (Lemma 3.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from labeltrees.checks import choice, integer
from labeltrees.errors import ArgumentError
from labeltrees.metrics.multilabel import weighted_precision
from labeltrees.metrics.rankings import Pairs, Per, Ranking, mean, top_positions

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    FloatArray = NDArray[np.float64]

Variant: TypeAlias = Literal["paper", "release"]


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
