"""From probabilities of labels back to the log-odds of a binary tree's nodes, and down again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize_scalar

if TYPE_CHECKING:
    from labeltrees.tree import LabelTree

TINY = 1e-300


def node_log_odds(tree: LabelTree, p: np.ndarray) -> np.ndarray:
    """Return the log-odds of right against left, (n_rows, n_nodes); 0 at leaves."""
    mass = np.zeros((len(p), tree.n_nodes))
    leaves = tree.label >= 0
    mass[:, leaves] = p[:, tree.label[leaves]]
    for node in range(tree.n_nodes - 1, 0, -1):  # children before their parents
        mass[:, tree.parent[node]] += mass[:, node]
    odds = np.zeros_like(mass)
    for node in np.flatnonzero(~leaves):
        left = tree.first_child[node]
        odds[:, node] = np.log(np.maximum(mass[:, left + 1], TINY))
        odds[:, node] -= np.log(np.maximum(mass[:, left], TINY))
    return odds


def distribution(tree: LabelTree, odds: np.ndarray) -> np.ndarray:
    """Return the probabilities of labels that nodes with these log-odds multiply to."""
    log_path = np.zeros_like(odds)
    for node in np.flatnonzero(tree.label < 0):
        left = tree.first_child[node]
        log_path[:, left] = log_path[:, node] - np.logaddexp(0, odds[:, node])
        log_path[:, left + 1] = log_path[:, node] - np.logaddexp(0, -odds[:, node])
    p = np.zeros((len(odds), tree.n_labels))
    leaves = tree.label >= 0
    p[:, tree.label[leaves]] = np.exp(log_path[:, leaves])
    return p


def fit_temperature(
    tree: LabelTree, odds: np.ndarray, ids: np.ndarray, *, by_depth: bool
) -> np.ndarray:
    """Return the factor of log-odds with the least log loss, for each depth or one for all."""
    signed: dict[int, list[float]] = {}
    for row, label in enumerate(ids.tolist()):
        if label < 0:
            continue
        node = tree.leaf_of(label)
        while node != 0:
            above = int(tree.parent[node])
            side = 1.0 if node == tree.first_child[above] + 1 else -1.0
            depth = int(tree.depths[above])
            signed.setdefault(depth if by_depth else 0, []).append(side * odds[row, above])
            node = above
    factors = np.ones(tree.depth + 1)
    for depth, values in signed.items():
        best = minimize_scalar(_loss, bounds=(0.2, 5.0), args=(np.array(values),), method="bounded")
        factors[depth] = best.x
    return factors if by_depth else np.full(tree.depth + 1, factors[0])


def _loss(factor: float, signed: np.ndarray) -> float:
    return float(np.logaddexp(0, -factor * signed).mean())


def apply_temperature(tree: LabelTree, odds: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Return log-odds times the factor of their node's depth."""
    return odds * factors[tree.depths]
