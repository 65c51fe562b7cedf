"""How likely is a label that was never seen? Good and Turing's answer."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees import checks
from labeltrees.errors import ModelFormatError

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
