"""Self-terminating trees by squared error, slow and obvious: the Gini route."""

from __future__ import annotations

import numpy as np
from tests.reference import ReferenceSelfTerminatingTree, find_root


def gini_posterior(q, u, penalty):
    """The p nearest to u (in squared distance) of those with sum |q - p| <= penalty."""
    if np.abs(q - u).sum() <= penalty:
        return u
    half = penalty / 2
    above = find_root(lambda b: np.maximum(q - u - b, 0).sum() - half, 0.0, 1.0)
    below = find_root(lambda a: np.maximum(u - q - a, 0).sum() - half, 0.0, 1.0)
    return np.clip(q, u - below, u + above)


class ReferenceGiniTree(ReferenceSelfTerminatingTree):
    """The tree that decreases half the squared error plus the penalties."""

    def posteriors(self, sides, u):
        counts = [self.masses[rows].sum(axis=0) for rows in sides]
        return [gini_posterior(c / c.sum(), u, self.penalty * c.sum() ** (self.weight_power - 1))
                for c in counts]  # fmt: skip

    def gain(self, sides, u):
        return sum(self.masses[rows].sum() * ((p - u) ** 2).sum() / 2
                   for rows, p in zip(sides, self.posteriors(sides, u), strict=True))  # fmt: skip
