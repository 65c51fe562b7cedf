"""What a conditional tree's structure may be: a name, nested lists of labels, or a tree."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from labeltrees import checks
from labeltrees.errors import ArgumentError
from labeltrees.models.model import file_parts
from labeltrees.tree import LabelTree, unfold

__all__ = [
    "Structure",
    "StructureName",
    "check_structure",
    "leaves_of",
    "structure_from_json",
    "structure_name",
    "structure_to_json",
]

StructureName = Literal["online", "random", "balanced", "huffman", "kmeans"]
Structure = StructureName | list[Any] | tuple[Any, ...] | LabelTree


def check_structure(name: str, value: Any) -> Any:
    """Return a structure, or raise `ArgumentError`."""
    if isinstance(value, (list, tuple, LabelTree)):
        return value
    try:
        return checks.choice(name, value, get_args(StructureName))
    except ArgumentError as error:
        allowed = str(error).removeprefix(f"{name} must be ").rsplit(", got ", 1)[0]
        others = "nested lists of labels, or a LabelTree"
        raise ArgumentError.of(name, value, f"{allowed}, {others}") from None


def structure_name(structure: Structure) -> str:
    """Return the structure's name: ``"given"`` for a given tree.

    >>> structure_name("kmeans"), structure_name([["cat", "dog"], "car"])
    ('kmeans', 'given')
    """
    return structure if isinstance(structure, str) else "given"


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


def structure_from_json(value: Any) -> Any:
    """Return the structure that `structure_to_json` wrote down; tuples come back as lists.

    >>> structure_from_json(structure_to_json([["cat", "dog"], "car"]))
    [['cat', 'dog'], 'car']
    """
    if not isinstance(value, dict):
        return value
    with file_parts():
        if "tree" in value:
            return LabelTree.from_json(value["tree"])
        items: list[Any] = [[] if item is None else item for item in value["leaves"]]
        for above, item in zip(value["parent"][1:], items[1:], strict=True):
            items[above].append(item)
        return items[0] if items else []
