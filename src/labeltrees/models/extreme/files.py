"""The rows and labels of files, gathered in files that are mapped into memory."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.data.chunk import UNBOUNDED_WIDTH, Chunk
from labeltrees.data.rows import Rows
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import DataError
from labeltrees.models.extreme.relevance import RawRelevance, relevance_of_entries
from labeltrees.models.extreme.spilling import GrowingFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["gather_in_files"]


def gather_in_files(chunks: Iterable[Chunk], folder: Path | None) -> tuple[Rows, RawRelevance]:
    """Return all rows, their entries in files of the folder or, if that is None, in memory."""
    lengths, label_lengths = [np.zeros(1, np.int64)], [np.zeros(1, np.int64)]
    ids: list[NDArray[Any]] = []
    values: list[NDArray[Any]] = []
    vocabulary, width, graded = LabelVocabulary(), 0, False
    indices, entries = _sink(folder, "given.indices", np.int32), _sink(folder, "given", np.float32)
    for chunk in _some(chunks):
        lengths.append(np.diff(chunk.rows.starts))
        indices.append(chunk.rows.indices)
        entries.append(chunk.rows.values)
        own = chunk.rows.n_features
        if own == UNBOUNDED_WIDTH:
            own = int(chunk.rows.indices.max(initial=0)) + 1
        width = max(width, own)
        label_lengths.append(np.diff(chunk.label_starts))
        ids.append(vocabulary.add(chunk.labels))
        graded = graded or chunk.relevance is not None
        ones = np.ones(len(chunk.labels), np.float32)
        values.append(ones if chunk.relevance is None else chunk.relevance)
    starts = np.cumsum(np.concatenate(lengths))
    rows = Rows(starts, indices.finish(), entries.finish(), width)
    relevance = relevance_of_entries(
        np.cumsum(np.concatenate(label_lengths)),
        np.concatenate(ids),
        np.concatenate(values).astype(np.float64),
        once_each=graded,
        names=vocabulary,
    )
    return rows, relevance


def _some(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    left = iter(chunks)
    first = next(left, None)
    if first is None:
        raise DataError("the files have no row.")
    return chain([first], left)


class _Memory:
    """What `GrowingFile` does, in memory."""

    def __init__(self) -> None:
        self.parts: list[NDArray[Any]] = []

    def append(self, values: NDArray[Any]) -> None:
        self.parts.append(values)

    def finish(self) -> NDArray[Any]:
        return np.concatenate(self.parts)


def _sink(folder: Path | None, name: str, dtype: type[np.generic]) -> GrowingFile | _Memory:
    return _Memory() if folder is None else GrowingFile(folder, name, dtype)
