"""The tree over labels: how it is built, asked and written down.

A tree is flat arrays over nodes. Node 0 is the root, a child's id is larger than its parent's, the
children of a node have consecutive ids, and every leaf carries one label. ``parent`` and ``label``
therefore say everything; all else follows from them.
"""

from __future__ import annotations

import json
import operator
import os
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from labeltrees import _core
from labeltrees.data.rows import Rows, as_rows, as_weights
from labeltrees.errors import ArgumentError, TooLargeError, TreeStructureError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    Node = TypeVar("Node", bound=Hashable)
    Int32Array = NDArray[np.int32]

__all__ = ["MAX_LABEL", "LabelTree", "unfold"]

MAX_LABEL = 2**31 - 3
"""The largest label id: node and label ids are 32 bits wide in the core."""

_MAX_LEAVES = 2**30  # a tree of n leaves has up to 2 n - 1 nodes, and node ids end at 2^31 - 2
_BYTES_PER_NODE = 72  # at the peak of building 5 M labels: 48 balanced, 50 random, 69 Huffman
_JSON_FORMAT = "labeltrees.tree"
_JSON_VERSION = 1


class LabelTree:
    """A rooted tree whose leaves are labels; it does not change once made.

    Make one with :meth:`balanced`, :meth:`random`, :meth:`huffman`, :meth:`kmeans`,
    :meth:`from_nested`, :meth:`from_edges`, :meth:`from_parents` or :meth:`restore`. Two trees are
    equal when their ``parent`` and ``label`` arrays are.

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

        >>> LabelTree.balanced(5).depth, LabelTree.balanced(5, arity=5).depth
        (3, 1)
        """
        n_labels = _checked_int("n_labels", n_labels, 0, _MAX_LEAVES)
        arity = _checked_int("arity", arity, 2, MAX_LABEL)
        _check_memory(2 * n_labels, n_labels)
        return cls(_core.balanced_tree(np.arange(n_labels, dtype=np.int32), arity))

    @classmethod
    def random(cls, n_labels: int, *, arity: int = 2, seed: int = 0) -> LabelTree:
        """Return a balanced tree over a random order of the labels, the same for the same seed.

        >>> LabelTree.random(100, seed=1) == LabelTree.random(100, seed=1)
        True
        """
        n_labels = _checked_int("n_labels", n_labels, 0, _MAX_LEAVES)
        arity = _checked_int("arity", arity, 2, MAX_LABEL)
        seed = _checked_int("seed", seed, 0, 2**64 - 1)
        _check_memory(2 * n_labels, n_labels)
        return cls(_core.random_tree(n_labels, arity, seed))

    @classmethod
    def huffman(cls, weights: ArrayLike, *, arity: int = 2) -> LabelTree:
        """Return the tree of least mean depth ``sum_i weights[i] depth(i) / sum_i weights[i]``.

        Label i has ``weights[i] >= 0``; ties go to the label or subtree that came first.

        >>> LabelTree.huffman([8, 1, 1]).leaf_depth(0)
        1
        """
        arity = _checked_int("arity", arity, 2, MAX_LABEL)
        weight = _checked_weights(weights)
        _check_memory(2 * len(weight), len(weight))
        return cls(_core.huffman_tree(weight, arity))

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
        """Return a tree in which labels with similar rows are near: balanced spherical k-means.

        A label's centroid is the mean of its rows, all scaled to length 1. From the root down, the
        labels of a node are cut into ``arity`` parts of similar centroids.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), or checked `Rows`
        labels : integers of shape (n_rows,)
            The label of each row, in [0, n_labels).
        n_labels : int, optional
            By default the largest label plus one. A label without rows gets a leaf all the same.
        weights : numbers >= 0 of shape (n_rows,), optional
            A row of weight 0 is as if it were not there.
        balance : {"labels", "examples"}
            Whether the parts of a node have equally many labels, which makes the depth
            ``ceil(log_arity n_labels)``, or equal weight, which makes frequent labels shallow.

        Examples
        --------
        >>> X = [[1, 0.1], [0, 1], [1, 0], [0.1, 1]]
        >>> tree = LabelTree.kmeans(X, [0, 1, 2, 3])
        >>> [sorted(tree.label[a : a + 2].tolist()) for a in tree.first_child[1:3]]
        [[0, 2], [1, 3]]
        """
        rows = X if isinstance(X, Rows) else as_rows(X)
        weight = as_weights(weights, rows.n_rows)
        label = _checked_ids("labels", labels, MAX_LABEL)
        if len(label) != rows.n_rows:
            raise ArgumentError(f"labels has {len(label)} entries for the {rows.n_rows} rows of X.")
        learned = label[weight > 0] if len(weight) else label
        most = int(learned.max(initial=-1))
        if n_labels is None:
            n_labels = most + 1
        n_labels = _checked_int("n_labels", n_labels, 0, _MAX_LEAVES)
        if most >= n_labels or learned.min(initial=0) < 0:
            wrong = most if most >= n_labels else -1
            raise ArgumentError.of("each label", wrong, f"in [0, n_labels={n_labels})")
        if balance not in ("labels", "examples"):
            raise ArgumentError.of("balance", balance, "one of labels, examples")
        arity = _checked_int("arity", arity, 2, MAX_LABEL)
        seed = _checked_int("seed", seed, 0, 2**64 - 1)
        _check_memory(2 * n_labels, n_labels)
        by_mass = balance == "examples"
        return cls(_core.kmeans_tree(*rows.arrays, label, weight, n_labels, arity, seed, by_mass))

    @classmethod
    def from_nested(cls, lists: Any) -> LabelTree:
        """Return the tree that nested lists or tuples of label ids spell out.

        A list is an inner node, an integer is a leaf, and ``[]`` is the tree without nodes. Any
        depth works.

        >>> LabelTree.from_nested([[0, 1, 2], [3, 4]]).n_children.tolist()
        [2, 3, 2, 0, 0, 0, 0, 0]
        """
        parent, leaves = unfold(lists)
        label = [-1 if x is None else _checked_label(x, "a label in lists") for x in leaves]
        return cls.restore(parent, label)

    @classmethod
    def from_edges(
        cls, edges: Iterable[tuple[Node, Node]], *, labels: Mapping[Node, int]
    ) -> LabelTree:
        """Return the tree with these (parent, child) pairs; ``labels`` maps each leaf to its label.

        Nodes have any hashable names, and siblings keep the order of their edges. Nodes are
        renumbered breadth first.

        >>> tree = LabelTree.from_edges([("top", "a"), ("top", "b")], labels={"a": 0, "b": 1})
        >>> tree.label.tolist()
        [-1, 0, 1]
        """
        pairs = [_checked_edge(edge) for edge in edges]
        # A node is known by the edge that leads to it, the root by the number after the last.
        ids: dict[Any, int] = {}
        for child_id, (_, child) in enumerate(pairs):
            if child in ids:
                raise TreeStructureError(
                    f"edges must give each node one parent, {child!r} has two."
                )
            ids[child] = child_id
        names = dict.fromkeys(parent for parent, _ in pairs) | dict.fromkeys(labels)
        roots = [name for name in names if name not in ids]
        if len(roots) != (1 if names else 0):
            named = ", ".join(repr(name) for name in roots[:5])
            raise TreeStructureError(
                f"edges and labels must have one root, got {len(roots)}: {named or 'a cycle'}."
            )
        ids.update((root, len(pairs)) for root in roots)
        parent = [ids[above] for above, _ in pairs] + [-1] * len(roots)
        label = [-1] * len(parent)
        for name, value in labels.items():
            label[ids[name]] = _checked_label(value, f"labels[{name!r}]")
        childless = set(ids) - {above for above, _ in pairs}
        if childless != set(labels):
            odd = next(name for name in ids if (name in childless) != (name in labels))
            raise TreeStructureError(
                f"labels must name exactly the leaves, {odd!r} is "
                + ("a leaf without a label." if odd in childless else "an inner node.")
            )
        return cls.from_parents(parent, label)

    @classmethod
    def from_parents(cls, parent: ArrayLike, label: ArrayLike) -> LabelTree:
        """Return the tree in any numbering of its nodes, renumbered breadth first.

        ``parent[i]`` is node i's parent, -1 for the root; ``label[i]`` is its label, -1 for an
        inner node. Siblings keep the order of their ids.

        >>> LabelTree.from_parents([2, 2, -1], [7, 5, -1]).label.tolist()
        [-1, 7, 5]
        """
        return cls._from_arrays(_core.LabelTree.from_parents, parent, label)

    @classmethod
    def restore(cls, parent: ArrayLike, label: ArrayLike) -> LabelTree:
        """Return the tree whose ``parent`` and ``label`` arrays these are, keeping node ids.

        >>> tree = LabelTree.random(50)
        >>> LabelTree.restore(tree.parent, tree.label) == tree
        True
        """
        return cls._from_arrays(_core.LabelTree.restore, parent, label)

    @classmethod
    def _from_arrays(
        cls,
        make: Callable[[Int32Array, Int32Array], _core.LabelTree],
        parent: ArrayLike,
        label: ArrayLike,
    ) -> LabelTree:
        parents = _checked_ids("parent", parent, 2**31 - 2)
        labels = _checked_ids("label", label, MAX_LABEL)
        _check_memory(len(parents), int(labels.max(initial=-1)) + 1)
        with _core_errors():
            return cls(make(parents, labels))

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
        """The first child of each node, -1 for a leaf; its siblings follow it."""
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
        for node in range(self.n_nodes - 1, 0, -1):  # children come after their parent
            size[parent[node]] += size[node]
        return _read_only(np.array(size, dtype=np.int32))

    @property
    def depth(self) -> int:
        """The depth of the deepest leaf; 0 for a tree with at most one node."""
        return int(self.depths.max(initial=0))

    def leaf_of(self, label: int) -> int:
        """Return the node that carries the label."""
        value = _as_int(label)
        node = -1 if value is None or not 0 <= value <= MAX_LABEL else self.core.leaf_of(value)
        if node == -1:
            raise ArgumentError.of("label", label, f"one of the tree's {self.n_labels} labels")
        return node

    def leaf_depth(self, label: int) -> int:
        """Return the number of edges between the root and the label's leaf."""
        return self.core.depth(self.leaf_of(label))

    def path(self, label: int) -> Int32Array:
        """Return the nodes from the root to the label's leaf, both included."""
        node = self.leaf_of(label)
        nodes = []
        while node != -1:
            nodes.append(node)
            node = int(self.parent[node])
        return np.array(nodes[::-1], dtype=np.int32)

    def validate(self) -> None:
        """Raise :class:`TreeStructureError` unless every invariant holds."""
        with _core_errors():
            self.core.validate()

    def collapsed(self, levels: int) -> LabelTree:
        """Return the tree with every ``levels`` levels of inner nodes made one.

        A binary tree becomes one with up to ``2 ** levels`` children a node.

        >>> LabelTree.balanced(16).collapsed(2) == LabelTree.balanced(16, arity=4)
        True
        """
        levels = _checked_int("levels", levels, 1, 30)
        kept = (self.depths % levels == 0) | (self.label >= 0)
        above = self.parent.tolist()
        for node in range(1, self.n_nodes):  # a parent is done before its children
            if not kept[above[node]]:
                above[node] = above[above[node]]
        new_id = np.cumsum(kept) - 1
        parent = np.array(above, dtype=np.int64)[kept]
        return LabelTree.from_parents(np.where(parent >= 0, new_id[parent], -1), self.label[kept])

    def to_edges(self) -> tuple[list[tuple[int, int]], dict[int, int]]:
        """Return the (parent, child) pairs and the label of each leaf, as `from_edges` takes them.

        >>> LabelTree.balanced(2).to_edges()
        ([(0, 1), (0, 2)], {1: 0, 2: 1})
        """
        edges = list(zip(self.parent[1:].tolist(), range(1, self.n_nodes), strict=True))
        leaves = np.flatnonzero(self.label >= 0)
        return edges, dict(zip(leaves.tolist(), self.label[leaves].tolist(), strict=True))

    def to_json(self) -> str:
        """Return the tree as one JSON object, which `from_json` reads.

        >>> print(LabelTree.balanced(2).to_json())
        {"format": "labeltrees.tree", "version": 1, "parent": [-1, 0, 0], "label": [-1, 0, 1]}
        """
        arrays = {"parent": self.parent.tolist(), "label": self.label.tolist()}
        return json.dumps({"format": _JSON_FORMAT, "version": _JSON_VERSION} | arrays)

    @classmethod
    def from_json(cls, text: str) -> LabelTree:
        """Return the tree that `to_json` wrote, with the same node ids."""
        if not isinstance(text, str):
            raise TreeStructureError.of("text", type(text), "a string of JSON")
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise TreeStructureError(f"text must be JSON: {error}") from None
        if not isinstance(content, dict) or content.get("format") != _JSON_FORMAT:
            raise TreeStructureError(f"text must be a JSON object with format {_JSON_FORMAT!r}.")
        if content.get("version") != _JSON_VERSION:
            raise TreeStructureError.of("version", content.get("version"), f"{_JSON_VERSION}")
        for key in ("parent", "label"):
            if not isinstance(content.get(key), list):
                raise TreeStructureError(f"text must hold a list of integers named {key!r}.")
        return cls.restore(content["parent"], content["label"])

    def to_dot(
        self,
        *,
        names: Mapping[int, object] | Sequence[object] | None = None,
        max_nodes: int = 1000,
    ) -> str:
        r"""Return the tree in Graphviz's DOT language, leaves named by ``names[label]``.

        Only the first ``max_nodes`` nodes are drawn; a node with children left out says how many
        labels are below them.

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
        n_shown = min(self.n_nodes, _checked_int("max_nodes", max_nodes, 1, 2**31 - 1))
        lines = ["digraph labeltree {", "  node [shape=box];"]
        hidden = self.n_leaves[:n_shown].copy()
        for node, label in enumerate(self.label[:n_shown].tolist()):
            if label == -1:
                lines.append(f'  n{node} [label="", shape=point];')
            else:
                lines.append(f'  n{node} [label="{_dot_text(_name_of(label, names))}"];')
                hidden[node] = 0
        for node in range(1, n_shown):
            above = self.parent[node]
            lines.append(f"  n{above} -> n{node};")
            hidden[above] -= self.n_leaves[node]
        for node in np.flatnonzero(hidden).tolist():
            lines.append(f'  more{node} [label="{hidden[node]} more labels", shape=plaintext];')
            lines.append(f"  n{node} -> more{node} [style=dashed];")
        return "\n".join([*lines, "}"])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelTree):
            return NotImplemented
        return np.array_equal(self.parent, other.parent) and np.array_equal(self.label, other.label)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, tuple[Int32Array, Int32Array]]:
        return LabelTree.restore, (self.parent, self.label)

    def __repr__(self) -> str:
        return f"LabelTree(n_labels={self.n_labels}, n_nodes={self.n_nodes}, depth={self.depth})"


def unfold(lists: Any) -> tuple[list[int], list[Any]]:
    """Return the parent of each node of nested lists, breadth first, and the leaf it is or None.

    >>> unfold([["cat", "dog"], "car"])
    ([-1, 0, 0, 1, 1], [None, None, 'car', 'cat', 'dog'])
    """
    parent: list[int] = []
    leaves: list[Any] = []
    queue: list[tuple[int, Any]] = []
    if not (isinstance(lists, list | tuple) and not lists):
        queue.append((-1, lists))
    seen: set[int] = set()
    for node, (above, item) in enumerate(queue):  # the queue grows meanwhile
        parent.append(above)
        if not isinstance(item, list | tuple):
            if item is None:
                raise TreeStructureError.of("a label in lists", item, "a string or an integer")
            leaves.append(item)
            continue
        leaves.append(None)
        if not item:
            raise TreeStructureError("lists must not hold an empty list: it has no label.")
        # A list met twice repeats its labels, or contains itself.
        if id(item) in seen:
            raise TreeStructureError("lists must not hold the same list object twice.")
        seen.add(id(item))
        queue.extend((node, child) for child in item)
    return parent, leaves


@contextmanager
def _core_errors() -> Iterator[None]:
    try:
        yield
    except _core.TreeError as error:
        raise TreeStructureError(f"{error}.") from None


def _read_only(array: Int32Array) -> Int32Array:
    array.flags.writeable = False
    return array


def _as_int(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def _checked_int(name: str, value: object, low: int, high: int) -> int:
    number = _as_int(value)
    if number is None or not low <= number <= high:
        raise ArgumentError.of(name, value, f"an integer in [{low}, {high}]")
    return number


def _checked_label(value: object, name: str) -> int:
    number = _as_int(value)
    if number is None or not 0 <= number <= MAX_LABEL:
        raise TreeStructureError.of(name, value, f"an integer in [0, {MAX_LABEL}]")
    return number


def _checked_edge(edge: Any) -> tuple[Any, Any]:
    try:
        parent, child = edge
        hash((parent, child))
    except (TypeError, ValueError):
        raise TreeStructureError.of("an edge", edge, "a (parent, child) pair") from None
    return parent, child


def _checked_ids(name: str, values: ArrayLike, high: int) -> Int32Array:
    try:
        array = np.asarray(values)
    except (ValueError, OverflowError) as error:
        raise TreeStructureError(f"{name} must be a list of integers: {error}") from None
    if array.ndim != 1:
        raise TreeStructureError.of(f"the shape of {name}", array.shape, "one-dimensional")
    if array.size and array.dtype.kind not in "iu":
        raise TreeStructureError.of(f"the type of {name}", array.dtype.name, "an integer type")
    # Before the cast, so that an id that needs more than 32 bits is refused and never wraps.
    for value in (array.min(initial=0), array.max(initial=0)) if array.size else ():
        if not -1 <= int(value) <= high:
            raise TreeStructureError.of(f"each {name}", int(value), f"in [-1, {high}]")
    return np.ascontiguousarray(array, dtype=np.int32)


def _checked_weights(weights: ArrayLike) -> NDArray[np.float64]:
    try:
        weight = np.ascontiguousarray(weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(f"weights must be a list of numbers: {error}") from None
    if weight.ndim != 1 or np.asarray(weights).ndim != 1:
        raise ArgumentError.of("the shape of weights", np.shape(weights), "one-dimensional")
    if len(weight) > _MAX_LEAVES:
        raise ArgumentError.of("the length of weights", len(weight), f"in [0, {_MAX_LEAVES}]")
    bad = np.flatnonzero(~((weight >= 0) & (weight < np.inf)))
    if bad.size:
        raise ArgumentError.of(f"weights[{bad[0]}]", float(weight[bad[0]]), "finite and >= 0")
    with np.errstate(over="ignore"):
        if not np.isfinite(weight.sum()):
            raise ArgumentError.of("the sum of weights", float("inf"), "finite")
    return weight


def _memory_limit() -> int:
    """Return half of the machine's memory in bytes, or no limit where it cannot be known."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, OSError, ValueError):
        return 2**63


def _check_memory(n_nodes: int, label_bound: int) -> None:
    # The core finds a label's leaf in a table over all ids, so one huge id takes memory as well.
    need, limit = _BYTES_PER_NODE * n_nodes + 4 * label_bound, _memory_limit()
    if need > limit:
        raise TooLargeError(
            f"A tree of {n_nodes} nodes with labels below {label_bound} needs {need} bytes, more "
            f"than half of this machine's memory ({limit})."
        )


def _name_of(label: int, names: Mapping[int, object] | Sequence[object] | None) -> str:
    if names is None:
        return str(label)
    try:
        return str(names[label])
    except (KeyError, IndexError):
        raise ArgumentError(f"names must have a name for label {label}.") from None


def _dot_text(text: str) -> str:
    """Return the text so that DOT's quoted string, with its escapes and entities, shows it."""
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
    return "".join(
        c if c.isprintable() else "\\n" if c == "\n" else "\\" + c.encode("unicode_escape").decode()
        for c in text
    )
