"""Lines of labels and text."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from labeltrees.data.chunk import Chunk
from labeltrees.data.readers import source as blocks
from labeltrees.data.readers.assembly import CHUNK_ROWS, check_chunk_rows
from labeltrees.data.readers.source import (
    MAX_LINE_BYTES,
    Source,
    check_line_limit,
    read_blocks,
    source_name,
)
from labeltrees.data.readers.vectorizers import (
    Vectorizer,
    check_vectorizer,
    default_vectorizer,
    fit_texts,
    vectorize,
)
from labeltrees.errors import ArgumentError, DataFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sklearn.feature_extraction.text import TfidfVectorizer

__all__ = ["fit_tfidf", "read_tsv"]


def read_tsv(
    path: Source,
    *,
    vectorizer: Vectorizer | None = None,
    label_separator: str | None = " ",
    chunk_rows: int = CHUNK_ROWS,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[Chunk]:
    r"""Return the chunks of a file of lines ``label label<TAB>text``.

    Labels are str. A line that starts with the tab has no label; empty lines are skipped.

    Parameters
    ----------
    path : path, binary file or "-"
        Where to read, gzipped or not.
    vectorizer : object with a ``transform`` method, or None
        Makes features of texts. If it needs fitting it must be fitted, see `fit_tfidf`. None:
        scikit-learn's ``HashingVectorizer`` of words, 2**20 columns, rows of length 1.
    label_separator : str or None
        What separates labels; None if a line has one label, which may contain spaces.
    chunk_rows : int
        The largest number of rows in a chunk.
    max_line_bytes : int
        A longer line raises an error, so that a small compressed file cannot take all memory.

    Examples
    --------
    >>> import io
    >>> (chunk,) = read_tsv(io.BytesIO(b"greet polite\tgood morning\n"))
    >>> chunk.labels, chunk.features.shape, chunk.features.nnz
    (array(['greet', 'polite'], dtype=object), (1, 1048576), 2)
    """
    chunk_rows = check_chunk_rows(chunk_rows)
    max_line_bytes = check_line_limit(max_line_bytes)
    check_vectorizer(vectorizer)
    _check_separator(label_separator)
    return _chunks(
        _blocks(path, max_line_bytes), source_name(path), vectorizer, label_separator, chunk_rows
    )


def fit_tfidf(
    path: Source,
    *,
    vectorizer: TfidfVectorizer | None = None,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> TfidfVectorizer:
    r"""Return a TfidfVectorizer fitted to the texts of a file for `read_tsv`.

    The result is that of ``vectorizer.fit(texts)``, in one pass and with memory for the
    vocabulary only.

    Parameters
    ----------
    path : path, binary file or "-"
        Where to read, gzipped or not.
    vectorizer : TfidfVectorizer or None
        The parameters; it is not changed. None: scikit-learn's defaults.
    max_line_bytes : int
        A longer line raises an error.

    Examples
    --------
    >>> import io
    >>> fitted = fit_tfidf(io.BytesIO(b"a\tgood morning\nb\tgood night\n"))
    >>> fitted.get_feature_names_out()
    array(['good', 'morning', 'night'], dtype=object)
    """
    limit = check_line_limit(max_line_bytes)
    lines = chain.from_iterable(_blocks(path, limit))
    return fit_texts((text for _, _, text in lines), vectorizer)


def _chunks(
    line_blocks: Iterator[Iterator[tuple[int, str, str]]],
    name: str,
    vectorizer: Vectorizer | None,
    separator: str | None,
    chunk_rows: int,
) -> Iterator[Chunk]:
    make = vectorizer if vectorizer is not None else default_vectorizer()
    held: list[tuple[int, str, str]] = []
    size = 0
    for lines in line_blocks:
        for row in lines:
            held.append(row)
            size += len(row[2])
            if len(held) == chunk_rows or size >= blocks.BLOCK_BYTES:
                yield _chunk(name, held, make, separator)
                held, size = [], 0
        if held:  # rows of a pipe do not wait for more
            yield _chunk(name, held, make, separator)
            held, size = [], 0


def _chunk(
    name: str, held: list[tuple[int, str, str]], vectorizer: Vectorizer, separator: str | None
) -> Chunk:
    line_numbers, label_fields, texts = zip(*held, strict=True)
    lines = np.array(line_numbers, np.int64)
    rows = vectorize(vectorizer, texts, name, lines)
    labels: list[str] = []
    label_starts = np.zeros(len(held) + 1, np.int64)
    for row, field in enumerate(label_fields):
        parts = [field] if separator is None else field.split(separator)
        labels.extend(dict.fromkeys(part for part in parts if part))
        label_starts[row + 1] = len(labels)
    return Chunk(rows, np.array(labels, np.object_), label_starts, None, int(lines[0]), lines)


def _blocks(source: Source, max_line_bytes: int) -> Iterator[Iterator[tuple[int, str, str]]]:
    name = source_name(source)
    for first_line, block in read_blocks(source, max_line_bytes):
        yield _lines(name, first_line, block)


def _lines(name: str, first_line: int, block: bytes) -> Iterator[tuple[int, str, str]]:
    """Yield line, labels and text of each line that is not empty."""
    for line, text in enumerate(block.decode().split("\n"), first_line):
        labels, tab, rest = text.removesuffix("\r").partition("\t")
        if tab:
            yield line, labels, rest
        elif labels.strip():
            raise DataFileError(name, line, "there is no tab between labels and text.")


def _check_separator(separator: str | None) -> None:
    if separator is not None and (not isinstance(separator, str) or not separator.strip("\t\r\n")):
        raise ArgumentError.of("label_separator", separator, "None or a string other than a tab")
