"""All metrics of many labels at once, and matrices made of labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from labeltrees.checks import integer
from labeltrees.errors import ArgumentError
from labeltrees.metrics import _multilabel as ranked
from labeltrees.metrics import _relevances as errors
from labeltrees.metrics._arrays import checked_labels
from labeltrees.metrics._multilabel import coverage
from labeltrees.metrics._rankings import Pairs, Per, Ranking, top_positions
from labeltrees.metrics._relevances import ranking_brier, ranking_reliability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

_TOLERANCE = 1e-6
_N_BINS = 15


def multilabel_report(
    truth: Any,
    scores: Any,
    *,
    ks: Sequence[int] = (1, 3, 5),
    propensity: ArrayLike | None = None,
    per: Per = "row",
    sample_weight: ArrayLike | None = None,
    ranks: Any = None,
) -> dict[str, dict[int, float]]:
    """Return every metric of ranked labels and of predicted relevances, by name and k.

    ``P``, ``R``, ``nDCG`` and ``coverage`` ask which labels are relevant at all, the others how
    much. ``WP``, ``WN`` and ``AUC`` are ratios of sums, ``mean AUC`` is a mean over rows; where
    relevances are 0 or 1, ``WP`` is P@k over the best possible.

    Parameters
    ----------
    truth, scores : sparse matrix or array of shape (n_rows, n_labels)
        True and predicted relevances, finite and >= 0.
    ks : sequence of int, default (1, 3, 5)
        The values of k.
    propensity : array of shape (n_labels,), optional
        What `propensities` returns; adds PSP and PSnDCG.
    per : {"row", "label"}, default "row"
        Whether labels are ranked for each row, or rows for each label.
    sample_weight : array, optional
        Weights >= 0 of the rows, or of the labels for ``per="label"``.
    ranks : sparse matrix or array of shape (n_rows, n_labels), optional
        What labels are ranked by, the largest first, where that is not ``scores``: it has entries
        where ``scores`` has them.

    Examples
    --------
    >>> report = multilabel_report([[1, 0, 1]], [[0.75, 0.5, 0.25]], ks=[1, 2])
    >>> report["P"], report["XMAD"]
    ({1: 1.0, 2: 0.5}, {1: 0.75, 2: 0.625})
    """
    places = sorted({integer("ks", k, 1) for k in ks})
    if not places:
        raise ArgumentError.of("ks", list(ks), "one or more integers")
    options: dict[str, Any] = {"per": per, "sample_weight": sample_weight}
    pairs = Pairs.checked(truth, scores, **options)
    order = pairs.scores if ranks is None else _checked_ranks(truth, ranks, pairs, options)
    first = top_positions(order, places[-1])
    ranking = pairs.ranking(places[-1], first)
    report = _binary_rows(ranking.binary(), pairs, places)
    report |= _weighted_rows(ranking, pairs.weight, places)
    report |= _pair_rows(ranking, pairs, first, places)
    report |= _error_rows(ranking, pairs, places)
    if propensity is not None:
        y = ranked.inverse_propensity_relevance(truth, propensity)
        weighed = Pairs.checked(y, scores, **options).ranking(places[-1], first)
        rows = _weighted_rows(weighed, pairs.weight, places)
        report |= {"PSP": rows["WP"], "PSnDCG": rows["WN"]}
    return report


def _checked_ranks(truth: Any, ranks: Any, pairs: Pairs, options: dict[str, Any]) -> csr_array:
    order = Pairs.checked(truth, ranks, **options, signed=True).scores
    stored = (order.indptr, order.indices), (pairs.scores.indptr, pairs.scores.indices)
    if not all(np.array_equal(a, b) for a, b in zip(*stored, strict=True)):
        raise ArgumentError("ranks must have its entries where scores has them.")
    return order


def _binary_rows(ranking: Ranking, pairs: Pairs, ks: list[int]) -> dict[str, dict[int, float]]:
    weight, n_true = pairs.weight, np.diff(pairs.truth.indptr)
    cuts = {k: ranking.cut(k) for k in ks}
    return {
        "P": {k: ranked.weighted_precision(cut, weight, "mean") for k, cut in cuts.items()},
        "R": {k: ranked.recall(cut, n_true, weight) for k, cut in cuts.items()},
        "nDCG": {k: ranked.weighted_ndcg(cut, weight, "mean") for k, cut in cuts.items()},
    }


def _weighted_rows(
    ranking: Ranking, weight: NDArray[np.float64], ks: list[int]
) -> dict[str, dict[int, float]]:
    cuts = {k: ranking.cut(k) for k in ks}
    return {
        "WP": {k: ranked.weighted_precision(cut, weight, "ratio") for k, cut in cuts.items()},
        "WN": {k: ranked.weighted_ndcg(cut, weight, "ratio") for k, cut in cuts.items()},
    }


def _pair_rows(
    ranking: Ranking, pairs: Pairs, first: NDArray[np.int64], ks: list[int]
) -> dict[str, dict[int, float]]:
    told = ranked.Told(pairs.scores_of_truth(), pairs.places_of_truth(first))
    cuts = {k: ranking.cut(k) for k in ks}
    averages: dict[str, ranked.Average] = {"AUC": "ratio", "mean AUC": "mean"}
    report = {
        name: {k: ranked.auc(pairs, cut, told, _TOLERANCE, average) for k, cut in cuts.items()}
        for name, average in averages.items()
    }
    report["coverage"] = {k: coverage(pairs, first[:, :k], cut) for k, cut in cuts.items()}
    return report


def _error_rows(ranking: Ranking, pairs: Pairs, ks: list[int]) -> dict[str, dict[int, float]]:
    weight = pairs.weight
    largest = errors.largest_errors(pairs, ks[-1])
    cuts = {k: ranking.cut(k) for k in ks}
    return {
        "ranking error": {k: errors.ranking_error(cut, weight) for k, cut in cuts.items()},
        "regression error": {k: errors.regression_error(cut, weight) for k, cut in cuts.items()},
        "XMAD": {k: errors.xmad(largest, k, weight) for k in ks},
        "XRMSE": {k: errors.xrmse(largest, k, weight) for k in ks},
        "ECE": {
            k: ranking_reliability(cut, weight, _N_BINS).expected_calibration_error
            for k, cut in cuts.items()
        },
        "Brier": {k: ranking_brier(cut, weight) for k, cut in cuts.items()},
    }


def label_matrix(
    labels: Any,
    values: Any = None,
    *,
    classes: Any,
    starts: ArrayLike | None = None,
) -> csr_array:
    """Return labels by name as a matrix with a column for each class.

    Parameters
    ----------
    labels : array of shape (n_rows, k) or, with ``starts``, (n_entries,)
        Labels of each row, such as ``predict_top_k`` returns; None is no label. A label that is not
        among the classes gets no entry.
    values : array of the shape of ``labels``, optional
        The entries, 1 by default; NaN is none.
    classes : array of shape (n_labels,)
        The label of each column.
    starts : array of shape (n_rows + 1,), optional
        Row i has ``labels[starts[i]:starts[i + 1]]``, for rows with unequally many.

    Examples
    --------
    >>> labels, p = [["b", "a"], ["c", None]], [[0.5, 0.25], [1, 0]]
    >>> label_matrix(labels, p, classes=["a", "b", "c"]).toarray()
    array([[0.25, 0.5 , 0.  ],
           [0.  , 0.  , 1.  ]])
    """
    names = checked_labels("classes", classes, ndim=1)
    given = np.asarray(labels, dtype=object)
    if starts is None:
        if given.ndim != 2:
            raise ArgumentError.of("the shape of labels", given.shape, "2-dimensional")
        bounds = np.arange(given.shape[0] + 1) * given.shape[1]
    else:
        bounds = _checked_starts(starts, given)
    entries = np.ones(given.size) if values is None else _checked_values(values, given)
    column_of = {name: column for column, name in enumerate(names.tolist())}
    columns = np.array(
        [column_of.get(label, -1) for label in given.ravel().tolist()], dtype=np.int64
    )
    kept = (columns >= 0) & ~np.isnan(entries)
    indptr = np.concatenate(([0], np.cumsum(kept)))[bounds]
    matrix = csr_array((entries[kept], columns[kept], indptr), shape=(len(bounds) - 1, len(names)))
    matrix.sum_duplicates()
    return matrix


def _checked_starts(starts: ArrayLike, labels: NDArray[Any]) -> NDArray[np.int64]:
    bounds = np.asarray(starts)
    if labels.ndim != 1:
        raise ArgumentError.of("the shape of labels", labels.shape, "1-dimensional with starts=")
    good = bounds.ndim == 1 and bounds.dtype.kind in "iu" and len(bounds) > 0
    if not good or bounds[0] != 0 or bounds[-1] != len(labels) or (np.diff(bounds) < 0).any():
        raise ArgumentError(f"starts must rise from 0 to the number of labels, {len(labels)}.")
    return bounds.astype(np.int64)


def _checked_values(values: Any, labels: NDArray[Any]) -> NDArray[np.float64]:
    entries = np.asarray(values, dtype=np.float64)
    if entries.shape != labels.shape:
        raise ArgumentError.of("the shape of values", entries.shape, f"{labels.shape}")
    return entries.ravel()
