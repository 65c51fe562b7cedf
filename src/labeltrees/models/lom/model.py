"""LOMtree: its parameters, and the fitted decision tree that chooses its own partitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np

from labeltrees import _core, checks, store
from labeltrees.checks import Choice, Integer, Number, setting
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ArgumentError, ModelFormatError, TooLargeError
from labeltrees.models.explanation import RouteExplanation, check_question, route_steps
from labeltrees.models.lom.diagnostics import Diagnosis, diagnose
from labeltrees.models.model import (
    BYTES_PER_ENTRY,
    MAX_DENSE_BYTES,
    TopRows,
    check_top_rows,
    names_of,
    stored_width,
)
from labeltrees.models.online.online_model import learning_errors, single_labels
from labeltrees.models.online.settings import OPTIMIZERS, OnlineSettings
from labeltrees.models.online.table_model import TableModel
from labeltrees.progress import SILENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray
    from scipy import sparse

    from labeltrees.data.labels import RaggedLabels
    from labeltrees.data.rows import Rows
    from labeltrees.models.online.online_model import CoreBatch
    from labeltrees.progress import Progress
    from labeltrees.store import Facts, Tensors

CountsName = Literal["both", "training"]
GrowthName = Literal["online", "heaviest"]
PartitionLossName = Literal["hinge", "logistic", "squared", "absolute"]
LOSSES = {name: getattr(_core.PartitionLoss, name) for name in get_args(PartitionLossName)}
MAX_ROUNDS = 10**9 - 1
"""So often, at most, older files say that each row was learned."""
_HISTOGRAM = 2  # the place of a node's histogram among its three ledgers


@dataclass(frozen=True, kw_only=True)
class LomSettings(OnlineSettings):
    """The checked parameters of `LOMTreeClassifier`, which says what they mean.

    Examples
    --------
    >>> LomSettings(swap_resistance=0.5)
    Traceback (most recent call last):
    ...
    labeltrees.errors.ArgumentError: swap_resistance must be in [1, 1e+09], got 0.5.
    """

    max_splits: int | None = setting(None, Integer(0, 2**30 - 1, optional=True))
    splits_per_label: float = setting(4.0, Number(0, 1e6))
    swap_resistance: float = setting(4.0, Number(1, 1e9))
    back_off: float = setting(1.0, Number(0, 1e6))
    counts: CountsName = setting("both", Choice(get_args(CountsName)))
    growth: GrowthName = setting("online", Choice(get_args(GrowthName)))
    loss: PartitionLossName = setting("hinge", Choice(get_args(PartitionLossName)))

    @property
    def reading(self) -> _core.Reading:
        """How the core reads rows."""
        return _core.Reading(
            loss=_core.Loss.logistic,  # of no consequence: only a margin's sign counts
            normalize=self.normalize,
            bias=self.bias,
            mixing=False,
            sharpness=1.0,
        )

    def learning(self, *, again: bool = False) -> _core.LomLearning:
        """Return how the core learns."""
        limited = self.max_splits is not None
        return _core.LomLearning(
            reading=self.reading,
            loss=LOSSES[self.loss],
            optimizer=OPTIMIZERS[self.optimizer],
            learning_rate=self.learning_rate,
            max_splits=float(self.max_splits or 0),
            splits_per_label=0.0 if limited else self.splits_per_label,
            swap_resistance=self.swap_resistance,
            training_path_only=self.counts == "training",
            again=again,
        )

    @classmethod
    def from_dict(cls, values: Any, *, n_labels: int | None = None) -> Self:
        """Return the settings that `to_dict` wrote down, or raise `ModelFormatError`."""
        if isinstance(values, dict):
            values = {"counts": "both", "growth": "online"} | values  # older files had no choice
            if values["counts"] == "taught":  # its name until 0.2.0
                values = values | {"counts": "training"}
        return super().from_dict(values, n_labels=n_labels)


@dataclass
class LomTreeModel(TableModel):
    """A decision tree with a linear regressor at every inner node and a histogram at every node.

    A row goes left or right by the sign of each regressor. Its answer is the leaf's histogram,
    backed off to those of the nodes above. Rows must be checked (`rows`). Threads may ask while
    one learns.
    """

    settings_class = LomSettings

    core: _core.LomTree

    def __post_init__(self) -> None:
        self.core.back_off = self.settings.back_off

    @classmethod
    def empty(cls, settings: LomSettings, n_features: int) -> LomTreeModel:
        """Return a model that knows no label yet."""
        return cls(settings, LabelVocabulary(), _core.LomTree(), n_features)

    @classmethod
    def over(cls, settings: LomSettings, n_features: int, labels: ArrayLike) -> LomTreeModel:
        """Return a model that has learned nothing yet, its labels in this order."""
        model = cls.empty(settings, n_features)
        model.vocabulary.add(labels)
        return model

    def learn_in_passes(
        self,
        rows: Rows,
        labels: RaggedLabels,
        weights: NDArray[np.float32],
        progress: Progress = SILENT,
    ) -> None:
        """Learn all rows ``n_passes`` times: row by row, or split by split (Theorem 1)."""
        if self.settings.growth == "online":
            return super().learn_in_passes(rows, labels, weights, progress)
        rows = self.columns.take_all(self.settings, rows, weights)
        ids = self._ids_to_learn(single_labels(self, rows, labels), weights)
        order, n_passes = self.settings.orders(rows)[0], self.settings.passes(rows)
        with learning_errors(self.settings):
            self.core.fit_heaviest(
                *self.columns.seen(rows).arrays, ids, weights, order, n_passes,
                self.settings.learning(),
            )  # fmt: skip
        progress.advance(self.n_steps(rows))
        return None

    def _update_core(self, batch: CoreBatch, *, predict: bool, top: bool, again: bool) -> Any:
        if self.settings.growth == "heaviest" and self.core.n_labels == 0:
            raise ArgumentError(
                "growth='heaviest' needs fit, because it looks for the heaviest leaf of all rows. "
                "Call fit first, then partial_fit."
            )
        return super()._update_core(batch, predict=predict, top=top, again=again)

    def leaves(self, rows: Rows) -> NDArray[np.int32]:
        """Return the node at which each row ends. O(depth) per row."""
        return self.core.leaves(*self.columns.seen(rows).arrays, self.settings.reading)

    def labels_above(
        self, rows: Rows, threshold: float, *, max_bytes: int = MAX_DENSE_BYTES
    ) -> sparse.csr_array:
        """Return every label with probability >= threshold, (n_rows, n_labels), sparse."""
        from scipy import sparse

        threshold = checks.number("threshold", threshold, 0, 1, open_low=True)
        max_entries = max(0, int(max_bytes) // BYTES_PER_ENTRY)
        starts, ids, p = self.core.labels_above(
            *self.columns.seen(rows).arrays, threshold, max_entries, self.settings.reading
        )
        if not len(starts):
            raise TooLargeError.of_threshold(rows.n_rows, max_entries, threshold, max_bytes)
        return sparse.csr_array((p, ids, starts), shape=(rows.n_rows, len(self.vocabulary)))

    def has_learned(self, ids: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which label ids belong to labels of rows with a weight above 0."""
        totals = np.append(self.core.masses(), 0.0)
        return np.asarray(totals[np.clip(ids, -1, len(totals) - 1)] > 0)

    def top_rows(
        self, rows: Rows, labels: ArrayLike, k: int, *, max_bytes: int = MAX_DENSE_BYTES
    ) -> TopRows:
        """Return the k rows with the largest probabilities of each label in order."""
        ids = self.vocabulary.ids(labels)
        k = check_top_rows(
            labels, self.has_learned(ids), self.core.n_labels, k, rows.n_rows, max_bytes
        )
        leaves, row_leaf = np.unique(self.leaves(rows), return_inverse=True)
        best, p_best = np.empty((len(ids), k), np.int64), np.empty((len(ids), k))
        for i, label in enumerate(ids):
            p_leaf = self.core.probabilities_at(leaves, np.full(len(leaves), label, np.int32))
            p = p_leaf[row_leaf]
            best[i] = np.argsort(-p, kind="stable")[:k]
            p_best[i] = p[best[i]]
        return TopRows(best, p_best)

    def sample(self, rows: Rows, uniforms: NDArray[np.float64]) -> NDArray[Any]:
        """Return one label per row, drawn from its distribution by one number in [0, 1) each."""
        seen = self.columns.seen(rows)
        ids = self.core.sample_labels(*seen.arrays, uniforms, self.settings.reading)
        return names_of(self.vocabulary, ids)

    def explain(
        self,
        rows: Rows,
        label: int | str,
        *,
        n_features: int = 10,
        feature_names: Sequence[str] | None = None,
    ) -> RouteExplanation:
        """Return the way of one row, and the label's probability at each node of it."""
        check_question(rows, n_features, feature_names, self.n_features)
        ids = self.vocabulary.ids([label])
        seen = self.columns.seen(rows)
        p_label = self.core.label_probabilities(*seen.arrays, ids, self.settings.reading)[0]
        checks.one_of_labels("label", label, bool(p_label > 0), self.core.n_labels)
        report = self.core.report_route(*seen.arrays, self.settings.reading)
        nodes = report[0]
        p_nodes = self.core.probabilities_at(nodes, np.full(len(nodes), ids[0], np.int32))
        weight = self.core.nodes()["weight"][nodes]
        steps = route_steps(
            report, p_nodes, weight,
            n_features=n_features, feature_names=feature_names, own=self.columns.own(rows),
        )  # fmt: skip
        named = self.vocabulary.labels[ids].tolist()[0]
        return RouteExplanation(named, float(p_nodes[-1]), int(nodes[-1]), float(weight[-1]), steps)

    def diagnose(self, rows: Rows | None = None, labels: ArrayLike | None = None) -> Diagnosis:
        """Return purity, balance and objective of every split and the entropy of the leaves.

        Of the rows given, or of the histograms gathered while learning.
        """
        if rows is not None and labels is not None:
            ids = self.label_ids(rows, labels)
            known = ids >= 0
            leaves = self.leaves(rows)[known]
            state = self.core.snapshot()  # after the leaves, so that it has them all
            return diagnose(state["nodes"], state["root"], leaves, ids[known], np.ones(len(leaves)))
        state = self.core.snapshot()
        owner, label, count = _histograms(state)
        at_leaf = state["nodes"]["left"][owner] < 0
        return diagnose(
            state["nodes"], state["root"], owner[at_leaf], label[at_leaf], count[at_leaf]
        )

    def describe(self) -> dict[str, Any]:
        """Return sizes, shape and quality of the splits."""
        found = self.diagnose()
        return {
            "can_learn": not self.frozen,
            "labels_seen": self.core.n_labels,
            "examples_learned": float(self.core.masses().sum()),
            "weight_lines": self.core.n_lines,
            "table_bytes_in_memory": self.core.n_bytes,
            "ledger_bytes_in_memory": self.core.ledger_bytes,
            "recyclings": self.core.n_recyclings,
        } | found.summary()

    def to_dot(self, names: Sequence[str], *, max_nodes: int) -> str:
        """Return the top of the tree as Graphviz DOT: a node's most likely label and its size."""
        state = self.core.snapshot()
        nodes, shown = state["nodes"], [state["root"]]
        for node in shown:  # grows meanwhile
            if nodes["left"][node] >= 0 and len(shown) + 2 <= max_nodes:
                shown += [int(nodes["left"][node]), int(nodes["right"][node])]
        lines = ["digraph tree {", "  node [shape=box];"]
        tops = _top_names(state, names)
        for node in shown:
            name = tops.get(node, "").replace("\\", "\\\\").replace('"', '\\"')
            lines.append(f'  {node} [label="{name}\\n{nodes["weight"][node]:.6g} examples"];')
        kept = set(shown)
        lines += [
            f"  {node} -> {int(nodes[side][node])};"
            for node in shown
            for side in ("left", "right")
            if int(nodes[side][node]) in kept
        ]
        return "\n".join([*lines, "}", ""])

    def to_tensors(self, *, keep_state: bool) -> tuple[Tensors, Facts]:
        """Return arrays and settings that `from_tensors` makes an equal model of.

        With ``keep_state=False`` the histograms and weights only; the answers stay the same.
        """
        frozen = self.frozen or not keep_state
        with self.columns.still():
            state = self.core.snapshot()
            of_columns, about_columns = self.columns.to_tensors()
        nodes = state["nodes"]
        keys, weights, sums = state["keys"], state["weights"], state["sums"]
        entry_keys, counts, means = state["entry_keys"], state["counts"], state["means"]
        tensors = self.vocabulary.to_tensors() | of_columns | {"mass": state["totals"]}
        if frozen:
            used = (weights != 0).any(axis=1)
            keys, weights = keys[used], weights[used]
            histograms = nodes["ledger"].astype(np.uint64) + np.uint64(_HISTOGRAM)
            kept = np.isin(entry_keys >> np.uint64(32), histograms)
            entry_keys, counts = entry_keys[kept], counts[kept]
        else:
            tensors |= {"table.sums": sums, "ledgers.means": means}
        tensors |= {f"nodes.{name}": array for name, array in nodes.items()}
        tensors |= {
            "table.keys": keys,
            "table.weights": weights,
            "table.used_slots": state["used_slots"],
            "ledgers.open": state["open_ledgers"],
            "ledgers.keys": entry_keys,
            "ledgers.counts": counts,
            "back_off.asked": state["reached"],
            "back_off.drawn": state["drawn"],
        }
        return tensors, about_columns | {
            "settings": self.settings.to_dict(),
            "n_features": self.n_features,
            "frozen": frozen,
            "root": state["root"],
            "weight_learned_again": state["again"],
        }

    @classmethod
    def _restored(cls, tensors: Tensors, facts: Facts, vocabulary: LabelVocabulary) -> Self:
        settings = LomSettings.from_dict(facts["settings"])
        frozen = checks.flag("frozen", facts["frozen"])
        mass = store.tensor(tensors, "mass", np.float64)
        if len(mass) > len(vocabulary):
            raise ModelFormatError("a count has a label that is not in the vocabulary.")
        weights, counts = tensors["table.weights"], tensors["ledgers.counts"]
        core = _core.LomTree(
            {name.removeprefix("nodes."): array
             for name, array in tensors.items() if name.startswith("nodes.")},
            checks.integer("root", facts["root"], 0, 2**31 - 1),
            tensors["table.used_slots"],
            mass,
            tensors["ledgers.open"],
            tensors["ledgers.keys"],
            counts,
            np.zeros_like(counts) if frozen else tensors["ledgers.means"],
            tensors["table.keys"],
            weights,
            np.zeros_like(weights) if frozen else tensors["table.sums"],
            tensors["back_off.asked"],
            tensors["back_off.drawn"],
            _learned_again(facts, mass),
        )  # fmt: skip
        model = cls(settings, vocabulary, core, stored_width(facts), frozen)
        model.columns.restore(tensors, facts, model.n_features)
        return model


