"""The probability that a true label is recorded, estimated from how frequent the label is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.checks import number
from labeltrees.errors import ArgumentError
from labeltrees.metrics._arrays import checked_floats, raise_at_first

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    FloatArray = NDArray[np.float64]

PROPENSITY_A = 0.55
PROPENSITY_B = 1.5
"""Default constants, for data whose own constants have not been measured."""


def propensities(
    train_truth: Any, *, a: float = PROPENSITY_A, b: float = PROPENSITY_B
) -> FloatArray:
    """Return, for each label, the estimated probability that it is recorded where it is true.

    ``p_l = 1 / (1 + C (N_l + b)^-a)`` with ``C = (log N - 1) (b + 1)^a``, where N is the number of
    training rows and N_l the number of rows with label l (Jain, Prabhu and Varma, 2016). C below 0,
    at N < 3, counts as 0.

    Parameters
    ----------
    train_truth : sparse matrix or array of shape (n_rows, n_labels)
        The training labels; what is not 0 counts.
    a, b : float, default 0.55 and 1.5
        The model's constants: 0.5 and 0.4 for Wikipedia, 0.6 and 2.6 for Amazon.

    Examples
    --------
    >>> import numpy as np
    >>> seen = np.zeros((100, 2)); seen[:50, 0] = 1; seen[0, 1] = 1
    >>> propensities(seen).round(3).tolist()
    [0.594, 0.217]
    """
    from labeltrees.metrics._rankings import checked_matrix

    a, b = checked_constants(a, b)
    truth = checked_matrix("train_truth", train_truth, lowest=0)
    n_rows, n_labels = truth.shape
    if not n_rows:
        raise ArgumentError.of("the shape of train_truth", truth.shape, "one without zeros")
    truth.eliminate_zeros()
    return label_propensities(np.bincount(truth.indices, minlength=n_labels), n_rows, a=a, b=b)


def checked_constants(a: float = PROPENSITY_A, b: float = PROPENSITY_B) -> tuple[float, float]:
    """Return the constants of propensities, A >= 0 and B > 0."""
    return number("a", a, 0), number("b", b, 0, open_low=True)


def label_propensities(
    counts: ArrayLike, n_rows: int, *, a: float = PROPENSITY_A, b: float = PROPENSITY_B
) -> FloatArray:
    """Return each label's propensity from how many of ``n_rows`` rows have it, as `propensities`.

    >>> label_propensities([1, 10, 1000], 5000).round(3).tolist()
    [0.117, 0.235, 0.782]
    """
    counts = np.asarray(counts, dtype=np.float64)
    c = max(np.log(max(n_rows, 1)) - 1, 0) * (b + 1) ** a
    return np.asarray(1 / (1 + c * np.exp(-a * np.log(counts + b))))


def checked_propensities(propensity: Any, n_labels: int) -> FloatArray:
    """Return one propensity in (0, 1] for each label."""
    p = checked_floats("propensity", propensity, ndim=1)
    if len(p) != n_labels:
        raise ArgumentError.of("the length of propensity", len(p), f"n_labels={n_labels}")
    raise_at_first("propensity", p, ~((p > 0) & (p <= 1)), "in (0, 1]")
    return p
