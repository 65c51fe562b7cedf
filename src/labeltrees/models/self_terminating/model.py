"""The fitted self-terminating tree and its predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from labeltrees import _core, checks
from labeltrees.errors import ModelFormatError, TooLargeError
from labeltrees.models.dense import DenseAnswers
from labeltrees.models.model import (
    MAX_DENSE_BYTES,
    FittedModel,
    TopLabels,
    check_dense_size,
    check_k,
    stored_width,
)
from labeltrees.models.self_terminating.settings import SelfTerminatingSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.data.vocabulary import LabelVocabulary
    from labeltrees.store import Facts, Tensors

_TENSORS = (
    "root",
    "left",
    "feature",
    "threshold",
    "missing_left",
    "gain",
    "weight",
    "factor",
    "starts",
    "labels",
    "p",
)  # fmt: skip


@dataclass
class SelfTerminatingTreeModel(DenseAnswers, FittedModel):
    """A decision tree with a label distribution at every node.

    Rows must be checked (`rows`); NaN is a missing value.
    """

    missing: ClassVar[bool] = True
    settings_class = SelfTerminatingSettings

    settings: SelfTerminatingSettings
    vocabulary: LabelVocabulary
    core: _core.SelfTerminatingTree
    n_features: int
    penalties: list[float]
    """Penalties of nodes at depth 0, 1, ...; the last one is for all deeper nodes."""
    weight_power: float
    """Power with which penalties grow with a branch's weight."""
    min_gain: float
    """Minimum gain of a split by the criterion."""

    def leaves(self, rows: Rows) -> NDArray[np.int32]:
        """Return the node at which each row ends. O(depth) per row."""
        return self.core.leaves(*rows.arrays)

    def depths(self) -> NDArray[np.int32]:
        """Return the depth of every node."""
        depths = [0]
        for parent in self.core.parent()[1:].tolist():  # a parent's id is smaller than its child's
            depths.append(depths[parent] + 1)
        return np.array(depths, dtype=np.int32)

    def label_probabilities(self, rows: Rows, labels: ArrayLike) -> NDArray[np.float64]:
        """Return P(label given row), one label per row; 0 for a label never seen."""
        ids = self.label_ids(rows, labels)
        return self.core.probabilities_at(self.leaves(rows), ids)

    def top_labels(self, rows: Rows, k: int) -> TopLabels:
        """Return the k most likely labels of every row, most likely first."""
        k = check_k(k, self.core.n_labels)
        leaves, row_leaf = np.unique(self.leaves(rows), return_inverse=True)
        ids, p = self.core.top_labels_at(leaves, k)
        return TopLabels(self.vocabulary.labels[ids[row_leaf]], p[row_leaf])

    def probabilities(self, rows: Rows, *, max_bytes: int = MAX_DENSE_BYTES) -> NDArray[np.float64]:
        """Return the whole distribution, (n_rows, n_labels), columns in vocabulary order."""
        check_dense_size(rows.n_rows, len(self.vocabulary), max_bytes)
        leaves, row_leaf = np.unique(self.leaves(rows), return_inverse=True)
        return np.asarray(self.core.distributions_at(leaves)[row_leaf])

    def describe(self) -> dict[str, Any]:
        """Return sizes and shape of the model."""
        is_leaf = self.core.left() < 0
        depths, weight = self.depths()[is_leaf], self.core.weight()[is_leaf]
        return {
            "nodes": self.core.n_nodes,
            "leaves": int(is_leaf.sum()),
            "terminated_leaves": int((is_leaf & self._is_terminated()).sum()),
            "depth": int(depths.max()),
            "mean_leaf_depth": float(depths.mean()),
            "mean_depth_of_an_example": _average(depths, weight),
            "examples_learned": float(weight.sum()),
            "features_used": len(set(self.core.feature()[~is_leaf].tolist())),
            "probabilities_stored": len(self.core.p()),
            "criterion": self.settings.criterion,
            "penalty": self.penalties[0] if len(set(self.penalties)) == 1 else self.penalties,
            "weight_power": self.weight_power,
            "min_gain": self.min_gain,
        }

    def _is_terminated(self) -> NDArray[np.bool_]:
        """Return which nodes have their parent's distribution."""
        terminated: NDArray[np.bool_]
        terminated = (self.core.factor() == 1) & (np.diff(self.core.starts()) == 0)
        terminated[0] = False
        return terminated

    def _is_continued(self) -> NDArray[np.bool_]:
        """Return which nodes continue a categorical split, whose first node has its gain."""
        feature = self.core.feature()
        same = feature == feature[np.maximum(self.core.parent(), 0)]
        continued: NDArray[np.bool_] = same & np.isin(feature, self.settings.categories)
        continued[0] = False
        return continued

    def importances(self) -> NDArray[np.float64]:
        """Return each feature's share of the decrease of the penalised risk."""
        if 8 * self.n_features > MAX_DENSE_BYTES:
            raise TooLargeError(
                f"importances of {self.n_features} features exceed {MAX_DENSE_BYTES:,} bytes."
            )
        inner = (self.core.left() >= 0) & ~self._is_continued()
        sums = np.bincount(
            self.core.feature()[inner], weights=self.core.gain()[inner], minlength=self.n_features
        )
        total = sums.sum()
        return np.asarray(sums / total if total > 0 else sums)

    def lines(
        self, names: Sequence[str], features: Sequence[str] | None = None, *, top: int = 3
    ) -> Iterator[tuple[int, str, str]]:
        """Yield every node, parents first, as (node, condition or "", most likely labels)."""
        left, feature, threshold = self.core.left(), self.core.feature(), self.core.threshold()
        nodes = np.arange(self.core.n_nodes, dtype=np.int32)
        ids, p = self.core.top_labels_at(nodes, min(top, self.core.n_labels))
        for node in nodes.tolist():
            name = "" if left[node] < 0 else _name(features, int(feature[node]))
            question = name and (
                f"{name} is missing" if np.isneginf(threshold[node])
                else f"{name} <= {threshold[node]:.6g}"
            )  # fmt: skip
            pairs = zip(ids[node].tolist(), p[node].tolist(), strict=True)
            yield node, question, ", ".join(f"{names[label]} {value:.3f}" for label, value in pairs)

    def to_dot(
        self, names: Sequence[str], *, max_nodes: int, features: Sequence[str] | None = None
    ) -> str:
        """Return the top of the tree as Graphviz DOT; yes goes left."""
        left, shown = self.core.left(), self._top_nodes(max_nodes)
        lines = ["digraph tree {", "  node [shape=box];"]
        for node, question, labels in self.lines(names, features):
            if node not in shown:
                continue
            text = "\\n".join(_escaped(part) for part in (question, labels) if part)
            lines.append(f'  {node} [label="{text}"];')
            for child, answer in ((int(left[node]), "yes"), (int(left[node]) + 1, "no")):
                if question and child in shown:
                    lines.append(f'  {node} -> {child} [label="{answer}"];')
        return "\n".join([*lines, "}", ""])

    def _top_nodes(self, max_nodes: int) -> set[int]:
        """Return at most max_nodes nodes, breadth first, siblings together."""
        left, queue = self.core.left(), [0]
        for node in queue:  # grows meanwhile
            if left[node] >= 0 and len(queue) + 2 <= max_nodes:
                queue += [int(left[node]), int(left[node]) + 1]
        return set(queue)

    def to_tensors(
        self,
        *,
        keep_state: bool,  # noqa: ARG002 - a grown tree has no state of learning
    ) -> tuple[Tensors, Facts]:
        """Return arrays and facts from which `from_tensors` restores an equal model."""
        tensors = {f"tree.{name}": getattr(self.core, name)() for name in _TENSORS}
        facts = {
            "settings": self.settings.to_dict(),
            "n_features": self.n_features,
            "penalties": self.penalties,
            "weight_power": self.weight_power,
            "min_gain": self.min_gain,
        }
        return tensors | self.vocabulary.to_tensors(), facts

    @classmethod
    def _restored(cls, tensors: Tensors, facts: Facts, vocabulary: LabelVocabulary) -> Self:
        settings = SelfTerminatingSettings.from_dict(facts["settings"])
        n_features = stored_width(facts)
        penalties = [_penalty(penalty) for penalty in facts["penalties"]]
        power = checks.number("weight_power", facts["weight_power"], 0, 1, open_high=True)
        gain = checks.number("min_gain", facts["min_gain"], 0)
        arrays: list[Any] = [tensors[f"tree.{name}"] for name in _TENSORS]
        core = _core.SelfTerminatingTree(*[*arrays, n_features])
        if core.n_labels != len(vocabulary) or not penalties:
            raise ModelFormatError("the tree does not fit its labels or penalties.")
        return cls(settings, vocabulary, core, n_features, penalties, power, gain)


def _penalty(value: Any) -> float:
    """Return the penalty of a depth; with inf no branch moves."""
    return math.inf if value == math.inf else checks.number("penalties", value, 0)


def _average(depths: NDArray[np.int32], weight: NDArray[np.float64]) -> float:
    return float(np.average(depths, weights=weight)) if weight.sum() > 0 else float(depths.mean())


def _name(names: Sequence[str] | None, feature: int) -> str:
    return f"feature {feature}" if names is None else str(names[feature])


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
