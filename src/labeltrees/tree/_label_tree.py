"""The tree over labels, with its structure and its queries.

A tree is stored as flat arrays over nodes. Node 0 is the root, a child's id is larger than its
parent's, the children of a node have consecutive ids, and every leaf has one label. Therefore
``parent`` and ``label`` define the tree, and everything else follows from them.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from labeltrees.checks import integer
from labeltrees.errors import ArgumentError
from labeltrees.tree import _builders as builders
from labeltrees.tree import _formats as formats
from labeltrees.tree._builders import MAX_LABEL

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from labeltrees import _core

    Node = TypeVar("Node", bound=Hashable)
    Int32Array = NDArray[np.int32]


class LabelTree:
    """A rooted tree whose leaves are labels and which never changes.

    Make one with `balanced`, `random`, `huffman`, `kmeans`, `from_nested`, `from_edges`,
    `from_parents` or `restore`. Two trees are equal if their ``parent`` and ``label`` arrays are.

    Examples
    --------
    >>> tree = LabelTree.from_nested([[0, 1], 2])
    >>> tree.n_labels, tree.n_nodes, tree.depth
    (3, 5, 2)
    >>> tree.path(1).tolist()
    [0, 1, 4]
    """

    def __init__(self, core: _core.LabelTree) -> None:
        self.core = core

    @classmethod
    def balanced(cls, n_labels: int, *, arity: int = 2) -> LabelTree:
        """Return the tree of depth ``ceil(log_arity n_labels)`` over labels in their order.

        Parameters
        ----------
        n_labels : int
            The labels are 0 to ``n_labels - 1``.
        arity : int
            Maximum number of children of a node.

        Returns
        -------
        LabelTree

        Examples
        --------
        >>> LabelTree.balanced(5).depth, LabelTree.balanced(5, arity=5).depth
        (3, 1)
        """
        return cls(builders.balanced(n_labels, arity=arity))

    @classmethod
    def random(cls, n_labels: int, *, arity: int = 2, seed: int = 0) -> LabelTree:
        """Return a balanced tree over a random order of the labels, the same for the same seed.

        Parameters
        ----------
        n_labels : int
            The labels are 0 to ``n_labels - 1``.
        arity : int
            Maximum number of children of a node.
        seed : int
            The seed of the order.

        Returns
        -------
        LabelTree

        Examples
        --------
        >>> LabelTree.random(100, seed=1) == LabelTree.random(100, seed=1)
        True
        """
        return cls(builders.random(n_labels, arity=arity, seed=seed))

    @classmethod
    def huffman(cls, weights: ArrayLike, *, arity: int = 2) -> LabelTree:
        """Return the tree of least mean depth ``sum_i weights[i] depth(i) / sum_i weights[i]``.

        Parameters
        ----------
        weights : numbers >= 0 of shape (n_labels,)
            The weight of each label. For equal weights, the first label or subtree comes first.
        arity : int
            Maximum number of children of a node.

        Returns
        -------
        LabelTree

        Examples
        --------
        >>> LabelTree.huffman([8, 1, 1]).leaf_depth(0)
        1
        """
        return cls(builders.huffman(weights, arity=arity))

    @classmethod
    def kmeans(
        cls,
        X: Any,
        labels: ArrayLike,
        *,
        n_labels: int | None = None,
        weights: ArrayLike | None = None,
        arity: int = 2,
        balance: str = "labels",
        seed: int = 0,
    ) -> LabelTree:
        """Return a tree by balanced spherical k-means, in which labels with similar rows are near.

        A label's centroid is the mean of its rows, which are scaled to length 1. From the root
        down, the labels of each node are divided into ``arity`` parts with similar centroids.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), or checked `Rows`
            The rows.
        labels : integers of shape (n_rows,)
            The label of each row, in [0, n_labels).
        n_labels : int, optional
            The number of labels, by default the largest label plus one. Labels without rows get
            leaves as well.
        weights : numbers >= 0 of shape (n_rows,), optional
            The weights of rows. Rows of weight 0 are ignored.
        arity : int
            Maximum number of children of a node.
        balance : {"labels", "examples"}
            Whether the parts of a node have equally many labels, which makes the depth
            ``ceil(log_arity n_labels)``, or equal weight, which makes frequent labels shallow.
        seed : int
            The seed of the initial centroids.

        Returns
        -------
        LabelTree

        Examples
        --------
        >>> X = [[1, 0.1], [0, 1], [1, 0], [0.1, 1]]
        >>> tree = LabelTree.kmeans(X, [0, 1, 2, 3])
        >>> [sorted(tree.label[a : a + 2].tolist()) for a in tree.first_child[1:3]]
        [[0, 2], [1, 3]]
        """
        return cls(
            builders.kmeans(
                X,
                labels,
                n_labels=n_labels,
                weights=weights,
                arity=arity,
                balance=balance,
                seed=seed,
            )
        )

    @classmethod
    def from_nested(cls, lists: Any) -> LabelTree:
        """Return the tree of nested lists or tuples of label ids.

        A list is an inner node, an integer is a leaf, and ``[]`` is the tree without nodes. Lists
        may have any depth.

        Parameters
        ----------
        lists : nested lists or tuples of integers

        Returns
        -------
        LabelTree

        Examples
        --------
        >>> LabelTree.from_nested([[0, 1, 2], [3, 4]]).n_children.tolist()
        [2, 3, 2, 0, 0, 0, 0, 0]
        """
        return cls(builders.restored(*formats.from_nested(lists)))

    @classmethod
    def from_edges(
        cls, edges: Iterable[tuple[Node, Node]], *, labels: Mapping[Node, int]
    ) -> LabelTree:
        """Return the tree with these (parent, child) pairs, renumbered breadth first.

        Parameters
        ----------
        edges : iterable of (parent, child)
            The edges. Nodes may have any hashable names. Siblings keep the order of their edges.
        labels : mapping
            The label of each leaf, by the leaf's name.

        Returns
        -------
        LabelTree

        Examples
        --------
        >>> tree = LabelTree.from_edges([("top", "a"), ("top", "b")], labels={"a": 0, "b": 1})
        >>> tree.label.tolist()
        [-1, 0, 1]
        """
        return cls(builders.from_parents(*formats.from_edges(edges, labels)))

    @classmethod
    def from_parents(cls, parent: ArrayLike, label: ArrayLike) -> LabelTree:
        """Return the tree of nodes in any numbering, renumbered breadth first.

        Parameters
        ----------
        parent : integers of shape (n_nodes,)
            The parent of each node, -1 for the root. Siblings keep the order of their ids.
        label : integers of shape (n_nodes,)
            The label of each node, -1 for an inner node.

        Returns
        -------
        LabelTree

        Examples
        --------
        >>> LabelTree.from_parents([2, 2, -1], [7, 5, -1]).label.tolist()
        [-1, 7, 5]
        """
        return cls(builders.from_parents(parent, label))

    @classmethod
    def restore(cls, parent: ArrayLike, label: ArrayLike) -> LabelTree:
        """Return the tree of ``parent`` and ``label`` arrays, with the same node ids.

        Parameters
        ----------
        parent, label : integers of shape (n_nodes,)
            Arrays like the attributes with these names.

        Returns
        -------
        LabelTree

        Examples
        --------
        >>> tree = LabelTree.random(50)
        >>> LabelTree.restore(tree.parent, tree.label) == tree
        True
        """
        return cls(builders.restored(parent, label))

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return self.core.n_nodes

    @property
    def n_labels(self) -> int:
        """The number of leaves, each of which has its own label."""
        return self.core.n_labels

    @cached_property
    def parent(self) -> Int32Array:
        """The parent of each node, -1 for the root."""
        return _read_only(self.core.parents())

    @cached_property
    def label(self) -> Int32Array:
        """The label of each node, -1 for an inner node."""
        return _read_only(self.core.labels())

    @cached_property
    def first_child(self) -> Int32Array:
        """The first child of each node, -1 for a leaf. Its siblings follow it."""
        return _read_only(self.core.first_children())

    @cached_property
    def n_children(self) -> Int32Array:
        """The number of children of each node."""
        return _read_only(self.core.child_counts())

    @cached_property
    def n_leaves(self) -> Int32Array:
        """The number of leaves at or below each node."""
        return _read_only(self.core.leaf_counts())

    @cached_property
    def depths(self) -> Int32Array:
        """The number of edges between the root and each node."""
        return _read_only(self.core.depths())

    @cached_property
    def sizes(self) -> Int32Array:
        """The number of nodes at or below each node."""
        parent, size = self.parent.tolist(), [1] * self.n_nodes
        for node in range(self.n_nodes - 1, 0, -1):  # Children come after their parent.
            size[parent[node]] += size[node]
        return _read_only(np.array(size, dtype=np.int32))

    @property
    def depth(self) -> int:
        """The depth of the deepest leaf, or 0 for a tree with at most one node."""
        return int(self.depths.max(initial=0))

    def leaf_of(self, label: int) -> int:
        """Return the node of the label.

        Parameters
        ----------
        label : int

        Returns
        -------
        int

        Examples
        --------
        >>> LabelTree.from_nested([[0, 1], 2]).leaf_of(1)
        4
        """
        try:
            node = self.core.leaf_of(integer("label", label, 0, MAX_LABEL))
        except ArgumentError:
            node = -1
        if node == -1:
            raise ArgumentError.of("label", label, f"one of the tree's {self.n_labels} labels")
        return node

    def leaf_depth(self, label: int) -> int:
        """Return the number of edges between the root and the label's leaf.

        Parameters
        ----------
        label : int

        Returns
        -------
        int

        Examples
        --------
        >>> LabelTree.from_nested([[0, 1], 2]).leaf_depth(1)
        2
        """
        return self.core.depth(self.leaf_of(label))

    def path(self, label: int) -> Int32Array:
        """Return the nodes from the root to the label's leaf, both included.

        Parameters
        ----------
        label : int

        Returns
        -------
        ndarray of int32

        Examples
        --------
        >>> LabelTree.from_nested([[0, 1], 2]).path(1).tolist()
        [0, 1, 4]
        """
        node = self.leaf_of(label)
        nodes = []
        while node != -1:
            nodes.append(node)
            node = int(self.parent[node])
        return np.array(nodes[::-1], dtype=np.int32)

    def validate(self) -> None:
        """Raise `TreeStructureError` unless every invariant holds.

        Returns
        -------
        None

        Examples
        --------
        >>> LabelTree.balanced(3).validate()
        """
        with builders.core_errors():
            self.core.validate()

    def collapsed(self, levels: int) -> LabelTree:
        """Return the tree with every ``levels`` levels of inner nodes merged into one.

        A node of a binary tree then has up to ``2 ** levels`` children.

        Parameters
        ----------
        levels : int in [1, 30]

        Returns
        -------
        LabelTree

        Examples
        --------
        >>> LabelTree.balanced(16).collapsed(2) == LabelTree.balanced(16, arity=4)
        True
        """
        levels = integer("levels", levels, 1, 30)
        kept = (self.depths % levels == 0) | (self.label >= 0)
        above = self.parent.tolist()
        for node in range(1, self.n_nodes):  # A parent comes before its children.
            if not kept[above[node]]:
                above[node] = above[above[node]]
        new_id = np.cumsum(kept) - 1
        parent = np.array(above, dtype=np.int64)[kept]
        return LabelTree.from_parents(np.where(parent >= 0, new_id[parent], -1), self.label[kept])

    def to_edges(self) -> tuple[list[tuple[int, int]], dict[int, int]]:
        """Return the (parent, child) pairs and the label of each leaf, for `from_edges`.

        Returns
        -------
        tuple of a list of pairs and a dict

        Examples
        --------
        >>> LabelTree.balanced(2).to_edges()
        ([(0, 1), (0, 2)], {1: 0, 2: 1})
        """
        return formats.to_edges(self.parent, self.label)

    def to_json(self) -> str:
        """Return the tree as one JSON object, for `from_json`.

        Returns
        -------
        str

        Examples
        --------
        >>> print(LabelTree.balanced(2).to_json())
        {"format": "labeltrees.tree", "version": 1, "parent": [-1, 0, 0], "label": [-1, 0, 1]}
        """
        return formats.to_json(self.parent, self.label)

    @classmethod
    def from_json(cls, text: str) -> LabelTree:
        """Return the tree from the result of `to_json`, with the same node ids.

        Parameters
        ----------
        text : str

        Returns
        -------
        LabelTree

        Examples
        --------
        >>> tree = LabelTree.random(50)
        >>> LabelTree.from_json(tree.to_json()) == tree
        True
        """
        return cls(builders.restored(*formats.from_json(text)))

    def to_dot(
        self,
        *,
        names: Mapping[int, object] | Sequence[object] | None = None,
        max_nodes: int = 1000,
    ) -> str:
        r"""Return the tree in Graphviz's DOT language.

        Parameters
        ----------
        names : mapping or sequence, optional
            The name of each label, by default its number.
        max_nodes : int
            Maximum number of nodes that are drawn. A node whose other children are left out shows
            the number of labels below them.

        Returns
        -------
        str

        Examples
        --------
        >>> print(LabelTree.balanced(2).to_dot(names=["a", 'say "b"']))
        digraph labeltree {
          node [shape=box];
          n0 [label="", shape=point];
          n1 [label="a"];
          n2 [label="say \"b\""];
          n0 -> n1;
          n0 -> n2;
        }
        """
        return formats.to_dot(
            self.parent, self.label, self.n_leaves, names=names, max_nodes=max_nodes
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelTree):
            return NotImplemented
        return np.array_equal(self.parent, other.parent) and np.array_equal(self.label, other.label)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, tuple[Int32Array, Int32Array]]:
        return LabelTree.restore, (self.parent, self.label)

    def __repr__(self) -> str:
        return f"LabelTree(n_labels={self.n_labels}, n_nodes={self.n_nodes}, depth={self.depth})"


def _read_only(array: Int32Array) -> Int32Array:
    array.flags.writeable = False
    return array
