"""Rows of a stream in a random order, as far as a buffer reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labeltrees import checks
from labeltrees.data.chunk import Chunk
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.rows import stacked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

_CHUNK_ROWS, _LEAST_CHUNK = 16_384, 256


def shuffled(chunks: Iterable[Chunk], buffer_rows: int, seed: int = 0) -> Iterator[Chunk]:
    r"""Return the rows of all chunks in a random order, holding about ``buffer_rows`` of them.

    When the buffer is full, half of its rows, drawn at random, leave it in a random order. So a row
    moves by about ``buffer_rows`` at most, seldom by more: labels that come in runs are mixed well
    if a run is much shorter than the buffer. The order depends on the rows and the seed only, not
    on how they were cut into chunks.

    Parameters
    ----------
    chunks : iterable of Chunk
        What a reader returns.
    buffer_rows : int
        How many rows to hold, at least 2. A buffer of as many rows as there are shuffles them all.
    seed : int
        The same seed gives the same order.

    Examples
    --------
    >>> import io
    >>> from labeltrees.data.readers import read_svmlight
    >>> lines = b"".join(b"%d 0:1\n" % (row // 4) for row in range(12))
    >>> chunks = shuffled(read_svmlight(io.BytesIO(lines)), buffer_rows=12)
    >>> [label for chunk in chunks for label in chunk.labels.tolist()]
    [2, 0, 1, 1, 1, 2, 0, 0, 1, 2, 0, 2]
    """
    size = checks.integer("buffer_rows", buffer_rows, 2)
    seed = checks.integer("seed", seed, 0)
    return _shuffled(chunks, size, np.random.default_rng(seed))


def _shuffled(
    chunks: Iterable[Chunk], size: int, generator: np.random.Generator
) -> Iterator[Chunk]:
    held: list[Chunk] = []
    n_held = 0
    for chunk in chunks:
        begin = 0
        while begin < chunk.n_rows:
            end = min(chunk.n_rows, begin + size - n_held)
            whole = begin == 0 and end == chunk.n_rows
            held.append(chunk if whole else chunk.take(np.arange(begin, end)))
            n_held += end - begin
            begin = end
            if n_held == size:
                pool, order = joined(held), generator.permutation(size)
                yield from _in_order(pool, order[: size // 2])
                held, n_held = [pool.take(np.sort(order[size // 2 :]))], size - size // 2
    if held:
        yield from _in_order(joined(held), generator.permutation(n_held))


def _in_order(pool: Chunk, order: NDArray[np.int64]) -> Iterator[Chunk]:
    """Return the rows in chunks that are small beside the buffer."""
    n_rows = min(_CHUNK_ROWS, max(_LEAST_CHUNK, pool.n_rows // 8))
    for begin in range(0, len(order), n_rows):
        yield pool.take(order[begin : begin + n_rows])


def joined(chunks: Sequence[Chunk]) -> Chunk:
    r"""Return the rows of several chunks, at least one, as one chunk.

    >>> import io
    >>> from labeltrees.data.readers import read_svmlight
    >>> chunks = list(read_svmlight(io.BytesIO(b"7 0:1\n8 1:1\n"), chunk_rows=1))
    >>> joined(chunks).labels.tolist()
    [7, 8]
    """
    if len(chunks) == 1:
        return chunks[0]
    n_rows = [chunk.n_rows for chunk in chunks]
    texts = [text for chunk in chunks for text in chunk.texts or ()]
    return Chunk(
        stacked([chunk.rows for chunk in chunks]),
        RaggedLabels.joined([chunk.targets for chunk in chunks]),
        joined_numbers([chunk.weights for chunk in chunks], n_rows),
        chunks[0].first_line,
        np.concatenate([chunk.line_numbers for chunk in chunks]),
        texts if len(texts) == sum(n_rows) else None,
        any(chunk.is_distribution for chunk in chunks),
    )


def joined_numbers(
    parts: Sequence[NDArray[np.float32] | None], sizes: Sequence[int]
) -> NDArray[np.float32] | None:
    """Return the numbers of all parts; a part that has none has ones. None if no part has any."""
    if all(part is None for part in parts):
        return None
    return np.concatenate(
        [
            np.ones(size, np.float32) if part is None else part
            for part, size in zip(parts, sizes, strict=True)
        ]
    )
