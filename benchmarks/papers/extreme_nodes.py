"""The regressors, targets and predictions of the nodes of an extreme regression tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit, rel_entr
from sklearn.preprocessing import normalize


def regressors(tree: Any, n_features: int) -> tuple[csr_array, np.ndarray]:
    """Return the weights of every node, (n_features, n_nodes), and their biases.

    The arrays come from the core's sibling_weights.hpp, as rows of weights by feature and parent.
    """
    features, feature_rows, row_parents, row_starts, columns, values, biases = tree.arrays[:7]
    first = np.asarray(tree.tree.first_children())
    per_row = np.diff(row_starts.astype(np.int64))
    feature = np.repeat(features, np.diff(feature_rows.astype(np.int64)))
    node = np.repeat(first[row_parents], per_row) + columns
    weights = values.view(np.float16).astype(np.float64)
    shape = (n_features, tree.tree.n_nodes)
    W = csr_array((weights, (np.repeat(feature, per_row), node)), shape=shape)
    return W, np.asarray(biases, dtype=np.float64)


def answers(tree: Any, X: Any) -> np.ndarray:
    """Return z-hat of every row and node; the root's is 1."""
    W, biases = regressors(tree, X.shape[1])
    z_hat = expit(np.asarray((csr_array(normalize(X)) @ W).todense()) + biases)
    z_hat[:, 0] = 1.0
    return z_hat


def targets(tree: Any, Y: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the largest relevance below every node, by row; Y is in [0, 1]. The root's is 1.

    ``labels`` are the columns of Y by the tree's label numbers.
    """
    parent, own = tree.tree.parents(), tree.tree.labels()
    below = np.zeros((len(Y), len(parent)))
    for node in range(len(parent) - 1, 0, -1):  # a parent's number is below its children's
        if own[node] >= 0:
            below[:, node] = Y[:, labels[own[node]]]
        below[:, parent[node]] = np.maximum(below[:, parent[node]], below[:, node])
    below[:, 0] = 1.0
    return below


def divergence(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return KL(p || q) of coins."""
    return rel_entr(p, q) + rel_entr(1 - p, 1 - q)


def path_bound(tree: Any, X: Any, Y: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return sqrt(1/2 sum_n s_n KL(z_n || z-hat_n)) of every row: (46) of the supplement.

    The sum is over nodes whose parent has a relevant label below it; s_n is the parent's relevance,
    z_n the node's over it.
    """
    z_hat, below = answers(tree, X), targets(tree, Y, labels)
    parent = np.asarray(tree.tree.parents())
    s = below[:, parent[1:]]
    z = np.divide(below[:, 1:], s, out=np.zeros_like(s), where=s > 0)
    parts = np.where(s > 0, s * divergence(z, z_hat[:, 1:]), 0.0)
    return np.sqrt(parts.sum(axis=1) / 2)


def generalisation_bound(
    *, n_rows: int, n_labels: int, norm: float, reach: float, delta: float = 0.05
) -> float:
    """Return log² L sqrt(W / sqrt(N p)) sqrt(1 + sqrt(5 log(3 L / delta))): Theorem 4.3.

    ``norm`` is W, the largest norm of a regressor, ``reach`` p, the least share of rows that a node
    has. The logarithm is the tree's: to base 2.
    """
    depth = np.log2(n_labels) ** 2
    root = np.sqrt(1 + np.sqrt(5 * np.log(3 * n_labels / delta)))
    return float(depth * np.sqrt(norm / np.sqrt(n_rows * reach)) * root)
