"""What all explanations share: the features that led a regressor to its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees import checks
from labeltrees.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

_BIAS = 2**32 - 1  # the constant feature's index in the core


@dataclass(frozen=True)
class Contribution:
    """One feature's part in a node's margin: ``contribution = value * weight``.

    Where columns are standardised it is ``standardized * weight``, and the value is the row's own.
    With mixing the weight has two parts: the regressor's, and the vote of the feature's counts.
    """

    feature: int | str
    """Its column, or its name if names are known."""
    value: float
    """As the regressor sees it: scaled, if rows are normalised."""
    weight: float
    contribution: float
    """In a binary tree: above 0 it supports going right, below 0 going left."""
    standardized: float | None = None
    """What the regressor sees of the value where columns are standardised."""


def check_question(rows: Any, n_listed: Any, names: Sequence[str] | None, n_features: int) -> None:
    """Raise `ArgumentError` unless one row is asked about, with a name for every feature or none.

    ``n_listed`` is how many features to list, ``n_features`` how many the model has.
    """
    if rows.n_rows != 1:
        raise ArgumentError.of("x", f"{rows.n_rows} rows", "one row")
    if names is not None and len(names) != n_features:
        allowed = f"{n_features} names, one per feature"
        raise ArgumentError.of("feature_names", f"{len(names)}", allowed)
    checks.integer("n_features", n_listed, 0)


def strongest_features(
    features: NDArray[Any],
    values: NDArray[Any],
    weights: NDArray[Any],
    margin: float,
    *,
    n_features: int,
    names: Sequence[str] | None,
    own: Mapping[int, float] | None = None,
) -> tuple[tuple[Contribution, ...], float, float]:
    """Return the features with the largest part in a margin, what the others add, and the rest.

    ``own`` has the row's values by column where ``values`` are standardised.
    """
    products = values.astype(np.float64) * weights
    real = np.where(features == _BIAS, 0.0, products)
    # The strongest first, columns in order where they are equally strong; 0 says nothing.
    strongest = np.argsort(-np.abs(real), kind="stable")[:n_features]
    strongest = strongest[real[strongest] != 0]
    listed = tuple(
        Contribution(
            feature=int(features[i]) if names is None else str(names[int(features[i])]),
            value=float(values[i]) if own is None else own.get(int(features[i]), 0.0),
            weight=float(weights[i]),
            contribution=float(real[i]),
            standardized=None if own is None else float(values[i]),
        )
        for i in strongest
    )
    return listed, float(np.delete(real, strongest).sum()), float(margin - real.sum())


def support_lines(
    contributions: Iterable[Contribution], other: float, bias: float, *, sign: int = 1
) -> list[str]:
    """Return one line for each part of a margin that does not round to 0.

    >>> support_lines([Contribution("light", 1.0, 2.5, 2.5)], 0.0, -0.5)
    ['      +2.5000  light (value 1)', '      -0.5000  intercept']
    """
    rows = [(c.contribution, f"{c.feature} (value {c.value:.4g})") for c in contributions]
    rows += [(other, "other features"), (bias, "intercept")]
    return [f"     {sign * amount:+8.4f}  {text}" for amount, text in rows if abs(amount) >= 5e-5]
