"""The labels of rows that have any number of them, as models that learn row by row take them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.data.ragged import starts_of
from labeltrees.errors import DataError, DataFileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labeltrees.data.chunk import Chunk
    from labeltrees.data.vocabulary import LabelVocabulary

__all__ = ["LabelSets", "SetIds"]


@dataclass(frozen=True, eq=False)
class SetIds:
    """Label ids of rows as the core takes them: increasing within a row, each once."""

    starts: NDArray[np.int64]
    ids: NDArray[np.int32]
    relevance: NDArray[np.float32]
    place_of: NDArray[np.int64]
    """Where each entry of the label sets is among the ids; -1 if the vocabulary lacks it."""

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
        """The arrays in the order in which the core takes them."""
        return self.starts, self.ids, self.relevance


@dataclass(frozen=True, eq=False)
class LabelSets:
    """Row ``r`` has the labels ``labels[starts[r]:starts[r + 1]]``: none, one or many.

    Parameters
    ----------
    starts : ndarray of int64 of shape (n_rows + 1,)
    labels : ndarray of labels
    relevance : ndarray of float32 in (0, 1], one entry per label, or None for 1

    Examples
    --------
    >>> from labeltrees.data.vocabulary import LabelVocabulary
    >>> sets = LabelSets.of_lists([["sun", "rain"], [], ["sun"]])
    >>> sets.n_rows, sets.to_ids(LabelVocabulary(["rain", "sun"])).ids.tolist()
    (3, [0, 1, 1])
    """

    starts: NDArray[np.int64]
    labels: NDArray[Any]
    relevance: NDArray[np.float32] | None = None

    @classmethod
    def of_lists(cls, rows: Any) -> LabelSets:
        """Return lists of labels, one for each row, as label sets."""
        starts = starts_of([len(row) for row in rows])
        labels = np.empty(int(starts[-1]), dtype=object)
        labels[:] = [label for row in rows for label in row]
        return cls(starts, labels)

    @classmethod
    def of_chunk(cls, chunk: Chunk, path: str = "") -> LabelSets:
        """Return the labels of a chunk, or raise `DataError` naming the line of a bad relevance.

        ``path`` is the file that the chunk comes from, for the error.
        """
        if chunk.relevance is None:
            return cls(chunk.label_starts, chunk.labels)
        kept = chunk.relevance > 0  # what is not relevant is no label of the row
        wrong = ~((chunk.relevance >= 0) & (chunk.relevance <= 1))
        if wrong.any():
            entry = int(np.argmax(wrong))
            row = int(np.searchsorted(chunk.label_starts, entry, side="right")) - 1
            line = chunk.first_line + row if chunk.lines is None else int(chunk.lines[row])
            value = f"{chunk.relevance[entry]:g}"
            if path:
                raise DataFileError(path, line, f"a label has relevance {value}; {ALLOWED}")
            raise DataError(f"line {line} has relevance {value}; {ALLOWED}")
        starts = np.concatenate([[0], np.cumsum(kept)])[chunk.label_starts]
        return cls(starts.astype(np.int64), chunk.labels[kept], chunk.relevance[kept])

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.starts) - 1

    def to_ids(self, vocabulary: LabelVocabulary) -> SetIds:
        """Return the sets with the vocabulary's ids; a label named twice counts once.

        Labels that the vocabulary lacks are left out.
        """
        ids = vocabulary.ids(self.labels) if len(self.labels) else np.empty(0, np.int32)
        rows = np.repeat(np.arange(self.n_rows), np.diff(self.starts))
        relevance = np.ones(len(ids), np.float32) if self.relevance is None else self.relevance
        order = np.lexsort((-relevance, ids, rows))  # of several the most relevant comes first
        own, rows = ids[order], rows[order]
        is_first = np.ones(len(own), dtype=bool)
        is_first[1:] = (own[1:] != own[:-1]) | (rows[1:] != rows[:-1])
        kept = is_first & (own >= 0)
        place_of = np.empty(len(own), np.int64)
        place_of[order] = np.where(own >= 0, np.cumsum(kept) - 1, -1)
        counts = np.bincount(rows[kept], minlength=self.n_rows)
        starts = starts_of(counts)
        return SetIds(
            starts,
            own[kept].astype(np.int32),
            relevance[order][kept].astype(np.float32),
            place_of,
        )

    def take(self, rows: NDArray[np.int64]) -> LabelSets:
        """Return the sets of some rows."""
        counts = np.diff(self.starts)[rows]
        starts = starts_of(counts)
        at = np.repeat(self.starts[rows] - starts[:-1], counts) + np.arange(starts[-1])
        relevance = None if self.relevance is None else self.relevance[at]
        return LabelSets(starts, self.labels[at], relevance)


ALLOWED = "relevance must be in [0, 1]: divide it by the largest there can be."
