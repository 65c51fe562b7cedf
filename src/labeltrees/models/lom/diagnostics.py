"""How good the splits of a decision tree are: the quantities of section 2 of the LOMtree paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labeltrees.store import Tensors

Histogram = dict[int, float]


@dataclass(frozen=True)
class Diagnosis:
    """The splits in the order they were made, and the leaves.

    ``objective`` is J(h) of eq. (1), ``impurity`` the purity factor alpha (0: every label goes to
    one side), ``balance`` the share of examples that go right (0.5: as many as go left).
    """

    node: NDArray[np.int64]
    objective: NDArray[np.float64]
    impurity: NDArray[np.float64]
    balance: NDArray[np.float64]
    entropy: NDArray[np.float64]
    """G_t in nats: the mean entropy of the leaves after so many splits; the first is without."""
    leaf_sizes: NDArray[np.float64]
    leaf_depths: NDArray[np.int64]
    n_recycled: NDArray[np.int64]
    """How often each node was taken from one place of the tree to another."""

    def summary(self) -> dict[str, Any]:
        """Return the main numbers, ready for JSON."""
        sizes = self.leaf_sizes
        facts: dict[str, Any] = {
            "splits": len(self.node),
            "leaves": len(sizes),
            "depth": int(self.leaf_depths.max(initial=0)),
            "smallest_leaf": float(sizes.min(initial=np.inf)) if len(sizes) else 0.0,
            "largest_leaf": float(sizes.max(initial=0.0)),
            "most_recyclings_of_a_node": int(self.n_recycled.max(initial=0)),
            "entropy_without_splits": float(self.entropy[0]),
            "entropy_of_leaves": float(self.entropy[-1]),
        }
        if sizes.sum() > 0:
            facts["mean_depth_of_an_example"] = float(np.average(self.leaf_depths, weights=sizes))
        if len(self.node):
            facts |= {
                "mean_objective": float(self.objective.mean()),
                "mean_impurity": float(self.impurity.mean()),
                "mean_balance": float(np.minimum(self.balance, 1 - self.balance).mean()),
            }
        return facts


def split_quality(
    left: NDArray[np.float64], right: NDArray[np.float64]
) -> tuple[float, float, float]:
    """Return J(h), impurity and balance of a split, from each label's weight left and right.

    Examples
    --------
    >>> split_quality(np.array([3.0, 0.0]), np.array([0.0, 3.0]))
    (1.0, 0.0, 0.5)
    """
    total = left + right
    n = total.sum()
    if n == 0:
        return 0.0, 0.0, 0.5
    seen = total > 0
    share, p_right = total[seen] / n, right[seen] / total[seen]
    balance = float(right.sum() / n)
    objective = min(float(2 * (share * np.abs(balance - p_right)).sum()), 1.0)  # but for rounding
    impurity = float((share * np.minimum(p_right, 1 - p_right)).sum())
    return objective, impurity, balance


def diagnose(
    nodes: Tensors,
    root: int,
    leaves: NDArray[Any],
    labels: NDArray[Any],
    weights: NDArray[Any],
) -> Diagnosis:
    """Return the diagnosis of a tree whose leaf ``leaves[i]`` got ``labels[i]`` so many times.

    ``nodes`` has the arrays ``left``, ``right``, ``split_number`` and ``n_recycled``. Each example
    is looked at once for every node above its leaf.
    """
    below: dict[int, Histogram] = {}
    for leaf, label, weight in zip(leaves.tolist(), labels.tolist(), weights.tolist(), strict=True):
        histogram = below.setdefault(leaf, {})
        histogram[label] = histogram.get(label, 0.0) + weight
    order, depths = _downwards(nodes, root)
    total = float(weights.sum())
    leaf_sizes, leaf_depths = [], []
    quality: dict[int, tuple[float, float, float, float]] = {}
    mass: dict[int, float] = {}  # weight times entropy
    for node in reversed(order):
        left, right = int(nodes["left"][node]), int(nodes["right"][node])
        if left < 0:
            histogram = below.setdefault(node, {})
            leaf_sizes.append(sum(histogram.values()))
            leaf_depths.append(depths[node])
            mass[node] = _entropy_mass(histogram)
            continue
        one, other = below.pop(left), below.pop(right)
        both = sorted(one.keys() | other.keys())
        arrays = [np.array([h.get(label, 0.0) for label in both]) for h in (one, other)]
        below[node] = dict(zip(both, (arrays[0] + arrays[1]).tolist(), strict=True))
        mass[node] = _entropy_mass(below[node])
        quality[node] = (*split_quality(*arrays), mass[node] - mass[left] - mass[right])
    made = sorted(quality, key=lambda node: int(nodes["split_number"][node]))
    columns = np.array([quality[node] for node in made]).reshape(len(made), 4)
    gained = np.concatenate([[0.0], np.cumsum(columns[:, 3])])
    entropy = (mass[root] - gained) / total if total > 0 else np.zeros(len(gained))
    return Diagnosis(
        node=np.array(made, dtype=np.int64),
        objective=columns[:, 0],
        impurity=columns[:, 1],
        balance=columns[:, 2],
        entropy=np.maximum(entropy, 0.0),
        leaf_sizes=np.array(leaf_sizes),
        leaf_depths=np.array(leaf_depths, dtype=np.int64),
        n_recycled=nodes["n_recycled"].astype(np.int64),
    )


def _downwards(nodes: Tensors, root: int) -> tuple[list[int], dict[int, int]]:
    """Return the nodes, parents first, and their depths."""
    order, depths = [root], {root: 0}
    for node in order:  # grows meanwhile
        if nodes["left"][node] >= 0:
            for child in (int(nodes["left"][node]), int(nodes["right"][node])):
                order.append(child)
                depths[child] = depths[node] + 1
    return order, depths


def _entropy_mass(histogram: Histogram) -> float:
    counts = np.array([count for count in histogram.values() if count > 0])
    if not len(counts):
        return 0.0
    n = counts.sum()
    return float(n * np.log(n) - (counts * np.log(counts)).sum())
