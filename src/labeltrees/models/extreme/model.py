"""The fitted extreme regressor and its predictions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, get_args

import numpy as np

from labeltrees import _core, checks, store
from labeltrees.errors import ModelFormatError, TooLargeError
from labeltrees.models.explanation import RelevanceExplanation, check_question, relevance_steps
from labeltrees.models.extreme.calibration import Calibration, ProbabilityMap
from labeltrees.models.extreme.settings import LOSSES, ExtremeSettings
from labeltrees.models.extreme.tail import Found, TailClassifier, rerank_labels, rerank_rows
from labeltrees.models.model import (
    BYTES_PER_ENTRY,
    MAX_DENSE_BYTES,
    FittedModel,
    FormName,
    ScoredLabels,
    ScoredRows,
    SearchName,
    TopLabels,
    TopRows,
    check_dense_size,
    check_k,
    check_top_rows,
    names_of,
    stored_width,
)
from labeltrees.tree import LabelTree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray
    from scipy import sparse

    from labeltrees.data.rows import Rows
    from labeltrees.data.vocabulary import LabelVocabulary
    from labeltrees.store import Facts, Tensors

__all__ = [
    "MASS_WIDTH",
    "ExtremeModel",
    "FormName",
    "RelevanceTreeArrays",
    "WarmStart",
    "forest_of",
]

_ARRAYS = (
    "features", "feature_rows", "row_parents", "row_starts", "columns", "values", "biases", "reach",
)  # fmt: skip
_SEARCHES = {
    "auto": _core.RelevanceSearch.beam,
    "exact": _core.RelevanceSearch.exact,
    "beam": _core.RelevanceSearch.beam,
}
MASS_WIDTH = 10
"""Largest width of the beam that a row's mass is measured with."""
_MOST_SHARE = 1e9  # largest label share; a label's largest relevance may exceed all learned ones
_NO_IDS = np.empty(0, dtype=np.int32)


@dataclass(frozen=True)
class RelevanceTreeArrays:
    """One label tree and the weights of its regressors, as the core's ``sibling_weights.hpp``."""

    tree: _core.LabelTree
    arrays: tuple[NDArray[Any], ...]

    @classmethod
    def of(cls, tree: _core.LabelTree, trained: _core.TrainedRelevance) -> RelevanceTreeArrays:
        """Return the trained tree, taking its arrays."""
        return cls(tree, tuple(getattr(trained, name)() for name in _ARRAYS))

    @property
    def n_weights(self) -> int:
        """Number of weights that the regressors keep, without their biases."""
        return len(self.arrays[_ARRAYS.index("values")])

    @property
    def reach(self) -> NDArray[np.float32]:
        """Share of the rows that have a label below each node."""
        return self.arrays[_ARRAYS.index("reach")]


@dataclass(frozen=True)
class WarmStart:
    """State for training more trees: a fingerprint of the data, and margins of held-out rows."""

    fingerprint: int
    margins: tuple[_core.HeldMargins, ...]


