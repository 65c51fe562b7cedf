"""Chunks from rows of text, the last step of the readers of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labeltrees.data.chunk import Chunk
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.readers import source as blocks
from labeltrees.data.readers.vectorizers import Vectorizer, default_vectorizer, vectorize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray


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
    label_lists: Sequence[Sequence[str]], relevance: NDArray[np.float32] | None
) -> RaggedLabels:
    """Return the labels of rows, with their relevance if there is one.

    >>> list(chunk_labels([["a", "b"], [], ["c"]], None).lists())
    [['a', 'b'], [], ['c']]
    """
    found = RaggedLabels.of_lists(label_lists)
    return RaggedLabels(found.labels, found.starts, relevance)


def _chunk(name: str, held: list[TextRow], vectorizer: Vectorizer) -> Chunk:
    line_numbers, label_lists, texts, relevances, weights = zip(*held, strict=True)
    lines = np.array(line_numbers, np.int64)
    rows = vectorize(vectorizer, texts, name, lines)
    relevance = None
    if any(each is not None for each in relevances):
        relevance = np.array(
            [value for row in held for value in (row.relevance or [1.0] * len(row.labels))],
            np.float32,
        )
    weighed = any(weight != 1.0 for weight in weights)
    return Chunk(
        rows,
        chunk_labels(label_lists, relevance),
        np.array(weights, np.float32) if weighed else None,
        int(lines[0]),
        lines,
        list(texts),
    )
