"""The fitted filter tree: a tournament over a fixed pairing of labels, and its answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from labeltrees import _core, checks
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.models.dense import DenseAnswers
from labeltrees.models.explanation import check_question
from labeltrees.models.filter.settings import FilterSettings
from labeltrees.models.model import (
    MAX_DENSE_BYTES,
    FittedModel,
    Foreseen,
    TopLabels,
    check_dense_size,
    check_k,
    file_parts,
    names_of,
)
from labeltrees.models.online.counted_tree import (
    describe_tree,
    have_leaves,
    restored,
    state_tensors,
    untaught,
)
from labeltrees.models.online.explanation import Explanation, steps_of
from labeltrees.models.online.learning import (
    IN_TURN,
    LearnsInPasses,
    check_can_learn,
    ids_to_learn,
)
from labeltrees.models.online.settings import learning_errors
from labeltrees.tree import LabelTree

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from labeltrees.data.rows import Rows

__all__ = ["FilterTreeModel"]


@dataclass
class FilterTreeModel(DenseAnswers, LearnsInPasses, FittedModel):
    """A binary tree of regressors, learned and asked by the rules of a tournament.

    Winners cost O(depth) per row; probabilities need the sum over all labels, O(n_labels) per row.
    Rows must be checked (`rows`). Threads may ask while one learns.
    """

    settings_class = FilterSettings

    settings: FilterSettings
    vocabulary: LabelVocabulary
    core: _core.ConditionalTree
    n_features: int
    frozen: bool = False

    @classmethod
    def empty(cls, settings: FilterSettings, n_features: int) -> Self:
        """Return a model that knows no label yet."""
        return cls(settings, LabelVocabulary(), untaught(), n_features)

    @classmethod
    def over(cls, settings: FilterSettings, n_features: int, labels: ArrayLike) -> Self:
        """Return a model that has learned nothing yet, over labels known in advance."""
        vocabulary = LabelVocabulary(labels)
        n_labels = len(vocabulary)
        tree = (
            LabelTree.random(n_labels, seed=settings.random_state)
            if settings.structure == "random"
            else LabelTree.balanced(n_labels)
        )
        return cls(settings, vocabulary, untaught(tree), n_features)

    @property
    def tree(self) -> LabelTree:
        """A copy of the tournament as it is now; its labels are vocabulary ids."""
        return LabelTree(self.core.tree())

    def learn(
        self,
        rows: Rows,
        labels: NDArray[Any],
        weights: NDArray[np.float32],
        *,
        order: NDArray[np.int64] = IN_TURN,
        foresee: bool = True,
        foresee_top: bool = False,
        again: bool = False,
    ) -> Foreseen:
        """Learn from rows in turn (or in ``order``) and return what was foreseen of each.

        O(depth * nnz) per row; with ``foresee`` or ``foresee_top`` O(n_labels * nnz).
        """
        check_can_learn(self.frozen)
        self.check_width(rows)
        ids = ids_to_learn(self.vocabulary, labels, weights)
        with learning_errors(self.settings):
            p_label, is_new, top, p_top = _core.learn_tournament(
                self.core, *rows.arrays, ids, weights, order, foresee_top,
                self.settings.tree_learning(again=again), foresee,
            )  # fmt: skip
        return Foreseen(p_label, names_of(self.vocabulary, top), p_top, is_new.astype(bool))

    def winners(self, rows: Rows) -> NDArray[Any]:
        """Return the tournament's winner of every row. O(depth * nnz) per row."""
        ids = _core.tournament_winners(self.core, *rows.arrays, self.settings.reading)
        return names_of(self.vocabulary, ids)

    def label_probabilities(self, rows: Rows, labels: ArrayLike) -> NDArray[np.float64]:
        """Return P(label given row), one label per row; 0 for a label never seen."""
        ids = self.label_ids(rows, labels)
        return _core.tournament_probabilities(self.core, *rows.arrays, ids, self.settings.reading)

    def top_labels(self, rows: Rows, k: int) -> TopLabels:
        """Return the k likeliest labels of every row, likeliest first; the winner is the first."""
        k = check_k(k, self.core.n_labels)
        ids, p = _core.tournament_top(self.core, *rows.arrays, k, self.settings.reading)
        return TopLabels(names_of(self.vocabulary, ids), p)

    def probabilities(self, rows: Rows, *, max_bytes: int = MAX_DENSE_BYTES) -> NDArray[np.float64]:
        """Return the whole distribution, (n_rows, n_labels), columns in vocabulary order."""
        n_columns = len(self.vocabulary)
        check_dense_size(rows.n_rows, n_columns, max_bytes)
        return _core.tournament_all(self.core, *rows.arrays, n_columns, self.settings.reading)

    def has_learned(self, ids: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which label ids have a leaf."""
        return have_leaves(self.core, ids)

    def explain(
        self,
        rows: Rows,
        label: int | str,
        *,
        n_features: int = 10,
        feature_names: Sequence[str] | None = None,
    ) -> Explanation:
        """Return the matches on a label's way to the final: each turn, and what supports it."""
        check_question(rows, n_features, feature_names, self.n_features)
        ids = self.vocabulary.ids([label])
        known = bool(have_leaves(self.core, ids)[0])
        checks.one_of_labels("label", label, known, self.core.n_labels)
        report = _core.report_path(self.core, *rows.arrays, int(ids[0]), self.settings.reading)
        steps = steps_of(report, n_features=n_features, feature_names=feature_names)
        p_label = float(self.label_probabilities(rows, [label])[0])
        return Explanation(self.vocabulary.labels[ids].tolist()[0], p_label, 0.0, steps)

    def describe(self) -> dict[str, Any]:
        """Return sizes and shape of the model."""
        return describe_tree(self.tree, self.core) | {"can_learn": not self.frozen}

    def to_dot(self, names: Sequence[str], *, max_nodes: int) -> str:
        """Return the top of the tournament as Graphviz DOT."""
        return self.tree.to_dot(names=names, max_nodes=max_nodes)

    def to_tensors(self, *, keep_state: bool) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and facts that `from_tensors` makes an equal model of.

        With ``keep_state=False`` only what questions need, in float16.
        """
        frozen = self.frozen or not keep_state
        return state_tensors(self.core, frozen=frozen) | self.vocabulary.to_tensors(), {
            "settings": self.settings.to_dict(),
            "n_features": self.n_features,
            "frozen": frozen,
        }

    @classmethod
    def from_tensors(cls, tensors: dict[str, NDArray[Any]], facts: dict[str, Any]) -> Self:
        """Return the model that `to_tensors` wrote down; raise `ModelFormatError` if it did not."""
        with file_parts():
            vocabulary, frozen = LabelVocabulary.from_tensors(tensors), bool(facts["frozen"])
            core = restored(tensors, frozen=frozen, n_labels=len(vocabulary))
            settings = FilterSettings.from_dict(facts["settings"])
            return cls(settings, vocabulary, core, int(facts["n_features"]), frozen)
