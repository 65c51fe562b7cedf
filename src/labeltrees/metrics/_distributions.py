"""How far predicted distributions are from true ones, row by row or on average."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from labeltrees.checks import number
from labeltrees.errors import ArgumentError
from labeltrees.metrics._arrays import checked_probabilities, raise_at_first, weighted_mean
from labeltrees.metrics._losses import LOG_FLOOR, checked_floor, negative_log

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    FloatArray = NDArray[np.float64]

_SUM_ERROR = 1e-5  # what rounding float32 probabilities can add to the sum of a row


def total_variation_by_row(p_true: Any, p_pred: Any) -> FloatArray:
    """Return ``1/2 sum_y |p_y - q_y|`` of every row, in [0, 1].

    Parameters
    ----------
    p_true, p_pred : array or sparse array of shape (n_rows, n_labels)
        One distribution per row, numbers in [0, 1] that sum to 1.

    Examples
    --------
    >>> total_variation_by_row([[1, 0, 0], [0.5, 0.5, 0]], [[0.75, 0.25, 0], [0, 0.5, 0.5]])
    array([0.25, 0.5 ])
    """
    p, q = _both(p_true, p_pred)
    return np.asarray(np.minimum(np.abs(p - q).sum(axis=1) / 2, 1.0))


def total_variation(p_true: Any, p_pred: Any, *, sample_weight: ArrayLike | None = None) -> float:
    """Return the mean over rows of ``1/2 sum_y |p_y - q_y|``, between 0 and 1.

    Parameters
    ----------
    p_true, p_pred : array or sparse array of shape (n_rows, n_labels)
        Distributions.
    sample_weight : array of shape (n_rows,), optional
        Weights >= 0 of the rows.

    Examples
    --------
    >>> total_variation([[1, 0, 0], [0.5, 0.5, 0]], [[0.75, 0.25, 0], [0, 0.5, 0.5]])
    0.375
    """
    return weighted_mean(total_variation_by_row(p_true, p_pred), sample_weight)


def fraction_above(
    errors: ArrayLike, eta: float, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return the fraction of rows whose error is larger than ``eta``.

    Boosting with `AdacondClassifier` lowers this fraction. The errors are in [0, 1]. Use
    `total_variation_by_row`, or ``1 - p_label`` where the truth is one label per row.

    Parameters
    ----------
    errors : array of shape (n_rows,)
        The error of each row, in [0, 1].
    eta : float in [0, 1]
        The largest error that is not counted.
    sample_weight : array of shape (n_rows,), optional
        Weights >= 0 of the rows.

    Examples
    --------
    >>> fraction_above([0.1, 0.2, 0.3, 0.4], 0.2)
    0.5
    """
    d = checked_probabilities("errors", errors)
    limit = number("eta", eta, 0, 1)
    return weighted_mean((d > limit).astype(np.float64), sample_weight)


