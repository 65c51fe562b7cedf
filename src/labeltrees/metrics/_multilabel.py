"""Metrics of the k labels ranked first, where a row has many true labels of unequal relevance.

``truth`` and ``scores`` are matrices of one shape (n_rows, n_labels), sparse or dense. A label that
``scores`` does not store is not predicted. It has no rank, and its score is 0. Equal scores
rank by column. ``per="label"`` ranks the rows for each label instead (labelwise metrics), and
``sample_weight`` then weighs labels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from labeltrees.checks import choice, integer, number
from labeltrees.errors import ArgumentError
from labeltrees.metrics._propensity import checked_propensities
from labeltrees.metrics._rankings import (
    Pairs,
    Per,
    Ranking,
    checked_matrix,
    mean,
    ratio,
    top_positions,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

    FloatArray = NDArray[np.float64]
    IntArray = NDArray[np.int64]

Average: TypeAlias = Literal["ratio", "mean"]
_NOTHING_RELEVANT = "the sum of truth"
_PAIRS_AT_ONCE = 2**22
Named: TypeAlias = Literal["rightly", "at all"]


def precision_at_k(
    truth: Any, scores: Any, k: int, *, per: Per = "row", sample_weight: ArrayLike | None = None
) -> float:
    """Return P@k, the mean over rows of the share of the first k labels that are true.

    A row with fewer than k predictions is still divided by k.

    Parameters
    ----------
    truth : sparse matrix or array of shape (n_rows, n_labels)
        Relevances >= 0; a label is true where its relevance is not 0.
    scores : sparse matrix or array of shape (n_rows, n_labels)
        The predictions, finite.
    k : int >= 1
        How many labels count.
    per : {"row", "label"}, default "row"
        Whether labels are ranked for each row, or rows for each label.
    sample_weight : array, optional
        Weights >= 0 of the rows, or of the labels for ``per="label"``.

    Examples
    --------
    >>> precision_at_k([[1, 0, 1]], [[0.9, 0.5, 0.1]], 2)
    0.5
    """
    pairs = Pairs.checked(binary(truth), scores, per=per, sample_weight=sample_weight, signed=True)
    return weighted_precision(pairs.ranking(k), pairs.weight, "mean")


def recall_at_k(
    truth: Any, scores: Any, k: int, *, per: Per = "row", sample_weight: ArrayLike | None = None
) -> float:
    """Return R@k, the mean over rows of the share of their true labels that are among the first k.

    A row without a true label counts as 0. It takes the arguments of `precision_at_k`.

    Examples
    --------
    >>> recall_at_k([[1, 0, 1]], [[0.9, 0.5, 0.1]], 1)
    0.5
    """
    pairs = Pairs.checked(binary(truth), scores, per=per, sample_weight=sample_weight, signed=True)
    return recall(pairs.ranking(k), np.diff(pairs.truth.indptr), pairs.weight)


def ndcg_at_k(
    truth: Any, scores: Any, k: int, *, per: Per = "row", sample_weight: ArrayLike | None = None
) -> float:
    """Return nDCG@k, the mean over rows of ``sum_r [label r true] / log2(r + 1)`` over its best.

    A row without a true label counts as 0. It takes the arguments of `precision_at_k`.

    Examples
    --------
    >>> round(ndcg_at_k([[1, 0, 1]], [[0.9, 0.5, 0.1]], 3), 4)
    0.9197
    """
    pairs = Pairs.checked(binary(truth), scores, per=per, sample_weight=sample_weight, signed=True)
    return weighted_ndcg(pairs.ranking(k), pairs.weight, "mean")


def weighted_precision_at_k(
    truth: Any,
    scores: Any,
    k: int,
    *,
    average: Average = "ratio",
    per: Per = "row",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return WP@k, the true relevance of the first k labels: Rating@k, CTR@k, PSP@k.

    Parameters
    ----------
    truth : sparse matrix or array of shape (n_rows, n_labels)
        Relevances >= 0, such as ratings or click-through rates.
    scores : sparse matrix or array of shape (n_rows, n_labels)
        The predictions, finite.
    k : int >= 1
        How many labels count.
    average : {"ratio", "mean"}, default "ratio"
        ``"ratio"`` is the sum over rows of the relevance of the first k, divided by the relevance
        of the best k, between 0 and 1, as in the tables of the extreme regression paper.
        ``"mean"`` is the mean over rows of its equation 1, the relevance of the first k divided
        by k.
    per : {"row", "label"}, default "row"
        Whether labels are ranked for each row, or rows for each label.
    sample_weight : array, optional
        Weights >= 0 of the rows, or of the labels for ``per="label"``.

    Examples
    --------
    >>> stars, guess = [[5, 0, 3], [0, 4, 0]], [[0.9, 0.5, 0], [0.2, 0.3, 0.1]]
    >>> weighted_precision_at_k(stars, guess, 1)
    1.0
    >>> weighted_precision_at_k(stars, guess, 2)
    0.75
    >>> weighted_precision_at_k(stars, guess, 2, per="label")
    0.75
    """
    pairs = Pairs.checked(truth, scores, per=per, sample_weight=sample_weight, signed=True)
    return weighted_precision(pairs.ranking(k), pairs.weight, average)


