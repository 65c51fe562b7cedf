"""Extreme regression in plain NumPy, written from the papers: slow and obvious.

Of the tree only its shape is given. What the papers leave open is said where it is decided.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize


def sigmoid(m):
    return 1 / (1 + np.exp(-m))


def unit_rows(X):
    lengths = np.sqrt((X**2).sum(axis=1, keepdims=True))
    return np.divide(X, lengths, out=np.zeros_like(X), where=lengths > 0)


def propensities(Y, a=0.55, b=1.5):
    n = len(Y)
    c = (np.log(n) - 1) * (b + 1) ** a
    return np.array([1 / (1 + c * np.exp(-a * np.log((column > 0).sum() + b))) for column in Y.T])


def children_of(parent):
    return {n: [c for c, p in enumerate(parent) if p == n] for n in range(len(parent))}


def labels_below(parent, label):
    """The labels of every node's subtree."""
    below = {n: set() for n in range(len(parent))}
    for node, own in enumerate(label):
        if own < 0:
            continue
        while node >= 0:
            below[node].add(own)
            node = parent[node]
    return below


def node_problem(parent, label, Y, node):
    """Rows, weights s and targets z (rows x children) of a node; Y is normalised."""
    below, children = labels_below(parent, label), children_of(parent)[node]
    largest = {c: Y[:, sorted(below[c])].max(axis=1) for c in children}
    s = np.ones(len(Y)) if node == 0 else Y[:, sorted(below[node])].max(axis=1)
    rows = np.flatnonzero(s > 0)
    z = np.stack([largest[c][rows] for c in children], axis=1) / s[rows, None]
    return rows, s[rows], z


def logistic_losses(m, z):
    """What eq. 13 sums but for s, and its slope in the margin m: every point twice, z and 1 - z."""
    losses = z * np.logaddexp(0, -m) + (1 - z) * np.logaddexp(0, m)
    return losses, -z * sigmoid(-m) + (1 - z) * sigmoid(m)


def hinge_losses(m, z):
    """Parabel's squared hinge loss of y = 1 where a label below is relevant, else -1."""
    y = np.where(z > 0, 1, -1)
    slack = np.maximum(0, 1 - y * m)
    return slack**2, -2 * y * slack


def minimum(X, z, s, losses, *, square, factor):
    """argmin of square |w|^2 + factor sum s loss(w x); w ends with the weight of a constant 1.

    The papers write w x; that x ends with a constant 1 is how their programs read it.
    """
    ones = np.hstack([X, np.ones((len(X), 1))])

    def both(w):
        value, slope = losses(ones @ w, z)
        return (
            square * w @ w + factor * (s * value).sum(),
            2 * square * w + factor * ones.T @ (s * slope),
        )

    options = {"ftol": 1e-14, "gtol": 1e-9, "maxiter": 2000}
    start = np.zeros(ones.shape[1])
    return minimize(both, start, jac=True, method="L-BFGS-B", options=options).x


def objective(theta, X, z, s, cost, loss="logistic"):
    """1/2 |w|^2 + cost sum s loss, bias included: what the solver of a node minimises."""
    losses = {"logistic": logistic_losses, "hinge": hinge_losses}[loss]
    m = X @ theta[:-1] + theta[-1]
    return 0.5 * theta @ theta + cost * (s * losses(m, z)[0]).sum()


def solve(X, z, s, cost, loss="logistic"):
    losses = {"logistic": logistic_losses, "hinge": hinge_losses}[loss]
    return minimum(X, z, s, losses, square=0.5, factor=cost)


# Regressors: functions of a node's points, targets z, weights s and the number of all points.


def of_paper(cost):
    """|w|^2 + C / |I_n| sum over I_n of eq. 13, where I_n are the points that reach the node."""

    def solved(X, z, s, n_points):
        return minimum(X, z, s, logistic_losses, square=1, factor=cost / len(X))

    return solved