def kl_divergence(
    p_true: Any,
    p_pred: Any,
    *,
    floor: float = LOG_FLOOR,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean over rows of ``sum_y p_y log(p_y / max(q_y, floor))``, in nats.

    Parameters
    ----------
    p_true, p_pred : array or sparse array of shape (n_rows, n_labels)
        Distributions.
    floor : float in [0, 1), default 1e-9
        A true label given probability 0 would make the mean infinite; it is given this instead.
        With ``floor=0`` the mean may be ``inf``.
    sample_weight : array of shape (n_rows,), optional
        Weights >= 0 of the rows.

    Examples
    --------
    >>> round(kl_divergence([[0.5, 0.5]], [[0.25, 0.75]]), 4)
    0.1438
    """
    return weighted_mean(kl_divergence_by_row(p_true, p_pred, floor=floor), sample_weight)


def kl_divergence_by_row(p_true: Any, p_pred: Any, *, floor: float = LOG_FLOOR) -> FloatArray:
    """Return the divergence of every row, as `kl_divergence` averages them.

    Parameters
    ----------
    p_true, p_pred : array or sparse array of shape (n_rows, n_labels)
        Distributions.
    floor : float in [0, 1), default 1e-9
        The smallest probability that a true label is given.

    Examples
    --------
    >>> kl_divergence_by_row([[0.5, 0.5], [1, 0]], [[0.25, 0.75], [1, 0]]).round(4)
    array([0.1438, 0.    ])
    """
    p, q = _both(p_true, p_pred)
    cost = negative_log(q, checked_floor(floor)) - negative_log(np.where(p > 0, p, 1.0), 0.0)
    return np.asarray(np.multiply(p, cost, out=np.zeros_like(p), where=p > 0).sum(axis=1))


def chebyshev_distance(
    p_true: Any, p_pred: Any, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean over rows of ``max_y |p_y - q_y|``, between 0 and 1.

    Parameters
    ----------
    p_true, p_pred : array or sparse array of shape (n_rows, n_labels)
        Distributions.
    sample_weight : array of shape (n_rows,), optional
        Weights >= 0 of the rows.

    Examples
    --------
    >>> chebyshev_distance([[0.5, 0.5, 0]], [[0.25, 0.5, 0.25]])
    0.25
    """
    p, q = _both(p_true, p_pred)
    return weighted_mean(np.abs(p - q).max(axis=1), sample_weight)


def clark_distance(p_true: Any, p_pred: Any, *, sample_weight: ArrayLike | None = None) -> float:
    """Return the mean over rows of ``sqrt(sum_y ((p_y - q_y) / (p_y + q_y))^2)``.

    A label that both give probability 0 adds nothing. At most ``sqrt(n_labels)``, not scaled.

    Parameters
    ----------
    p_true, p_pred : array or sparse array of shape (n_rows, n_labels)
        Distributions.
    sample_weight : array of shape (n_rows,), optional
        Weights >= 0 of the rows.

    Examples
    --------
    >>> clark_distance([[0.75, 0.25, 0]], [[0.25, 0.75, 0]]) == 0.5**0.5
    True
    """
    share = _relative_differences(p_true, p_pred)
    return weighted_mean(np.sqrt((share**2).sum(axis=1)), sample_weight)


def canberra_distance(p_true: Any, p_pred: Any, *, sample_weight: ArrayLike | None = None) -> float:
    """Return the mean over rows of ``sum_y |p_y - q_y| / (p_y + q_y)``.

    A label that both give probability 0 adds nothing. At most ``n_labels``, not scaled.

    Parameters
    ----------
    p_true, p_pred : array or sparse array of shape (n_rows, n_labels)
        Distributions.
    sample_weight : array of shape (n_rows,), optional
        Weights >= 0 of the rows.

    Examples
    --------
    >>> canberra_distance([[0.75, 0.25, 0]], [[0.25, 0.75, 0]])
    1.0
    """
    return weighted_mean(_relative_differences(p_true, p_pred).sum(axis=1), sample_weight)


def cosine_similarity(p_true: Any, p_pred: Any, *, sample_weight: ArrayLike | None = None) -> float:
    """Return the mean over rows of the cosine of the angle between both, between 0 and 1.

    Parameters
    ----------
    p_true, p_pred : array or sparse array of shape (n_rows, n_labels)
        Distributions.
    sample_weight : array of shape (n_rows,), optional
        Weights >= 0 of the rows.

    Examples
    --------
    >>> round(cosine_similarity([[1, 0]], [[0.6, 0.4]]), 4)
    0.8321
    """
    p, q = _both(p_true, p_pred)
    lengths = np.sqrt((p * p).sum(axis=1) * (q * q).sum(axis=1))
    return weighted_mean(np.minimum((p * q).sum(axis=1) / lengths, 1.0), sample_weight)


def intersection_similarity(
    p_true: Any, p_pred: Any, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean over rows of ``sum_y min(p_y, q_y)``: 1 - `total_variation`.

    Parameters
    ----------
    p_true, p_pred : array or sparse array of shape (n_rows, n_labels)
        Distributions.
    sample_weight : array of shape (n_rows,), optional
        Weights >= 0 of the rows.

    Examples
    --------
    >>> intersection_similarity([[1, 0, 0], [0.5, 0.5, 0]], [[0.75, 0.25, 0], [0, 0.5, 0.5]])
    0.625
    """
    p, q = _both(p_true, p_pred)
    return weighted_mean(np.minimum(np.minimum(p, q).sum(axis=1), 1.0), sample_weight)


def _relative_differences(p_true: Any, p_pred: Any) -> FloatArray:
    p, q = _both(p_true, p_pred)
    return np.asarray(np.divide(np.abs(p - q), p + q, out=np.zeros_like(p), where=p + q > 0))


def _both(p_true: Any, p_pred: Any) -> tuple[FloatArray, FloatArray]:
    p, q = _distributions("p_true", p_true), _distributions("p_pred", p_pred)
    if p.shape != q.shape:
        raise ArgumentError.of("the shape of p_pred", q.shape, f"{p.shape}, the shape of p_true")
    return p, q


def _distributions(name: str, values: Any) -> FloatArray:
    dense = values.toarray() if sparse.issparse(values) else values
    p = checked_probabilities(name, dense, ndim=2)
    sums = p.sum(axis=1)
    raise_at_first(f"the sum of {name}", sums, np.abs(sums - 1) > _SUM_ERROR, "1")
    return p
