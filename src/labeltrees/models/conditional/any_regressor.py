"""Conditional probability trees with any regressor at their nodes, in plain Python.

Algorithms 1 and 3 of the paper as they stand there, for a regression algorithm R that is whatever
object learns and predicts. For linear regressors the compiled tree is a thousand times as fast.
"""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from labeltrees.tree import LabelTree

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


class NodeRegressor(Protocol):
    """What stands at a node: f(x), an estimate of the probability that the label is right."""

    def learn(self, X: Any, targets: NDArray[np.float64], weights: NDArray[np.float64]) -> None:
        """Learn that rows went right (1) or left (0), all in one call or a row at a time."""

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return f(x) of each row; what is outside [0, 1] is clipped."""


class AnyRegressorTree:
    """A binary tree over label ids whose nodes hold regressors made by ``make``.

    It grows by Algorithm 3, one example at a time, or stands on a given tree. Leaves have
    regressors, too (section 4.1), if it grows. Rows are any matrix that can be sliced by rows.
    """

    def __init__(self, make: Callable[[], NodeRegressor], *, alpha: float = 0.6) -> None:
        self.make, self.alpha = make, alpha
        self.parent: list[int] = []
        self.first_child: list[int] = []
        self.label: list[int] = []
        self.n_leaves: list[int] = []
        self.regressor: list[NodeRegressor | None] = []
        self.leaf_of: dict[int, int] = {}

    @classmethod
    def on(cls, tree: LabelTree, make: Callable[[], NodeRegressor]) -> AnyRegressorTree:
        """Return a tree that has learned nothing yet, shaped like a binary `LabelTree`."""
        self = cls(make)
        self.parent, self.label = tree.parent.tolist(), tree.label.tolist()
        self.first_child = np.where(tree.label < 0, tree.first_child, -1).tolist()
        self.n_leaves = tree.n_leaves.tolist()
        self.regressor = [None] * tree.n_nodes
        self.leaf_of = {label: node for node, label in enumerate(self.label) if label >= 0}
        return self

    @property
    def tree(self) -> LabelTree:
        """The tree's structure."""
        return LabelTree.restore(
            np.array(self.parent, dtype=np.int32), np.array(self.label, dtype=np.int32)
        )

    def path(self, label: int) -> list[tuple[int, int]]:
        """Return T(y), the inner nodes above a label with its turns (1 is right), root first."""
        steps, node = [], self.leaf_of[label]
        while self.parent[node] >= 0:
            above = self.parent[node]
            steps.append((above, int(node != self.first_child[above])))
            node = above
        return steps[::-1]

    def fit(self, X: Any, labels: NDArray[np.int32], weights: NDArray[np.float64]) -> None:
        """Algorithm 1: each node's regressor learns S_i, its own examples, in one call."""
        turns: dict[int, list[tuple[int, int]]] = {}  # node -> rows and their turns
        paths = {label: self.path(label) for label in np.unique(labels).tolist()}
        for row, label in enumerate(labels.tolist()):
            for node, turn in paths[label]:
                turns.setdefault(node, []).append((row, turn))
        for node, own in turns.items():
            rows, targets = (np.array(each) for each in zip(*own, strict=True))
            regressor = self.regressor[node] = self.make()
            regressor.learn(X[rows], targets.astype(np.float64), weights[rows])

    def observe(self, x: Any, label: int, weight: float = 1.0) -> float:
        """Algorithm 3: learn one row, a new label included; return Q(label given x) before."""
        if not self.label:
            self._append(label, -1)
            self._update_node(0, x, 0, weight)
            return 0.0
        if label in self.leaf_of:
            p = float(self.label_probabilities(x, np.array([label]))[0])
            for node, turn in self.path(label):
                self._update_node(node, x, turn, weight)
            self._update_node(self.leaf_of[label], x, 0, weight)
            return p
        node = 0
        while self.label[node] < 0:
            turn = int(self._objective(node, x) > 0)
            self._update_node(node, x, turn, weight)
            self.n_leaves[node] += 1
            node = self.first_child[node] + turn
        self._split(node, label, x, weight)
        return 0.0

    def _objective(self, node: int, x: Any) -> float:
        """obj(p, L, R, alpha) of rule (5)."""
        left = self.first_child[node]
        balance = math.log2(self.n_leaves[left] / self.n_leaves[left + 1])
        p = float(self._ask(node, x)[0]) if self.alpha < 1 else 0.5
        return (1 - self.alpha) * 2 * (p - 0.5) + self.alpha * balance

    def _split(self, node: int, label: int, x: Any, weight: float) -> None:
        """Make a leaf the parent of its own label, with a copy of its regressor, and a new one."""
        old = self.label[node]
        self.label[node], self.n_leaves[node] = -1, 2
        self.first_child[node] = len(self.label)
        left, right = self._append(old, node), self._append(label, node)
        self.regressor[left] = copy.deepcopy(self.regressor[node])
        self._update_node(right, x, 0, weight)
        self._update_node(node, x, 1, weight)

    def _append(self, label: int, parent: int) -> int:
        self.parent.append(parent)
        self.first_child.append(-1)
        self.label.append(label)
        self.n_leaves.append(1)
        self.regressor.append(None)
        self.leaf_of[label] = len(self.label) - 1
        return len(self.label) - 1

    def _update_node(self, node: int, x: Any, turn: int, weight: float) -> None:
        regressor = self.regressor[node]
        if regressor is None:
            regressor = self.regressor[node] = self.make()
        regressor.learn(x, np.array([float(turn)]), np.array([weight]))

    def _ask(self, node: int, X: Any) -> NDArray[np.float64]:
        """Return f_i(x) in [0, 1]; 1/2 of a node that no example has reached."""
        regressor = self.regressor[node]
        if regressor is None:
            return np.full(X.shape[0], 0.5)
        said = np.asarray(regressor.predict(X), dtype=np.float64).reshape(X.shape[0])
        return np.clip(np.where(np.isnan(said), 0.5, said), 0.0, 1.0)

    def label_probabilities(self, X: Any, labels: NDArray[Any]) -> NDArray[np.float64]:
        """Return Q(label given row), one label per row, eq. (2); 0 for a label without a leaf."""
        p = np.zeros(len(labels))
        for label in np.unique(labels).tolist():
            if label not in self.leaf_of:
                continue
            rows = np.flatnonzero(labels == label)
            own = np.ones(len(rows))
            for node, turn in self.path(label):
                said = self._ask(node, X[rows])
                own *= said if turn else 1 - said
            p[rows] = own
        return p

    def probabilities(self, X: Any, n_labels: int) -> NDArray[np.float64]:
        """Return Q of every label id below ``n_labels``, (n_rows, n_labels); rows sum to 1."""
        p = np.zeros((X.shape[0], n_labels))
        reached = {0: np.ones(X.shape[0])} if self.label else {}
        for node in range(len(self.label)):  # parents come before their children
            here = reached.pop(node)
            if self.label[node] >= 0:
                p[:, self.label[node]] = here
                continue
            said = self._ask(node, X)
            reached[self.first_child[node]] = here * (1 - said)
            reached[self.first_child[node] + 1] = here * said
        return p
