"""How good a model's answers are about rows that it has not learned from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from labeltrees import metrics
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import DataError
from labeltrees.models.settings import ClassifierSettings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from labeltrees.data.labels import RaggedLabels
    from labeltrees.data.rows import Rows
    from labeltrees.metrics import ReliabilityCurve
    from labeltrees.models.model import FittedModel

    FloatArray = NDArray[np.float64]
    #: Rows, their labels, and their weights if they have any.
    Batch = tuple[Rows, RaggedLabels, NDArray[np.float32] | None]

__all__ = ["Quality", "quality"]

KS = (1, 3, 5)
ROWS_AT_ONCE = 4096
MOST_ENTRIES = 2**27
"""Of whole distributions, by which those of rows are compared."""


@dataclass(frozen=True, eq=False)
class Quality:
    """Scores by name, and how often labels were true by the probability given to them."""

    n_rows: int
    scores: dict[str, float]
    curve: ReliabilityCurve = field(repr=False)
    curve_of: str
    """Whose probabilities the curve is about."""


def quality(model: FittedModel, batches: Iterable[Batch]) -> Quality:
    """Return the scores of a model's answers, one label per row or several as rows have them."""
    asked = _Asked.of(model, batches)
    if asked.are_distributions:
        return _of_distributions(asked)
    return _of_one(asked) if asked.has_one_each else _of_several(asked)


@dataclass(frozen=True, eq=False)
class _Asked:
    """All answers beside the truth; labels are columns of a vocabulary of both."""

    model: FittedModel
    truth: sparse.csr_array
    columns: NDArray[np.int64]
    """Of the first labels of each row, -1 where there is no further one."""
    p: FloatArray
    """Their probabilities."""
    p_label: FloatArray
    """Of each row's own label, if rows have one each."""
    told: FloatArray | None
    """Whole distributions, if rows have distributions."""
    weight: NDArray[np.float32] | None

    @classmethod
    def of(cls, model: FittedModel, batches: Iterable[Batch]) -> _Asked:
        parts = [part for batch in batches for part in _cut(batch) if part[0].n_rows]
        if not parts:
            raise DataError("X must have a row to evaluate the model on, got none.")
        names = LabelVocabulary(model.vocabulary.labels)
        for _, labels, _ in parts:
            names.add(labels.labels)
        truth = sparse.csr_array(sparse.vstack([_matrix(sets, names) for _, sets, _ in parts]))
        one_each = _has_one_each(model, truth)
        n_entries = truth.shape[0] * truth.shape[1]
        dense = _has_distributions(model, truth) and n_entries <= MOST_ENTRIES
        answers = [_ask(model, rows, sets, one_each, dense) for rows, sets, _ in parts]
        weights = [weight for _, _, weight in parts if weight is not None]
        columns, p, p_label, told = zip(*answers, strict=True)
        return cls(
            model,
            truth,
            np.concatenate(columns),
            np.concatenate(p),
            np.concatenate(p_label),
            np.concatenate(told) if dense else None,
            np.concatenate(weights) if weights else None,
        )

    @property
    def n_rows(self) -> int:
        return int(self.truth.shape[0])

    @property
    def has_one_each(self) -> bool:
        return len(self.p_label) > 0

    @property
    def are_distributions(self) -> bool:
        return self.told is not None

    @property
    def ks(self) -> list[int]:
        return [k for k in KS if k <= self.columns.shape[1]]

    def first(self, k: int, values: FloatArray) -> sparse.csr_array:
        """Return values of the first k labels of each row as a matrix."""
        used = self.columns[:, :k] >= 0
        starts = np.concatenate(([0], np.cumsum(used.sum(axis=1))))
        entries = (values[:, :k][used], self.columns[:, :k][used], starts)
        return sparse.csr_array(entries, shape=self.truth.shape)


def _cut(batch: Batch) -> list[Batch]:
    rows, labels, weight = batch
    pieces: list[Batch] = []
    for start in range(0, rows.n_rows, ROWS_AT_ONCE):
        taken = np.arange(start, min(start + ROWS_AT_ONCE, rows.n_rows))
        own = None if weight is None else weight[taken]
        pieces.append((rows.take(taken), labels.take(taken), own))
    return pieces


def _matrix(labels: RaggedLabels, names: LabelVocabulary) -> sparse.csr_array:
    """Return rows of relevances; labels that the model does not know have columns at the end."""
    columns = names.ids(labels.labels)
    values = np.ones(len(columns)) if labels.relevance is None else labels.relevance
    shape = (labels.n_rows, len(names))
    return sparse.csr_array((values.astype(np.float64), columns, labels.starts), shape=shape)


