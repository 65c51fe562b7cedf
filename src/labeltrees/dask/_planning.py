"""Plan the trees of a cluster, which are an order of labels and tasks that train nodes.

One task divides the root's labels among its children. A separate task for each child orders the
labels below it. The nodes of a tree depend on the number of labels only. So each task knows the
numbers of its nodes in the whole tree, and divides labels as a single machine does.
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

    from labeltrees.dask._tasks import Whole
    from labeltrees.models.extreme.settings import ExtremeSettings

_LARGEST_SHARE = 1 / 6
"""Largest share of all entries in one task. The root of a larger subtree is a separate task."""


class MeanFeatures(NamedTuple):
    """The labels that some row has, increasing, with their mean features as CSR arrays."""

    labels: NDArray[np.int32]
    starts: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float32]

    def take(self, labels: NDArray[np.int32]) -> MeanFeatures:
        """Return the mean features of some of the labels, which must increase."""
        rows = np.searchsorted(self.labels, labels)
        lengths = np.diff(self.starts)
        kept = np.zeros(len(lengths), bool)
        kept[rows] = True
        entries = np.repeat(kept, lengths)
        return MeanFeatures(
            labels, starts_of(lengths[rows]), self.indices[entries], self.values[entries]
        )


def all_features(parts: Sequence[MeanFeatures]) -> MeanFeatures:
    """Return the mean features of all labels from the features of consecutive ranges."""
    if len(parts) == 1:
        return parts[0]
    return MeanFeatures(
        np.concatenate([part.labels for part in parts]),
        joined_starts([part.starts for part in parts]),
        np.concatenate([part.indices for part in parts]),
        np.concatenate([part.values for part in parts]),
    )


class Subtree(NamedTuple):
    """A node whose labels have not been divided, and their range among all labels."""

    node: int
    begin: int
    end: int


@dataclass(frozen=True)
class Crown:
    """The top of a tree, with all labels ordered as far as they have been divided."""

    order: NDArray[np.int32]
    subtrees: tuple[Subtree, ...]
    """The nodes below the top that have two or more labels."""


def crown_of(
    features: MeanFeatures, settings: ExtremeSettings, number: int, whole_tree: bool
) -> Crown:
    """Return the top of tree ``number``, or the whole tree, from the features of all labels."""
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
    """Return the features of a subtree's labels, its node, and the number of all labels."""
    part = crown.subtrees[number]
    labels = crown.order[part.begin : part.end]
    return features.take(labels), part.node, len(crown.order)


def ordered_part(
    part: tuple[MeanFeatures, int, int], settings: ExtremeSettings, number: int
) -> NDArray[np.int32]:
    """Return the labels of a subtree of tree ``number`` in order."""
    features, node, n_labels = part
    return ordered_labels(features, tree_shape(n_labels, settings), node, None, settings, number)


@dataclass(frozen=True)
class Group:
    """Nodes that one task trains, the range of leaves below them, and their amount of work."""

    nodes: NDArray[np.int32]
    begin: int
    end: int
    work: int

    @property
    def has_root(self) -> bool:
        """Whether the nodes include the root, which learns from all rows."""
        return bool(self.nodes[0] == 0)


@dataclass(frozen=True)
class TreePlan:
    """A clustered tree, and the groups of nodes that tasks train."""

    parents: NDArray[np.int32]
    labels: NDArray[np.int32]
    places: NDArray[np.int32]
    """The place of each label among the leaves, or -1 if no row has the label."""
    groups: tuple[Group, ...]

    def tree(self) -> _core.LabelTree:
        """Return the tree."""
        bound = max(len(self.parents), int(self.labels.max()) + 1)
        return _core.LabelTree.restore(self.parents, self.labels, bound)


def plan_tree(
    crown: Crown, orders: Sequence[NDArray[np.int32]], whole: Whole, settings: ExtremeSettings
) -> TreePlan:
    """Return the tree over all labels, with the tasks that train it.

    ``orders`` has the ordered labels of each subtree below the crown.
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
    """Return the place of each node's first leaf, which its other leaves follow."""
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
    """Return the root, the largest nodes one by one, and subtrees, in order of decreasing work.

    ``entries[i]`` is the number of entries of the labels at places before i.
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
