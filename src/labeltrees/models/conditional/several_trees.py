"""Several trees over the same labels: their probabilities are pooled, or rerankers refine them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from labeltrees import _core, checks
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ArgumentError, ModelFormatError
from labeltrees.models.conditional.model import ConditionalTreeModel, _ConditionalModel
from labeltrees.models.conditional.pecoc import PecocTreeModel
from labeltrees.models.conditional.settings import ConditionalSettings
from labeltrees.models.dense import DenseAnswers, pieces
from labeltrees.models.explanation import check_question
from labeltrees.models.model import (
    MAX_DENSE_BYTES,
    FittedModel,
    Predictions,
    TopLabels,
    check_dense_size,
    check_k,
    names_of,
)
from labeltrees.models.online.explanation import Explanation, PooledExplanation, refinement_of
from labeltrees.models.online.lines import reranker_pairs, reranker_tensors
from labeltrees.models.online.online_model import CoreBatch, learning_errors, single_labels
from labeltrees.models.online.tree_model import fresh_core, tree_core, tree_tensors
from labeltrees.progress import SILENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from labeltrees.data.labels import RaggedLabels
    from labeltrees.data.rows import Rows
    from labeltrees.models.conditional.settings import Shortlist
    from labeltrees.progress import Progress
    from labeltrees.store import Facts, Tensors
    from labeltrees.tree import LabelTree

TINY = 1e-300  # the probability of a label below the floors of many nodes may be 0 in float64
Member = ConditionalTreeModel | PecocTreeModel
MOST_CANDIDATES = 1000
MOST_TREES = 1000


def pooled(distributions: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the geometric mean of distributions (rows of matrices), scaled to sum to 1.

    Labels that the first gives 0 stay at 0; all of them, if it gives nothing else.

    >>> pooled([np.array([[0.9, 0.1]]), np.array([[0.5, 0.5]])]).round(2).tolist()
    [[0.75, 0.25]]
    """
    log_mean = np.mean([np.log(np.maximum(p, TINY)) for p in distributions], axis=0)
    log_mean -= log_mean.max(axis=1, keepdims=True, initial=np.log(TINY))
    p_label = np.where(distributions[0] == 0, 0.0, np.exp(log_mean))
    return p_label / np.maximum(p_label.sum(axis=1, keepdims=True), TINY)  # type: ignore[no-any-return]


