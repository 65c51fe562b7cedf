"""The labels of rows: none, one or many for each row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.data.ragged import joined_starts, starts_of
from labeltrees.errors import DataError, DataFileError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from labeltrees.data.chunk import Chunk
    from labeltrees.data.vocabulary import LabelVocabulary

ALLOWED_RELEVANCE = "relevance must be in [0, 1]. Divide it by the largest possible relevance."


@dataclass(frozen=True, eq=False)
class RaggedLabels:
    """Labels of rows, stored one row after the other.

    Row ``r`` has the labels ``labels[starts[r]:starts[r + 1]]``: none, one or many.

    Parameters
    ----------
    labels : ndarray of labels, or of their ids
    starts : ndarray of int64 of shape (n_rows + 1,)
        The first label of each row, and the number of all labels.
    relevance : ndarray of shape (n_labels_in_all,), or None
        The relevance of each label to its row. Without it, all are 1.

    Examples
    --------
    >>> from labeltrees.data.vocabulary import LabelVocabulary
    >>> labels = RaggedLabels.of_lists([["sun", "rain"], [], ["sun"]])
    >>> labels.n_rows, labels.is_single
    (3, False)
    >>> ids, _ = labels.to_ids(LabelVocabulary(["rain", "sun"]))
    >>> list(ids.lists())
    [[0, 1], [], [1]]
    """

    labels: NDArray[Any]
    starts: NDArray[np.int64]
    relevance: NDArray[Any] | None = None

    @classmethod
    def of_single(cls, labels: ArrayLike) -> RaggedLabels:
        """Return one label per row.

        >>> RaggedLabels.of_single(["sun", "rain"]).is_single
        True
        """
        array = labels if isinstance(labels, np.ndarray) else np.array(labels, dtype=object)
        found = cls(array, np.arange(len(array) + 1, dtype=np.int64))
        found.__dict__["is_single"] = True
        return found

    @classmethod
    def of_lists(cls, rows: Sequence[Any]) -> RaggedLabels:
        """Return lists of labels, one for each row.

        >>> RaggedLabels.of_lists([["sun", "rain"], []]).starts.tolist()
        [0, 2, 2]
        """
        starts = starts_of([len(row) for row in rows])
        flat = [label for row in rows for label in row]
        return cls(np.fromiter(flat, dtype=object, count=len(flat)), starts)

    @classmethod
    def of_chunk(cls, chunk: Chunk, path: str = "") -> RaggedLabels:
        """Return the relevant labels of a chunk, or raise `DataError` for a relevance above 1.

        The error names the line, and the file if ``path`` does.
        """
        targets = chunk.targets
        if targets.relevance is None:
            return targets
        wrong = ~((targets.relevance >= 0) & (targets.relevance <= 1))
        if wrong.any():
            entry = int(np.argmax(wrong))
            row = int(np.searchsorted(targets.starts, entry, side="right")) - 1
            line, value = int(chunk.line_numbers[row]), f"{targets.relevance[entry]:g}"
            if path:
                message = f"a label has relevance {value}, but {ALLOWED_RELEVANCE}"
                raise DataFileError(path, line, message)
            raise DataError(f"line {line} has relevance {value}, but {ALLOWED_RELEVANCE}")
        return targets.keep(targets.relevance > 0)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.starts) - 1

    @property
    def counts(self) -> NDArray[np.int64]:
        """The number of labels of each row."""
        return np.diff(self.starts)

    @cached_property
    def is_single(self) -> bool:
        """Whether each row has exactly one label."""
        n_rows = self.n_rows
        return len(self.labels) == n_rows and np.array_equal(self.starts, np.arange(n_rows + 1))

    @property
    def row_of(self) -> NDArray[np.int64]:
        """The row of each label."""
        rows = np.arange(self.n_rows)
        return rows if self.is_single else np.repeat(rows, self.counts)

    def lists(self) -> Iterator[list[Any]]:
        """Yield the labels of each row."""
        flat = self.labels.tolist()
        return (flat[begin:end] for begin, end in pairwise(self.starts.tolist()))

    def head(self, n_rows: int) -> RaggedLabels:
        """Return the labels of the first rows, which share this one's memory."""
        n = int(self.starts[n_rows])
        relevance = None if self.relevance is None else self.relevance[:n]
        return RaggedLabels(self.labels[:n], self.starts[: n_rows + 1], relevance)

    def take(self, rows: NDArray[np.int64]) -> RaggedLabels:
        """Return the labels of these rows, in their order.

        >>> labels = RaggedLabels.of_lists([["sun", "rain"], [], ["fog"]])
        >>> list(labels.take(np.array([2, 0])).lists())
        [['fog'], ['sun', 'rain']]
        """
        counts = self.counts[rows]
        starts = starts_of(counts)
        at = np.repeat(self.starts[rows] - starts[:-1], counts) + np.arange(starts[-1])
        return self._at(at, starts)

    def keep(self, kept: NDArray[np.bool_]) -> RaggedLabels:
        """Return the rows without the labels whose entry in ``kept`` is False.

        >>> labels = RaggedLabels.of_lists([["sun", "rain"], ["fog"]])
        >>> list(labels.keep(np.array([True, False, False])).lists())
        [['sun'], []]
        """
        return self._at(kept, starts_of(kept)[self.starts])

    def _at(self, entries: NDArray[Any], starts: NDArray[np.int64]) -> RaggedLabels:
        relevance = None if self.relevance is None else self.relevance[entries]
        return RaggedLabels(self.labels[entries], starts, relevance)

    @classmethod
    def joined(cls, parts: Sequence[RaggedLabels]) -> RaggedLabels:
        """Return the rows of all parts, one part after the other.

        >>> parts = [RaggedLabels.of_lists([["sun"]]), RaggedLabels.of_lists([[], ["fog"]])]
        >>> list(RaggedLabels.joined(parts).lists())
        [['sun'], [], ['fog']]
        """
        relevance = None
        if any(part.relevance is not None for part in parts):
            relevance = np.concatenate([part.relevance_of_all for part in parts])
        named = [part.labels for part in parts if len(part.labels)] or [parts[0].labels]
        return cls(np.concatenate(named), joined_starts([part.starts for part in parts]), relevance)

    @property
    def relevance_of_all(self) -> NDArray[Any]:
        """The relevance of each label, 1 where none is given."""
        return np.ones(len(self.labels), np.float32) if self.relevance is None else self.relevance

    def to_ids(self, vocabulary: LabelVocabulary) -> tuple[RaggedLabels, NDArray[np.int64]]:
        """Return the labels' ids, and where among them each label is.

        Ids increase within a row. A label that a row names twice counts once, with its largest
        relevance; one that the vocabulary lacks is left out, and its place is -1.
        """
        ids = vocabulary.ids(self.labels) if len(self.labels) else np.empty(0, np.int32)
        rows = self.row_of
        relevance = self.relevance_of_all
        order = np.lexsort((-relevance, ids, rows))  # of several the most relevant comes first
        own, rows = ids[order], rows[order]
        is_first = np.ones(len(own), dtype=bool)
        is_first[1:] = (own[1:] != own[:-1]) | (rows[1:] != rows[:-1])
        kept = is_first & (own >= 0)
        place_of = np.empty(len(own), np.int64)
        place_of[order] = np.where(own >= 0, np.cumsum(kept) - 1, -1)
        starts = starts_of(np.bincount(rows[kept], minlength=self.n_rows))
        of_ids = relevance[order][kept].astype(np.float32)
        return RaggedLabels(own[kept].astype(np.int32), starts, of_ids), place_of

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
        """The starts, ids and relevance of `to_ids`, in the order in which the core takes them."""
        assert self.relevance is not None
        return self.starts, self.labels, self.relevance
