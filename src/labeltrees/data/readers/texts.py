"""Chunks from rows of text, the last step of the readers of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labeltrees.data.chunk import Chunk
from labeltrees.data.ragged import starts_of
from labeltrees.data.readers import source as blocks
from labeltrees.data.readers.vectorizers import Vectorizer, default_vectorizer, vectorize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["TextRow", "chunk_labels", "text_chunks"]


class TextRow(NamedTuple):
    """A row of a file of texts, with its line and its distinct labels."""

    line: int
    labels: Sequence[str]
    text: str
    relevance: Sequence[float] | None = None
    weight: float = 1.0


def text_chunks(
    row_blocks: Iterable[Iterable[TextRow]],
    name: str,
    vectorizer: Vectorizer | None,
    chunk_rows: int,
) -> Iterator[Chunk]:
    """Yield chunks of at most ``chunk_rows`` rows of one block, or fewer if texts are long."""
    make = vectorizer if vectorizer is not None else default_vectorizer()
    held: list[TextRow] = []
    size = 0
    for rows in row_blocks:
        for row in rows:
            held.append(row)
            size += len(row.text)
            if len(held) == chunk_rows or size >= blocks.BLOCK_BYTES:
                yield _chunk(name, held, make)
                held, size = [], 0
        if held:  # Rows of a pipe are yielded without waiting for more.
            yield _chunk(name, held, make)
            held, size = [], 0


def chunk_labels(
    label_lists: Sequence[Sequence[str]],
) -> tuple[NDArray[np.object_], NDArray[np.int64]]:
    """Return ``labels`` and ``label_starts`` of a chunk.

    >>> chunk_labels([["a", "b"], [], ["c"]])
    (array(['a', 'b', 'c'], dtype=object), array([0, 2, 2, 3]))
    """
    starts = starts_of([len(each) for each in label_lists])
    labels = np.array([label for each in label_lists for label in each], np.object_)
    return labels, starts


def _chunk(name: str, held: list[TextRow], vectorizer: Vectorizer) -> Chunk:
    line_numbers, label_lists, texts, relevances, weights = zip(*held, strict=True)
    lines = np.array(line_numbers, np.int64)
    rows = vectorize(vectorizer, texts, name, lines)
    labels, label_starts = chunk_labels(label_lists)
    relevance = None
    if any(each is not None for each in relevances):
        relevance = np.array(
            [value for row in held for value in (row.relevance or [1.0] * len(row.labels))],
            np.float32,
        )
    weighed = any(weight != 1.0 for weight in weights)
    return Chunk(
        rows,
        labels,
        label_starts,
        np.array(weights, np.float32) if weighed else None,
        int(lines[0]),
        lines,
        relevance,
        list(texts),
    )
