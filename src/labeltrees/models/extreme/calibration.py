"""Calibrate tree scores to relevance and to probability, by a map with four numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees import _core, checks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

_LEAST = 1e-15  # least probability and mass, as in the core's calibration.hpp
_FARTHEST = 1e6  # largest parameter, beyond the bounds of every fit
_LEAST_HITS = 20  # minimum number of relevant labels for a fit


@dataclass(frozen=True)
class Calibration:
    """Maps p in a row of mass m to q with logit q = a ln p - b ln(1 - p) + c + d ln m.

    Log loss makes regressors underconfident, and a path multiplies their underconfidence. It
    depends on the row, and is related to the row's mass, the sum of its likely labels'
    probabilities. With a > 0 and b >= 0 the order of a row's labels is kept. The identity is
    ``a = b = 1, c = d = 0``. With d = 0 the map is beta calibration (Kull et al., 2017).
    """

    a: float = 1.0
    b: float = 1.0
    c: float = 0.0
    d: float = 0.0

    @classmethod
    def restore(cls, values: Sequence[Any]) -> Calibration:
        """Return the map that a file describes. Its bounds are wider than the bounds of `fit`."""
        a, b, c, d = values
        return cls(
            checks.number("a", a, 0, _FARTHEST, open_low=True),
            checks.number("b", b, 0, _FARTHEST),
            checks.number("c", c, -_FARTHEST, _FARTHEST),
            checks.number("d", d, -_FARTHEST, _FARTHEST),
        )

    @property
    def coefficients(self) -> tuple[float, float, float, float]:
        """a, b, c and d, as the core takes them. `dataclasses.astuple` takes 15 µs."""
        return self.a, self.b, self.c, self.d

    @property
    def is_identity(self) -> bool:
        """Whether the map is the identity."""
        return self == Calibration()

    def apply(self, p: NDArray[np.float64], mass: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the calibrated probabilities; ``mass`` has one number for each row of ``p``.

        >>> Calibration(a=0.5).apply(np.array([0.0, 0.25]), np.ones(2)).round(3).tolist()
        [0.0, 0.4]
        """
        if self.is_identity:
            return p
        q = _core.calibrated(p.ravel(), mass, self.coefficients)
        return q.reshape(p.shape)

    def invert(self, q: float, mass: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each row the largest p that maps to at most q, to a relative 1e-12."""
        low, high = np.full(len(mass), -690.0), np.full(len(mass), 40.0)
        for _ in range(80):  # bisects the logit of p
            middle = (low + high) / 2
            above = self.apply(1 / (1 + np.exp(-middle)), mass) > q
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return np.asarray(1 / (1 + np.exp(-low)))

    @classmethod
    def fit(cls, p: ArrayLike, mass: ArrayLike, relevance: ArrayLike) -> Calibration:
        """Return the map with the least log loss on these probabilities, masses and true labels."""
        from scipy.optimize import minimize

        p = np.clip(np.asarray(p, dtype=np.float64), _LEAST, 1 - 1e-9)
        truth = np.asarray(relevance, dtype=np.float64)
        if not len(p) or truth.sum() < _LEAST_HITS:
            return cls()
        log_mass = np.log(np.maximum(np.asarray(mass, dtype=np.float64), _LEAST))
        features = np.stack([np.log(p), -np.log1p(-p), np.ones(len(p)), log_mass])

        def loss(theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            m = theta @ features
            value = np.mean(np.logaddexp(0, m) - truth * m)
            return float(value), features @ (1 / (1 + np.exp(-m)) - truth) / len(p)

        bounds = [(0.05, 20.0), (0.0, 20.0), (-20.0, 20.0), (-5.0, 5.0)]
        start = np.array([1.0, 1.0, 0.0, 0.0])
        found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
        return cls(*(float(value) for value in found.x))


@dataclass(frozen=True, eq=False)
class ProbabilityMap:
    """Maps the trees' estimates of relevance to P(label is relevant).

    Trees estimate relevance as a share of the largest relevance. If propensities weight labels, a
    label that is surely relevant has at most its entry of ``label_shares``.
    """

    calibration: Calibration = field(default_factory=Calibration)
    label_shares: NDArray[np.float64] | None = None

    def shares(self, p: NDArray[np.float64], ids: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the trees' estimates as shares of the largest relevance of each label."""
        if self.label_shares is None:
            return p
        return np.minimum(1.0, p / self.label_shares[ids])

    def apply(
        self, p: NDArray[np.float64], ids: NDArray[np.int32], mass: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return probabilities; ``mass`` has one number for each row of ``p``."""
        return self.calibration.apply(self.shares(p, ids), mass)

    def least(self, probability: float, mass: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each row a p below which no label has the probability."""
        least = np.full(len(mass), probability)
        if not self.calibration.is_identity:
            least = self.calibration.invert(probability, mass) * (1 - 1e-9)
        return least if self.label_shares is None else least * self.label_shares.min() * (1 - 1e-9)
