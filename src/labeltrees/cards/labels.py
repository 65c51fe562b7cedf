"""What a card says of the labels: a hash of all of them, and how often the first and last came."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.models.capabilities import HasTree, can

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labeltrees.data.labels import RaggedLabels
    from labeltrees.data.vocabulary import LabelVocabulary
    from labeltrees.models.model import FittedModel

__all__ = ["Frequencies", "label_hash", "learned_frequencies"]

N_SHOWN = 5
"""Of the most frequent labels, and of the rarest."""


def label_hash(labels: Any) -> str:
    """Return the SHA-256 of labels, whatever their order: of each, sorted, as a line of JSON.

    Models that know the same labels have the same hash.

    Parameters
    ----------
    labels : array of labels, or a fitted model or estimator

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> from labeltrees.cards import label_hash
    >>> label_hash(["sun", "rain"])[:16] == label_hash(["rain", "sun"])[:16]
    True
    """
    model = getattr(labels, "model_", labels)
    if hasattr(model, "vocabulary"):
        labels = model.vocabulary.labels
    listed = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    digest = hashlib.sha256()
    for label in sorted(listed):
        digest.update(json.dumps(label).encode() + b"\n")
    return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class Frequencies:
    """How often labels were there, the most frequent first."""

    labels: list[Any]
    counts: NDArray[np.float64]
    what: str
    """What is counted: examples, rows, or labels."""

    @classmethod
    def of(cls, labels: NDArray[Any], counts: NDArray[np.float64], what: str) -> Frequencies:
        """Return the labels that were there at all; equal counts keep their order."""
        order = np.argsort(-counts, kind="stable")
        order = order[counts[order] > 0]
        return cls(labels[order].tolist(), counts[order], what)

    @property
    def facts(self) -> dict[str, Any]:
        """Head and tail as JSON takes them."""
        total, n = float(self.counts.sum()), len(self.labels)
        n_head = min(N_SHOWN, n)
        n_tail = min(N_SHOWN, n - n_head)
        shown = [
            {
                "label": self.labels[place],
                "count": float(self.counts[place]),
                "share": float(self.counts[place]) / total,
            }
            for place in [*range(n_head), *range(n - n_tail, n)]
        ]
        reached = np.cumsum(self.counts)
        return {
            "counted": self.what,
            "labels": n,
            "most_frequent": shown[:n_head],
            "rarest": shown[n_head:],
            "labels_with_half": int(np.searchsorted(reached, total / 2)) + 1 if n else 0,
        }


def learned_frequencies(model: FittedModel, given: RaggedLabels | None) -> Frequencies | None:
    """Return how often labels were learned: by the rows given, or by a model that has counted."""
    if given is not None:
        return _of_sets(given)
    if not can(model, HasTree):
        return None
    tree, masses = model.tree_and_masses()  # type: ignore[attr-defined]
    leaves = np.flatnonzero(tree.label >= 0)
    return _of_leaves(model.vocabulary, tree.label[leaves], masses[leaves])


def _of_leaves(
    vocabulary: LabelVocabulary, ids: NDArray[np.int32], masses: NDArray[np.float64]
) -> Frequencies:
    order = np.argsort(ids, kind="stable")
    return Frequencies.of(vocabulary.labels[ids[order]], masses[order], "examples learned")


def _of_sets(sets: RaggedLabels) -> Frequencies:
    labels, counts = np.unique(sets.labels, return_counts=True)
    return Frequencies.of(labels, counts.astype(np.float64), "rows")
