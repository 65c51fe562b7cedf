"""The rows and labels of files, gathered in files that are mapped into memory."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labeltrees.data.chunk import UNBOUNDED_WIDTH, Chunk
from labeltrees.data.ragged import starts_of
from labeltrees.data.rows import Rows
from labeltrees.data.shuffle import joined_numbers
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import DataError
from labeltrees.models.extreme.relevance import RawRelevance, relevance_of_ids
from labeltrees.models.extreme.spilling import growing_entries, n_slabs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["chunk_in_files", "relevance_of_chunk", "rows_and_relevance", "taken_in_files"]


def rows_and_relevance(chunks: Iterable[Chunk], folder: Path | None) -> tuple[Rows, RawRelevance]:
    """Return all rows, their entries in files of the folder or, if that is None, in memory."""
    found = _gathered(chunks, folder)
    return found.rows, _relevance(found.label_starts, found.ids, found.vocabulary, found.relevance)


def chunk_in_files(chunks: Iterable[Chunk], folder: Path | None) -> Chunk:
    """Return all rows as one chunk, their entries in files of the folder or, if None, in memory.

    The chunk has their features, labels and weights.
    """
    found = _gathered(chunks, folder)
    return Chunk(
        found.rows,
        found.vocabulary.labels[found.ids],
        found.label_starts,
        found.weights,
        1,
        relevance=found.relevance,
        is_distribution=found.is_distribution,
    )


class _Gathered(NamedTuple):
    """All rows of a stream of chunks."""

    rows: Rows
    label_starts: NDArray[np.int64]
    ids: NDArray[np.int32]
    vocabulary: LabelVocabulary
    relevance: NDArray[np.float32] | None
    weights: NDArray[np.float32] | None
    is_distribution: bool


def _gathered(chunks: Iterable[Chunk], folder: Path | None) -> _Gathered:
    lengths: list[NDArray[np.int64]] = []
    label_lengths: list[NDArray[np.int64]] = []
    ids: list[NDArray[np.int32]] = []
    relevance: list[NDArray[np.float32] | None] = []
    weights: list[NDArray[np.float32] | None] = []
    vocabulary, width, is_distribution = LabelVocabulary(), 0, False
    with growing_entries(folder) as (indices, values):
        for chunk in _some(chunks):
            lengths.append(np.diff(chunk.rows.starts))
            indices.append(chunk.rows.indices)
            values.append(chunk.rows.values)
            own = chunk.rows.n_features
            if own == UNBOUNDED_WIDTH:
                own = int(chunk.rows.indices.max(initial=0)) + 1
            width = max(width, own)
            label_lengths.append(np.diff(chunk.label_starts))
            ids.append(vocabulary.add(chunk.labels))
            relevance.append(chunk.relevance)
            weights.append(chunk.weights)
            is_distribution = is_distribution or chunk.is_distribution
        return _Gathered(
            Rows(starts_of(np.concatenate(lengths)), indices.finish(), values.finish(), width),
            starts_of(np.concatenate(label_lengths)),
            np.concatenate(ids),
            vocabulary,
            joined_numbers(relevance, [len(part) for part in ids]),
            joined_numbers(weights, [len(part) for part in lengths]),
            is_distribution,
        )


def taken_in_files(data: Chunk, rows: NDArray[np.int64], folder: Path) -> Chunk:
    """Return these rows of a chunk, in their order and without texts, in files of the folder."""
    n_entries = int(np.diff(data.rows.starts)[rows].sum())
    parts = np.array_split(rows, n_slabs(n_entries))
    return chunk_in_files((data.take(part) for part in parts), folder)


def relevance_of_chunk(data: Chunk) -> RawRelevance:
    """Return the relevance of a chunk's rows; without one, each label of a row has 1."""
    vocabulary = LabelVocabulary()
    ids = vocabulary.add(data.labels)
    return _relevance(data.label_starts, ids, vocabulary, data.relevance)


def _relevance(
    starts: NDArray[np.int64],
    ids: NDArray[np.int32],
    vocabulary: LabelVocabulary,
    relevance: NDArray[np.float32] | None,
) -> RawRelevance:
    values = np.ones(len(ids)) if relevance is None else relevance.astype(np.float64)
    return relevance_of_ids(starts, ids, vocabulary, values, once_each=relevance is not None)


def _some(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    left = iter(chunks)
    first = next(left, None)
    if first is None:
        raise DataError("the files have no row.")
    return chain([first], left)
