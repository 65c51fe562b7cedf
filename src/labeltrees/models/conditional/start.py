"""A conditional tree before it learns: where labels known in advance have their leaves."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.data.labels import RaggedLabels
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ArgumentError
from labeltrees.models.conditional.model import ConditionalTreeModel
from labeltrees.models.conditional.pecoc import PecocTreeModel
from labeltrees.models.conditional.several_trees import PooledTreesModel, RefinedTreesModel
from labeltrees.models.conditional.structure import is_binary, leaves_of
from labeltrees.models.online.scaling import ColumnScale
from labeltrees.tree import LabelTree, unfold

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.models.conditional.settings import ConditionalSettings

FROM_DATA = ("huffman", "kmeans")
"""Structures that can only be built once all the data are there."""

Plain = ConditionalTreeModel | PecocTreeModel


def start_on_all(
    settings: ConditionalSettings,
    rows: Rows,
    labels: NDArray[Any],
    weights: NDArray[np.float32],
) -> Plain | RefinedTreesModel | PooledTreesModel:
    """Return a model that has learned nothing yet, with the tree that suits all these rows."""
    seen = ColumnScale().take_all(settings, rows, weights)
    chosen = settings.on_all(seen)
    assert chosen.n_trees != "auto"
    seeds = [(settings.random_state + i) % 2**64 for i in range(chosen.n_trees)]
    vocabulary = _vocabulary_of(chosen, labels, weights)
    trees = [
        _tree_on_all(replace(chosen, random_state=seed), vocabulary, seen, labels, weights)
        for seed in seeds
    ]
    if settings.is_refined:
        shortlist = settings.shortlist(seen)
        return RefinedTreesModel.over(settings, rows.n_features, vocabulary, trees, shortlist)
    members = [
        _on_tree(replace(settings, random_state=seed), rows.n_features, vocabulary, tree)
        for seed, tree in zip(seeds, trees, strict=True)
    ]
    return members[0] if len(members) == 1 else PooledTreesModel(members)


def start_on_stream(
    settings: ConditionalSettings, n_features: int, classes: ArrayLike | None = None
) -> Plain | RefinedTreesModel:
    """Return a model that has learned nothing yet, for rows still to come."""
    given, settings = settings, settings.on_stream()
    structure, name, arity = settings.structure, settings.structure_name, settings.arity
    assert settings.n_trees != "auto"
    if settings.n_trees > 1:
        raise ArgumentError(
            f"n_trees={settings.n_trees} needs fit, because on one "
            "stream all trees would be equal. "
            "Call fit first, then partial_fit."
        )
    if name in FROM_DATA:
        raise ArgumentError(
            f"structure={structure!r} needs fit, because its tree is built from all rows. "
            "Call fit first, then partial_fit."
        )
    if name == "shuffled" and classes is None:
        raise ArgumentError(
            "structure='shuffled' needs all labels. Call fit first, or pass all labels as classes= "
            "to the first partial_fit."
        )
    if isinstance(structure, LabelTree) and classes is None:
        raise ArgumentError(
            "a LabelTree as structure needs classes= in the first partial_fit, because its leaves "
            "are positions in classes."
        )
    if arity > 2 and name != "given" and classes is None:
        raise ArgumentError(
            f"arity={arity} needs all labels, because only a binary tree grows. Call fit first, or "
            "pass all labels as classes= to the first partial_fit."
        )
    vocabulary = LabelVocabulary(() if classes is None else classes)
    if isinstance(structure, (list, tuple)):
        vocabulary.add(leaves_of(structure))
    tree = _tree_over(vocabulary, settings)
    if given.is_refined:
        return RefinedTreesModel.over(given, n_features, vocabulary, [tree], given.shortlist())
    return _on_tree(given, n_features, vocabulary, tree)


def _vocabulary_of(
    settings: ConditionalSettings, labels: NDArray[Any], weights: NDArray[np.float32]
) -> LabelVocabulary:
    """Return the labels that are learned or in the given tree, sorted."""
    seen = LabelVocabulary(labels[weights > 0] if len(weights) else labels)
    if isinstance(settings.structure, (list, tuple)):
        seen.add(leaves_of(settings.structure))
    return LabelVocabulary(np.sort(seen.labels))


def _tree_on_all(
    settings: ConditionalSettings,
    vocabulary: LabelVocabulary,
    rows: Rows,
    labels: NDArray[Any],
    weights: NDArray[np.float32],
) -> LabelTree | None:
    """Return the tree that suits these rows; None if it is to grow as they are learned."""
    name, arity = settings.structure_name, settings.arity
    ids = vocabulary.ids(labels)
    if name == "huffman":
        return LabelTree.huffman(_label_weights(ids, weights, len(vocabulary)), arity=arity)
    if name == "kmeans":
        return LabelTree.kmeans(
            rows,
            ids,
            n_labels=len(vocabulary),
            weights=weights if len(weights) else None,
            arity=arity,
            balance=settings.balance,
            seed=settings.random_state,
        )
    if name == "online" and arity > 2:
        binary = ConditionalTreeModel.empty(settings, rows.n_features)
        binary.vocabulary = vocabulary
        binary.update(rows, RaggedLabels.of_single(labels), weights, predict=False)
        return binary.tree.collapsed(arity.bit_length() - 1)
    return _tree_over(vocabulary, settings)


def _tree_over(vocabulary: LabelVocabulary, settings: ConditionalSettings) -> LabelTree | None:
    """Return a tree over the labels alone; None if it is to grow as they arrive."""
    name, arity = settings.structure_name, settings.arity
    if name == "given":
        return _given(settings.structure, vocabulary)
    if arity == 2 and name != "shuffled":
        return None
    if name in ("random", "shuffled"):
        return LabelTree.random(len(vocabulary), arity=arity, seed=settings.random_state)
    return LabelTree.balanced(len(vocabulary), arity=arity)


def _on_tree(
    settings: ConditionalSettings,
    n_features: int,
    vocabulary: LabelVocabulary,
    tree: LabelTree | None,
) -> Plain:
    if tree is None:
        model = ConditionalTreeModel.empty(settings, n_features)
        model.vocabulary = vocabulary
        return model
    if is_binary(tree) and (settings.arity == 2 or settings.structure_name == "given"):
        return ConditionalTreeModel.on_tree(settings, n_features, vocabulary, tree)
    if settings.novelty:
        raise ArgumentError(
            "novelty=True needs a binary tree. Use arity=2 and two children per node."
        )
    return PecocTreeModel.on_tree(settings, n_features, vocabulary, tree)


def _label_weights(
    ids: NDArray[np.int32], weights: NDArray[np.float32], n_labels: int
) -> NDArray[Any]:
    counted = ids >= 0  # a label seen only with weight 0 has no id
    kept = weights[counted] if len(weights) else None
    return np.bincount(ids[counted], kept, minlength=n_labels)


def _given(structure: Any, vocabulary: LabelVocabulary) -> LabelTree:
    """Return the user's tree over vocabulary ids."""
    if isinstance(structure, LabelTree):
        most = int(structure.label.max(initial=-1))
        if most >= len(vocabulary):
            raise ArgumentError(
                f"structure has the leaf {most}, but the classes are 0 to {len(vocabulary) - 1}."
            )
        return structure
    parent, leaves = unfold(structure)
    label = np.full(len(parent), -1, dtype=np.int32)
    label[[item is not None for item in leaves]] = vocabulary.ids(leaves_of(structure))
    return LabelTree.restore(parent, label)
