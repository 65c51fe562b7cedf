"""How good a model's answers are on rows that it has not learned from."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees import metrics
from labeltrees.autotrain.gathering import first_labels, weights_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labeltrees.data.chunk import Chunk
    from labeltrees.models.model import FittedModel

__all__ = ["Answers", "ask", "distances", "scores"]

N_TOP = 5
_MOST_ENTRIES = 2**27
"""Of a whole table of probabilities, by which distributions are compared."""
_FLOOR = 1e-12


@dataclass(frozen=True)
class Answers:
    """The likeliest labels of each row, and the probability of its own label."""

    labels: NDArray[Any]
    """Of shape (n_rows, k); None where there is no further label."""
    probabilities: NDArray[np.float64]
    p_label: NDArray[np.float64]
    """Of a row's first label; what there is of rows with several is in the table of labels."""
    distances: NDArray[np.float64] | None = None
    """Of shape (n_rows, 2), where rows have distributions: total variation and KL divergence."""

    @classmethod
    def joined(cls, parts: Sequence[Answers]) -> Answers:
        """Return the answers about the rows of several parts."""
        width = min(part.labels.shape[1] for part in parts)
        return cls(
            np.concatenate([part.labels[:, :width] for part in parts]),
            np.concatenate([part.probabilities[:, :width] for part in parts]),
            np.concatenate([part.p_label for part in parts]),
            _stacked([part.distances for part in parts if part.distances is not None]),
        )


def _stacked(parts: Sequence[NDArray[np.float64]]) -> NDArray[np.float64] | None:
    return np.concatenate(parts) if parts else None


def distances(data: Chunk, labels: NDArray[Any], p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return total variation and KL divergence of each row from its true distribution.

    ``p`` has the probabilities of ``labels``, for each row or the same for all.
    """
    known = labels.tolist()
    names = [*known, *sorted(set(data.labels.tolist()).difference(known))]
    truth = metrics.label_matrix(
        data.labels, data.relevance, classes=names, starts=data.label_starts
    ).toarray()
    told = np.zeros(truth.shape)
    told[:, : len(known)] = p
    shares = truth / truth.sum(axis=1, keepdims=True)
    ratio = np.where(shares > 0, shares, 1) / np.maximum(told, _FLOOR)
    divergence = (shares * np.log(np.where(shares > 0, ratio, 1))).sum(axis=1)
    return np.column_stack([metrics.total_variation_by_row(shares, told), divergence])


def ask(model: FittedModel, data: Chunk, *, several: bool) -> Answers:
    """Return what a model says of rows."""
    n_labels = getattr(model, "n_tree_labels", len(model.vocabulary))
    top = model.top_labels(data.rows, min(N_TOP, n_labels))
    p = np.zeros(data.n_rows)
    if not several:
        p = model.label_probabilities(data.rows, first_labels(data))
    far = None
    if data.is_distribution and data.n_rows * len(model.vocabulary) <= _MOST_ENTRIES:
        far = distances(data, model.vocabulary.labels, _normal(model.probabilities(data.rows)))
    return Answers(top.labels, np.asarray(top[1]), p, far)


def _normal(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows that sum to 1: extreme regression gives each label a chance of its own."""
    return np.asarray(p / np.maximum(p.sum(axis=1, keepdims=True), _FLOOR))


def scores(answers: Answers, data: Chunk, *, several: bool) -> dict[str, float]:
    """Return accuracy or P@k, log loss and calibration, by name; what cannot be told is left out.

    Log loss is over labels that the model knows: no probability is right for others.
    """
    if answers.distances is not None:
        return _of_distributions(answers, data)
    return _of_several(answers, data) if several else _of_one(answers, data)


def _of_one(answers: Answers, data: Chunk) -> dict[str, float]:
    truth, weight = first_labels(data), weights_of(data)
    seen = answers.p_label > 0
    top, p_top = answers.labels, answers.probabilities
    found = {"accuracy": metrics.top_k_accuracy(truth, top[:, :1], sample_weight=weight)}
    if top.shape[1] >= N_TOP:
        found["top-5 accuracy"] = metrics.top_k_accuracy(truth, top, sample_weight=weight)
    if seen.any():
        found["log loss"] = metrics.log_loss(answers.p_label[seen], sample_weight=weight[seen])
    found["calibration error"] = metrics.expected_calibration_error(
        truth, top[:, :1], p_top[:, :1], sample_weight=weight
    )
    return found


def _of_distributions(answers: Answers, data: Chunk) -> dict[str, float]:
    assert answers.distances is not None
    weight = weights_of(data)
    variation, divergence = np.average(answers.distances, axis=0, weights=weight).tolist()
    likeliest = [
        names[int(np.argmax(p))] if len(p) else None
        for names, p in zip(_pieces(data, data.labels), _pieces(data, data.relevance), strict=True)
    ]
    hits = [top == own for top, own in zip(answers.labels[:, 0].tolist(), likeliest, strict=True)]
    return {
        "total variation": variation,
        "KL divergence": divergence,
        "likeliest label": float(np.average(hits, weights=weight)),
    }


def _pieces(data: Chunk, values: Any) -> list[Any]:
    bounds = data.label_starts.tolist()
    return [values[begin:end].tolist() for begin, end in pairwise(bounds)]


def _of_several(answers: Answers, data: Chunk) -> dict[str, float]:
    known = np.unique(data.labels).tolist()
    told = {label for label in answers.labels.ravel().tolist() if label is not None}
    names = [*known, *sorted(told.difference(known))]
    truth = metrics.label_matrix(
        data.labels, data.relevance, classes=names, starts=data.label_starts
    )
    told_p = np.where(np.isfinite(answers.probabilities), answers.probabilities, np.nan)
    found = metrics.label_matrix(answers.labels, told_p, classes=names)
    ks = [k for k in (1, 3, 5) if k <= answers.labels.shape[1]]
    # Answers are ranked as they come, which need not be by probability.
    places = np.broadcast_to(-np.arange(told_p.shape[1], dtype=np.float64), told_p.shape)
    ranks = metrics.label_matrix(
        answers.labels, np.where(np.isnan(told_p), np.nan, places), classes=names
    )
    report = metrics.multilabel_report(truth, found, ks=ks, ranks=ranks)
    table = {f"P@{k}": report["P"][k] for k in ks} | {f"nDCG@{ks[-1]}": report["nDCG"][ks[-1]]}
    if data.relevance is None:
        table["calibration error"] = report["ECE"][1]
    else:
        table |= {f"WP@{k}": report["WP"][k] for k in (ks[0], ks[-1])}
    return table
