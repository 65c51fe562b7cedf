"""Where a conditional tree's structure comes from: the stream itself, all the data, or the user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ArgumentError, ModelFormatError
from labeltrees.models.conditional.model import ConditionalTreeModel
from labeltrees.models.conditional.pecoc import PecocTreeModel
from labeltrees.tree import LabelTree, unfold

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.models.online.settings import OnlineRegression

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
    arity: int,
    settings: OnlineRegression,
    rows: Rows,
    targets: NDArray[Any],
    weights: NDArray[np.float32],
) -> ConditionalTreeModel | PecocTreeModel:
    """Return a model that has learned nothing yet, with the tree that suits all these rows."""
    seen = LabelVocabulary(targets[weights > 0] if len(weights) else targets)
    if isinstance(structure, (list, tuple)):
        seen.add(_leaves(structure))
    vocabulary = LabelVocabulary(np.sort(seen.labels))
    ids = vocabulary.ids(targets)
    tree: LabelTree | None
    if settings.structure == "huffman":
        tree = LabelTree.huffman(_label_weights(ids, weights, len(vocabulary)), arity=arity)
    elif settings.structure == "kmeans":
        tree = LabelTree.kmeans(
            rows,
            ids,
            n_labels=len(vocabulary),
            weights=weights if len(weights) else None,
            arity=arity,
            balance=settings.balance,
            seed=settings.seed,
        )
    elif settings.structure == "online" and arity > 2:
        binary = ConditionalTreeModel.empty(settings, rows.n_features)
        binary.vocabulary = vocabulary
        binary.learn(rows, targets, weights)
        tree = binary.tree.collapsed(arity.bit_length() - 1)
    else:
        tree = _tree_over(vocabulary, structure, arity, settings)
    return _on_tree(settings, rows.n_features, vocabulary, tree, arity)


def start_on_stream(
    structure: Any,
    arity: int,
    settings: OnlineRegression,
    n_features: int,
    classes: ArrayLike | None,
) -> ConditionalTreeModel | PecocTreeModel:
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
    if arity > 2 and settings.structure != "given" and classes is None:
        raise ArgumentError(
            f"arity={arity} needs fit, or classes= with every label in the first partial_fit: "
            "only a binary tree grows as labels arrive."
        )
    vocabulary = LabelVocabulary(() if classes is None else classes)
    if isinstance(structure, (list, tuple)):
        vocabulary.add(_leaves(structure))
    tree = _tree_over(vocabulary, structure, arity, settings)
    return _on_tree(settings, n_features, vocabulary, tree, arity)


def _tree_over(
    vocabulary: LabelVocabulary, structure: Any, arity: int, settings: OnlineRegression
) -> LabelTree | None:
    """Return a tree over the labels alone; None if it is to grow as they arrive."""
    if settings.structure == "given":
        return _given(structure, vocabulary)
    if arity == 2:
        return None
    if settings.structure == "random":
        return LabelTree.random(len(vocabulary), arity=arity, seed=settings.seed)
    return LabelTree.balanced(len(vocabulary), arity=arity)


def _on_tree(
    settings: OnlineRegression,
    n_features: int,
    vocabulary: LabelVocabulary,
    tree: LabelTree | None,
    arity: int,
) -> ConditionalTreeModel | PecocTreeModel:
    if tree is None:
        model = ConditionalTreeModel.empty(settings, n_features)
        model.vocabulary = vocabulary
        return model
    is_binary = bool(np.isin(tree.n_children, (0, 2)).all())
    if is_binary and (arity == 2 or settings.structure == "given"):
        return ConditionalTreeModel.on_tree(settings, n_features, vocabulary, tree)
    if settings.novelty:
        raise ArgumentError("novelty=True needs a binary tree: arity=2, two children a node.")
    return PecocTreeModel.on_tree(settings, n_features, vocabulary, tree)


def _label_weights(
    ids: NDArray[np.int32], weights: NDArray[np.float32], n_labels: int
) -> NDArray[Any]:
    counted = ids >= 0  # a label seen only with weight 0 has no id
    kept = weights[counted] if len(weights) else None
    return np.bincount(ids[counted], kept, minlength=n_labels)


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
