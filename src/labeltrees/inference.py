"""A fitted model and its answers, without any learning framework around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np

from labeltrees import _core
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import (
    ArgumentError,
    DivergedError,
    FrozenModelError,
    ModelFormatError,
    TooLargeError,
)
from labeltrees.regressors import SLOTS, OnlineRegression, pack_weights, unpack_weights
from labeltrees.tree import LabelTree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from labeltrees.data.checks import Rows

__all__ = [
    "MAX_DENSE_BYTES",
    "ConditionalTreeModel",
    "Foreseen",
    "Model",
    "TopLabels",
    "check_dense_size",
]

MAX_DENSE_BYTES = 2**32
"""A dense (n_rows, n_labels) answer larger than this is refused unless the caller allows it."""

_EMPTY_ORDER = np.empty(0, dtype=np.int64)


class TopLabels(NamedTuple):
    """The likeliest labels and their probabilities, both of shape (n_rows, k)."""

    labels: NDArray[Any]
    probabilities: NDArray[np.float64]


class Model(Protocol):
    """What a fitted model answers, whatever it is; rows are checked before."""

    vocabulary: LabelVocabulary
    n_features: int

    def label_probabilities(self, rows: Rows, labels: ArrayLike) -> NDArray[np.float64]:
        """Return P(label given row), one label a row; 0 for a label never seen."""

    def top_labels(self, rows: Rows, k: int) -> TopLabels:
        """Return the k likeliest labels of every row, likeliest first."""

    def probabilities(self, rows: Rows, *, max_bytes: int) -> NDArray[np.float64]:
        """Return the whole distribution, (n_rows, n_labels), columns in vocabulary order."""

    def describe(self) -> dict[str, Any]:
        """Return what a curious person may want to know of the model, ready for JSON."""

    def to_dot(self, names: Sequence[str], *, max_nodes: int) -> str:
        """Return a drawing of the model's top as Graphviz DOT; names are those of the labels."""

    def to_tensors(self, *, keep_state: bool) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and facts (ready for JSON) that `from_tensors` makes an equal model of."""

    @classmethod
    def from_tensors(cls, tensors: dict[str, NDArray[Any]], facts: dict[str, Any]) -> Self:
        """Return the model that `to_tensors` wrote down, or raise `ModelFormatError`."""


class Foreseen(NamedTuple):
    """What a model said of each row just before it learned from it."""

    p_label: NDArray[np.float64]
    """The probability of the row's own label; 0 if it was new."""
    top: NDArray[Any]
    """The likeliest label; empty if not asked for."""
    p_top: NDArray[np.float64]
    """And its probability."""
    is_new: NDArray[np.bool_]
    """Whether the row's label had never been learned before."""


