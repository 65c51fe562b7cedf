"""Conditional PECOC: trees whose nodes have many children, told apart by an output code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees import _core
from labeltrees.errors import ArgumentError
from labeltrees.models.conditional.settings import ConditionalSettings
from labeltrees.models.dense import DenseAnswers
from labeltrees.models.online.table_model import NO_LINES, BankModel, Lines
from labeltrees.models.online.tree_model import describe_tree
from labeltrees.tree import LabelTree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labeltrees.data.vocabulary import LabelVocabulary
    from labeltrees.store import Tensors


@dataclass
class PecocTreeModel(DenseAnswers, BankModel):
    """A fixed tree over known labels; a node with k children asks about k - 1 regressors.

    k is rounded up to a power of two. With two children everywhere it is the conditional
    probability tree, with one node over all labels it is PECOC.

    Examples
    --------
    >>> from labeltrees.data.rows import as_rows
    >>> from labeltrees.data.vocabulary import LabelVocabulary
    >>> vocabulary, tree = LabelVocabulary(["a", "b", "c"]), LabelTree.balanced(3, arity=4)
    >>> model = PecocTreeModel.on_tree(ConditionalSettings(), 2, vocabulary, tree)
    >>> model.probabilities(as_rows([[1, 2]])).round(3).tolist()
    [[0.333, 0.333, 0.333]]
    """

    settings_class = ConditionalSettings

    core: _core.PecocTree

    def __post_init__(self) -> None:
        if self.settings.max_memory is not None:
            self.core.limit_bytes(self.settings.max_memory)
        labels = self.core.tree().labels()
        # By id; the last entry stands for ids past all leaves, and for -1.
        self._has_leaf = np.zeros(int(labels.max(initial=-1)) + 2, dtype=bool)
        self._has_leaf[labels[labels >= 0]] = True

    @classmethod
    def on_tree(
        cls,
        settings: ConditionalSettings,
        n_features: int,
        vocabulary: LabelVocabulary,
        tree: LabelTree,
    ) -> PecocTreeModel:
        """Return a model that has learned nothing yet on a tree over vocabulary ids."""
        core = _core.PecocTree(tree.core, np.zeros(tree.n_nodes), *NO_LINES)
        return cls(settings, vocabulary, core, n_features)

    @property
    def tree(self) -> LabelTree:
        """The tree; its labels are vocabulary ids."""
        return LabelTree(self.core.tree())

    def tree_and_masses(self) -> tuple[LabelTree, NDArray[np.float64]]:
        """Return the tree and each node's mass, as of one moment."""
        tree, masses = self.core.tree_and_masses()
        return LabelTree(tree), masses

    def describe(self) -> dict[str, Any]:
        """Return sizes and shape of the model."""
        return describe_tree(self.core) | {
            "can_learn": not self.frozen,
            "most_children": int(self.tree.n_children.max(initial=0)),
            "regressors": self.core.n_regressors,
        }

    def to_dot(self, names: Sequence[str], *, max_nodes: int) -> str:
        """Return the top of the tree as Graphviz DOT."""
        return self.tree.to_dot(names=names, max_nodes=max_nodes)

    def _ids_to_learn(
        self, labels: NDArray[Any], weights: NDArray[np.float32]
    ) -> NDArray[np.int32]:
        ids = self.vocabulary.ids(labels)
        lost = ~self.has_learned(ids)
        if len(weights):
            lost &= weights > 0
        if lost.any():
            raise ArgumentError(
                f"label {labels[np.argmax(lost)]!r} is not in the tree, and a tree with more than "
                "two children at a node does not grow. Pass all labels as classes= to the first "
                "partial_fit, or call fit."
            )
        return ids

    def has_learned(self, ids: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which label ids have a leaf."""
        return self._has_leaf[np.clip(ids, -1, len(self._has_leaf) - 1)]

    def _shape(self) -> Tensors:
        tree = self.core.tree()
        return {"tree.parent": tree.parents(), "tree.label": tree.labels()}

    @classmethod
    def _restore_core(
        cls, tensors: Tensors, mass: NDArray[Any], lines: Lines, n_labels: int
    ) -> _core.PecocTree:
        tree = _core.LabelTree.restore(tensors["tree.parent"], tensors["tree.label"], n_labels)
        return _core.PecocTree(tree, mass, *lines)
