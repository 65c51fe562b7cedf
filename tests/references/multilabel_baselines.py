"""The multi-label baselines in plain NumPy, written from their definitions: slow and obvious."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import minimize


def unit_rows(X):
    lengths = np.sqrt((X**2).sum(axis=1, keepdims=True))
    return np.divide(X, lengths, out=np.zeros_like(X), where=lengths > 0)


def least_squares(X, y, cost):
    """The w, b of one label that minimise |w|^2 + cost sum (y - w x - b)^2, by its equations."""
    A = np.hstack([X, np.ones((len(X), 1))])
    penalty = np.eye(A.shape[1])
    penalty[-1, -1] = 0  # the intercept is free
    return np.linalg.lstsq(penalty + cost * A.T @ A, cost * A.T @ y, rcond=None)[0]


def squared_hinge(X, y, w, b):
    signs = np.where(y > 0, 1, -1)
    return (np.maximum(0, 1 - signs * (X @ w + b)) ** 2).sum()


def dismec_objective(X, y, w, b, cost):
    return w @ w / 2 + b * b / 2 + cost * squared_hinge(X, y, w, b)


def proxml_objective(X, y, w, b, cost):
    return np.abs(w).sum() + cost * squared_hinge(X, y, w, b)


def dismec(X, y, cost):
    """The least value of DiSMEC's objective for one label."""
    start = np.zeros(X.shape[1] + 1)
    found = minimize(
        lambda t: dismec_objective(X, y, t[:-1], t[-1], cost), start, options={"gtol": 1e-8}
    )
    return found.fun


def proxml(X, y, cost):
    """The least value of ProXML's objective for one label: w = p - q with p, q >= 0."""
    d = X.shape[1]

    def objective(t):
        p, q, b = t[:d], t[d : 2 * d], t[-1]
        return p.sum() + q.sum() + cost * squared_hinge(X, y, p - q, b)

    bounds = [(0, None)] * (2 * d) + [(None, None)]
    options = {"ftol": 1e-14, "gtol": 1e-10, "maxiter": 5000, "maxfun": 10**6}
    return minimize(objective, np.zeros(2 * d + 1), bounds=bounds, options=options).fun


def pair_loss(S, Y, per):
    """The sum over all pairs of cells, of a row or of a label, that differ in relevance."""
    total = 0.0
    scores, relevance = (S, Y) if per == "row" else (S.T, Y.T)
    for s, y in zip(scores, relevance, strict=True):
        for a, b in itertools.permutations(range(len(s)), 2):
            if y[a] > y[b]:
                total += max(0, 1 - (s[a] - s[b])) ** 2
    return total


def rank_svm_objective(X, Y, W, b, cost, per):
    return (W**2).sum() / 2 + (b**2).sum() / 2 + cost * pair_loss(X @ W + b, Y, per)


def rank_svm(X, Y, cost, per):
    """The least value of RankSVM's objective."""
    shape = (X.shape[1] + 1, Y.shape[1])

    def objective(t):
        T = t.reshape(shape)
        return rank_svm_objective(X, Y, T[:-1], T[-1], cost, per)

    return minimize(objective, np.zeros(shape).ravel(), options={"gtol": 1e-7}).fun


def xlr_objective(X, Y, U, V, cost):
    return (U**2).sum() / 2 + (V**2).sum() / 2 + cost * pair_loss(X @ V @ U.T, Y, "label")


def least_xlr_objective(X, Y, W, cost):
    """XLR's objective of W = V U' at the factors of least size: half their squares is the sum of
    W's singular values."""
    return np.linalg.svd(W, compute_uv=False).sum() + cost * pair_loss(X @ W, Y, "label")


def best(scores, k):
    """The columns of the k largest, of equals the first."""
    return sorted(range(len(scores)), key=lambda c: (-scores[c], c))[:k]
