"""The tree of a model for display, with labels, masses and accuracies of its nodes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.models.capabilities import HasTree
from labeltrees.serve.problems import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labeltrees.serve.learning.served import ServedModel

_FRESH_SECONDS = 2.0
_MOST_FOUND = 20


class TreeView:
    """The tree of a model at one moment, with sums over every subtree."""

    def __init__(self, served: ServedModel) -> None:
        model = served.model
        if not isinstance(model, HasTree):
            kind = type(model).__name__
            raise Problem(409, f"A {kind} has no single tree to show.", kind="no-tree")
        self.seq = served.seq
        tree, mass = model.tree_and_masses()
        self.tree = tree
        self.labels = model.vocabulary.labels
        self._label, self._depth = tree.label, tree.depths
        is_leaf = self._label >= 0
        hits = served.quality.label_hits(len(self.labels))
        n_nodes = tree.n_nodes
        self._n_labels = is_leaf.astype(np.int64)
        self._counts = np.zeros((2, n_nodes), np.int64)
        self._counts[:, is_leaf] = hits[:, self._label[is_leaf]]
        self._mass = np.where(is_leaf, mass, 0.0)
        self._heaviest = np.where(is_leaf, np.arange(n_nodes), -1)
        self._add_up(tree.parent, mass)

    def _add_up(self, parent: NDArray[np.int32], mass: NDArray[np.float64]) -> None:
        """Compute the sums and the heaviest leaf of every node, from the leaves up."""
        order = np.argsort(self._depth, kind="stable")
        borders = np.searchsorted(self._depth[order], np.arange(1, int(self._depth.max()) + 2))
        for begin, end in zip(borders[-2::-1], borders[:0:-1], strict=True):
            nodes = order[begin:end]
            up = parent[nodes]
            np.add.at(self._n_labels, up, self._n_labels[nodes])
            np.add.at(self._mass, up, self._mass[nodes])
            for row in self._counts:
                np.add.at(row, up, row[nodes])
            lightest_first = nodes[np.argsort(mass[self._heaviest[nodes]], kind="stable")]
            own = self._heaviest[lightest_first]
            ups = parent[lightest_first]
            self._heaviest[ups] = own  # the last one written is the heaviest

    def node(self, node: int) -> dict[str, Any]:
        """Return the facts of a node, without its children."""
        label = int(self._label[node])
        n, hit = self._counts[:, node].tolist()
        total = float(self._mass[0])
        heaviest = int(self._label[self._heaviest[node]]) if self._heaviest[node] >= 0 else -1
        return {
            "node": node,
            "depth": int(self._depth[node]),
            "label": None if label < 0 else _plain(self.labels[label]),
            "labels": int(self._n_labels[node]),
            "mass": float(self._mass[node]),
            "share": float(self._mass[node]) / total if total > 0 else None,
            "heaviest": None if heaviest < 0 else _plain(self.labels[heaviest]),
            "examples": n,
            "accuracy": hit / n if n else None,
            "children": int(self.tree.n_children[node]),
        }

    def subtree(self, node: int, levels: int) -> dict[str, Any]:
        """Return a node with its descendants, down to a number of levels."""
        if not 0 <= node < self.tree.n_nodes:
            raise Problem(
                404,
                f"There is no node {node}. The tree has {self.tree.n_nodes} nodes.",
                kind="no-such-node",
            )
        found = self.node(node)
        n = found["children"]
        if n and levels > 0:
            first = int(self.tree.first_child[node])
            found["below"] = [self.subtree(each, levels - 1) for each in range(first, first + n)]
        return found

    def path(self, label_id: int) -> list[int]:
        """Return the nodes from the root to a label's leaf."""
        return [int(node) for node in self.tree.path(label_id)]

    def search(self, text: str, most: int = _MOST_FOUND) -> list[dict[str, Any]]:
        """Return labels that contain a text, first labels that begin with it, then by mass."""
        part = text.casefold()
        found = [
            (not str(label).casefold().startswith(part), -float(self._mass[leaf]), leaf)
            for leaf in np.flatnonzero(self._label >= 0).tolist()
            if part in str(label := self.labels[self._label[leaf]]).casefold()
        ]
        return [self.node(leaf) for _, _, leaf in sorted(found)[:most]]


class TreeViews:
    """The views of models, cached for some seconds because a new one visits the whole tree."""

    def __init__(self) -> None:
        self._views: dict[str, tuple[float, ServedModel, TreeView]] = {}

    def of(self, served: ServedModel) -> TreeView:
        """Return a view of the tree of a model, which may be some seconds old."""
        now = time.monotonic()
        kept = self._views.get(served.name)
        if kept is not None and kept[1] is served:
            made, _, view = kept
            if view.seq == served.seq or now - made < _FRESH_SECONDS:
                return view
        view = TreeView(served)
        self._views[served.name] = (now, served, view)
        return view


def _plain(label: Any) -> int | str:
    return label if isinstance(label, str) else int(label)
