"""Branches and trees of Goldman and Singer, the slow obvious way."""

from __future__ import annotations

import numpy as np


def find_root(decreasing, low, high):
    """The point where a decreasing function passes 0."""
    for _ in range(60):
        middle = (low + high) / 2
        if decreasing(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def branch_posterior(q, u, penalty):
    """The p nearest to u (in relative entropy) of those with sum |q - p| <= penalty; all u > 0."""
    if np.abs(q - u).sum() <= penalty:
        return u
    half = penalty / 2
    high = find_root(lambda b: np.maximum(q - b * u, 0).sum() - half, 1.0, (q / u).max() + 1)
    low = find_root(lambda a: half - np.maximum(a * u - q, 0).sum(), 0.0, 1.0)
    return np.clip(q, low * u, high * u)


def scalar_posterior(q, u, penalty):
    """The same for two labels and one number alpha: p = 1 / (1 + exp(-(b + alpha))).

    -q log p - (1 - q) log(1 - p) + penalty |alpha| has the slope p - q + penalty sign(alpha).
    """
    up, down = q[1] - penalty, q[1] + penalty
    if up <= u[1] <= down:
        return u
    p = up if up > u[1] else down
    return np.array([1 - p, p])


def relative_entropy(p, u):
    return sum(float(a * np.log(a / b)) for a, b in zip(p, u, strict=True) if a > 0)


def sibling_posteriors(counts, u, penalty):
    """Both branches' p when their distances share one penalty: by trying how they share it."""
    weights = [c.sum() for c in counts]
    far = [np.abs(c - w * u).sum() for c, w in zip(counts, weights, strict=True)]
    if sum(far) <= penalty:
        return [u, u]

    def both(share):
        shares = (share, penalty - share)
        return [branch_posterior(c / w, u, part / w)
                for c, w, part in zip(counts, weights, shares, strict=True)]  # fmt: skip

    def spread(p):
        ratio = np.log(p / u)
        return ratio.max() - ratio.min()

    if penalty == 0:
        return both(0.0)
    low, high = max(0.0, penalty - far[1]), min(penalty, far[0])

    def farther(share):
        left, right = both(share)
        return spread(left) - spread(right)

    return both(find_root(farther, low, high))


class ReferenceSelfTerminatingTree:
    """Goldman and Singer's tree: every threshold of every feature is tried, every p is dense."""

    def __init__(
        self, X, masses, *, penalty, weight_power=0.0, min_gain=0.0, norm="l1",
        split_terminated=False, categorical=(), form="vector",
    ):  # fmt: skip
        self.categorical, self.form = categorical, form
        self.X, self.masses = np.asarray(X, dtype=np.float32), masses
        self.penalty, self.weight_power, self.min_gain = penalty, weight_power, min_gain
        self.norm, self.split_terminated = norm, split_terminated
        counts = masses.sum(axis=0) + 0.5
        self.p = np.empty(masses.shape)  # of every row, at its leaf
        self.n_leaves = 0
        self.grow(np.arange(len(X)), counts / counts.sum(), 0)

    def posteriors(self, sides, u):
        counts = [self.masses[rows].sum(axis=0) for rows in sides]
        weights = [c.sum() for c in counts]
        if self.form == "scalar":
            return [scalar_posterior(c / w, u, self.penalty * w**self.weight_power / w)
                    for c, w in zip(counts, weights, strict=True)]  # fmt: skip
        if self.norm == "linf":
            return sibling_posteriors(counts, u, self.penalty * sum(weights) ** self.weight_power)
        return [branch_posterior(c / w, u, self.penalty * w**self.weight_power / w)
                for c, w in zip(counts, weights, strict=True)]  # fmt: skip

    def gain(self, sides, u):
        return sum(self.masses[rows].sum() * relative_entropy(p, u)
                   for rows, p in zip(sides, self.posteriors(sides, u), strict=True))  # fmt: skip

    def candidates(self, rows):
        for feature in range(self.X.shape[1]):
            if feature in self.categorical:
                continue
            x = self.X[rows, feature]
            missing = np.isnan(x)
            values = np.unique(x[~missing])
            if missing.any() and len(values):
                yield rows[missing], rows[~missing]
            for value in values[:-1]:
                for missing_left in (False, True)[: 1 + missing.any()]:
                    left = np.where(missing, missing_left, x <= value)
                    yield rows[left], rows[~left]

        for feature in self.categorical:  # a branch for every value
            x = self.X[rows, feature]
            _, which = np.unique(x, return_inverse=True)  # NaN is one value
            if which.max() > 0:
                yield tuple(rows[which == value] for value in range(which.max() + 1))

    def grow(self, rows, u, depth):
        best, best_gain = None, np.float32(0)
        for sides in self.candidates(rows):
            gain = np.float32(self.gain(sides, u))
            if gain > best_gain:
                best, best_gain = sides, gain
        if (
            best is None
            or best_gain < self.min_gain
            or best_gain <= 1e-12 * self.masses[rows].sum()
        ):
            self.p[rows] = u
            self.n_leaves += 1
            return
        for side, p in zip(best, self.posteriors(best, u), strict=True):
            if p is u and not self.split_terminated:
                self.p[side] = u
                self.n_leaves += 1
            else:
                self.grow(side, p, depth + 1)
