"""What a conditional tree's structure may be: a name, nested lists of labels, or a tree."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from labeltrees import checks
from labeltrees.errors import ArgumentError, ModelFormatError
from labeltrees.models.model import file_parts
from labeltrees.tree import LabelTree, unfold
from labeltrees.tree._formats import from_json

StructureName = Literal["auto", "online", "random", "balanced", "shuffled", "huffman", "kmeans"]
Structure = StructureName | list[Any] | tuple[Any, ...] | LabelTree


def check_structure(name: str, value: Any) -> Any:
    """Return a structure, or raise `ArgumentError`."""
    if isinstance(value, (list, tuple, LabelTree)):
        return value
    try:
        return checks.choice(name, value, get_args(StructureName))
    except ArgumentError as error:
        allowed = f"{error.allowed}, nested lists of labels, or a LabelTree"
        raise ArgumentError.of(name, value, allowed) from None


def structure_name(structure: Structure) -> str:
    """Return the structure's name: ``"given"`` for a given tree.

    >>> structure_name("kmeans"), structure_name([["cat", "dog"], "car"])
    ('kmeans', 'given')
    """
    return structure if isinstance(structure, str) else "given"


def is_binary(structure: Structure) -> bool:
    """Return whether every inner node has two children; a name says nothing else.

    >>> is_binary("kmeans"), is_binary([["cat", "dog"], "car"]), is_binary(["cat", "dog", "car"])
    (True, True, False)
    """
    if isinstance(structure, str):
        return True
    if isinstance(structure, LabelTree):
        return bool(np.isin(structure.n_children, (0, 2)).all())
    children = np.bincount(np.maximum(unfold(structure)[0], 0))
    children[0] -= 1  # the root is nobody's child
    return bool(np.isin(children, (0, 2)).all())


def leaves_of(lists: Any) -> list[Any]:
    """Return the labels of nested lists.

    >>> leaves_of([["cat", "dog"], "car"])
    ['car', 'cat', 'dog']
    """
    return [item for item in unfold(lists)[1] if item is not None]


def structure_to_json(structure: Structure) -> Any:
    """Return the structure as values that JSON takes, however deep it is."""
    if isinstance(structure, LabelTree):
        return {"tree": structure.to_json()}
    if isinstance(structure, (list, tuple)):
        parent, leaves = unfold(structure)
        plain = [item.item() if isinstance(item, np.generic) else item for item in leaves]
        return {"parent": parent, "leaves": plain}
    return structure


def structure_from_json(value: Any, *, n_labels: int | None = None) -> Any:
    """Return the structure that `structure_to_json` wrote down; tuples come back as lists.

    With ``n_labels`` a tree's labels must be below it, so that a short text cannot ask for memory
    for two thousand million of them.

    >>> structure_from_json(structure_to_json([["cat", "dog"], "car"]))
    [['cat', 'dog'], 'car']
    """
    if isinstance(value, str):
        return value
    with file_parts():
        if "tree" in value:
            parent, label = from_json(value["tree"])
            if n_labels is not None and not all(each < n_labels for each in label):
                raise ModelFormatError("the structure has a label that is not in the vocabulary.")
            return LabelTree.restore(parent, label)
        return _nested(value["parent"], value["leaves"])


def _nested(parent: list[Any], leaves: list[Any]) -> list[Any]:
    """Return the lists of which `unfold` gives these."""
    items: list[Any] = [[] if item is None else item for item in leaves]
    for node, (above, item) in enumerate(zip(parent[1:], items[1:], strict=True), 1):
        items[checks.integer("parent", above, 0, node - 1)].append(item)
    lists: list[Any] = items[0] if items else []
    if not all(item is None or isinstance(item, str | int) for item in leaves):
        raise ModelFormatError("the structure has a leaf without a label.")
    if unfold(lists) != (parent, leaves):
        raise ModelFormatError("the structure's parents and leaves do not fit together.")
    return lists
