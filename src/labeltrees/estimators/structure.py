"""Where a conditional tree's structure comes from: the stream itself, all the data, or the user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ArgumentError, ModelFormatError
from labeltrees.inference import ConditionalTreeModel
from labeltrees.tree import LabelTree, unfold

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from labeltrees.data.checks import Rows
    from labeltrees.regressors import OnlineRegression

__all__ = ["from_json", "name_of", "start_on_all", "start_on_stream", "to_json"]

FROM_DATA = ("huffman", "kmeans")
"""Structures that can only be built once all the data are there."""


def name_of(structure: Any) -> str:
    """Return the structure's name in the settings of a model: ``"given"`` for a given tree.

    >>> name_of("kmeans"), name_of([["cat", "dog"], "car"]), name_of(LabelTree.balanced(3))
    ('kmeans', 'given', 'given')
    """
    if isinstance(structure, (list, tuple, LabelTree)):
        return "given"
    if structure == "given":
        raise ArgumentError.of("structure", structure, "the given tree itself, or another name")
    return structure  # type: ignore[no-any-return]  # the settings check it


def start_on_all(
    structure: Any,
    settings: OnlineRegression,
    rows: Rows,
    targets: NDArray[Any],
    weights: NDArray[np.float32],
) -> ConditionalTreeModel:
    """Return a model that has learned nothing yet, with the tree that suits all these rows."""
    seen = LabelVocabulary(targets[weights > 0] if len(weights) else targets)
    if isinstance(structure, (list, tuple)):
        seen.add(_leaves(structure))
    vocabulary = LabelVocabulary(np.sort(seen.labels))
    ids = vocabulary.ids(targets)
    if structure == "huffman":
        counted = ids >= 0
        mass = np.bincount(
            ids[counted],
            weights[counted] if len(weights) else None,
            minlength=len(vocabulary),
        )
        tree = LabelTree.huffman(mass)
    elif structure == "kmeans":
        tree = LabelTree.kmeans(
            rows,
            ids,
            n_labels=len(vocabulary),
            weights=weights if len(weights) else None,
            balance=settings.balance,
            seed=settings.seed,
        )
    else:
        return _start(structure, settings, rows.n_features, vocabulary)
    return ConditionalTreeModel.on_tree(settings, rows.n_features, vocabulary, tree)


def start_on_stream(
    structure: Any, settings: OnlineRegression, n_features: int, classes: ArrayLike | None
) -> ConditionalTreeModel:
    """Return a model that has learned nothing yet, for rows still to come."""
    if settings.structure in FROM_DATA:
        raise ArgumentError(
            f"structure={structure!r} needs fit: its tree is built from all the data. "
            "partial_fit can go on from there."
        )
    if isinstance(structure, LabelTree) and classes is None:
        raise ArgumentError(
            "a LabelTree as structure needs classes= in the first partial_fit: "
            "its leaves are positions in them."
        )
    vocabulary = LabelVocabulary(() if classes is None else classes)
    if isinstance(structure, (list, tuple)):
        vocabulary.add(_leaves(structure))
    return _start(structure, settings, n_features, vocabulary)


def _start(
    structure: Any, settings: OnlineRegression, n_features: int, vocabulary: LabelVocabulary
) -> ConditionalTreeModel:
    if settings.structure != "given":
        model = ConditionalTreeModel.empty(settings, n_features)
        model.vocabulary = vocabulary
        return model
    tree = _given(structure, vocabulary)
    return ConditionalTreeModel.on_tree(settings, n_features, vocabulary, tree)


def _leaves(lists: Any) -> list[Any]:
    return [item for item in unfold(lists)[1] if item is not None]


def _given(structure: Any, vocabulary: LabelVocabulary) -> LabelTree:
    """Return the user's tree over vocabulary ids."""
    if isinstance(structure, LabelTree):
        most = int(structure.label.max(initial=-1))
        if most >= len(vocabulary):
            raise ArgumentError(
                f"structure has a leaf {most}, but the classes are 0 to {len(vocabulary) - 1}."
            )
        return structure
    parent, leaves = unfold(structure)
    label = np.full(len(parent), -1, dtype=np.int32)
    is_leaf = [item is not None for item in leaves]
    label[is_leaf] = vocabulary.ids(_leaves(structure))
    return LabelTree.restore(parent, label)


def to_json(structure: Any) -> Any:
    """Return the structure as values that JSON takes, however deep it is."""
    if isinstance(structure, LabelTree):
        return {"tree": structure.to_json()}
    if isinstance(structure, (list, tuple)):
        parent, leaves = unfold(structure)
        plain = [item.item() if isinstance(item, np.generic) else item for item in leaves]
        return {"parent": parent, "leaves": plain}
    return structure


def from_json(value: Any) -> Any:
    """Return the structure that `to_json` wrote down; tuples come back as lists.

    >>> from_json(to_json([["cat", "dog"], "car"]))
    [['cat', 'dog'], 'car']
    """
    if not isinstance(value, dict):
        return value
    try:
        if "tree" in value:
            return LabelTree.from_json(value["tree"])
        items: list[Any] = [[] if item is None else item for item in value["leaves"]]
        for above, item in zip(value["parent"][1:], items[1:], strict=True):
            items[above].append(item)
        return items[0] if items else []
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ModelFormatError(f"the given structure is not a tree: {error}") from None
