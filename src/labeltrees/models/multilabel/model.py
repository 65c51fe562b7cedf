"""The online label tree of rows with many labels, and its predictions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, get_args

import numpy as np

from labeltrees import _core, checks, store
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import DataError, TooLargeError
from labeltrees.models.explanation import MarginalExplanation, check_question, explanation_of
from labeltrees.models.model import (
    BYTES_PER_ENTRY,
    MAX_DENSE_BYTES,
    FittedModel,
    FormName,
    Predictions,
    TopLabels,
    TopRows,
    check_dense_size,
    check_k,
    check_top_rows,
    names_of,
    stored_width,
)
from labeltrees.models.multilabel.settings import MultiLabelSettings
from labeltrees.models.online.lines import CountedLines, reranker_pairs, reranker_tensors
from labeltrees.models.online.online_model import (
    IN_TURN,
    check_can_learn,
    learning_errors,
    update_one_by_one,
)
from labeltrees.models.online.scaling import ColumnScale
from labeltrees.progress import SILENT
from labeltrees.tree import LabelTree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray
    from scipy import sparse

    from labeltrees.data.labels import RaggedLabels
    from labeltrees.data.rows import Rows
    from labeltrees.progress import Progress
    from labeltrees.store import Facts, Tensors

MOST_CANDIDATES = 1000
_PAIR_NAMES = {"keys": "pair_keys", "weights": "pair_weights", "sums": "pair_sums"}
"""Names of the core for arrays whose names the lines of the tree have."""
TOLERANCE = 1e-3
"""How far the expected number of labels may be too small."""


@dataclass
class MultiLabelTreeModel(FittedModel):
    """A probabilistic label tree that learns row by row; rows have any number of labels.

    P(label given row) is the product of its nodes' probabilities, which rerankers refine for the
    most likely labels. It is the probability that the label is relevant, independent of the other
    labels. Rows must be checked (`rows`). Threads may query the model while one updates it.
    """

    takes_label_sets = True
    settings_class = MultiLabelSettings

    settings: MultiLabelSettings
    vocabulary: LabelVocabulary
    core: _core.MultilabelTree
    n_features: int
    frozen: bool = False
    form: FormName = "lists"
    """How the rows that it learned from named their labels."""
    columns: ColumnScale = field(default_factory=ColumnScale, init=False, repr=False)

    @classmethod
    def empty(cls, settings: MultiLabelSettings, n_features: int) -> Self:
        """Return a model that knows no label yet."""
        return cls(settings, LabelVocabulary(), settings.fresh_core(None), n_features)

    @classmethod
    def over(
        cls, settings: MultiLabelSettings, rows: Rows, labels: RaggedLabels, names: ArrayLike
    ) -> Self:
        """Return a model that has learned nothing yet, on a tree for rows that are all there.

        ``names`` are all labels that there may be, in the order of their ids.
        """
        vocabulary = LabelVocabulary(names)
        if settings.structure == "online":
            return cls(settings, vocabulary, settings.fresh_core(None), rows.n_features)
        ids, _ = labels.to_ids(vocabulary)
        every = ids.row_of
        seen = np.unique(ids.labels)
        tree = None
        if len(seen):  # labels without a row get their leaf when one comes
            local = np.searchsorted(seen, ids.labels).astype(np.int32)
            shape = _core.kmeans_tree(
                *rows.take(every).arrays, local, ids.arrays[2], len(seen),
                _core.Clustering(arity=7, seed=settings.random_state),
            )  # fmt: skip
            inner = shape.labels() < 0
            own = np.where(inner, -1, seen[np.where(inner, 0, shape.labels())])
            tree = _core.LabelTree.restore(shape.parents(), own.astype(np.int32), len(vocabulary))
        return cls(settings, vocabulary, settings.fresh_core(tree), rows.n_features)

    def update(
        self,
        rows: Rows,
        labels: RaggedLabels,
        weights: NDArray[np.float32],
        *,
        order: NDArray[np.int64] = IN_TURN,
        predict: bool = True,
        k: int = 0,
        pass_number: int = 0,
    ) -> Predictions:
        """Learn rows in turn (or in ``order``) and return what was predicted for each before.

        As `OnlineModel.update`, for rows with any number of labels. Each further pass over the same
        rows takes half the learning rate of the one before.
        """
        if k > self.settings.batch_k:
            return update_one_by_one(self, rows, labels, weights, order, k, pass_number)
        check_can_learn(self.frozen)
        self.check_width(rows)
        if labels.n_rows != rows.n_rows:
            raise DataError(f"y has {labels.n_rows} rows for the {rows.n_rows} rows of X.")
        self.columns.check(self.settings, rows)
        if len(weights) and not weights.all():  # such a row is as if it were not there
            learned = np.repeat(weights > 0, labels.counts)
            self.vocabulary.add(labels.labels[learned])
        else:
            self.vocabulary.add(labels.labels)
        ids, place_of = labels.to_ids(self.vocabulary)
        again = pass_number > 0
        with self.columns.still():
            mark = self.columns.mark()
            seen = self._read(rows, weights, again=again)
            progress = _core.Progress()
            try:
                with learning_errors(self.settings):
                    p, top, p_top = self.core.learn(
                        *seen.arrays, *ids.arrays, weights, order, progress, predict,
                        k, self.settings.learning(number=pass_number),
                    )  # fmt: skip
            except BaseException:
                self.columns.go_back(mark)
                done = np.arange(rows.n_rows)[: progress.n_rows]
                self._read(rows.take(done), weights[done] if len(weights) else weights, again=again)
                raise
        p_label = np.zeros(len(labels.labels) if predict else 0)
        if predict:
            p_label = np.where(place_of >= 0, np.append(p, 0.0)[place_of], 0.0)
        return Predictions(p_label, names_of(self.vocabulary, top), p_top, p_label == 0)

    def _read(self, rows: Rows, weights: NDArray[np.float32], *, again: bool) -> Rows:
        """Return rows as regressors see them; new ones are noted."""
        if again:
            return self.columns.seen(rows)
        return self.columns.take(self.settings, rows, weights)

    def learn_in_passes(
        self,
        rows: Rows,
        labels: RaggedLabels,
        weights: NDArray[np.float32],
        progress: Progress = SILENT,
    ) -> None:
        """Learn all rows ``n_passes`` times, each time in another order."""
        rows = self.columns.take_all(self.settings, rows, weights)
        for number, order in enumerate(self.settings.orders(rows)):
            self.update(rows, labels, weights, order=order, predict=False, pass_number=number)
            progress.advance(len(order))

    def label_probabilities(self, rows: Rows, labels: ArrayLike) -> NDArray[np.float64]:
        """Return P(label is relevant given row), one label per row; 0 for a label never seen."""
        ids = self.label_ids(rows, labels)
        return self.core.label_probabilities(
            *self._seen(rows), ids, self.settings.reading, self.settings.n_threads
        )

    def top_labels(self, rows: Rows, k: int) -> TopLabels:
        """Return the k most likely labels of every row in order, which are provably the top k."""
        k = check_k(k, self.core.n_labels)
        ids, p = self.core.top_labels(
            *self._seen(rows), k, self.settings.reading, self.settings.n_threads
        )
        return TopLabels(names_of(self.vocabulary, ids), p)

    def probabilities(self, rows: Rows, *, max_bytes: int = MAX_DENSE_BYTES) -> NDArray[np.float64]:
        """Return the probability of every label, (n_rows, n_labels); rows do not sum to 1."""
        n_labels = len(self.vocabulary)
        check_dense_size(rows.n_rows, n_labels, max_bytes)
        return self.core.all_probabilities(*self._seen(rows), n_labels, self.settings.reading)

    def labels_above(
        self, rows: Rows, threshold: float, *, max_bytes: int = MAX_DENSE_BYTES
    ) -> sparse.csr_array:
        """Return every label with probability >= threshold, (n_rows, n_labels), sparse."""
        threshold = checks.number("threshold", threshold, 0, 1, open_low=True)
        max_entries = max(0, int(max_bytes) // BYTES_PER_ENTRY)
        found = self.core.labels_above(
            *self._seen(rows), threshold, max_entries, self.settings.reading
        )
        if found is None:
            raise TooLargeError.of_threshold(rows.n_rows, max_entries, threshold, max_bytes)
        return self._sparse(found)

    def sample_sets(self, rows: Rows, seeds: NDArray[np.uint64]) -> sparse.csr_array:
        """Return a random set of labels for every row that has each label with its probability."""
        return self._sparse(
            self.core.sample_label_sets(*self._seen(rows), seeds, self.settings.reading)
        )

    def expected_counts(self, rows: Rows) -> NDArray[np.float64]:
        """Return how many labels every row is expected to have, at most 0.001 too small."""
        return self.core.expected_labels(*self._seen(rows), TOLERANCE, self.settings.reading)

    def top_rows(
        self, rows: Rows, labels: ArrayLike, k: int, *, max_bytes: int = MAX_DENSE_BYTES
    ) -> TopRows:
        """Return the k rows with the largest probabilities of each label in order."""
        ids = self.vocabulary.ids(labels)
        known = self.has_learned(ids)
        k = check_top_rows(labels, known, self.core.n_labels, k, rows.n_rows, max_bytes)
        return TopRows(*self.core.top_rows(*self._seen(rows), ids, k, self.settings.reading))

    def explain(
        self,
        rows: Rows,
        label: int | str,
        *,
        n_features: int = 10,
        feature_names: Sequence[str] | None = None,
    ) -> MarginalExplanation:
        """Return the path of a label for one row, and what its reranker adds to it."""
        check_question(rows, n_features, feature_names, self.n_features)
        ids = self.vocabulary.ids([label])
        checks.one_of_labels("label", label, bool(self.has_learned(ids)[0]), self.core.n_labels)
        report = self.core.report(*self._seen(rows), int(ids[0]), self.settings.reading)
        return explanation_of(
            self.vocabulary.labels[ids].tolist()[0], report,
            n_features=n_features, feature_names=feature_names, own=self.columns.own(rows),
        )  # fmt: skip

    def has_learned(self, ids: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which label ids have a leaf."""
        return self.core.have_leaves(ids).astype(bool)

    @property
    def n_tree_labels(self) -> int:
        """How many labels have a leaf and can be among the most likely ones."""
        return int(self.core.n_labels)

    @property
    def tree(self) -> LabelTree:
        """A copy of the tree as it is now; its labels are vocabulary ids."""
        return self.tree_and_masses()[0]

    def tree_and_masses(self) -> tuple[LabelTree, NDArray[np.float64]]:
        """Return the tree over vocabulary ids, and the rows that had a label below each node."""
        tree, masses = self.core.tree_and_masses()
        return LabelTree(tree), masses

    def describe(self) -> dict[str, Any]:
        """Return sizes and shape of the model."""
        tree, masses = self.tree_and_masses()
        is_leaf = tree.label >= 0
        depths = tree.depths[is_leaf]
        return {
            "weight_lines": self.core.n_lines,
            "table_bytes_in_memory": self.core.n_bytes,
            "nodes": tree.n_nodes,
            "leaves": tree.n_labels,
            "depth": tree.depth,
            "mean_leaf_depth": float(depths.mean()) if len(depths) else 0.0,
            "rows_learned": float(self.core.mass_of_rows),
            "labels_per_row": float(masses[is_leaf].sum() / max(self.core.mass_of_rows, 1e-300)),
            "candidates": self.core.n_candidates,
            "reranker_pairs": self.core.n_pairs,
            "reranker_bytes_in_memory": self.core.n_pair_bytes,
            "can_learn": not self.frozen,
        }

    def to_dot(self, names: Sequence[str], *, max_nodes: int) -> str:
        """Return the top of the tree as Graphviz DOT."""
        return self.tree.to_dot(names=names, max_nodes=max_nodes)

    def to_tensors(self, *, keep_state: bool) -> tuple[Tensors, Facts]:
        """Return arrays and facts that `from_tensors` makes an equal model of.

        With ``keep_state=False`` only what predictions need, in float16.
        """
        frozen = self.frozen or not keep_state
        with self.columns.still():
            parents, slots, labels, mass, lines, mixtures, pairs, of_rerankers = (
                self.core.snapshot()
            )
            of_columns, about_columns = self.columns.to_tensors()
        tensors: Tensors = {
            "tree.parent": parents,
            "tree.slot": slots,
            "tree.label": labels,
            "tree.mass": mass,
            "mixtures": mixtures,
        }
        tensors |= CountedLines(*lines).to_tensors(frozen=frozen)
        tensors |= reranker_tensors(pairs, of_rerankers, frozen=frozen)
        return tensors | of_columns | self.vocabulary.to_tensors(), about_columns | {
            "settings": self.settings.to_dict(),
            "n_features": self.n_features,
            "frozen": frozen,
            "form": self.form,
            "n_candidates": self.core.n_candidates,
            "least_share": self.core.least_share,
        }

    @classmethod
    def _restored(cls, tensors: Tensors, facts: Facts, vocabulary: LabelVocabulary) -> Self:
        frozen = checks.flag("frozen", facts["frozen"])
        settings = cls.settings_class.from_dict(facts["settings"], n_labels=len(vocabulary))
        lines = CountedLines.from_tensors(tensors, frozen=frozen)
        pairs = reranker_pairs(tensors, frozen=frozen)
        core = _core.MultilabelTree(
            parents=store.tensor(tensors, "tree.parent", np.int32),
            slots=store.tensor(tensors, "tree.slot", np.int32),
            labels=store.tensor(tensors, "tree.label", np.int32),
            n_labels=len(vocabulary),
            n_candidates=checks.integer("n_candidates", facts["n_candidates"], 0, MOST_CANDIDATES),
            least_share=checks.number("least_share", facts["least_share"], 0, 1),
            mass=store.tensor(tensors, "tree.mass", np.float64),
            mixtures=tensors["mixtures"],
            reranker_mixtures=tensors["experts.mixtures"],
            **vars(lines),
            **{_PAIR_NAMES.get(name, name): array for name, array in pairs.items()},
        )
        form = checks.choice("form", facts["form"], get_args(FormName))
        if settings.max_memory is not None:
            core.limit_bytes(settings.max_memory)
        model = cls(settings, vocabulary, core, stored_width(facts), frozen, form)
        model.columns.restore(tensors, facts, model.n_features)
        return model

    def _seen(self, rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
        self.check_width(rows)
        return self.columns.seen(rows).arrays

    def _sparse(self, found: tuple[NDArray[Any], ...]) -> sparse.csr_array:
        from scipy import sparse

        starts, ids, p = found
        return sparse.csr_array((p, ids, starts), shape=(len(starts) - 1, len(self.vocabulary)))
