"""Trees of a cluster: their labels in order, and the tasks that train their nodes.

The root's labels are shared out among its children in one task; those below each child are put in
order by a task of their own. A tree's nodes depend on the number of labels only, so each task knows
the numbers that its nodes have in the whole tree, and divides labels as one machine would.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labeltrees import _core
from labeltrees.data.ragged import joined_starts, starts_of
from labeltrees.models.extreme.training import ordered_labels, tree_shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labeltrees.dask.tasks import Whole
    from labeltrees.models.extreme.settings import ExtremeSettings

__all__ = [
    "Crown",
    "Group",
    "MeanFeatures",
    "Subtree",
    "TreePlan",
    "all_features",
    "crown_of",
    "ordered_part",
    "part_below",
    "plan_tree",
]

_LARGEST_SHARE = 1 / 6
"""Of all entries: a larger subtree is not one task, but its topmost node and those below it are."""


class MeanFeatures(NamedTuple):
    """Labels that some row has, increasing, and their mean features as CSR arrays."""

    labels: NDArray[np.int32]
    starts: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float32]

    def take(self, labels: NDArray[np.int32]) -> MeanFeatures:
        """Return those of some labels, which are among them and increase."""
        rows = np.searchsorted(self.labels, labels)
        lengths = np.diff(self.starts)
        kept = np.zeros(len(lengths), bool)
        kept[rows] = True
        entries = np.repeat(kept, lengths)
        return MeanFeatures(
            labels, starts_of(lengths[rows]), self.indices[entries], self.values[entries]
        )


def all_features(parts: Sequence[MeanFeatures]) -> MeanFeatures:
    """Return the mean features of all labels, from those of consecutive ranges."""
    if len(parts) == 1:
        return parts[0]
    return MeanFeatures(
        np.concatenate([part.labels for part in parts]),
        joined_starts([part.starts for part in parts]),
        np.concatenate([part.indices for part in parts]),
        np.concatenate([part.values for part in parts]),
    )


class Subtree(NamedTuple):
    """A node whose labels have not been divided, and where they stand among all."""

    node: int
    begin: int
    end: int


@dataclass(frozen=True)
class Crown:
    """The top of a tree: all labels in order, as far as they have been divided."""

    order: NDArray[np.int32]
    subtrees: tuple[Subtree, ...]
    """The nodes below the top, but for those of one label."""


def crown_of(
    features: MeanFeatures, settings: ExtremeSettings, number: int, whole_tree: bool
) -> Crown:
    """Return the top of tree ``number``, or the whole of it, from the features of all labels."""
    shape = tree_shape(len(features.labels), settings)
    if whole_tree:
        return Crown(ordered_labels(features, shape, 0, None, settings, number), ())
    order = ordered_labels(features, shape, 0, 1, settings, number)
    first = shape.first_children()[0]
    children = np.arange(first, first + shape.child_counts()[0])
    sizes = shape.leaf_counts()[children]
    ends = np.cumsum(sizes).tolist()
    below = tuple(
        Subtree(int(child), end - int(size), end)
        for child, size, end in zip(children, sizes, ends, strict=True)
        if size > 1
    )
    return Crown(order, below)


def part_below(features: MeanFeatures, crown: Crown, number: int) -> tuple[MeanFeatures, int, int]:
    """Return the features of a part's labels, its node, and how many labels there are in all."""
    part = crown.subtrees[number]
    labels = crown.order[part.begin : part.end]
    return features.take(labels), part.node, len(crown.order)


def ordered_part(
    part: tuple[MeanFeatures, int, int], settings: ExtremeSettings, number: int
) -> NDArray[np.int32]:
    """Return the labels of a part of tree ``number`` in order."""
    features, node, n_labels = part
    return ordered_labels(features, tree_shape(n_labels, settings), node, None, settings, number)


@dataclass(frozen=True)
class Group:
    """Nodes that are trained together, the leaves below them, and how much work they are."""

    nodes: NDArray[np.int32]
    begin: int
    end: int
    work: int

    @property
    def has_root(self) -> bool:
        """Whether the root is among the nodes, which learns from all rows."""
        return bool(self.nodes[0] == 0)


@dataclass(frozen=True)
class TreePlan:
    """A clustered tree and the tasks that train it; groups of nodes with the labels below them."""

    parents: NDArray[np.int32]
    labels: NDArray[np.int32]
    places: NDArray[np.int32]
    """The place of each label among the leaves, -1 if no row has it."""
    groups: tuple[Group, ...]

    def tree(self) -> _core.LabelTree:
        """Return the tree."""
        bound = max(len(self.parents), int(self.labels.max()) + 1)
        return _core.LabelTree.restore(self.parents, self.labels, bound)


def plan_tree(
    crown: Crown, orders: Sequence[NDArray[np.int32]], whole: Whole, settings: ExtremeSettings
) -> TreePlan:
    """Return the tree over all labels, and how its training is shared out.

    ``orders`` are of the nodes below the crown that it has not divided.
    """
    shape = tree_shape(len(crown.order), settings)
    first_leaf = _first_leaves(shape)
    order = crown.order.copy()
    for part, below in zip(crown.subtrees, orders, strict=True):
        order[part.begin : part.end] = below
    leaves = np.flatnonzero(shape.child_counts() == 0)
    labels = np.full(shape.n_nodes, -1, np.int32)
    labels[leaves] = order[first_leaf[leaves]]
    places = np.full(len(whole.counts), -1, np.int32)
    places[order] = np.arange(len(order))
    entries = starts_of(whole.counts[order])
    groups = _groups(shape, first_leaf, entries)
    return TreePlan(shape.parents(), labels, places, groups)


def _first_leaves(tree: _core.LabelTree) -> NDArray[np.int64]:
    """Return the place of each node's first leaf; its others follow."""
    before = starts_of(tree.leaf_counts())
    first_child, parents, depths = tree.first_children(), tree.parents(), tree.depths()
    first = np.zeros(tree.n_nodes, np.int64)
    for depth in range(1, int(depths.max()) + 1):
        nodes = np.flatnonzero(depths == depth)
        above = parents[nodes]
        first[nodes] = first[above] + before[nodes] - before[first_child[above]]
    return first


def _groups(
    tree: _core.LabelTree, first: NDArray[np.int64], entries: NDArray[np.int64]
) -> tuple[Group, ...]:
    """Return the root, the largest nodes one by one, and subtrees; the most work first.

    ``entries[i]``: how many entries the labels at places before i have.
    """
    children, leaves = tree.child_counts(), tree.leaf_counts()
    ends, first_child = first + leaves, tree.first_children()
    inner = np.flatnonzero(children)
    in_order = inner[np.argsort(first[inner], kind="stable")]
    n_entries = entries[ends] - entries[first]
    groups, open_ = [], [0]
    while open_:
        node = open_.pop()
        below = [node]
        if node == 0 or n_entries[node] > _LARGEST_SHARE * entries[-1]:
            kids = range(first_child[node], first_child[node] + children[node])
            open_ += [kid for kid in kids if children[kid]]
        else:
            span = np.searchsorted(first[in_order], [first[node], ends[node]])
            among = in_order[span[0] : span[1]]
            below = among[(ends[among] <= ends[node]) & (among >= node)].tolist()
        nodes = np.sort(np.array(below, np.int32))
        work = int((n_entries[nodes] * children[nodes]).sum())
        groups.append(Group(nodes, int(first[node]), int(ends[node]), work))
    return tuple(sorted(groups, key=lambda group: (-group.work, group.begin)))
