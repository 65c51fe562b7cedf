"""Self-terminating trees that split by squared error, slow and obvious: the Gini route."""

from __future__ import annotations

import numpy as np
from tests.references.self_terminating import ReferenceSelfTerminatingTree, find_root


def gini_posterior(q, u, penalty):
    """The p nearest to u (in squared distance) of those with sum |q - p| <= penalty."""
    if np.abs(q - u).sum() <= penalty:
        return u
    half = penalty / 2
    above = find_root(lambda b: np.maximum(q - u - b, 0).sum() - half, 0.0, 1.0)
    below = find_root(lambda a: np.maximum(u - q - a, 0).sum() - half, 0.0, 1.0)
    return np.clip(q, u - below, u + above)


class ReferenceGiniTree(ReferenceSelfTerminatingTree):
    """The same distributions, but splits that decrease half the squared error plus the penalties.

    All labels that a node has not are one label to its splits.
    """

    def gain(self, sides, u):
        counts = [self.masses[rows].sum(axis=0) for rows in sides]
        here = sum(counts) > 0
        merged_u = np.append(u[here], u[~here].sum())
        gain = 0.0
        for c in counts:
            q, weight = np.append(c[here], 0.0) / c.sum(), c.sum()
            p = gini_posterior(q, merged_u, self.penalty * weight ** (self.weight_power - 1))
            gain += weight * ((p - merged_u) ** 2).sum() / 2
        return gain
