"""LEML with squared loss by definition: the objective, and exact minimisation over each factor.

Yu, Jain, Kar and Dhillon, "Large-scale multi-label learning with missing labels" (ICML 2014), eq. 1
with all labels observed: min over W, H of 1/2 |Y - X W H'|^2 + penalty / 2 (|W|^2 + |H|^2).
"""

from __future__ import annotations

import numpy as np


def objective(X, Y, W, H, penalty):
    """Return what is minimised; all matrices are dense."""
    error = Y - X @ W @ H.T
    return 0.5 * (error**2).sum() + 0.5 * penalty * ((W**2).sum() + (H**2).sum())


def best_labels(X, Y, W, penalty):
    """Return the best H for W: for each label a ridge regression on the reduced rows."""
    reduced = X @ W
    square = reduced.T @ reduced + penalty * np.eye(W.shape[1])
    return np.array([np.linalg.solve(square, reduced.T @ y) for y in Y.T])


def best_rows(X, Y, H, penalty):
    """Return the best W for H: one linear system in all entries of W.

    The derivative X'(X W H' - Y) H + penalty W is zero, and vec(A W B) = (B' kron A) vec(W).
    """
    n_features, rank = X.shape[1], H.shape[1]
    system = np.kron(H.T @ H, X.T @ X) + penalty * np.eye(n_features * rank)
    right = (X.T @ Y @ H).ravel(order="F")
    return np.linalg.solve(system, right).reshape((n_features, rank), order="F")


def alternate(X, Y, W, penalty, n_rounds):
    """Return both factors after so many rounds from a first W."""
    H = best_labels(X, Y, W, penalty)
    for _ in range(n_rounds):
        W = best_rows(X, Y, H, penalty)
        H = best_labels(X, Y, W, penalty)
    return W, H
