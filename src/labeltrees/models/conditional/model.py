"""The fitted conditional probability tree, and its estimate of the mass of new labels."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from labeltrees import _core, checks
from labeltrees.errors import ModelFormatError, TooLargeError
from labeltrees.models.conditional.settings import ConditionalSettings
from labeltrees.models.model import (
    BYTES_PER_ENTRY,
    MAX_DENSE_BYTES,
    BeamLabels,
    Predictions,
    TopLabels,
    TopRows,
    check_dense_size,
    check_k,
    check_top_rows,
    names_of,
)
from labeltrees.models.online.tree_model import TreeModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray
    from scipy import sparse

    from labeltrees.data.rows import Rows
    from labeltrees.data.vocabulary import LabelVocabulary
    from labeltrees.models.online.explanation import Explanation
    from labeltrees.models.online.online_model import CoreBatch
    from labeltrees.store import Facts, Tensors


@dataclass
class LabelCounts:
    """How many examples each label had, and the mass they leave to labels not seen yet.

    The mass is N1 / N: the labels seen exactly once by the number of examples; 1 before the first.
    An example counts once, whatever its weight. Threads may ask while one observes.

    Examples
    --------
    >>> seen = LabelCounts()
    >>> seen.observe(np.array([0, 1, 0, 0]))  # the mass before each of these labels
    array([1. , 1. , 1. , 0.33333333])
    >>> seen.mass
    0.25
    """

    n_once: int = 0
    n_examples: int = 0
    counts: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """By label id; longer than needed, with zeros at the end; empty if it is not kept."""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()

    @classmethod
    def restore(cls, facts: dict[str, Any]) -> LabelCounts:
        """Return the sums that a file tells; its counts are added and checked by the caller."""
        n_examples = checks.integer("n_examples", facts["n_examples"], 0, 2**62)
        return cls(checks.integer("n_once", facts["n_once"], 0, n_examples), n_examples)

    @property
    def mass(self) -> float:
        """The probability that the next example has a label not seen yet."""
        with self._lock:
            return self.n_once / self.n_examples if self.n_examples else 1.0

    def observe(self, ids: NDArray[np.integer]) -> NDArray[np.float64]:
        """Count examples in turn; return the mass as it was before each. O(n log n) of the ids."""
        if not len(ids):
            return np.empty(0)
        with self._lock:
            return self._observe(ids)

    def _observe(self, ids: NDArray[np.integer]) -> NDArray[np.float64]:
        self._make_room(int(ids.max()) + 1)
        before = self.counts[ids] + _earlier_equals(ids)
        change = (before == 0).astype(np.int64) - (before == 1)
        n_once = self.n_once + np.concatenate([[0], np.cumsum(change)])
        n_examples = self.n_examples + np.arange(len(ids) + 1)
        np.add.at(self.counts, ids, 1)
        self.n_once, self.n_examples = int(n_once[-1]), int(n_examples[-1])
        mass = np.ones(len(ids))
        np.divide(n_once[:-1], n_examples[:-1], out=mass, where=n_examples[:-1] > 0)
        return mass

    def snapshot(self) -> LabelCounts:
        """Return a copy, of one moment and without room to spare."""
        with self._lock:
            n_labels = int(np.flatnonzero(self.counts)[-1]) + 1 if self.counts.any() else 0
            return LabelCounts(self.n_once, self.n_examples, self.counts[:n_labels].copy())

    def check(self, n_labels: int) -> None:
        """Raise `ModelFormatError` unless the numbers fit together and to that many labels."""
        counts = self.counts
        if (
            counts.dtype != np.int64
            or counts.ndim != 1
            or len(counts) > n_labels
            or bool((counts < 0).any())
            or bool((counts > self.n_examples).any())  # else their sum could go round
            or int(counts.sum()) != self.n_examples
            or int((counts == 1).sum()) != self.n_once
        ):
            raise ModelFormatError("the counts of labels do not fit together.")

    def _make_room(self, n_labels: int) -> None:
        if n_labels <= len(self.counts):
            return
        room = max(n_labels, 2 * len(self.counts))
        self.counts = np.concatenate(
            [self.counts, np.zeros(room - len(self.counts), dtype=np.int64)]
        )


def _earlier_equals(ids: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return how many earlier entries equal each entry."""
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    sizes = np.diff(np.concatenate([starts, [len(ids)]]))
    ranks = np.empty(len(ids), dtype=np.int64)
    ranks[order] = np.arange(len(ids)) - np.repeat(starts, sizes)
    return ranks


