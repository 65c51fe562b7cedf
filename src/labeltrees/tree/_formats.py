"""Convert trees from and to nested lists, edges, JSON and DOT.

A tree is two arrays over its nodes. ``parent`` has the parent of each node, which is -1 for the
root, and ``label`` has its label, which is -1 for an inner node.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.checks import integer
from labeltrees.errors import ArgumentError, TreeStructureError
from labeltrees.tree._builders import MAX_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    Int32Array = NDArray[np.int32]

_JSON_FORMAT = "labeltrees.tree"
_JSON_VERSION = 1


def unfold(lists: Any) -> tuple[list[int], list[Any]]:
    """Return the parent of each node of nested lists, breadth first, and its leaf or None.

    >>> unfold([["cat", "dog"], "car"])
    ([-1, 0, 0, 1, 1], [None, None, 'car', 'cat', 'dog'])
    """
    parent: list[int] = []
    leaves: list[Any] = []
    queue: list[tuple[int, Any]] = []
    if not (isinstance(lists, list | tuple) and not lists):
        queue.append((-1, lists))
    seen: set[int] = set()
    for node, (above, item) in enumerate(queue):  # The queue grows meanwhile.
        parent.append(above)
        if not isinstance(item, list | tuple):
            if item is None:
                raise TreeStructureError.of("a label in lists", item, "a string or an integer")
            leaves.append(item)
            continue
        leaves.append(None)
        if not item:
            raise TreeStructureError("lists must not hold an empty list, because it has no label.")
        # A list that occurs twice repeats its labels or contains itself.
        if id(item) in seen:
            raise TreeStructureError("lists must not hold the same list object twice.")
        seen.add(id(item))
        queue.extend((node, child) for child in item)
    return parent, leaves


def from_nested(lists: Any) -> tuple[list[int], list[int]]:
    """Return the parent and the label of each node of nested lists of labels, breadth first.

    >>> from_nested([[0, 1], 2])
    ([-1, 0, 0, 1, 1], [-1, -1, 2, 0, 1])
    """
    parent, leaves = unfold(lists)
    return parent, [-1 if x is None else _checked_label("a label in lists", x) for x in leaves]


def from_edges(
    edges: Iterable[tuple[Any, Any]], labels: Mapping[Any, int]
) -> tuple[list[int], list[int]]:
    """Return the parent and the label of each node, siblings in the order of their edges.

    >>> from_edges([("top", "a"), ("top", "b")], {"a": 0, "b": 1})
    ([2, 2, -1], [0, 1, -1])
    """
    pairs = [_checked_edge(edge) for edge in edges]
    ids = _ids_of(pairs, labels)
    parent = [ids[above] for above, _ in pairs] + [-1] * (len(ids) - len(pairs))
    label = [-1] * len(parent)
    for name, value in labels.items():
        label[ids[name]] = _checked_label(f"labels[{name!r}]", value)
    childless = set(ids) - {above for above, _ in pairs}
    if childless != set(labels):
        odd = next(name for name in ids if (name in childless) != (name in labels))
        raise TreeStructureError(
            f"labels must name exactly the leaves, {odd!r} is "
            + ("a leaf without a label." if odd in childless else "an inner node.")
        )
    return parent, label


def _ids_of(pairs: list[tuple[Any, Any]], labels: Mapping[Any, int]) -> dict[Any, int]:
    """Return the number of each node, which is the number of its edge. The root has the last."""
    ids: dict[Any, int] = {}
    for number, (_, child) in enumerate(pairs):
        if child in ids:
            raise TreeStructureError(f"edges must give each node one parent, {child!r} has two.")
        ids[child] = number
    names = dict.fromkeys(parent for parent, _ in pairs) | dict.fromkeys(labels)
    roots = [name for name in names if name not in ids]
    if len(roots) != (1 if names else 0):
        named = ", ".join(repr(name) for name in roots[:5])
        raise TreeStructureError(
            f"edges and labels must have one root, got {len(roots)}: {named or 'a cycle'}."
        )
    return ids | dict.fromkeys(roots, len(pairs))


def to_edges(parent: Int32Array, label: Int32Array) -> tuple[list[tuple[int, int]], dict[int, int]]:
    """Return the (parent, child) pairs and the label of each leaf.

    >>> to_edges(np.array([-1, 0, 0], np.int32), np.array([-1, 7, 5], np.int32))
    ([(0, 1), (0, 2)], {1: 7, 2: 5})
    """
    edges = list(zip(parent[1:].tolist(), range(1, len(parent)), strict=True))
    leaves = np.flatnonzero(label >= 0)
    return edges, dict(zip(leaves.tolist(), label[leaves].tolist(), strict=True))


def to_json(parent: Int32Array, label: Int32Array) -> str:
    """Return both arrays as one JSON object.

    >>> from_json(to_json(np.array([-1, 0, 0], np.int32), np.array([-1, 7, 5], np.int32)))
    ([-1, 0, 0], [-1, 7, 5])
    """
    arrays = {"parent": parent.tolist(), "label": label.tolist()}
    return json.dumps({"format": _JSON_FORMAT, "version": _JSON_VERSION} | arrays)


def from_json(text: str) -> tuple[list[Any], list[Any]]:
    """Return both lists of a JSON object of this format, without checking their values."""
    if not isinstance(text, str):
        raise TreeStructureError.of("text", type(text), "a string of JSON")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TreeStructureError(f"must be JSON: {error}", argument="text") from None
    if not isinstance(content, dict) or content.get("format") != _JSON_FORMAT:
        raise TreeStructureError(
            f"must be a JSON object with format {_JSON_FORMAT!r}.", argument="text"
        )
    if content.get("version") != _JSON_VERSION:
        raise TreeStructureError.of("version", content.get("version"), f"{_JSON_VERSION}")
    for key in ("parent", "label"):
        if not isinstance(content.get(key), list):
            raise TreeStructureError(f"text must hold a list of integers named {key!r}.")
    return content["parent"], content["label"]


def to_dot(
    parent: Int32Array,
    label: Int32Array,
    n_leaves: Int32Array,
    *,
    names: Mapping[int, object] | Sequence[object] | None,
    max_nodes: int,
) -> str:
    """Return the first nodes of a tree in Graphviz's DOT language.

    >>> arrays = np.array([-1, 0, 0], np.int32), np.array([-1, 7, 5], np.int32)
    >>> print(to_dot(*arrays, np.array([2, 1, 1], np.int32), names=None, max_nodes=2))
    digraph labeltree {
      node [shape=box];
      n0 [label="", shape=point];
      n1 [label="7"];
      n0 -> n1;
      more0 [label="1 more label", shape=plaintext];
      n0 -> more0 [style=dashed];
    }
    """
    n_shown = min(len(parent), integer("max_nodes", max_nodes, 1))
    lines = ["digraph labeltree {", "  node [shape=box];"]
    hidden = n_leaves[:n_shown].copy()
    for node, each in enumerate(label[:n_shown].tolist()):
        if each == -1:
            lines.append(f'  n{node} [label="", shape=point];')
        else:
            lines.append(f'  n{node} [label="{_dot_text(_name_of(each, names))}"];')
            hidden[node] = 0
    for node in range(1, n_shown):
        above = parent[node]
        lines.append(f"  n{above} -> n{node};")
        hidden[above] -= n_leaves[node]
    for node in np.flatnonzero(hidden).tolist():
        more = "1 more label" if hidden[node] == 1 else f"{hidden[node]} more labels"
        lines.append(f'  more{node} [label="{more}", shape=plaintext];')
        lines.append(f"  n{node} -> more{node} [style=dashed];")
    return "\n".join([*lines, "}"])


def _checked_label(name: str, value: object) -> int:
    try:
        return integer(name, value, 0, MAX_LABEL)
    except ArgumentError as error:
        raise TreeStructureError.of(name, value, str(error.allowed)) from None


def _checked_edge(edge: Any) -> tuple[Any, Any]:
    try:
        parent, child = edge
        hash((parent, child))
    except (TypeError, ValueError):
        raise TreeStructureError.of("an edge", edge, "a (parent, child) pair") from None
    return parent, child


def _name_of(label: int, names: Mapping[int, object] | Sequence[object] | None) -> str:
    if names is None:
        return str(label)
    try:
        return str(names[label])
    except (KeyError, IndexError):
        raise ArgumentError(f"names must have a name for label {label}.") from None


def _dot_text(text: str) -> str:
    """Return the text with the escapes and entities of a quoted string in DOT."""
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
    return "".join(
        c if c.isprintable() else "\\n" if c == "\n" else "\\" + c.encode("unicode_escape").decode()
        for c in text
    )
