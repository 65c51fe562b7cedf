"""Extreme regression in plain NumPy, written from the paper: slow and obvious."""

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


def objective(theta, X, z, s, cost, loss="logistic"):
    """1/2 |w|^2 + 1/2 b^2 + cost sum s loss; theta ends with the bias."""
    m = X @ theta[:-1] + theta[-1]
    if loss == "logistic":
        losses = np.logaddexp(0, m) - z * m
    else:
        losses = np.maximum(0, 1 - np.where(z > 0, 1, -1) * m) ** 2
    return 0.5 * theta @ theta + cost * (s * losses).sum()


def solve(X, z, s, cost, loss="logistic"):
    def both(theta):
        m = X @ theta[:-1] + theta[-1]
        if loss == "logistic":
            slope = s * (sigmoid(m) - z)
        else:
            y = np.where(z > 0, 1, -1)
            slope = s * -2 * y * np.maximum(0, 1 - y * m)
        gradient = theta + cost * np.append(X.T @ slope, slope.sum())
        return objective(theta, X, z, s, cost, loss), gradient

    options = {"ftol": 1e-12, "gtol": 1e-7, "maxiter": 1000}
    return minimize(both, np.zeros(X.shape[1] + 1), jac=True, method="L-BFGS-B", options=options).x


class ReferenceTree:
    """Every regressor of a given label tree, solved to the optimum."""

    def __init__(self, parent, label, X, Y, *, cost, cost_power, loss="logistic", inner_power=1.0):
        self.inner_power = inner_power
        self.parent, self.label, self.loss = list(parent), list(label), loss
        self.theta, self.reach = {}, {0: 1.0}
        X = unit_rows(X)
        for node, children in children_of(self.parent).items():
            if not children:
                continue
            rows, s, z = node_problem(self.parent, self.label, Y, node)
            c = cost * (len(Y) / s.sum()) ** cost_power
            for column, child in enumerate(children):
                self.theta[child] = solve(X[rows], z[:, column], s, c, loss)
                self.reach[child] = (z[:, column] > 0).sum() / len(Y)

    def answer(self, node, X):
        """The regressor's answer for a child node."""
        m = unit_rows(X) @ self.theta[node][:-1] + self.theta[node][-1]
        p = sigmoid(m) if self.loss == "logistic" else np.exp(-(np.maximum(0, 1 - m) ** 2))
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


def labelwise(parent, label, reach, answer, n_rows, k, factor):
    """Algorithm 1: answer(child) is z-hat of all rows; the rows of each label, best first."""
    children, found = children_of(parent), {}
    points, path = {0: np.arange(n_rows)}, {0: np.ones(n_rows)}
    for node in range(len(parent)):
        if node not in points:
            continue
        for child in children[node]:
            p = path[node] * answer(child)
            size = k if label[child] >= 0 else int(np.ceil(factor * reach[child] * n_rows))
            size = max(size, k)
            order = points[node][np.lexsort((points[node], -p[points[node]]))][:size]
            if label[child] >= 0:
                found[label[child]] = order
            else:
                points[child], path[child] = np.sort(order), p
    return found
