"""Shared parts of the baselines for rows with many labels.

A method has a *scorer*, which gives every label a score for a row, and a way to train one. This
module does everything else, such as the best labels and rows by score, probabilities and model
files. Every prediction costs O(n_labels) per row.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np

from labeltrees import checks, store
from labeltrees.checks import Choice, Flag, Number, setting
from labeltrees.errors import ModelFormatError
from labeltrees.models.baselines.scores import ScoreCalibration
from labeltrees.models.dense import entries_above, pieces
from labeltrees.models.model import (
    MAX_DENSE_BYTES,
    FittedModel,
    FormName,
    ScoredLabels,
    ScoredRows,
    TopLabels,
    TopRows,
    check_dense_size,
    check_k,
    check_top_rows,
    names_of,
    stored_width,
)
from labeltrees.models.settings import RandomState, Settings
from labeltrees.tree import LabelTree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray
    from scipy import sparse

    from labeltrees.data.rows import Rows
    from labeltrees.data.vocabulary import LabelVocabulary
    from labeltrees.store import Facts, Tensors

RelevanceName = Literal["propensity"]
_MOST_SHARE = 1e9  # largest label share; a label's largest relevance may exceed all learned ones
_MOST_SCALE = 1e15  # largest scale; relevance goes to 1e9 and is divided by propensities


@dataclass(frozen=True)
class RelevanceTargets:
    """Relevance in (0, 1] of labels to rows, and the relevance that 1 stands for."""

    matrix: sparse.csr_array
    """Matrix of shape (n_rows, n_labels), float32, without stored zeros."""
    vocabulary: LabelVocabulary
    scale: float = 1.0
    label_shares: NDArray[np.float64] | None = None
    """Value of each label if it is fully relevant, if propensities weight labels; else None."""

    def take(self, rows: NDArray[np.intp]) -> RelevanceTargets:
        """Return the targets of these rows, in their order."""
        return RelevanceTargets(self.matrix[rows], self.vocabulary, self.scale, self.label_shares)


@dataclass(frozen=True, kw_only=True)
class RankingSettings(Settings):
    """The parameters that every multi-label baseline has."""

    threshold: float = setting(0.5, Number(0, 1, open_low=True))
    calibrate: bool = setting(True, Flag())
    random_state: int = setting(0, RandomState(2**32))


@dataclass(frozen=True, kw_only=True)
class MultilabelSettings(RankingSettings):
    """The parameters of baselines that learn from graded relevance."""

    relevance: RelevanceName | None = setting(None, Choice((None, *get_args(RelevanceName))))


@dataclass
class MultilabelModel(FittedModel):
    """A scorer of all labels. Labels are ranked by score, and each has a separate probability.

    Rows must be checked (`rows`). A method defines ``settings_class``, ``scorer_class`` and
    `learn_scorer`. It overrides `link` if its scores map to probabilities in another way. A scorer
    has ``scores(rows)``, finite and of shape (n_rows, n_labels), where a row's scores do not depend
    on the other rows. It also has ``describe``, ``to_tensors`` and ``from_tensors``, which refuses
    forged files.
    """

    takes_label_sets = True
    scores_all = True
    scorer_class: ClassVar[type[Any]]

    settings: Any
    vocabulary: LabelVocabulary
    scorer: Any
    n_features: int
    scale: float = 1.0
    calibration: ScoreCalibration = field(default_factory=ScoreCalibration)
    form: FormName = "lists"
    """How rows named their labels, and how an estimator returns labels."""

    @classmethod
    @abstractmethod
    def learn_scorer(cls, rows: Rows, targets: RelevanceTargets, settings: Any) -> Any:
        """Return the scorer of these rows; equal arguments give equal scorers."""

    @staticmethod
    def link(scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return probabilities for scores that were not calibrated, increasing and in [0, 1]."""
        from scipy.special import expit

        return np.asarray(expit(scores))

    @classmethod
    def trained(cls, rows: Rows, targets: RelevanceTargets, settings: Any) -> Self:
        """Return the model of these rows.

        Probabilities are calibrated on rows held out from a second scorer, so training takes about
        twice as long as with ``calibrate=False``.
        """
        scorer = cls.learn_scorer(rows, targets, settings)
        model = cls(
            settings, targets.vocabulary, scorer, rows.n_features, targets.scale,
            ScoreCalibration(None, targets.label_shares),
        )  # fmt: skip
        if settings.calibrate:
            model.calibration = model._calibrated(rows, targets)
        return model

    def _calibrated(self, rows: Rows, targets: RelevanceTargets) -> ScoreCalibration:
        """Return the map from scores to probabilities, by rows that a second scorer has not seen.

        About a thousand rows are held out, at most a fifth.
        """
        n = rows.n_rows
        n_held = min(n // 5, max(1000, min(n // 50, 5000)))
        order = np.random.default_rng(self.settings.random_state).permutation(n)
        held, train = np.sort(order[:n_held]), np.sort(order[n_held:])
        known = targets.take(train)
        if not n_held or not known.matrix.nnz:
            return self.calibration
        scorer = self.learn_scorer(rows.take(train), known, self.settings)
        unseen, truth = rows.take(held), targets.matrix[held]
        scored = (
            (self.calibration.shares(scorer.scores(unseen.take(part))), truth[part].toarray() > 0)
            for part in map(_numbers, pieces(n_held, len(self.vocabulary)))
        )
        return self.calibration.fitted(scored)

    def scores(self, rows: Rows, *, max_bytes: int = MAX_DENSE_BYTES) -> NDArray[np.float64]:
        """Return every label's score, (n_rows, n_labels), in the units of `top_scores`."""
        check_dense_size(rows.n_rows, len(self.vocabulary), max_bytes)
        found = [scores for _, scores in self._pieces(rows)]
        return np.concatenate(found) if found else np.empty((0, len(self.vocabulary)))

    def probabilities(self, rows: Rows, *, max_bytes: int = MAX_DENSE_BYTES) -> NDArray[np.float64]:
        """Return every label's probability, (n_rows, n_labels); rows do not sum to one."""
        check_dense_size(rows.n_rows, len(self.vocabulary), max_bytes)
        found = [self._probabilities(scores) for _, scores in self._pieces(rows)]
        return np.concatenate(found) if found else np.empty((0, len(self.vocabulary)))

    def label_scores(self, rows: Rows, labels: ArrayLike) -> NDArray[np.float64]:
        """Return the score of one label per row; minus infinity for a label never seen."""
        ids = self.label_ids(rows, labels)
        found = np.full(rows.n_rows, -np.inf)
        for some, scores in self._pieces(rows):
            own = ids[some]
            found[some] = np.where(own < 0, -np.inf, scores[np.arange(len(own)), own])
        return found

    def label_probabilities(self, rows: Rows, labels: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of one label per row; 0 for a label never seen."""
        ids = self.label_ids(rows, labels)
        scores = self.label_scores(rows, labels)
        p = np.zeros(rows.n_rows)
        known = ids >= 0
        p[known] = self._probabilities(scores[known], ids[known])
        return p

    def top_labels(self, rows: Rows, k: int) -> TopLabels:
        """Return the k best labels of every row by score, and their probabilities."""
        ids, scores = self._top(rows, k)
        return TopLabels(names_of(self.vocabulary, ids), self._probabilities(scores, ids))

    def top_scores(self, rows: Rows, k: int) -> ScoredLabels:
        """Return the k best labels of every row and their scores, best first."""
        ids, scores = self._top(rows, k)
        return ScoredLabels(names_of(self.vocabulary, ids), scores)

    def _top(self, rows: Rows, k: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        k = check_k(k, len(self.vocabulary))
        ids = np.empty((rows.n_rows, k), dtype=np.int32)
        best = np.empty((rows.n_rows, k))
        for some, scores in self._pieces(rows):
            ids[some] = best_columns(scores, k)
            best[some] = np.take_along_axis(scores, ids[some], axis=1)
        return ids, best

    def labels_above(
        self, rows: Rows, threshold: float, *, max_bytes: int = MAX_DENSE_BYTES
    ) -> sparse.csr_array:
        """Return every label whose probability is at least threshold, as CSR."""
        shape = (rows.n_rows, len(self.vocabulary))
        found = (self._probabilities(scores) for _, scores in self._pieces(rows))
        return entries_above(found, shape, threshold, max_bytes)

    def top_rows(
        self,
        rows: Rows,
        labels: ArrayLike | None,
        k: int,
        *,
        max_bytes: int = MAX_DENSE_BYTES,
    ) -> TopRows:
        """Return the k rows that give each label its largest scores, and its probabilities.

        Labels default to all; of rows with equal scores, the first. O(n_rows) per label.
        """
        ids, best, scores = self._top_rows(rows, labels, k, max_bytes)
        return TopRows(best, self._probabilities(scores, ids[:, np.newaxis]))

    def top_row_scores(
        self,
        rows: Rows,
        labels: ArrayLike | None,
        k: int,
        *,
        max_bytes: int = MAX_DENSE_BYTES,
    ) -> ScoredRows:
        """Return the rows that `top_rows` returns, and the scores that rank them."""
        _, best, scores = self._top_rows(rows, labels, k, max_bytes)
        return ScoredRows(best, scores)

    def _top_rows(
        self, rows: Rows, labels: ArrayLike | None, k: int, max_bytes: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.float64]]:
        """Return label ids, their best rows and the scores; some labels at a time."""
        n_labels = len(self.vocabulary)
        ids = np.arange(n_labels, dtype=np.int32) if labels is None else self.vocabulary.ids(labels)
        named: ArrayLike = [] if labels is None else labels
        k = check_top_rows(named, ids >= 0, n_labels, k, rows.n_rows, max_bytes)
        best = np.empty((len(ids), 0), dtype=np.int64)
        kept = np.empty((len(ids), 0))
        for some, scores in self._pieces(rows):  # the best so far against the next rows
            both = np.hstack([kept, scores[:, ids].T])
            numbers = np.hstack([best, np.tile(np.arange(some.start, some.stop), (len(ids), 1))])
            order = best_columns(both, min(k, both.shape[1]))
            best = np.take_along_axis(numbers, order, axis=1)
            kept = np.take_along_axis(both, order, axis=1)
        return ids, best, kept

    def _pieces(self, rows: Rows) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Yield consecutive rows and the scores of all labels."""
        for some in pieces(rows.n_rows, len(self.vocabulary)):
            yield some, self._in_units(self.scorer.scores(rows.take(_numbers(some))))

    def _in_units(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return scores in the units that users see."""
        return scores

    def _probabilities(
        self, scores: NDArray[np.float64], ids: NDArray[np.int32] | None = None
    ) -> NDArray[np.float64]:
        """Return probabilities; without ``ids`` the columns are all labels."""
        return self.calibration.apply(scores, ids, self.link)

    def describe(self) -> dict[str, Any]:
        """Return sizes of the model."""
        return {
            "labels": len(self.vocabulary),
            "features": self.n_features,
            **self.scorer.describe(),
            "largest_relevance": self.scale,
            "calibration": self.calibration.to_list(),
        }

    def to_dot(self, names: Sequence[str], *, max_nodes: int) -> str:
        """Return a star of the labels as Graphviz DOT."""
        n_labels = len(self.vocabulary)
        star = LabelTree.balanced(n_labels, arity=max(2, n_labels))
        return star.to_dot(names=names, max_nodes=max_nodes)

    def to_tensors(
        self,
        *,
        keep_state: bool,  # noqa: ARG002 - there is no state of learning
    ) -> tuple[Tensors, Facts]:
        """Return arrays and facts from which `from_tensors` restores an equal model."""
        tensors = self.vocabulary.to_tensors() | self.scorer.to_tensors()
        if self.calibration.label_shares is not None:
            tensors["label_shares"] = self.calibration.label_shares
        return tensors, {
            "settings": self.settings.to_dict(),
            "n_features": self.n_features,
            "scale": self.scale,
            "calibration": self.calibration.to_list(),
            "form": self.form,
        }

    @classmethod
    def _restored(cls, tensors: Tensors, facts: Facts, vocabulary: LabelVocabulary) -> Self:
        settings: Any = cls.settings_class.from_dict(facts["settings"])
        n_labels, width = len(vocabulary), stored_width(facts)
        if not n_labels:
            raise ModelFormatError("the vocabulary has no label.")
        scorer = cls.scorer_class.from_tensors(tensors, settings, width, n_labels)
        shares = None
        if getattr(settings, "relevance", None) == "propensity":
            shares = _restored_shares(tensors, n_labels)
        calibration = ScoreCalibration.restore(facts["calibration"], shares)
        scale = checks.number("scale", facts["scale"], 0, _MOST_SCALE, open_low=True)
        form = checks.choice("form", facts["form"], get_args(FormName))
        return cls(settings, vocabulary, scorer, width, scale, calibration, form)


class RegressingModel(MultilabelModel):
    """A model whose scores estimate relevance, in the units that were learned from."""

    @staticmethod
    def link(scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return scores as probabilities, which they estimate where relevance is not graded."""
        return np.clip(scores, 0, 1)

    def relevances(self, rows: Rows, *, max_bytes: int = MAX_DENSE_BYTES) -> NDArray[np.float64]:
        """Return every label's relevance in [0, scale], (n_rows, n_labels)."""
        return np.clip(self.scores(rows, max_bytes=max_bytes), 0, self.scale)

    def label_relevances(self, rows: Rows, labels: ArrayLike) -> NDArray[np.float64]:
        """Return the estimated relevance of one label per row; 0 for a label never seen."""
        return np.clip(self.label_scores(rows, labels), 0, self.scale)

    def _in_units(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return scores if self.scale == 1 else self.scale * scores

    def _probabilities(
        self, scores: NDArray[np.float64], ids: NDArray[np.int32] | None = None
    ) -> NDArray[np.float64]:
        return super()._probabilities(scores if self.scale == 1 else scores / self.scale, ids)


def best_columns(scores: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """Return the k columns with the largest values of every row, best first; of equals the first.

    >>> best_columns(np.array([[1.0, 3.0, 1.0, 2.0]]), 3).tolist()
    [[1, 3, 0]]
    """
    n_rows, n_columns = scores.shape
    if 4 * k >= n_columns:
        return np.argsort(-scores, axis=1, kind="stable")[:, :k]
    least = np.partition(scores, n_columns - k, axis=1)[:, n_columns - k]
    row, column = np.nonzero(scores >= least[:, np.newaxis])  # k of a row, and ties with the last
    order = np.lexsort((column, -scores[row, column], row))
    starts = np.searchsorted(row, np.arange(n_rows))
    best: NDArray[np.intp] = column[order[starts[:, np.newaxis] + np.arange(k)]]
    return best


def _numbers(some: slice) -> NDArray[np.intp]:
    return np.arange(some.start, some.stop)


def _restored_shares(tensors: Tensors, n_labels: int) -> NDArray[np.float64]:
    shares = store.tensor(tensors, "label_shares", np.float64)
    if len(shares) != n_labels or not ((shares > 0) & (shares <= _MOST_SHARE)).all():
        raise ModelFormatError(f"label_shares are not {n_labels} numbers above 0.")
    return shares
