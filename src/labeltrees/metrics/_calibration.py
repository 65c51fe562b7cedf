"""Calibration: whether labels given probability p are true in a fraction p of cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from labeltrees.checks import choice, integer
from labeltrees.errors import ArgumentError
from labeltrees.metrics._arrays import checked_labels, checked_probabilities, checked_weights
from labeltrees.metrics._losses import matches

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    FloatArray = NDArray[np.float64]

#: Whether bins hold about equally many predictions (mass) or are equal parts of [0, 1] (width).
Bins: TypeAlias = Literal["mass", "width"]

# Sums in another order may differ in their last bits. A group whose middle is that close to a
# border always goes above it, so that bins do not depend on the order of the rows.
_BORDER = 1e-9


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """Bins of predictions of similar probability, from the least likely up.

    Attributes
    ----------
    mean_probability, frequency : array of shape (n_bins,)
        What was predicted on average, and how often it was true.
    count : array of shape (n_bins,)
        How many predictions the bin holds, or their weight.
    """

    mean_probability: FloatArray
    frequency: FloatArray
    count: FloatArray

    @property
    def expected_calibration_error(self) -> float:
        """The mean over predictions of their bin's ``|frequency - mean_probability|``."""
        gap = np.abs(self.frequency - self.mean_probability)
        return float(np.average(gap, weights=self.count))


def reliability_curve(
    y_true: ArrayLike,
    top_labels: ArrayLike,
    top_probabilities: ArrayLike,
    *,
    n_bins: int = 15,
    bins: Bins = "mass",
    sample_weight: ArrayLike | None = None,
) -> ReliabilityCurve:
    """Return at most ``n_bins`` bins over all returned (row, label) pairs, of about equal mass.

    Pairs of equal probability share a bin, the one into which the middle of their mass falls.
    The bins therefore do not depend on the order of the rows, and there are fewer of them when
    few probabilities differ.

    Parameters
    ----------
    y_true : array of shape (n_rows,)
        The true labels, strings or integers.
    top_labels, top_probabilities : arrays of shape (n_rows, k)
        What ``predict_top_k`` returned. An entry is padding, and left out, where its label is None
        or its probability NaN, or where it is -1 with probability 0.
    n_bins : int, default 15
        The number of bins.
    bins : {"mass", "width"}, default "mass"
        Whether bins hold about equally many pairs, or are ``n_bins`` equal parts of [0, 1], of
        which empty ones are left out.
    sample_weight : array of shape (n_rows,), optional
        Weights >= 0 of the rows.

    Examples
    --------
    >>> curve = reliability_curve([1, 2], [[1], [1]], [[0.9], [0.4]])
    >>> curve.mean_probability.tolist(), curve.frequency.tolist(), curve.count.tolist()
    ([0.4, 0.9], [0.0, 1.0], [1.0, 1.0])
    """
    n_bins = integer("n_bins", n_bins, 1)
    hit = matches(y_true, top_labels)
    p = checked_probabilities("top_probabilities", top_probabilities, ndim=2, padded=True)
    if p.shape != hit.shape:
        raise ArgumentError.of("the shape of top_probabilities", p.shape, f"{hit.shape}")
    row_weight = checked_weights(sample_weight, len(p))
    weight = np.broadcast_to(row_weight[:, np.newaxis], p.shape)
    used = ~_padding(checked_labels("top_labels", top_labels, ndim=2), p) & (weight > 0)
    if not used.any():
        raise ArgumentError("top_labels must have an entry that is not padding and has weight.")
    return curve_of(p[used], hit[used].astype(np.float64), weight[used], n_bins, bins)


def expected_calibration_error(
    y_true: ArrayLike,
    top_labels: ArrayLike,
    top_probabilities: ArrayLike,
    *,
    n_bins: int = 15,
    bins: Bins = "mass",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return ECE@k, ``sum_b (n_b / n) |frequency_b - mean_probability_b|`` over the bins.

    All k returned labels of each row are predictions; pass ``[:, :1]`` for ECE@1. It takes the
    arguments of `reliability_curve`.

    Examples
    --------
    >>> round(expected_calibration_error([1, 2], [[1], [1]], [[0.9], [0.4]]), 4)
    0.25
    """
    return reliability_curve(
        y_true,
        top_labels,
        top_probabilities,
        n_bins=n_bins,
        bins=bins,
        sample_weight=sample_weight,
    ).expected_calibration_error


def _padding(labels: NDArray[Any], p: FloatArray) -> NDArray[np.bool_]:
    if labels.dtype == object:
        absent = np.array([label is None for label in labels.flat]).reshape(labels.shape)
    else:
        absent = np.zeros(labels.shape, dtype=bool)
    if labels.dtype.kind in "iuO":
        absent |= (labels == -1) & (p == 0)
    return np.asarray(absent | np.isnan(p), dtype=bool)


def curve_of(
    p: FloatArray, hit: FloatArray, weight: FloatArray, n_bins: int, bins: Bins = "mass"
) -> ReliabilityCurve:
    """Return the curve of single predictions, of what came true, and of weights > 0."""
    bins = choice("bins", bins, get_args(Bins))
    order = np.lexsort((hit, weight, p))
    p, weight, hit = p[order], weight[order], hit[order]
    first = np.flatnonzero(np.concatenate(([True], p[1:] != p[:-1])))
    groups = np.add.reduceat(np.stack((weight, weight * p, weight * hit)), first, axis=1)
    if bins == "mass":
        return equal_mass_bins(groups, n_bins)
    return _of_groups(groups, np.floor(p[first] * n_bins + _BORDER).clip(max=n_bins - 1))


def equal_mass_bins(groups: FloatArray, n_bins: int) -> ReliabilityCurve:
    """Return the bins made of whole groups, which come in order of their probability.

    The rows of ``groups``, of shape (3, n_groups), are each group's weight > 0 and the weighted
    sums of its probabilities and of its hits.
    """
    weight = groups[0]
    middle = np.cumsum(weight) - weight / 2
    return _of_groups(
        groups, np.floor(middle / weight.sum() * n_bins + _BORDER).clip(max=n_bins - 1)
    )


def _of_groups(groups: FloatArray, bins: FloatArray) -> ReliabilityCurve:
    """Return the curve of groups, given the bin of each, which never falls."""
    first = np.flatnonzero(np.concatenate(([True], bins[1:] != bins[:-1])))
    sums = np.add.reduceat(groups, first, axis=1)
    return ReliabilityCurve(sums[1] / sums[0], sums[2] / sums[0], sums[0])
