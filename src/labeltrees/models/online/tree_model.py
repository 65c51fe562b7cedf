"""What conditional and filter trees share: a binary tree of regressors that count examples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from labeltrees import _core, checks
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.models.explanation import check_question
from labeltrees.models.model import stored_width
from labeltrees.models.online.explanation import Explanation, steps_of
from labeltrees.models.online.lines import CountedLines
from labeltrees.models.online.online_model import OnlineModel
from labeltrees.models.online.scaling import ColumnScale
from labeltrees.tree import LabelTree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.store import Facts, Tensors


@dataclass
class TreeModel(OnlineModel):
    """Settings, vocabulary, a growing binary tree and its regressors; a subclass has the rules."""

    settings: Any
    vocabulary: LabelVocabulary
    core: _core.ConditionalTree
    n_features: int
    frozen: bool = False
    columns: ColumnScale = field(default_factory=ColumnScale, init=False, repr=False)

    @classmethod
    def empty(cls, settings: Any, n_features: int) -> Self:
        """Return a model that knows no label yet."""
        return cls(settings, LabelVocabulary(), fresh_core(None), n_features)

    @classmethod
    def on_tree(
        cls, settings: Any, n_features: int, vocabulary: LabelVocabulary, tree: LabelTree
    ) -> Self:
        """Return a model that has learned nothing yet on a binary tree over vocabulary ids."""
        return cls(settings, vocabulary, fresh_core(tree), n_features)

    @property
    def tree(self) -> LabelTree:
        """A copy of the tree as it is now; its labels are vocabulary ids."""
        return LabelTree(self.core.tree())

    def tree_and_masses(self) -> tuple[LabelTree, NDArray[np.float64]]:
        """Return the tree and each node's mass, as of one moment; of several trees the first."""
        tree, masses = self.core.tree_and_masses()
        return LabelTree(tree), masses

    def has_learned(self, ids: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which label ids have a leaf."""
        return _core.have_leaves(self.core, ids).astype(bool)

    def explain(
        self,
        rows: Rows,
        label: int | str,
        *,
        n_features: int = 10,
        feature_names: Sequence[str] | None = None,
    ) -> Explanation:
        """Return the path of a label for one row: each turn, and what supports it."""
        check_question(rows, n_features, feature_names, self.n_features)
        ids = self.vocabulary.ids([label])
        checks.one_of_labels("label", label, bool(self.has_learned(ids)[0]), self.core.n_labels)
        seen = self.columns.seen(rows)
        report = _core.report_path(self.core, *seen.arrays, int(ids[0]), self.settings.reading)
        own = self.columns.own(rows)
        steps = steps_of(report, n_features=n_features, feature_names=feature_names, own=own)
        p_label = float(self.label_probabilities(rows, [label])[0])
        return Explanation(self.vocabulary.labels[ids].tolist()[0], p_label, 0.0, steps)

    def describe(self) -> dict[str, Any]:
        """Return sizes and shape of the model."""
        return describe_tree(self.core) | {"can_learn": not self.frozen}

    def to_dot(self, names: Sequence[str], *, max_nodes: int) -> str:
        """Return the top of the tree as Graphviz DOT."""
        return self.tree.to_dot(names=names, max_nodes=max_nodes)

    def to_tensors(self, *, keep_state: bool) -> tuple[Tensors, Facts]:
        """Return arrays and facts that `from_tensors` makes an equal model of.

        With ``keep_state=False`` only what questions need, in float16.
        """
        frozen = self.frozen or not keep_state
        with self.columns.still():
            tensors, facts = self._core_tensors(frozen=frozen)
            of_columns, about_columns = self.columns.to_tensors()
        return tensors | of_columns | self.vocabulary.to_tensors(), facts | about_columns | {
            "settings": self.settings.to_dict(),
            "n_features": self.n_features,
            "frozen": frozen,
        }

    def _core_tensors(self, *, frozen: bool) -> tuple[Tensors, Facts]:
        """Return what `_core_of` makes an equal core of."""
        return tree_tensors(*self.core.snapshot(), frozen=frozen), {}

    @classmethod
    def _core_of(
        cls,
        tensors: Tensors,
        facts: dict[str, Any],  # noqa: ARG003 - for cores that consist of more
        n_labels: int,
        *,
        frozen: bool,
    ) -> Any:
        return tree_core(tensors, n_labels, frozen=frozen)

    @classmethod
    def _restored(cls, tensors: Tensors, facts: Facts, vocabulary: LabelVocabulary) -> Self:
        frozen = checks.flag("frozen", facts["frozen"])
        settings = cls.settings_class.from_dict(facts["settings"], n_labels=len(vocabulary))
        core = cls._core_of(tensors, facts, len(vocabulary), frozen=frozen)
        model = cls(settings, vocabulary, core, stored_width(facts), frozen)
        model.columns.restore(tensors, facts, model.n_features)
        return model


def tree_tensors(
    tree: _core.LabelTree,
    mass: NDArray[np.float64],
    lines: Sequence[NDArray[Any]],
    mixtures: NDArray[np.float32],
    *,
    frozen: bool,
) -> Tensors:
    """Return a snapshot of the core's tree as arrays, or only what answering needs of it."""
    tensors: Tensors = {
        "tree.parent": tree.parents(),
        "tree.label": tree.labels(),
        "tree.mass": mass,
        "mixtures": mixtures,
    }
    return tensors | CountedLines(*lines).to_tensors(frozen=frozen)


def tree_core(tensors: Tensors, n_labels: int, *, frozen: bool) -> _core.ConditionalTree:
    """Return the core's tree that `tree_tensors` wrote down."""
    tree = _core.LabelTree.restore(tensors["tree.parent"], tensors["tree.label"], n_labels)
    lines = CountedLines.from_tensors(tensors, frozen=frozen)
    return _core.ConditionalTree(
        tree, tensors["tree.mass"], mixtures=tensors["mixtures"], **vars(lines)
    )


def fresh_core(tree: LabelTree | None) -> _core.ConditionalTree:
    """Return a core without rows: on this tree, or on one that will grow."""
    empty = _core.ConditionalTree()
    if tree is None:
        return empty
    nothing = np.zeros(tree.n_nodes), *empty.lines(), empty.mixtures()
    return _core.ConditionalTree(tree.core, *nothing)


def describe_tree(
    core: _core.ConditionalTree | _core.RefinedTrees | _core.PecocTree,
) -> dict[str, Any]:
    """Return the sizes and shape of a tree of regressors, ready for JSON."""
    of_core, masses = core.tree_and_masses()
    tree = LabelTree(of_core)
    is_leaf = tree.label >= 0
    mass, depths = masses[is_leaf], tree.depths[is_leaf]
    facts: dict[str, Any] = {
        "weight_lines": core.n_lines,
        "table_bytes_in_memory": core.n_bytes,
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
