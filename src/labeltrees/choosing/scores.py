"""How good a model's answers are on rows that it has not learned from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees import metrics
from labeltrees.choosing.gathering import first_labels, weights_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labeltrees.data.chunk import Chunk
    from labeltrees.models.model import FittedModel

__all__ = ["Answers", "ask", "scores"]

N_TOP = 5


@dataclass(frozen=True)
class Answers:
    """The likeliest labels of each row, and the probability of its own label."""

    labels: NDArray[Any]
    """Of shape (n_rows, k); None where there is no further label."""
    probabilities: NDArray[np.float64]
    p_label: NDArray[np.float64]
    """Of a row's first label; what there is of rows with several is in the table of labels."""

    @classmethod
    def joined(cls, parts: Sequence[Answers]) -> Answers:
        """Return the answers about the rows of several parts."""
        width = min(part.labels.shape[1] for part in parts)
        return cls(
            np.concatenate([part.labels[:, :width] for part in parts]),
            np.concatenate([part.probabilities[:, :width] for part in parts]),
            np.concatenate([part.p_label for part in parts]),
        )


def ask(model: FittedModel, data: Chunk, *, several: bool) -> Answers:
    """Return what a model says of rows."""
    n_labels = getattr(model, "n_tree_labels", len(model.vocabulary))
    top = model.top_labels(data.rows, min(N_TOP, n_labels))
    p = np.zeros(data.n_rows)
    if not several:
        p = model.label_probabilities(data.rows, first_labels(data))
    return Answers(top.labels, np.asarray(top[1]), p)


def scores(answers: Answers, data: Chunk, *, several: bool) -> dict[str, float]:
    """Return accuracy or P@k, log loss and calibration, by name; what cannot be told is left out.

    Log loss is over labels that the model knows: no probability is right for others.
    """
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