def _has_one_each(model: FittedModel, truth: sparse.csr_array) -> bool:
    return (
        issubclass(model.settings_class, ClassifierSettings)
        and bool((np.diff(truth.indptr) == 1).all())
        and bool((truth.data == 1).all())
    )


def _has_distributions(model: FittedModel, truth: sparse.csr_array) -> bool:
    """Return whether rows of a model of one label per row have the probability of each."""
    is_classifier = issubclass(model.settings_class, ClassifierSettings)
    sums = np.asarray(truth.sum(axis=1)).ravel()
    return is_classifier and bool((truth.data != 1).any()) and bool(np.allclose(sums, 1, atol=1e-3))


def _ask(
    model: FittedModel, rows: Rows, labels: RaggedLabels, one_each: bool, dense: bool
) -> tuple[Any, ...]:
    """Return columns and probabilities of the first labels, of the own label, and of all."""
    n_labels = getattr(model, "n_tree_labels", len(model.vocabulary))
    top = model.top_labels(rows, min(KS[-1], n_labels))
    none = np.equal(top.labels.astype(object), np.array(None))
    columns = np.full(top.labels.shape, -1, dtype=np.int64)
    columns[~none] = model.vocabulary.ids(top.labels[~none])
    p = np.where(none, 0.0, np.nan_to_num(np.asarray(top[1]))).clip(0, 1)
    own = model.label_probabilities(rows, labels.labels) if one_each else np.empty(0)
    return columns, p, own, model.probabilities(rows) if dense else None


def _of_one(asked: _Asked) -> Quality:
    truth = asked.truth.indices
    hits = asked.columns == truth[:, np.newaxis]
    weight = np.ones(asked.n_rows) if asked.weight is None else asked.weight
    known = truth < len(asked.model.vocabulary)  # no probability is right for others
    scores = {"accuracy": float(np.average(hits[:, 0], weights=weight))}
    if asked.columns.shape[1] == KS[-1]:
        scores["top-5 accuracy"] = float(np.average(hits.any(axis=1), weights=weight))
    if (weight[known] > 0).any():
        scores["log loss"] = metrics.log_loss(asked.p_label[known], sample_weight=weight[known])
    scores["rows of unknown labels"] = float(np.average(~known, weights=weight))
    scores["Brier@1"] = metrics.brier_at_k(
        asked.truth, asked.first(1, asked.p), 1, sample_weight=asked.weight
    )
    return _calibrated(asked, asked.truth, scores, 1)


def _of_several(asked: _Asked) -> Quality:
    relevant = asked.truth.sign()
    # Labels rank as they come: a tail classifier may rank by something else than probability.
    places = np.broadcast_to(np.arange(asked.p.shape[1], 0, -1.0), asked.p.shape)
    ranked = asked.first(KS[-1], places)
    weight: dict[str, Any] = {"sample_weight": asked.weight}
    scores = {f"P@{k}": metrics.precision_at_k(relevant, ranked, k, **weight) for k in asked.ks}
    k = asked.ks[-1]
    scores[f"R@{k}"] = metrics.recall_at_k(relevant, ranked, k, **weight)
    scores[f"nDCG@{k}"] = metrics.ndcg_at_k(relevant, ranked, k, **weight)
    if (asked.truth.data != relevant.data).any():
        graded = metrics.weighted_precision_at_k(asked.truth, ranked, k, **weight)
        scores[f"WP@{k}"] = graded
    scores[f"Brier@{k}"] = metrics.brier_at_k(relevant, asked.first(k, asked.p), k, **weight)
    return _calibrated(asked, relevant, scores, k)


def _of_distributions(asked: _Asked) -> Quality:
    assert asked.told is not None
    truth = asked.truth.toarray()
    told = np.zeros(truth.shape)
    told[:, : asked.told.shape[1]] = asked.told
    weight: dict[str, Any] = {"sample_weight": asked.weight}
    scores = {
        "total variation": metrics.total_variation(truth, told, **weight),
        "KL divergence": metrics.kl_divergence(truth, told, **weight),
    }
    return _calibrated(asked, asked.truth, scores, asked.ks[-1])


def _calibrated(
    asked: _Asked, truth: sparse.csr_array, scores: dict[str, float], k: int
) -> Quality:
    """Add ECE@k, and draw the curve of the first k labels."""
    weight: dict[str, Any] = {"sample_weight": asked.weight}
    for each in sorted({1, k}):
        found = asked.first(each, asked.p)
        scores[f"ECE@{each}"] = metrics.calibration_error_at_k(truth, found, each, **weight)
    curve = metrics.reliability_curve_at_k(truth, asked.first(k, asked.p), k, **weight)
    named = "the likeliest label" if k == 1 else f"the first {k} labels"
    return Quality(asked.n_rows, scores, curve, f"{named} of {asked.n_rows:,} rows")
