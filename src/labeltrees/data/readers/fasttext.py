"""The format of fastText's supervised files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labeltrees.data.readers.assembly import CHUNK_ROWS, TextRow, check_chunk_rows, text_chunks
from labeltrees.data.readers.source import (
    MAX_LINE_BYTES,
    Source,
    check_line_limit,
    read_blocks,
    source_name,
)
from labeltrees.data.readers.vectorizers import Vectorizer, check_vectorizer
from labeltrees.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labeltrees.data.chunk import Chunk

LABEL_PREFIX = "__label__"


def read_fasttext(
    path: Source,
    *,
    vectorizer: Vectorizer | None = None,
    label_prefix: str = LABEL_PREFIX,
    chunk_rows: int = CHUNK_ROWS,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[Chunk]:
    r"""Return the chunks of a file of lines ``__label__a __label__b text``.

    Labels are strings without the prefix. Every word that starts with the prefix is a label,
    anywhere in the line, as in fastText. Empty lines are skipped.

    Parameters
    ----------
    path : path, binary file or "-"
        The file, gzipped or not.
    vectorizer : object with a ``transform`` method, or None
        Makes features from texts, as in `read_tsv`.
    label_prefix : str
        The prefix of labels.
    chunk_rows : int
        Maximum number of rows in a chunk.
    max_line_bytes : int
        Maximum number of bytes in a line. A longer line raises an error, so that a small
        compressed file cannot take all memory.

    Examples
    --------
    >>> import io
    >>> (chunk,) = read_fasttext(io.BytesIO(b"__label__greet __label__polite good morning\n"))
    >>> chunk.labels.tolist(), chunk.texts
    (['greet', 'polite'], ['good morning'])
    """
    chunk_rows = check_chunk_rows(chunk_rows)
    max_line_bytes = check_line_limit(max_line_bytes)
    check_vectorizer(vectorizer)
    if (
        not isinstance(label_prefix, str)
        or not label_prefix
        or label_prefix.split() != [label_prefix]
    ):
        raise ArgumentError.of("label_prefix", label_prefix, "a string without blanks")
    blocks = (
        (TextRow(line, *_cut(text, label_prefix)) for line, text in _lines(*block))
        for block in read_blocks(path, max_line_bytes)
    )
    return text_chunks(blocks, source_name(path), vectorizer, chunk_rows)


def read_lines(
    path: Source,
    *,
    vectorizer: Vectorizer | None = None,
    chunk_rows: int = CHUNK_ROWS,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[Chunk]:
    r"""Return the chunks of a file in which each line is a text without a label.

    Such a file holds texts for predictions. A model cannot be trained on it. Empty lines are
    skipped.

    Parameters
    ----------
    path : path, binary file or "-"
        The file, gzipped or not.
    vectorizer : object with a ``transform`` method, or None
        Makes features from texts, as in `read_tsv`.
    chunk_rows : int
        Maximum number of rows in a chunk.
    max_line_bytes : int
        Maximum number of bytes in a line. A longer line raises an error, so that a small
        compressed file cannot take all memory.

    Examples
    --------
    >>> import io
    >>> (chunk,) = read_lines(io.BytesIO(b"good morning\ngood night\n"))
    >>> chunk.texts, chunk.n_unlabelled
    (['good morning', 'good night'], 2)
    """
    chunk_rows = check_chunk_rows(chunk_rows)
    max_line_bytes = check_line_limit(max_line_bytes)
    check_vectorizer(vectorizer)
    blocks = (
        (TextRow(line, (), text) for line, text in _lines(*block))
        for block in read_blocks(path, max_line_bytes)
    )
    return text_chunks(blocks, source_name(path), vectorizer, chunk_rows)


def _lines(first_line: int, block: bytes) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line that is not empty."""
    for line, text in enumerate(block.decode().split("\n"), first_line):
        if text and not text.isspace():
            yield line, text.removesuffix("\r")


def _cut(text: str, prefix: str) -> tuple[list[str], str]:
    """Return the labels and the text of a line."""
    labels: dict[str, None] = {}
    rest = text.lstrip()
    while rest.startswith(prefix):
        first, *more = rest.split(maxsplit=1)
        labels[first[len(prefix) :]] = None
        rest = more[0] if more else ""
    if prefix in rest:
        words = rest.split()
        labels |= dict.fromkeys(w[len(prefix) :] for w in words if w.startswith(prefix))
        rest = " ".join(word for word in words if not word.startswith(prefix))
    labels.pop("", None)
    return list(labels), rest