@dataclass
class ExtremeModel(FittedModel):
    """Label trees whose regressors give each label a separate probability and relevance.

    Rows must be checked (`rows`). The expected relevance is the trees' prediction, calibrated and
    multiplied by ``scale``, the largest relevance of the training rows. It ranks labels. The
    probability is for any relevance above 0. If relevance is not graded, both give the same
    ranking.
    """

    takes_label_sets = True
    settings_class = ExtremeSettings

    settings: ExtremeSettings
    vocabulary: LabelVocabulary
    trees: list[RelevanceTreeArrays]
    n_features: int
    scale: float
    calibration: Calibration = field(default_factory=Calibration)
    probability_map: ProbabilityMap = field(default_factory=ProbabilityMap)
    tail: TailClassifier | None = None
    warm_start: WarmStart | None = None
    """State for a warm start, kept in memory and neither saved nor copied."""
    form: FormName = "lists"
    """How rows named their labels, and how an estimator returns labels."""

    def __post_init__(self) -> None:
        self.core = forest_of(self.trees, self.settings, len(self.vocabulary))
        self.n_tree_labels = self.trees[0].tree.n_labels

    @property
    def mass_width(self) -> int:
        """The width of the beam that a row's mass is measured with."""
        return min(self.settings.width, MASS_WIDTH)

    @property
    def n_jobs(self) -> int:
        """Number of threads for predictions."""
        return self.settings.n_threads

    def top_labels(
        self, rows: Rows, k: int, *, search: SearchName = "auto", beam_width: int | None = None
    ) -> TopLabels:
        """Return the k best labels of every row and their probabilities, best first.

        ``search="auto"`` is the beam. Like `top_scores`, it orders labels by expected relevance, or
        by the tail classifier's score.
        """
        ids, p, _ = self._top(rows, k, search, beam_width)
        return TopLabels(names_of(self.vocabulary, ids), p)

    def top_scores(
        self, rows: Rows, k: int, *, search: SearchName = "auto", beam_width: int | None = None
    ) -> ScoredLabels:
        """Return the k best labels of every row and the scores that rank them, best first."""
        ids, _, scores = self._top(rows, k, search, beam_width)
        return ScoredLabels(names_of(self.vocabulary, ids), scores)

    def _top(self, rows: Rows, k: int, search: SearchName, beam_width: int | None) -> Found:
        """Return ids, their probabilities and the scores that rank them."""
        n_queried = check_k(k, len(self.vocabulary))
        k = min(n_queried, self.n_tree_labels)
        search = checks.choice("search", search, get_args(SearchName))
        width = self.settings.width if beam_width is None else beam_width
        width = checks.integer("beam_width", width, 1)

        def query(queried: NDArray[np.int64], n: int) -> Found:
            some = rows if len(queried) == rows.n_rows else rows.take(queried)
            mass_width = self.mass_width if self._needs_mass else 0
            ids, p, mass = self.core.top_labels(
                *some.arrays, n, _SEARCHES[search], width, _NO_IDS, mass_width, self.n_jobs
            )
            return Found(ids, self.probability_map.apply(p, ids, mass), self._relevance(p, mass))

        if self.tail is None:
            found = query(np.arange(rows.n_rows), k)
        else:
            found = rerank_labels(
                self.tail, rows, query, k, n_labels=self.n_tree_labels, exact=search == "exact"
            )
        if n_queried > k:
            return self._with_unlearned(n_queried - k, found)
        return found

    def _with_unlearned(self, n: int, found: Found) -> Found:
        """Append the first n labels that no row had, each with 0."""
        in_trees = self.trees[0].tree.labels()
        others = np.setdiff1d(np.arange(len(self.vocabulary), dtype=np.int32), in_trees)[:n]
        ids = np.hstack([found.ids, np.tile(others, (len(found.ids), 1))])
        return Found(ids, *(np.pad(each, ((0, 0), (0, n))) for each in found[1:]))

    def has_learned(self, ids: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which label ids have a leaf: labels that no row had are in no tree."""
        return np.isin(ids, self.trees[0].tree.labels())

    def label_probabilities(self, rows: Rows, labels: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of one label per row; 0 for a label never seen."""
        ids, p = self._of_labels(rows, labels)
        return self.probability_map.apply(p, ids, self._mass(rows))

    def _of_candidates(
        self, rows: Rows, labels: NDArray[Any], counts: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        mass = self._mass(rows)  # computed once for each row
        row = np.repeat(np.arange(rows.n_rows), counts)
        ids, p = self._of_labels(rows.take(row), labels)
        return self.probability_map.apply(p, ids, mass[row] if len(mass) else mass)

    def label_relevances(self, rows: Rows, labels: ArrayLike) -> NDArray[np.float64]:
        """Return the expected relevance of one label per row; 0 for a label never seen."""
        _, p = self._of_labels(rows, labels)
        return self._relevance(p, self._mass(rows))

    def _of_labels(
        self, rows: Rows, labels: ArrayLike
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        ids = self.label_ids(rows, labels)
        return ids, self.core.of_labels(*rows.arrays, ids, _NO_IDS, self.n_jobs)

    def probabilities(self, rows: Rows, *, max_bytes: int = MAX_DENSE_BYTES) -> NDArray[np.float64]:
        """Return every label's probability, (n_rows, n_labels); rows do not sum to one."""
        p = self._all_labels(rows, max_bytes)
        ids = np.arange(p.shape[1], dtype=np.int32)
        return self.probability_map.apply(p, ids, self._mass(rows))

    def relevances(self, rows: Rows, *, max_bytes: int = MAX_DENSE_BYTES) -> NDArray[np.float64]:
        """Return every label's expected relevance, (n_rows, n_labels)."""
        return self._relevance(self._all_labels(rows, max_bytes), self._mass(rows))

    def _all_labels(self, rows: Rows, max_bytes: int) -> NDArray[np.float64]:
        check_dense_size(rows.n_rows, len(self.vocabulary), max_bytes)
        return self.core.all_labels(*rows.arrays, self.n_jobs)

    def labels_above(
        self, rows: Rows, threshold: float, *, max_bytes: int = MAX_DENSE_BYTES
    ) -> sparse.csr_array:
        """Return every label whose probability is at least threshold, as CSR."""
        from scipy import sparse

        threshold = checks.number("threshold", threshold, 0, 1, open_low=True)
        mass = self._mass(rows)
        raw = self.probability_map.least(threshold, mass if len(mass) else np.empty(rows.n_rows))
        max_entries = max_bytes // BYTES_PER_ENTRY
        starts, labels, p = self.core.above(*rows.arrays, raw, max_entries)
        if not len(starts):
            raise TooLargeError.of_threshold(rows.n_rows, max_entries, threshold, max_bytes)
        shape = (rows.n_rows, len(self.vocabulary))
        if len(mass):
            mass = np.repeat(mass, np.diff(starts))
        found = sparse.csr_array(
            (self.probability_map.apply(p, labels, mass), labels, starts), shape=shape
        )
        found.data[found.data < threshold] = 0
        found.eliminate_zeros()
        return found

    def explain(
        self,
        rows: Rows,
        label: int | str,
        *,
        n_features: int = 10,
        feature_names: Sequence[str] | None = None,
    ) -> RelevanceExplanation:
        """Return why a row gives a label its probability, tree by tree."""
        check_question(rows, n_features, feature_names, self.n_features)
        (label_id,) = self.vocabulary.ids([label]).tolist()
        known = label_id >= 0 and self.trees[0].tree.leaf_of(label_id) >= 0
        checks.one_of_labels("label", label, known, self.n_tree_labels)
        steps = tuple(
            relevance_steps(
                self.core.report(*rows.arrays, label_id, tree), rows, self.settings,
                n_features=n_features, feature_names=feature_names,
            )
            for tree in range(len(self.trees))
        )  # fmt: skip
        ids, p = self._of_labels(rows, [label])
        p_label = self.probability_map.apply(p, ids, self._mass(rows))
        return RelevanceExplanation(label, float(p_label[0]), float(p[0]), steps)

    @property
    def _needs_mass(self) -> bool:
        return not (self.calibration.is_identity and self.probability_map.calibration.is_identity)

    def _mass(self, rows: Rows) -> NDArray[np.float64]:
        """Return the mass of each row; an empty array if no score is calibrated."""
        if not self._needs_mass:
            return np.empty(0)
        return self.core.masses(*rows.arrays, self.mass_width, self.n_jobs)

    def _relevance(self, p: NDArray[np.float64], mass: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the expected relevance, in the units of the training rows."""
        q = self.calibration.apply(p, mass)
        return q if self.scale == 1 else np.asarray(self.scale * q)

    def describe(self) -> dict[str, Any]:
        """Return sizes and shape of the model."""
        tree = self.trees[0].tree
        return {
            "trees": len(self.trees),
            "labels_in_trees": self.n_tree_labels,
            "nodes": sum(t.tree.n_nodes for t in self.trees),
            "depth": int(tree.depths().max()),
            "most_children": int(tree.child_counts().max()),
            "weights": sum(t.n_weights for t in self.trees),
            "weight_bytes": sum(array.nbytes for t in self.trees for array in t.arrays),
            "largest_relevance": self.scale,
            "calibration": list(self.calibration.coefficients),
            "calibration_of_probabilities": list(self.probability_map.calibration.coefficients),
        }

    def to_dot(self, names: Sequence[str], *, max_nodes: int) -> str:
        """Return the top of the first tree as Graphviz DOT."""
        return LabelTree(self.trees[0].tree).to_dot(names=names, max_nodes=max_nodes)

    def to_tensors(
        self,
        *,
        keep_state: bool,  # noqa: ARG002 - there is no state of learning
    ) -> tuple[Tensors, Facts]:
        """Return arrays and facts from which `from_tensors` restores an equal model."""
        tensors = self.vocabulary.to_tensors()
        for number, tree in enumerate(self.trees):
            tensors |= {f"tree{number}.{name}": array
                        for name, array in zip(_ARRAYS, tree.arrays, strict=True)}  # fmt: skip
            tensors[f"tree{number}.parent"] = tree.tree.parents()
            tensors[f"tree{number}.label"] = tree.tree.labels()
        if self.probability_map.label_shares is not None:
            tensors["label_shares"] = self.probability_map.label_shares
        if self.tail is not None:
            tensors |= self.tail.to_tensors()
        return tensors, {
            "settings": self.settings.to_dict(),
            "n_features": self.n_features,
            "scale": self.scale,
            "calibration": list(self.calibration.coefficients),
            "calibration_of_probabilities": list(self.probability_map.calibration.coefficients),
            "form": self.form,
        }

    @classmethod
    def _restored(cls, tensors: Tensors, facts: Facts, vocabulary: LabelVocabulary) -> Self:
        settings = ExtremeSettings.from_dict(facts["settings"])
        n_labels, width = len(vocabulary), stored_width(facts)
        trees = [
            _restored_tree(tensors, f"tree{number}.", n_labels)
            for number in range(settings.n_trees)
        ]
        tail = None
        if settings.tail is not None:
            tail = TailClassifier.from_tensors(
                tensors, settings.tail, settings.tail_weight, (n_labels, width)
            )
        calibration = Calibration.restore(facts["calibration"])
        scale = checks.number("scale", facts["scale"], 0, open_low=True)
        weighted = settings.relevance == "propensity"
        probability_map = _restored_probability_map(tensors, facts, n_labels, weighted=weighted)
        form = checks.choice("form", facts["form"], get_args(FormName))
        return cls(
            settings,
            vocabulary,
            trees,
            width,
            scale,
            calibration,
            probability_map,
            tail,
            form=form,
        )

    def top_rows(
        self,
        rows: Rows,
        labels: ArrayLike | None,
        k: int,
        *,
        exact: bool = False,
        factor: float = 4.0,
        max_bytes: int = MAX_DENSE_BYTES,
    ) -> TopRows:
        """Return the k rows to which each label is most relevant (labelwise inference).

        Like `top_row_scores`, it orders rows by expected relevance or by the tail classifier's
        score. The numbers are probabilities.
        """
        found = self._top_rows(rows, labels, k, exact, factor, max_bytes)
        return TopRows(found.ids, found.probabilities)

    def top_row_scores(
        self,
        rows: Rows,
        labels: ArrayLike | None,
        k: int,
        *,
        exact: bool = False,
        factor: float = 4.0,
        max_bytes: int = MAX_DENSE_BYTES,
    ) -> ScoredRows:
        """Return the k rows to which each label is most relevant, and the scores that rank them."""
        found = self._top_rows(rows, labels, k, exact, factor, max_bytes)
        return ScoredRows(found.ids, found.values)

    def _top_rows(
        self,
        rows: Rows,
        labels: ArrayLike | None,
        k: int,
        exact: bool,
        factor: float,
        max_bytes: int,
    ) -> Found:
        """Return the best rows of each label, their probabilities and the scores that rank them."""
        n_labels = len(self.vocabulary)
        ids = np.arange(n_labels, dtype=np.int32) if labels is None else self.vocabulary.ids(labels)
        named: ArrayLike = [] if labels is None else labels
        k = check_top_rows(named, ids >= 0, n_labels, k, rows.n_rows, max_bytes)
        factor = checks.number("factor", factor, 0, open_low=True)
        unique_ids, place = np.unique(ids, return_inverse=True)
        mass, how, exact = self._mass(rows), self.calibration, checks.flag("exact", exact)

        def query(queried: NDArray[np.int64], n: int) -> Found:
            options = _core.Labelwise(
                k=n, factor=factor, exact=exact, calibration=how.coefficients, n_workers=self.n_jobs
            )
            found, p = self.core.top_rows(*rows.arrays, unique_ids[queried], mass, options)
            masses = mass[found.ravel()] if len(mass) else mass
            probability_map = self.probability_map.apply(
                p.ravel(), np.repeat(unique_ids[queried], n), masses
            )
            values = self._relevance(p.ravel(), masses)
            return Found(found, probability_map.reshape(p.shape), values.reshape(p.shape))

        if self.tail is None:
            found = query(np.arange(len(unique_ids)), k)
        else:
            found = rerank_rows(self.tail, rows, query, k, labels=unique_ids, exact=exact)
        return Found(found.ids[place], found.probabilities[place], found.values[place])


def _restored_tree(tensors: Tensors, prefix: str, n_labels: int) -> RelevanceTreeArrays:
    parent, label = tensors[f"{prefix}parent"], tensors[f"{prefix}label"]
    tree = _core.LabelTree.restore(parent, label, n_labels)
    return RelevanceTreeArrays(tree, tuple(tensors[f"{prefix}{name}"] for name in _ARRAYS))


def _restored_probability_map(
    tensors: Tensors, facts: dict[str, Any], n_labels: int, *, weighted: bool
) -> ProbabilityMap:
    shares = None
    if weighted:
        shares = store.tensor(tensors, "label_shares", np.float64)
        if len(shares) != n_labels or not ((shares > 0) & (shares <= _MOST_SHARE)).all():
            raise ModelFormatError(f"label_shares are not {n_labels} numbers above 0.")
    return ProbabilityMap(Calibration.restore(facts["calibration_of_probabilities"]), shares)


def forest_of(
    trees: Sequence[RelevanceTreeArrays],
    settings: ExtremeSettings,
    n_labels: int,
    held: Sequence[_core.HeldMargins] = (),
) -> _core.RelevanceForest:
    """Return the core's forest over these trees, with ``held`` margins of held-out rows."""
    forest = _core.RelevanceForest(
        LOSSES[settings.loss], n_labels, settings.inner_power, settings.missing == "fill"
    )
    for number, tree in enumerate(trees):
        arrays: list[Any] = [*tree.arrays, held[number] if held else None]
        forest.add(tree.tree, *arrays)
    return forest