@dataclass
class ConditionalTreeModel:
    """A conditional probability tree: vocabulary, structure, regressors, and their settings.

    Rows must be checked (`labeltrees.data.checks.as_rows`). Threads may ask while one learns.
    """

    settings: OnlineRegression
    vocabulary: LabelVocabulary
    core: _core.ConditionalTree
    n_features: int
    frozen: bool = False

    @classmethod
    def empty(cls, settings: OnlineRegression, n_features: int) -> ConditionalTreeModel:
        """Return a model that knows no label yet."""
        return cls(settings, LabelVocabulary(), _core.ConditionalTree(), n_features)

    @classmethod
    def on_tree(
        cls,
        settings: OnlineRegression,
        n_features: int,
        vocabulary: LabelVocabulary,
        tree: LabelTree,
    ) -> ConditionalTreeModel:
        """Return a model that has learned nothing yet on a binary tree over vocabulary ids."""
        keys, lines = np.empty(0, dtype=np.uint64), np.empty((0, SLOTS), dtype=np.float32)
        core = _core.ConditionalTree(tree.core, np.zeros(tree.n_nodes), keys, lines, lines)
        return cls(settings, vocabulary, core, n_features)

    @property
    def tree(self) -> LabelTree:
        """A copy of the tree as it is now; its labels are vocabulary ids."""
        return LabelTree(self.core.tree())

    def learn(
        self,
        rows: Rows,
        labels: NDArray[Any],
        weights: NDArray[np.float32],
        *,
        order: NDArray[np.int64] = _EMPTY_ORDER,
        foresee_top: bool = False,
    ) -> Foreseen:
        """Learn from rows in turn (or in ``order``) and return what was foreseen of each.

        O(depth * nnz) per row; with ``foresee_top`` an exact search more.
        """
        if self.frozen:
            raise FrozenModelError(
                "this model was saved with keep_state=False and cannot learn any more."
            )
        ids = self._ids_to_learn(labels, weights)
        try:
            p_label, is_new, top, p_top = self.core.learn(
                *rows.arrays, ids, weights, order, foresee_top, self.settings.learning
            )
        except _core.Diverged as error:
            raise DivergedError(
                f"{error}: learning_rate={self.settings.learning_rate:g} is too large for "
                f"optimizer={self.settings.optimizer!r} on this data."
            ) from None
        return Foreseen(p_label, self._names(top), p_top, is_new.astype(bool))

    def label_probabilities(self, rows: Rows, labels: ArrayLike) -> NDArray[np.float64]:
        """Return P(label given row), one label a row; 0 for a label never seen."""
        ids = self.vocabulary.ids(labels)
        if len(ids) != rows.n_rows:
            raise ArgumentError(f"y has {len(ids)} labels for the {rows.n_rows} rows of X.")
        return self.core.label_probabilities(*rows.arrays, ids, self.settings.reading)

    def top_labels(self, rows: Rows, k: int) -> TopLabels:
        """Return the k likeliest labels of every row, likeliest first; provably the top k."""
        n_labels = self.core.n_labels
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 1 <= k <= n_labels:
            raise ArgumentError.of("k", k, f"an integer in [1, n_labels={n_labels}]")
        ids, p = self.core.top_labels(*rows.arrays, int(k), self.settings.reading)
        return TopLabels(self._names(ids), p)

    def probabilities(self, rows: Rows, *, max_bytes: int = MAX_DENSE_BYTES) -> NDArray[np.float64]:
        """Return the whole distribution, (n_rows, n_labels), columns in vocabulary order."""
        n_columns = len(self.vocabulary)
        check_dense_size(rows.n_rows, n_columns, max_bytes)
        return self.core.all_probabilities(*rows.arrays, n_columns, self.settings.reading)

    def describe(self) -> dict[str, Any]:
        """Return sizes and shape of the model."""
        tree = self.tree
        is_leaf = tree.label >= 0
        mass, depths = self.core.masses()[is_leaf], tree.depths[is_leaf]
        facts: dict[str, Any] = {
            "can_learn": not self.frozen,
            "weight_lines": self.core.n_lines,
            "table_bytes_in_memory": self.core.n_bytes,
            "nodes": tree.n_nodes,
            "leaves": tree.n_labels,
            "depth": tree.depth,
            "mean_leaf_depth": float(depths.mean()) if len(depths) else 0.0,
            "least_possible_depth": max(0, (tree.n_labels - 1).bit_length()),
        }
        if mass.sum() > 0:
            facts["mean_depth_of_an_example"] = float(np.average(depths, weights=mass))
            facts["examples_learned"] = float(mass.sum())
        return facts

    def to_dot(self, names: Sequence[str], *, max_nodes: int) -> str:
        """Return the top of the tree as Graphviz DOT."""
        return self.tree.to_dot(names=names, max_nodes=max_nodes)

    def _ids_to_learn(
        self, labels: NDArray[Any], weights: NDArray[np.float32]
    ) -> NDArray[np.int32]:
        if not len(weights) or weights.all():
            return self.vocabulary.add(labels)
        self.vocabulary.add(labels[weights > 0])  # a row of weight 0 is as if it were not there
        return self.vocabulary.ids(labels)

    def _names(self, ids: NDArray[np.int32]) -> NDArray[Any]:
        known = self.vocabulary.labels
        if not ids.size or ids.min() >= 0:
            return known[ids]
        # Before the first label is learned there is no likeliest one.
        named = np.full(ids.shape, None, dtype=object)
        named[ids >= 0] = known[ids[ids >= 0]]
        return named

    def to_tensors(self, *, keep_state: bool) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and settings that `from_tensors` makes an equal model of.

        With ``keep_state=False`` only what queries need, in float16.
        """
        tree = self.core.tree()
        tensors: dict[str, NDArray[Any]]
        tensors = {"tree.parent": tree.parents(), "tree.label": tree.labels()}
        tensors |= self.vocabulary.to_tensors()
        keys, weights, sums = self.core.lines()
        if keep_state and not self.frozen:
            tensors |= {
                "tree.mass": self.core.masses(),
                "table.keys": keys,
                "table.weights": weights,
                "table.sums": sums,
            }
        else:
            tensors |= pack_weights(keys, weights)
        return tensors, {
            "settings": self.settings.to_dict(),
            "n_features": self.n_features,
            "frozen": self.frozen or not keep_state,
        }

    @classmethod
    def from_tensors(
        cls, tensors: dict[str, NDArray[Any]], facts: dict[str, Any]
    ) -> ConditionalTreeModel:
        """Return the model that `to_tensors` wrote down; raise `ModelFormatError` if it did not."""
        try:
            vocabulary = LabelVocabulary.from_tensors(tensors)
            tree = _core.LabelTree.restore(tensors["tree.parent"], tensors["tree.label"])
            if facts["frozen"]:
                keys, weights = unpack_weights(tensors)
                mass, sums = np.zeros(tree.n_nodes), np.zeros_like(weights)
            else:
                mass = tensors["tree.mass"]
                keys, weights = tensors["table.keys"], tensors["table.weights"]
                sums = tensors["table.sums"]
            if tree.n_nodes and int(tensors["tree.label"].max()) >= len(vocabulary):
                raise ModelFormatError("the tree has a label that the vocabulary does not name.")
            core = _core.ConditionalTree(tree, mass, keys, weights, sums)
            settings = OnlineRegression(**facts["settings"])
            return cls(settings, vocabulary, core, int(facts["n_features"]), bool(facts["frozen"]))
        except (KeyError, TypeError, IndexError, _core.TreeError, ArgumentError) as error:
            raise ModelFormatError(f"the model's parts do not fit together: {error}") from None

    def __getstate__(self) -> dict[str, Any]:
        tensors, facts = self.to_tensors(keep_state=not self.frozen)
        return {"tensors": tensors, "facts": facts}

    def __setstate__(self, state: dict[str, Any]) -> None:
        restored = self.from_tensors(state["tensors"], state["facts"])
        self.__dict__.update(restored.__dict__)


def check_dense_size(n_rows: int, n_labels: int, max_bytes: int) -> None:
    """Raise `TooLargeError` if a float64 matrix of that shape is larger than allowed."""
    n_bytes = 8 * n_rows * n_labels
    if n_bytes > max_bytes:
        raise TooLargeError(
            f"{n_rows} rows x {n_labels} labels need {n_bytes:,} bytes, over "
            f"max_bytes={max_bytes:,}: ask for predict_top_k or predict_label_proba, "
            "pass fewer rows, or raise max_bytes."
        )
