"""How much there is to train on, and the memory that it takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from labeltrees import _core
from labeltrees.errors import TooLargeError

if TYPE_CHECKING:
    from labeltrees.data.rows import Rows
    from labeltrees.models.extreme.relevance import Relevance
    from labeltrees.models.extreme.settings import ExtremeSettings

__all__ = ["TrainingSize"]

_WEIGHT_BYTES = 16  # of a weight while nodes are joined: twice 3 bytes, its row, and room to spare


@dataclass(frozen=True)
class TrainingSize:
    """The counts of all rows that are learned from, wherever they are."""

    n_rows: int
    n_labels: int
    width: int
    """The number of columns."""
    n_stored: int
    """The number of entries, zeros that are stored as well."""
    n_targets: int
    """The number of relevant labels of all rows together."""
    n_features: int = 0
    """How many features are not 0 in some row, if that is known."""
    n_entries: int = 0
    """The number of entries that are not 0, if that is known."""

    @classmethod
    def of(cls, rows: Rows, relevance: Relevance) -> Self:
        """Return what can be told without looking at the entries."""
        n_labels = len(relevance.vocabulary)
        n_stored, n_targets = len(rows.indices), len(relevance.labels)
        return cls(rows.n_rows, n_labels, rows.n_features, n_stored, n_targets)

    def met(self, *, n_features: int, n_entries: int) -> Self:
        """Return the same with the counts of what is not 0."""
        return replace(self, n_features=n_features, n_entries=n_entries)

    @property
    def data_bytes(self) -> int:
        """The bytes of the prepared rows, the transposed relevance and the label features."""
        n_met = self.n_targets * self.n_stored / max(self.n_rows, 1)
        n_centroids = min(n_met, self.n_labels * min(self.width, self.n_stored))
        size = 8 * self.n_stored + 8 * self.n_rows + 12 * self.n_targets + 8 * n_centroids
        return int(size)

    def check(self, settings: ExtremeSettings) -> None:
        """Raise `TooLargeError` if not even the data, in the layouts of training, has room."""
        if settings.max_memory is not None and self.data_bytes > settings.max_memory:
            raise TooLargeError(
                f"training on these rows needs at least {self.data_bytes:,} bytes, over "
                f"max_memory={settings.max_memory:,}."
            )

    def share_memory(self, tree: _core.LabelTree, settings: ExtremeSettings) -> tuple[int, float]:
        """Return how many workers there is room for, and how many weights an entry may leave."""
        if settings.max_memory is None:
            return settings.n_threads, 1e9
        free = settings.max_memory - self.data_bytes
        worker = _core.training_worker_bytes(
            tree, self.n_rows, self.n_features, self.n_entries, self.n_targets
        )
        n_workers = min(settings.n_threads, int(free / 2 // worker))
        if n_workers < 1:
            least = settings.max_memory - free + 2 * worker
            raise TooLargeError(
                f"training needs {least:,} bytes, over max_memory={settings.max_memory:,}."
            )
        per_row = self.n_stored / max(self.n_rows, 1)
        n_entries = self.n_stored + int(tree.depths().max()) * self.n_targets * per_row
        n_weights = (free - n_workers * worker) / settings.n_trees / _WEIGHT_BYTES
        return n_workers, n_weights / max(n_entries, 1)