@dataclass
class PooledTreesModel(DenseAnswers, FittedModel):
    """Trees that have learned the same rows, in other orders and usually of other structure.

    P(label given row) is the geometric mean of the trees' answers, scaled to sum to 1. The scale
    needs all labels: a question costs O(n_trees * n_labels) per row, learning
    O(n_trees * depth * nnz).
    """

    scores_all = True
    settings_class = ConditionalSettings

    members: list[Member]
    vocabulary: LabelVocabulary = field(init=False)
    """The labels, shared by all trees."""
    n_features: int = field(init=False)

    def __post_init__(self) -> None:
        self.vocabulary = self.members[0].vocabulary
        self.n_features = self.members[0].n_features
        for member in self.members[1:]:
            if member.vocabulary is self.vocabulary:
                continue
            if member.vocabulary.labels.tolist() != self.vocabulary.labels.tolist():
                raise ArgumentError("the trees of a pool must have the same labels.")
            member.vocabulary = self.vocabulary  # one for all, so that ids stay the same

    @property
    def settings(self) -> ConditionalSettings:
        """The settings of the first tree; the others differ in their seeds."""
        return self.members[0].settings

    @settings.setter
    def settings(self, settings: ConditionalSettings) -> None:
        for member in self.members:
            member.settings = replace(settings, random_state=member.settings.random_state)

    @property
    def frozen(self) -> bool:  # type: ignore[override]
        """Whether the trees were saved without what only learning needs."""
        return self.members[0].frozen

    @property
    def tree(self) -> LabelTree:
        """The first tree; its labels are vocabulary ids."""
        return self.members[0].tree

    def has_learned(self, ids: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which label ids every tree has learned."""
        return np.asarray(np.all([member.has_learned(ids) for member in self.members], axis=0))

    def tree_and_masses(self) -> tuple[LabelTree, NDArray[np.float64]]:
        """Return the first tree and each node's mass, as of one moment."""
        return self.members[0].tree_and_masses()

    def update(
        self,
        rows: Rows,
        labels: RaggedLabels,
        weights: NDArray[np.float32],
        *,
        predict: bool = True,
        k: int = 0,
        pass_number: int = 0,
    ) -> Predictions:
        """Let every tree learn rows in turn; ``predict=False`` is needed.

        Predictions would cost O(n_labels) per row, far more than learning.
        """
        if predict or k:
            raise ArgumentError(
                "a pool of trees cannot predict rows before it learns them. Use n_trees=1."
            )
        for member in self.members:
            member.update(rows, labels, weights, predict=False, pass_number=pass_number)
        return Predictions.none()

    def learn_in_passes(
        self,
        rows: Rows,
        labels: RaggedLabels,
        weights: NDArray[np.float32],
        progress: Progress = SILENT,
    ) -> None:
        """Let every tree learn all rows, each in its own orders."""
        for member in self.members:
            member.learn_in_passes(rows, labels, weights, progress)

    def n_steps(self, rows: Rows) -> int:
        """Return by how many rows `learn_in_passes` advances ``progress``, for all trees."""
        return sum(member.n_steps(rows) for member in self.members)

    def label_probabilities(self, rows: Rows, labels: ArrayLike) -> NDArray[np.float64]:
        """Return P(label given row), one label per row; 0 for a label never seen."""
        ids = self.label_ids(rows, labels)
        p = np.zeros(rows.n_rows)
        for some, p_all in self.dense_pieces(rows):
            p[some] = np.where(ids[some] < 0, 0.0, p_all[np.arange(len(p_all)), ids[some]])
        return p

    def top_labels(self, rows: Rows, k: int) -> TopLabels:
        """Return the k most likely labels of every row in order, which are provably the top k."""
        k = check_k(k, self.tree.n_labels)
        ids = np.empty((rows.n_rows, k), dtype=np.int32)
        p = np.empty((rows.n_rows, k))
        for some, p_all in self.dense_pieces(rows):
            ids[some] = np.argsort(-p_all, axis=1, kind="stable")[:, :k]
            p[some] = np.take_along_axis(p_all, ids[some].astype(np.int64), axis=1)
        return TopLabels(names_of(self.vocabulary, ids), p)

    def probabilities(self, rows: Rows, *, max_bytes: int = MAX_DENSE_BYTES) -> NDArray[np.float64]:
        """Return the whole distribution, (n_rows, n_labels), columns in vocabulary order."""
        n_labels = len(self.vocabulary)  # more may come meanwhile
        check_dense_size(rows.n_rows, n_labels, max_bytes)
        p = np.empty((rows.n_rows, n_labels))
        for some in pieces(rows.n_rows, n_labels):
            part = rows.take(np.arange(some.start, some.stop))
            p[some] = pooled([m.probabilities(part)[:, :n_labels] for m in self.members])
        return p

    def explain(
        self,
        rows: Rows,
        label: int | str,
        *,
        n_features: int = 10,
        feature_names: Sequence[str] | None = None,
    ) -> PooledExplanation:
        """Return the path of a label in every tree for one row, and what is pooled from them."""
        check_question(rows, n_features, feature_names, self.n_features)
        ids = self.vocabulary.ids([label])
        checks.one_of_labels("label", label, bool(self.has_learned(ids)[0]), self.tree.n_labels)
        return PooledExplanation(
            self.vocabulary.labels[ids].tolist()[0],
            float(self.label_probabilities(rows, [label])[0]),
            tuple(float(member.label_probabilities(rows, [label])[0]) for member in self.members),
            tuple(
                member.explain(rows, label, n_features=n_features, feature_names=feature_names)
                for member in self.members
                if isinstance(member, ConditionalTreeModel)
            ),
        )

    def describe(self) -> dict[str, Any]:
        """Return sizes and shape of the model; the shape is the first tree's."""
        each = [member.describe() for member in self.members]
        summed = ("weight_lines", "table_bytes_in_memory")
        return (
            each[0]
            | {name: sum(facts[name] for facts in each) for name in summed}
            | {"trees": len(each)}
        )

    def to_dot(self, names: Sequence[str], *, max_nodes: int) -> str:
        """Return the top of the first tree as Graphviz DOT."""
        return self.members[0].to_dot(names, max_nodes=max_nodes)

    def to_tensors(self, *, keep_state: bool) -> tuple[Tensors, Facts]:
        """Return arrays and settings that `from_tensors` makes an equal model of.

        With ``keep_state=False`` only what questions need, in float16.
        """
        tensors, facts = dict(self.vocabulary.to_tensors()), []
        shared = set(tensors)
        for number, member in enumerate(self.members):
            own, about = member.to_tensors(keep_state=keep_state)
            tensors |= {f"{number}.{name}": own[name] for name in own if name not in shared}
            facts.append({"model": type(member).__name__, "facts": about})
        return tensors, {"members": facts}

    @classmethod
    def _restored(cls, tensors: Tensors, facts: Facts, vocabulary: LabelVocabulary) -> Self:
        members = [
            _KINDS[about["model"]].from_tensors(_own(tensors, number), about["facts"], vocabulary)
            for number, about in enumerate(facts["members"])
        ]
        _check_alike(members)
        return cls(members)


def _check_alike(members: Sequence[Member]) -> None:
    """Raise `ModelFormatError` unless the trees differ in nothing but structure and seed.

    Saved while it learned, a pool has trees that know labels which others will know soon.
    """
    first, *others = members
    for member in others:
        settings = replace(member.settings, random_state=first.settings.random_state)
        if (
            settings != first.settings
            or member.frozen != first.frozen
            or member.n_features != first.n_features
        ):
            raise ModelFormatError("the trees of the pool have different types.")
    if first.settings.novelty:
        raise ModelFormatError("a pool of trees has no novelty.")


_KINDS: dict[str, type[Member]] = {
    kind.__name__: kind for kind in (ConditionalTreeModel, PecocTreeModel)
}


def _own(tensors: Tensors, number: int) -> Tensors:
    start = f"{number}."
    return {
        name.removeprefix(start): array for name, array in tensors.items() if name.startswith(start)
    }


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

    def _core_tensors(self, *, frozen: bool) -> tuple[Tensors, Facts]:
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
        tensors: Tensors,
        facts: dict[str, Any],
        n_labels: int,
        *,
        frozen: bool,
    ) -> _core.RefinedTrees:
        n_trees = checks.integer("n_trees", facts["n_trees"], 1, MOST_TREES)
        own: list[Tensors] = [{} for _ in range(n_trees)]
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
