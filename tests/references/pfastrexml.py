"""PfastreXML by definition, one row and one label at a time.

Trees: Prabhu and Varma, "FastXML" (KDD 2014), eq. 4 and Algorithms 1-3, the separator optimised
once, after ranks and signs have settled. Gains divided by propensities (already in ``Y``), and tail
classifiers: Jain, Prabhu and Varma (KDD 2016), with log-sums as products.
"""

from __future__ import annotations

import math

import numpy as np

_MASK = 2**64 - 1


def _mixed(x):
    for _ in range(2):
        x ^= x >> 32
        x = x * 0xD6E8FEB86659FD93 & _MASK
    return x ^ x >> 32


def _combined(first, second):
    return _mixed((first * 0x9E3779B97F4A7C15 + second) & _MASK)


def first_signs(seed, tree, node, n_rows):
    """Return random signs of a node's rows; any generator would do, this is the library's."""
    of_node = _combined(_combined(seed, tree), node)
    return [1 if _combined(of_node, i) >> 63 else -1 for i in range(n_rows)]


def ranks(Y, rows, labels):
    """Return the rank, from 1, of labels by the sum of y_l / ideal DCG over a side's rows.

    ``labels`` are those of the node's rows; others come last, where they do not matter.
    """
    sums = np.zeros(Y.shape[1])
    for row in rows:
        n = np.count_nonzero(Y[row])
        if n:
            sums += Y[row] / sum(1 / math.log2(1 + j) for j in range(1, n + 1))
    order = sorted(labels, key=lambda label: (-sums[label], label))
    return {label: rank for rank, label in enumerate(order, start=1)}


def settled_signs(Y, rows, signs):
    """Return the signs where each row is on the side whose ranking suits its labels better."""
    labels = np.flatnonzero(Y[rows].any(axis=0)).tolist()
    while True:
        members = {s: [r for r, t in zip(rows, signs, strict=True) if t == s] for s in (-1, 1)}
        sides = {s: ranks(Y, members[s], labels) for s in members}
        gains = [{s: _dcg(Y[row], sides[s]) for s in sides} for row in rows]
        new = [
            old if gain[1] == gain[-1] else (1 if gain[1] > gain[-1] else -1)
            for gain, old in zip(gains, signs, strict=True)
        ]
        if new == signs:
            return signs
        signs = new


def _dcg(y, rank):
    return sum(y[label] / math.log2(1 + rank[label]) for label in np.flatnonzero(y).tolist())


def separator(X, signs, costs):
    """Return w, b with the least |w|_1 + |b| + sum costs log(1 + exp(-signs (X w + b))).

    Proximal gradient steps with restarted momentum, to the point where nothing moves.
    """
    A = np.hstack([X, np.ones((len(X), 1))]) * np.asarray(signs)[:, None]
    costs = np.asarray(costs)
    step = 4 / max(np.linalg.norm(A * np.sqrt(costs)[:, None], 2) ** 2, 1e-12)

    def moved(v):
        slope = -A.T @ (costs / (1 + np.exp(A @ v)))
        z = v - step * slope
        return np.sign(z) * np.maximum(np.abs(z) - step, 0)

    w = v = np.zeros(A.shape[1])
    t = 1.0
    for _ in range(20_000):
        new = moved(v)
        if (v - new) @ (new - w) > 0:  # momentum leads astray
            v, t = w, 1.0
            new = moved(v)
        if np.abs(new - w).max() < 1e-11 and np.abs(moved(new) - new).max() < 1e-10:
            break
        following = (1 + math.sqrt(1 + 4 * t * t)) / 2
        v, w, t = new + (t - 1) / following * (new - w), new, following
    return w[:-1], w[-1]


def grown(X, Y, *, seed=0, tree=0, max_leaf=10, leaf_labels=100, cost=1.0):
    """Return a tree as nested nodes: (w, b, low, high), or the leaf's mean relevance.

    Nodes are numbered level by level, for their random signs.
    """
    root = [list(range(len(X)))]
    waiting = [root]
    number = 0
    while number < len(waiting):
        node = waiting[number]
        (rows,) = node
        parts = _divided(X, Y, rows, first_signs(seed, tree, number, len(rows)), max_leaf, cost)
        if parts is None:
            node[:] = [_leaf(Y[rows].mean(axis=0), leaf_labels)]
        else:
            w, b, low, high = parts
            node[:] = [w, b, [low], [high]]
            waiting += node[2:]
        number += 1
    return root


def _divided(X, Y, rows, signs, max_leaf, cost):
    if len(rows) <= max_leaf:
        return None
    signs = settled_signs(Y, rows, signs)
    if len(set(signs)) == 1:
        return None
    costs = [cost * len(signs) / signs.count(s) for s in signs]
    w, b = separator(X[rows], signs, costs)
    side = X[rows] @ w + b > 1e-9
    low, high = ([r for r, is_high in zip(rows, side, strict=True) if is_high == s] for s in (0, 1))
    return (w, b, low, high) if low and high else None


def _leaf(mean, leaf_labels):
    kept = sorted(range(len(mean)), key=lambda label: (-mean[label], label))[:leaf_labels]
    leaf = np.zeros_like(mean)
    leaf[kept] = mean[kept]
    return leaf


def leaf_of(node, x):
    """Return the mean relevance of the leaf that a row comes to."""
    while len(node) > 1:
        w, b, low, high = node
        node = high if x @ w + b > 0 else low
    return node[0]


def score(x, trees, mean, label, tail_weight, gamma):
    """Return a label's score; ``mean`` is that of the label's rows."""
    value = sum(leaf_of(tree, x)[label] for tree in trees) / len(trees)
    distance = sum((a - m) ** 2 for a, m in zip(x, mean, strict=True))
    tail = 1 / (1 + math.exp(gamma / 2 * distance))
    return value**tail_weight * tail ** (1 - tail_weight)
