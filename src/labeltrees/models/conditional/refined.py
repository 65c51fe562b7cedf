"""Conditional trees whose probabilities are refined by label-wise rerankers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from labeltrees import _core, checks
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.models.conditional.model import _ConditionalModel
from labeltrees.models.online.explanation import Explanation, refinement_of
from labeltrees.models.online.lines import reranker_pairs, reranker_tensors
from labeltrees.models.online.online_model import CoreBatch, learning_errors, single_labels
from labeltrees.models.online.tree_model import fresh_core, tree_core, tree_tensors
from labeltrees.progress import SILENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from labeltrees.data.labels import RaggedLabels
    from labeltrees.data.rows import Rows
    from labeltrees.models.conditional.settings import ConditionalSettings, Shortlist
    from labeltrees.progress import Progress
    from labeltrees.tree import LabelTree

MOST_CANDIDATES = 1000
MOST_TREES = 1000


@dataclass
class RefinedTreesModel(_ConditionalModel):
    """Trees that propose candidates, and a linear reranker for each label that refines them.

    P(label given row) is e^m / Z for candidates and p / Z for all others, p being the mean of the
    trees' probabilities, m its logarithm as the label's
    reranker corrects it, and Z what makes the sum 1. Every
    question finds the candidates of a row once: O(n_trees * n_candidates * depth * nnz). Rows must
    be checked (`rows`). Threads may query while one learns.
    """

    core: _core.RefinedTrees  # type: ignore[assignment]

    @classmethod
    def over(
        cls,
        settings: ConditionalSettings,
        n_features: int,
        vocabulary: LabelVocabulary,
        trees: Sequence[LabelTree | None],
        shortlist: Shortlist,
    ) -> Self:
        """Return a model that has learned nothing yet, on these trees; None is one that grows."""
        core = _core.RefinedTrees([fresh_core(tree) for tree in trees], *shortlist)
        return cls(settings, vocabulary, core, n_features)

    @classmethod
    def empty(cls, settings: ConditionalSettings, n_features: int) -> Self:
        """Return a model of one tree that knows no label yet."""
        return cls.over(settings, n_features, LabelVocabulary(), [None], settings.shortlist())

    def learn_in_passes(
        self,
        rows: Rows,
        labels: RaggedLabels,
        weights: NDArray[np.float32],
        progress: Progress = SILENT,
    ) -> None:
        """Train the trees on all rows, then the rerankers on the predictions of fresh trees."""
        rows = self.columns.take_all(self.settings, rows, weights)
        ids = self._ids_to_learn(single_labels(self, rows, labels), weights)
        first, *others = self.settings.orders(rows)
        batch = CoreBatch(rows, ids, weights, first)
        with learning_errors(self.settings):
            proposed = self.core.learn_trees(*batch.arrays, self.settings.tree_learning())
            self._cut_short(batch, again=False)
            progress.advance(rows.n_rows)
            for order in others:
                again = CoreBatch(rows, ids, weights, order)
                self.core.learn_trees(*again.arrays, self.settings.tree_learning(again=True))
                progress.advance(rows.n_rows)
            passes = self.settings.reranker_passes(rows)
            self.core.fit_rerankers(
                *rows.arrays, ids, weights, first, *proposed, self.settings.random_state,
                self.settings.learning(again=True),
                _core.RerankerPasses(
                    most=passes.most, patient=passes.is_patient, resume=passes.goes_on
                ),
            )  # fmt: skip
        progress.advance(rows.n_rows)

    def n_steps(self, rows: Rows) -> int:
        """Return by how many rows `learn_in_passes` advances; rerankers count once."""
        return int(rows.n_rows * (self.settings.passes(rows) + 1))

    def explain(
        self,
        rows: Rows,
        label: int | str,
        *,
        n_features: int = 10,
        feature_names: Sequence[str] | None = None,
    ) -> Explanation:
        """Return the path of a label in the first tree, and what its reranker adds to it."""
        reason = super().explain(rows, label, n_features=n_features, feature_names=feature_names)
        label_id = int(self.vocabulary.ids([label])[0])
        seen = self.columns.seen(rows)
        report = _core.report_refinement(self.core, *seen.arrays, label_id, self.settings.reading)
        refinement = refinement_of(
            report, self.core.n_trees,
            n_features=n_features, feature_names=feature_names, own=self.columns.own(rows),
        )  # fmt: skip
        return replace(reason, refinement=refinement)

    def describe(self) -> dict[str, Any]:
        """Return sizes and shape of the model; the shape is the first tree's."""
        return super().describe() | {
            "trees": self.core.n_trees,
            "candidates": self.core.n_candidates,
            "reranker_pairs": self.core.n_pairs,
            "reranker_bytes_in_memory": self.core.n_pair_bytes,
        }

    def _core_tensors(self, *, frozen: bool) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        trees, pairs, mixtures, scale = self.core.snapshot()
        tensors = reranker_tensors(pairs, mixtures, frozen=frozen)
        for number, tree in enumerate(trees):
            own = tree_tensors(*tree, frozen=frozen)
            tensors |= {f"{number}.{name}": array for name, array in own.items()}
        facts = {
            "n_trees": len(trees),
            "n_candidates": self.core.n_candidates,
            "least_share": self.core.least_share,
            "scale": float(scale),
        }
        return tensors, facts

    @classmethod
    def _core_of(
        cls,
        tensors: dict[str, NDArray[Any]],
        facts: dict[str, Any],
        n_labels: int,
        *,
        frozen: bool,
    ) -> _core.RefinedTrees:
        n_trees = checks.integer("n_trees", facts["n_trees"], 1, MOST_TREES)
        own: list[dict[str, NDArray[Any]]] = [{} for _ in range(n_trees)]
        for name, array in tensors.items():
            number, _, rest = name.partition(".")
            if number.isdecimal() and int(number) < n_trees:
                own[int(number)][rest] = array
        trees = [tree_core(each, n_labels, frozen=frozen) for each in own]
        return _core.RefinedTrees(
            trees,
            checks.integer("n_candidates", facts["n_candidates"], 1, MOST_CANDIDATES),
            checks.number("least_share", facts["least_share"], 0, 1),
            **reranker_pairs(tensors, frozen=frozen),
            mixtures=tensors["experts.mixtures"],
            scale=checks.number("scale", facts["scale"], 0, 3e38),
            n_labels=n_labels,
        )