def weighted_ndcg_at_k(
    truth: Any,
    scores: Any,
    k: int,
    *,
    average: Average = "ratio",
    per: Per = "row",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return WN@k, the relevance of the first k labels, each divided by ``log2(rank + 1)``.

    It takes the arguments of `weighted_precision_at_k`. ``average="ratio"`` divides the sum over
    rows by the sum of the best rankings; ``"mean"`` divides each row by its own best (equation 2)
    and counts a row with nothing relevant as 0.

    Examples
    --------
    >>> round(weighted_ndcg_at_k([[5, 0, 3]], [[0.9, 0.5, 0.1]], 3), 4)
    0.943
    """
    pairs = Pairs.checked(truth, scores, per=per, sample_weight=sample_weight, signed=True)
    return weighted_ndcg(pairs.ranking(k), pairs.weight, average)


def psp_at_k(
    truth: Any,
    scores: Any,
    k: int,
    propensity: ArrayLike,
    *,
    average: Average = "ratio",
    per: Per = "row",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return PSP@k, precision where a true label counts as much as 1 / its propensity.

    It is `weighted_precision_at_k` with these relevances; a label is true where ``truth`` is not 0.

    Parameters
    ----------
    propensity : array of shape (n_labels,)
        What `propensities` returns for the training labels; in (0, 1].

    Examples
    --------
    >>> psp_at_k([[1, 0, 1]], [[0.9, 0.5, 0.1]], 1, [0.5, 0.5, 0.25])
    0.5
    """
    y = inverse_propensity_relevance(truth, propensity)
    return weighted_precision_at_k(
        y, scores, k, average=average, per=per, sample_weight=sample_weight
    )


def psndcg_at_k(
    truth: Any,
    scores: Any,
    k: int,
    propensity: ArrayLike,
    *,
    average: Average = "ratio",
    per: Per = "row",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return PSnDCG@k, `weighted_ndcg_at_k` where a true label counts 1 / its propensity.

    It takes the arguments of `psp_at_k`.

    Examples
    --------
    >>> round(psndcg_at_k([[1, 0, 1]], [[0.9, 0.5, 0.1]], 3, [0.5, 0.5, 0.25]), 4)
    0.7602
    """
    y = inverse_propensity_relevance(truth, propensity)
    return weighted_ndcg_at_k(y, scores, k, average=average, per=per, sample_weight=sample_weight)


def auc_at_k(
    truth: Any,
    scores: Any,
    k: int,
    *,
    average: Average = "ratio",
    tolerance: float = 1e-6,
    per: Per = "row",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return AUC@k, one minus the share of wrongly ordered pairs (equation 3).

    A pair is one of the first k labels j of a row and one of its relevant labels l; it is wrong if
    ``y_j < y_l`` and ``score_j > score_l``.

    Parameters
    ----------
    truth : sparse matrix or array of shape (n_rows, n_labels)
        Relevances >= 0.
    scores : sparse matrix or array of shape (n_rows, n_labels)
        The predictions, finite and >= 0; 0 where not stored.
    k : int >= 1
        How many labels count.
    average : {"ratio", "mean"}, default "ratio"
        ``"ratio"`` divides the wrong pairs of all rows by all pairs, as the tables of the extreme
        regression paper do. ``"mean"`` is the mean over rows of its equation 3; rows that have no
        pair, for want of relevant labels or of predictions, are left out.
    tolerance : float >= 0, default 1e-6
        Differences up to this are none.
    per : {"row", "label"}, default "row"
        Whether labels are ranked for each row, or rows for each label.
    sample_weight : array, optional
        Weights >= 0 of the rows, or of the labels for ``per="label"``.

    Examples
    --------
    >>> auc_at_k([[1, 0, 0.5]], [[0.9, 0.5, 0.1]], 3)
    0.8333333333333334
    >>> truth, scores = [[1, 1, 0], [0, 0, 1]], [[0.9, 0.8, 0.7], [0.9, 0.8, 0.7]]
    >>> auc_at_k(truth, scores, 2), auc_at_k(truth, scores, 2, average="mean")
    (0.6666666666666667, 0.5)
    """
    pairs = Pairs.checked(truth, scores, per=per, sample_weight=sample_weight)
    tolerance = number("tolerance", tolerance, 0)
    first = top_positions(pairs.scores, integer("k", k, 1))
    told = Told(pairs.scores_of_truth(), pairs.places_of_truth(first))
    return auc(pairs, pairs.ranking(k, first), told, tolerance, average)


def weighted_precision(ranking: Ranking, weight: FloatArray, average: Average) -> float:
    """Return WP@k of a ranking."""
    gain = ranking.relevance.sum(axis=1)
    if choice("average", average, get_args(Average)) == "mean":
        return mean(gain / ranking.k, weight)
    return ratio(gain, ranking.ideal.sum(axis=1), weight, _NOTHING_RELEVANT)


def weighted_ndcg(ranking: Ranking, weight: FloatArray, average: Average) -> float:
    """Return WN@k of a ranking."""
    gain, best = discounted(ranking.relevance), discounted(ranking.ideal)
    if choice("average", average, get_args(Average)) == "mean":
        return mean(np.divide(gain, best, out=np.zeros_like(gain), where=best > 0), weight)
    return ratio(gain, best, weight, _NOTHING_RELEVANT)


def recall(ranking: Ranking, n_true: NDArray[Any], weight: FloatArray) -> float:
    """Return R@k of a ranking of binary relevances, where rows have ``n_true`` labels."""
    return mean(ranking.relevance.sum(axis=1) / np.maximum(n_true, 1), weight)


class Told(NamedTuple):
    """What is predicted for each entry of the truth: its score, and its place, 0 first."""

    scores: FloatArray
    places: NDArray[np.int64]


def auc(pairs: Pairs, ranking: Ranking, told: Told, tolerance: float, average: Average) -> float:
    """Return AUC@k of a ranking of these pairs, some at a time to bound memory.

    Label j precedes label l by its rank, which may differ from the order of the scores. Labels
    with equal scores are never counted as wrongly ordered.
    """
    choice("average", average, get_args(Average))
    rows = np.repeat(np.arange(pairs.truth.shape[0]), np.diff(pairs.truth.indptr))
    wrong = np.zeros(pairs.truth.shape[0])
    step = max(1, _PAIRS_AT_ONCE // max(1, ranking.score.shape[1]))
    for begin in range(0, len(rows), step):
        part = slice(begin, begin + step)
        row = rows[part]
        less = ranking.relevance[row] < pairs.truth.data[part, np.newaxis] - tolerance
        less &= np.arange(less.shape[1]) < told.places[part, np.newaxis]
        less &= np.abs(ranking.score[row] - told.scores[part, np.newaxis]) > tolerance
        wrong += np.bincount(row, less.sum(axis=1), minlength=len(wrong))
    n_pairs = ranking.n_found * np.diff(pairs.truth.indptr).astype(np.float64)
    what = "the number of pairs of truth and scores"
    if average == "ratio":
        return 1 - ratio(wrong, n_pairs, pairs.weight, what)
    has = n_pairs > 0
    return 1 - ratio(wrong[has] / n_pairs[has], np.ones(has.sum()), pairs.weight[has], what)


def discounted(gains: FloatArray) -> FloatArray:
    """Return the sum over ranks r = 1, 2, ... of ``gain_r / log2(r + 1)``."""
    return np.asarray(gains @ (1 / np.log2(np.arange(gains.shape[1]) + 2)))


def inverse_propensity_relevance(truth: Any, propensity: ArrayLike) -> csr_array:
    """Return the truth with 1 / propensity of its label for each entry that is not 0."""
    y = binary(truth)
    y.data /= checked_propensities(propensity, y.shape[1])[y.indices]
    return y


def binary(truth: Any) -> csr_array:
    """Return the truth with 1 for each entry that is not 0."""
    y = checked_matrix("truth", truth, lowest=0)
    y.eliminate_zeros()
    y.data[:] = 1
    return y


def coverage_at_k(
    truth: Any, scores: Any, k: int, *, named: Named = "rightly", per: Per = "row"
) -> float:
    """Return Coverage@k, the share of the relevant labels that are among the first k of some row.

    Labels that no row has are left out. A ranking that names the same popular labels for every row
    has a low coverage, however precise it is.

    Parameters
    ----------
    truth : sparse matrix or array of shape (n_rows, n_labels)
        Relevances >= 0; a label is true where its relevance is not 0.
    scores : sparse matrix or array of shape (n_rows, n_labels)
        The predictions, finite.
    k : int >= 1
        How many labels count.
    named : {"rightly", "at all"}, default "rightly"
        ``"rightly"`` counts a label that is among the first k of a row which has it, ``"at all"``
        also one that is among the first k of any other row.
    per : {"row", "label"}, default "row"
        Whether labels are ranked for each row, or rows for each label; rows are covered then.

    Examples
    --------
    >>> truth, scores = [[1, 0, 0], [1, 1, 0]], [[0.9, 0.1, 0.5], [0.8, 0.2, 0.1]]
    >>> coverage_at_k(truth, scores, 1), coverage_at_k(truth, scores, 2)
    (0.5, 1.0)
    >>> coverage_at_k([[1, 0], [0, 1]], [[0.1, 0.9], [0.9, 0.1]], 1, named="at all")
    1.0
    """
    pairs = Pairs.checked(truth, scores, per=per, signed=True)
    first = top_positions(pairs.scores, integer("k", k, 1))
    return coverage(pairs, first, pairs.ranking(k, first), named)


def coverage(pairs: Pairs, first: IntArray, ranking: Ranking, named: Named = "rightly") -> float:
    """Return Coverage@k of a ranking whose labels are at ``first`` among the predictions."""
    counts = first >= 0
    if choice("named", named, get_args(Named)) == "rightly":
        counts = counts & (ranking.relevance > 0)
    relevant = np.unique(pairs.truth.indices)
    if not len(relevant):
        raise ArgumentError.of("the number of relevant labels", 0, "> 0")
    return float(np.isin(relevant, pairs.scores.indices[first[counts]]).mean())
