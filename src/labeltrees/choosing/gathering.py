"""The rows of a file in memory, or as many as there is room for."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.data.chunk import Chunk
from labeltrees.data.rows import Rows
from labeltrees.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["Gathered", "gather", "room_for_data", "stacked", "without_features"]

_SHARE_OF_MEMORY = 0.25
"""Of the memory that is free: training needs the rows in several layouts, and weights besides."""
_TEXT_FACTOR = 6
"""Bytes that a character of text takes as text, as features and while features are made."""
_LEAST_ROOM = 2**28


@dataclass(frozen=True)
class Gathered:
    """Rows with their labels: row ``i`` has ``labels[label_starts[i]:label_starts[i + 1]]``.

    Every row has a label. ``texts`` are given where features are still to be made of them.
    """

    rows: Rows
    labels: NDArray[Any]
    label_starts: NDArray[np.int64]
    weights: NDArray[np.float32]
    relevance: NDArray[np.float32] | None = None
    texts: Sequence[str] | None = None
    n_without_label: int = 0
    """How many rows of the file had none, and were left out."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.label_starts) - 1

    @property
    def n_labels_of_row(self) -> NDArray[np.int64]:
        """How many labels each row has."""
        return np.diff(self.label_starts)

    def take(self, numbers: NDArray[np.int64]) -> Gathered:
        """Return the rows with these numbers, in their order."""
        counts = self.n_labels_of_row[numbers]
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        shift = self.label_starts[numbers] - starts[:-1]
        entries = np.arange(starts[-1]) + np.repeat(shift, counts)
        texts = self.texts
        return replace(
            self,
            rows=self.rows.take(numbers),
            labels=self.labels[entries],
            label_starts=starts,
            weights=self.weights[numbers],
            relevance=None if self.relevance is None else self.relevance[entries],
            texts=None if texts is None else [texts[number] for number in numbers.tolist()],
        )

    def with_rows(self, rows: Rows) -> Gathered:
        """Return the same labels with the features that were made of the texts."""
        return replace(self, rows=rows, texts=None)

    def as_chunk(self) -> Chunk:
        """Return the rows as one chunk of a file."""
        return Chunk(
            self.rows, self.labels, self.label_starts, self.weights, 1,
            relevance=self.relevance, texts=self.texts,
        )  # fmt: skip

    def label_lists(self) -> list[Any]:
        """Return the labels of each row: lists, or dictionaries to relevance."""
        labels, starts = self.labels.tolist(), self.label_starts.tolist()
        pieces = zip(starts[:-1], starts[1:], strict=True)
        if self.relevance is None:
            return [labels[begin:end] for begin, end in pieces]
        values = self.relevance.tolist()
        return [
            dict(zip(labels[begin:end], values[begin:end], strict=True)) for begin, end in pieces
        ]


def gather(
    chunks: Iterable[Chunk], room: int, *, name: str
) -> tuple[Gathered, Iterator[Chunk] | None]:
    """Return the rows with labels, and what is left where there is no room for all of them.

    Parameters
    ----------
    chunks : chunks of a file
    room : int
        How many bytes the rows may take, as they will when features are made of texts.
    name : str
        The file, for errors.
    """
    rest = iter(chunks)
    held: list[Chunk] = []
    n_without, size = 0, 0
    for chunk in rest:
        has_label = np.diff(chunk.label_starts) > 0
        n_without += int((~has_label).sum())
        if has_label.any():
            held.append(chunk)
            size += _bytes_of(chunk)
        if size > room:
            return _joined(held, n_without), rest
    if not held:
        raise DataError(f"{name} has no row with a label.")
    return _joined(held, n_without), None


def without_features(parts: Sequence[Gathered]) -> Gathered:
    """Return the labels of several parts, whose features need not be comparable."""
    counts = np.concatenate([part.n_labels_of_row for part in parts])
    graded = [part.relevance for part in parts if part.relevance is not None]
    return Gathered(
        Rows(np.zeros(len(counts) + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32), 1),
        np.concatenate([part.labels for part in parts]),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.concatenate([part.weights for part in parts]),
        np.concatenate(graded) if graded else None,
    )


def room_for_data() -> int:
    """Return how many bytes the rows of a file may take: a quarter of the memory that is free."""
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 2**31
    return max(int(_SHARE_OF_MEMORY * free), _LEAST_ROOM)


def stacked(parts: Sequence[Rows]) -> Rows:
    """Return rows one below the other; parts of files without a width may differ in theirs.

    >>> from labeltrees.data.rows import as_rows
    >>> stacked([as_rows([[0, 2.5]]), as_rows([[1, 0]])]).shape
    (2, 2)
    """
    if len(parts) == 1:
        return parts[0]
    offsets = np.cumsum([0, *(len(part.indices) for part in parts)])
    starts = [part.starts[1:] + offset for part, offset in zip(parts, offsets[:-1], strict=True)]
    return Rows(
        np.concatenate([np.zeros(1, np.int64), *starts]),
        np.concatenate([part.indices for part in parts]),
        np.concatenate([part.values for part in parts]),
        max(part.n_features for part in parts),
    )


def _bytes_of(chunk: Chunk) -> int:
    size = chunk.rows.indices.nbytes + chunk.rows.values.nbytes + chunk.label_starts.nbytes
    if chunk.texts is not None:
        size += _TEXT_FACTOR * sum(map(len, chunk.texts)) + 60 * chunk.n_rows
    return size + 8 * len(chunk.labels)


def _joined(chunks: list[Chunk], n_without: int) -> Gathered:
    starts = np.concatenate(
        [[0], np.cumsum(np.concatenate([np.diff(chunk.label_starts) for chunk in chunks]))]
    ).astype(np.int64)
    texts: list[str] | None = None
    if chunks[0].texts is not None:
        texts = [text for chunk in chunks for text in chunk.texts or ()]
    graded = any(chunk.relevance is not None for chunk in chunks)
    whole = Gathered(
        stacked([chunk.rows for chunk in chunks]),
        np.concatenate([chunk.labels for chunk in chunks]),
        starts,
        np.concatenate([_weights(chunk) for chunk in chunks]),
        np.concatenate([_relevance(chunk) for chunk in chunks]) if graded else None,
        texts,
        n_without,
    )
    labelled = np.flatnonzero(np.diff(starts))
    return whole if len(labelled) == whole.n_rows else whole.take(labelled)


def _weights(chunk: Chunk) -> NDArray[np.float32]:
    return np.ones(chunk.n_rows, np.float32) if chunk.weights is None else chunk.weights


def _relevance(chunk: Chunk) -> NDArray[np.float32]:
    given = chunk.relevance
    return np.ones(len(chunk.labels), np.float32) if given is None else given