@dataclass
class _ConditionalModel(TreeModel):
    """The methods that a conditional probability tree and refined trees share.

    Learning costs O(depth * nnz) per row, and with ``k=1`` an exact search more. The prediction for
    a row's own label costs nothing. Rows must be checked (`rows`). Threads may query while one
    learns.
    """

    settings_class = ConditionalSettings
    fades = True

    settings: ConditionalSettings
    label_counts: LabelCounts | None = None
    """What the novelty mass is computed from; None without ``settings.novelty``."""

    def __post_init__(self) -> None:
        if self.settings.max_memory is not None:
            self.core.limit_bytes(self.settings.max_memory)
        if self.settings.novelty and self.label_counts is None:
            self.label_counts = LabelCounts()

    @property
    def novelty_mass(self) -> float:
        """The probability reserved for labels not seen yet; 0 without ``settings.novelty``."""
        return 0.0 if self.label_counts is None else self.label_counts.mass

    def _update_core(
        self,
        batch: CoreBatch,
        *,
        predict: bool,  # noqa: ARG002 - it comes for free
        top: bool,
        again: bool,
    ) -> Any:
        learning = self.settings.tree_learning(again=again)
        return self.core.learn(*batch.arrays, top, learning, True)

    def _noted(self, predicted: Predictions, batch: CoreBatch, *, again: bool) -> Predictions:
        """Return the predictions with the novelty mass before each row; count new rows."""
        if self.label_counts is None or again:
            return predicted
        return _with_novelty(predicted, self.label_counts, *batch.done())

    def _cut_short(self, batch: CoreBatch, *, again: bool) -> None:
        """Count the new rows that were learned."""
        if self.label_counts is not None and not again:
            ids, learned = batch.done()
            self.label_counts.observe(ids[learned])

    def label_probabilities(self, rows: Rows, labels: ArrayLike) -> NDArray[np.float64]:
        """Return P(label given row), one label per row.

        A label never seen has probability 0, or with novelty the whole mass of such labels.
        """
        ids = self.label_ids(rows, labels)
        novelty_mass = self.novelty_mass
        p = self.core.label_probabilities(
            *self.columns.seen(rows).arrays, ids, self.settings.reading, self.settings.n_threads
        )
        if self.label_counts is not None:
            known = self.has_learned(ids)
            p = np.where(known, p * (1.0 - novelty_mass), novelty_mass)
        return p

    def top_labels(self, rows: Rows, k: int) -> TopLabels:
        """Return the k most likely labels of every row in order, which are provably the top k."""
        k = check_k(k, self.core.n_labels)
        scale = 1.0 - self.novelty_mass
        ids, p = self.core.top_labels(
            *self.columns.seen(rows).arrays, k, self.settings.reading, self.settings.n_threads
        )
        return TopLabels(names_of(self.vocabulary, ids), p * scale)

    def beam_labels(self, rows: Rows, k: int, *, beam_width: int) -> BeamLabels:
        """Return the k most likely labels of a beam search, and which rows are provably exact.

        At each level only the ``beam_width`` most likely inner nodes are kept.
        O(beam_width * depth * nnz) per row.
        """
        k = check_k(k, self.core.n_labels)
        width = checks.integer("beam_width", beam_width, k)
        scale = 1.0 - self.novelty_mass
        ids, p, certified = _core.beam_labels(
            self.core, *self.columns.seen(rows).arrays, k, min(width, 2**31), self.settings.reading
        )
        return BeamLabels(names_of(self.vocabulary, ids), p * scale, certified.astype(bool))

    def labels_above(
        self, rows: Rows, threshold: float, *, max_bytes: int = MAX_DENSE_BYTES
    ) -> sparse.csr_array:
        """Return every label with probability >= threshold, (n_rows, n_labels), sparse."""
        from scipy import sparse

        threshold = checks.number("threshold", threshold, 0, 1, open_low=True)
        max_entries = max(0, int(max_bytes) // BYTES_PER_ENTRY)
        starts, ids, p = _core.labels_above(
            self.core, *self.columns.seen(rows).arrays, threshold, 1.0 - self.novelty_mass,
            max_entries, self.settings.reading,
        )  # fmt: skip
        if not len(starts):
            raise TooLargeError.of_threshold(rows.n_rows, max_entries, threshold, max_bytes)
        return sparse.csr_array((p, ids, starts), shape=(rows.n_rows, len(self.vocabulary)))

    def top_rows(
        self, rows: Rows, labels: ArrayLike, k: int, *, max_bytes: int = MAX_DENSE_BYTES
    ) -> TopRows:
        """Return the k rows with the largest probabilities of each label in order."""
        ids, place = np.unique(self.vocabulary.ids(labels), return_inverse=True)
        known = self.has_learned(ids)
        k = check_top_rows(labels, known[place], self.core.n_labels, k, rows.n_rows, max_bytes)
        scale = 1.0 - self.novelty_mass
        seen = self.columns.seen(rows)
        best, p = _core.top_rows(self.core, *seen.arrays, ids, k, self.settings.reading)
        return TopRows(best[place], p[place] * scale)

    def sample(self, rows: Rows, uniforms: NDArray[np.float64]) -> NDArray[Any]:
        """Return one label per row, drawn from Q(. given row) by one number in [0, 1) each.

        With novelty the draw is among the labels that were seen. O(depth * nnz) per row.
        """
        seen = self.columns.seen(rows)
        ids = _core.sample_labels(self.core, *seen.arrays, uniforms, self.settings.reading)
        return names_of(self.vocabulary, ids)

    def explain(
        self,
        rows: Rows,
        label: int | str,
        *,
        n_features: int = 10,
        feature_names: Sequence[str] | None = None,
    ) -> Explanation:
        """Return the path of a label for one row, and the mass kept for labels not seen yet."""
        reason = super().explain(rows, label, n_features=n_features, feature_names=feature_names)
        return replace(reason, novelty_mass=self.novelty_mass)

    def probabilities(self, rows: Rows, *, max_bytes: int = MAX_DENSE_BYTES) -> NDArray[np.float64]:
        """Return the whole distribution, (n_rows, n_labels), columns in vocabulary order."""
        n_columns = len(self.vocabulary)
        check_dense_size(rows.n_rows, n_columns, max_bytes)
        scale = 1.0 - self.novelty_mass
        seen = self.columns.seen(rows)
        p = self.core.all_probabilities(*seen.arrays, n_columns, self.settings.reading)
        p *= scale
        return p

    def describe(self) -> dict[str, Any]:
        """Return sizes and shape of the model."""
        facts = super().describe()
        if self.label_counts is not None:
            facts["novelty_mass"] = self.novelty_mass
        return facts

    def to_tensors(self, *, keep_state: bool) -> tuple[Tensors, Facts]:
        """Return arrays and facts that `from_tensors` makes an equal model of.

        With ``keep_state=False`` only what questions need, in float16.
        """
        # Before the rest, so that every label that is counted is in the file.
        counts = None if self.label_counts is None else self.label_counts.snapshot()
        tensors, facts = super().to_tensors(keep_state=keep_state)
        if counts is not None:
            facts["novelty"] = {"n_once": counts.n_once, "n_examples": counts.n_examples}
            if not facts["frozen"]:
                tensors["novelty.counts"] = counts.counts
        return tensors, facts

    @classmethod
    def _restored(cls, tensors: Tensors, facts: Facts, vocabulary: LabelVocabulary) -> Self:
        model = super()._restored(tensors, facts, vocabulary)
        if model.settings.novelty:
            model.label_counts = LabelCounts.restore(facts["novelty"])
            if not model.frozen:
                model.label_counts.counts = tensors["novelty.counts"].copy()
                model.label_counts.check(len(model.vocabulary))
        return model


@dataclass
class ConditionalTreeModel(_ConditionalModel):
    """A conditional probability tree: settings, vocabulary, structure and regressors."""

    def greedy_labels(self, rows: Rows) -> NDArray[Any]:
        """Return the label that each row reaches if it follows the more likely child at every node.

        If both children are equally likely, it goes left. O(depth * nnz) per row. The label need
        not be the most likely one, because its probability is the product along the path.
        """
        seen = self.columns.seen(rows)
        ids = _core.greedy_labels(self.core, *seen.arrays, self.settings.reading)
        return names_of(self.vocabulary, ids)


def _with_novelty(
    predicted: Predictions,
    counts: LabelCounts,
    ids: NDArray[np.int32],
    learned: NDArray[np.bool_],
) -> Predictions:
    """Return the predictions with the novelty mass before each row, and count the rows."""
    # A row of weight 0 is not counted: the mass before it is that before the next one.
    masses = np.append(counts.observe(ids[learned]), 0.0)
    masses[-1] = counts.mass
    before = masses[np.cumsum(learned) - learned]
    p_label = np.where(predicted.is_new, before, predicted.p_label * (1.0 - before))
    p_label[~learned] = 0.0  # there is no prediction for them
    p_top = predicted.p_top * (1.0 - before)[:, np.newaxis]
    return predicted._replace(p_label=p_label, p_top=p_top)
