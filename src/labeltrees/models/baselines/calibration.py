"""Convert scores to the probability that a label is relevant, by a logistic map."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees import checks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

_LEAST_HITS = 5  # minimum number of relevant pairs for a fit
_STEEPEST, _FARTHEST = 1e4, 1e5  # largest slope and intercept, beyond the bounds of every fit
_N_OTHERS = 200_000  # approximate number of pairs of a row and a label it lacks, for a fit


@dataclass(frozen=True, eq=False)
class ScoreCalibration:
    """P(label is relevant to the row) = 1 / (1 + exp(-(a score + b))), a > 0 (Platt, 1999).

    There is one map for all labels, so the order of a row's labels is kept. If ``slope`` is None,
    the link of the method is used. If propensities weight labels, a label that is surely relevant
    has its entry of ``label_shares`` as its score, and scores are divided by these shares first.
    """

    slope: tuple[float, float] | None = None
    label_shares: NDArray[np.float64] | None = None

    def shares(
        self, scores: NDArray[np.float64], ids: NDArray[np.int32] | None = None
    ) -> NDArray[np.float64]:
        """Return scores as shares of the largest relevance of each label."""
        if self.label_shares is None:
            return scores
        return np.asarray(scores / (self.label_shares if ids is None else self.label_shares[ids]))

    def apply(
        self,
        scores: NDArray[np.float64],
        ids: NDArray[np.int32] | None,
        link: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    ) -> NDArray[np.float64]:
        """Return probabilities of labels with these ids, by default of all labels."""
        from scipy.special import expit

        shares = self.shares(scores, ids)
        if self.slope is None:
            return link(shares)
        a, b = self.slope
        return np.asarray(expit(a * shares + b))

    def fitted(
        self, scored: Iterable[tuple[NDArray[np.float64], NDArray[np.bool_]]]
    ) -> ScoreCalibration:
        """Return the map with the least log loss on the shares and true labels of held-out rows.

        All relevant pairs count. Of the other pairs, about 200,000 spread evenly stand for all.
        """
        hits, others = [np.empty(0)], [np.empty(0)]
        for shares, truth in scored:
            hits.append(shares[truth])
            others.append(shares[~truth])
        positive, negative = np.concatenate(hits), np.concatenate(others)
        if len(positive) < _LEAST_HITS:
            return self
        chosen = negative[:: 1 + len(negative) // _N_OTHERS]
        weight = len(negative) / max(len(chosen), 1)
        return replace(self, slope=_platt(positive, chosen, weight))

    def to_list(self) -> list[float]:
        """Return slope and intercept, or an empty list."""
        return [] if self.slope is None else list(self.slope)

    @classmethod
    def restore(cls, values: Any, label_shares: NDArray[np.float64] | None) -> ScoreCalibration:
        """Return the map that a file describes."""
        if values == []:
            return cls(None, label_shares)
        a, b = values
        slope = (
            checks.number("a", a, 0, _STEEPEST, open_low=True),
            checks.number("b", b, -_FARTHEST, _FARTHEST),
        )
        return cls(slope, label_shares)


def _platt(
    positive: NDArray[np.float64], negative: NDArray[np.float64], weight: float
) -> tuple[float, float]:
    """Return a > 0 and b; each negative counts ``weight`` times.

    Scores are standardised to mean 0 and deviation 1 first, so that the search is well scaled.
    """
    from scipy.optimize import minimize

    scores = np.concatenate([positive, negative])
    weights = np.concatenate([np.ones(len(positive)), np.full(len(negative), weight)])
    total = weights.sum()
    # Platt's targets add one uncertain pair of each kind.
    high, low = (len(positive) + 1) / (len(positive) + 2), 1 / (len(negative) * weight + 2)
    truth = np.concatenate([np.full(len(positive), high), np.full(len(negative), low)])
    mean = float(np.average(scores, weights=weights))
    spread = float(np.sqrt(np.average((scores - mean) ** 2, weights=weights)))
    spread = spread if spread > 1e-12 * (1 + abs(mean)) else 1.0
    z = (scores - mean) / spread

    def loss(theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margin = theta[0] * z + theta[1]
        error = weights * (1 / (1 + np.exp(-np.clip(margin, -500, 500))) - truth)
        value = weights @ (np.logaddexp(0, margin) - truth * margin)
        return float(value / total), np.array([error @ z, error.sum()]) / total

    bounds = [(1e-3, 1e3), (-1e3, 1e3)]
    found = minimize(loss, np.array([1.0, -1.0]), jac=True, method="L-BFGS-B", bounds=bounds).x
    a = min(max(float(found[0]) / spread, 1e-9), _STEEPEST)
    b = min(max(float(found[1]) - a * mean, -_FARTHEST), _FARTHEST)
    return a, b