def of_release(cost, share):
    """1/2 |w|^2 + C N / (sum of s) sum; then weights up to a share of the largest are dropped."""

    def solved(X, z, s, n_points):
        w = minimum(X, z, s, logistic_losses, square=0.5, factor=cost * n_points / s.sum())
        dropped = np.abs(w) <= share * np.abs(w).max()
        dropped[-1] = False
        return np.where(dropped, 0, w)

    return solved


def of_parabel(cost, least):
    """1/2 |w|^2 + C sum of squared hinge losses; then weights up to ``least`` are dropped."""

    def solved(X, z, s, n_points):
        w = minimum(X, z, np.ones(len(X)), hinge_losses, square=0.5, factor=cost)
        dropped = np.abs(w) <= least
        dropped[-1] = False
        return np.where(dropped, 0, w)

    return solved


def of_house(cost, cost_power, loss):
    """The library's default, which no paper has: C (N / sum of s)^power."""

    def solved(X, z, s, n_points):
        return solve(X, z, s, cost * (n_points / s.sum()) ** cost_power, loss)

    return solved


class ReferenceTree:
    """Every regressor of a given label tree, solved to the optimum."""

    def __init__(self, parent, label, X, Y, regressor, *, hinge=False, inner_power=1.0):
        self.inner_power = inner_power
        self.parent, self.label, self.hinge = list(parent), list(label), hinge
        self.theta, self.reach = {}, {0: 1.0}
        X = unit_rows(X)
        for node, children in children_of(self.parent).items():
            if not children:
                continue
            rows, s, z = node_problem(self.parent, self.label, Y, node)
            for column, child in enumerate(children):
                self.theta[child] = regressor(X[rows], z[:, column], s, len(Y))
                self.reach[child] = (z[:, column] > 0).sum() / len(Y)

    def answer(self, node, X):
        """The regressor's answer for a child node."""
        m = unit_rows(X) @ self.theta[node][:-1] + self.theta[node][-1]
        p = np.exp(-(np.maximum(0, 1 - m) ** 2)) if self.hinge else sigmoid(m)
        return p if self.label[node] >= 0 else p**self.inner_power

    def probabilities(self, X, n_labels):
        """The product of answers along each label's path."""
        p = np.zeros((len(X), n_labels))
        for leaf, own in enumerate(self.label):
            if own < 0:
                continue
            product, node = np.ones(len(X)), leaf
            while node > 0:
                product *= self.answer(node, X)
                node = self.parent[node]
            p[:, own] = product
        return p


def beam(parent, label, answer, width):
    """Parabel's search for one row: the best ``width`` nodes of each level; labels it meets."""
    children, level, met = children_of(parent), {0: 1.0}, {}
    while level:
        below = {c: p * answer(c) for node, p in level.items() for c in children[node]}
        met |= {label[c]: p for c, p in below.items() if label[c] >= 0}
        inner = {c: p for c, p in below.items() if label[c] < 0}
        kept = sorted(inner, key=lambda c: (-inner[c], c))[:width]
        level = {c: inner[c] for c in kept}
    return met


def tail_means(X, Y):
    """The unit vector along the mean of a label's points, each of length 1, whatever relevance."""
    return unit_rows((Y > 0).T @ unit_rows(X))


def tail_scores(values, X, means, alpha):
    """XReg-t: value^alpha cosine^(1 - alpha), of every row and label."""
    return values**alpha * np.maximum(unit_rows(X) @ means.T, 0) ** (1 - alpha)


def labelwise(parent, label, reach, answer, n_rows, k, factor):
    """Algorithm 1: answer(child) is z-hat of all rows; the rows of each label, best first."""
    children, found = children_of(parent), {}
    points, path = {0: np.arange(n_rows)}, {0: np.ones(n_rows)}
    for node in range(len(parent)):
        if node not in points:
            continue
        for child in children[node]:
            p = path[node] * answer(child)
            share = round(float(factor * reach[child] * n_rows), 5)  # reach may have 32 bits
            size = k if label[child] >= 0 else max(int(np.ceil(share)), k)
            order = points[node][np.lexsort((points[node], -p[points[node]]))][:size]
            if label[child] >= 0:
                found[label[child]] = order
            else:
                points[child], path[child] = np.sort(order), p
    return found