def _learned_again(facts: dict[str, Any], mass: NDArray[np.float64]) -> float:
    """Return how much of the labels' weight was learned in later passes."""
    if "n_rounds" not in facts:
        return checks.number("weight_learned_again", facts["weight_learned_again"], 0)
    rounds = checks.integer("n_rounds", facts["n_rounds"], 1, MAX_ROUNDS)  # of older files
    return float(mass.sum() * (1 - 1 / rounds))


def _histograms(
    state: dict[str, Any],
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return node, label id and count of every entry of the nodes' histograms."""
    keys, counts = state["entry_keys"], state["counts"]
    first = state["nodes"]["ledger"].astype(np.int64)
    owner = np.full(int(first.max()) + 3, -1)
    owner[first + _HISTOGRAM] = np.arange(len(first))
    node = owner[(keys >> np.uint64(32)).astype(np.int64)]
    kept = node >= 0
    return node[kept], keys.astype(np.uint32)[kept], counts[kept]


def _top_names(state: dict[str, Any], names: Sequence[str]) -> dict[int, str]:
    """Return the most frequent label in every node's histogram."""
    node, label, count = _histograms(state)
    order = np.lexsort((label, -count, node))
    _, first = np.unique(node[order], return_index=True)
    chosen = order[first]
    return {int(node[i]): names[int(label[i])] for i in chosen}
