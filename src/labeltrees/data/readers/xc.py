"""The format of the extreme classification repository."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from labeltrees import _core
from labeltrees.data.chunk import UNBOUNDED_WIDTH
from labeltrees.data.readers.assembly import CHUNK_ROWS, check_chunk_rows, chunk_of, file_error
from labeltrees.data.readers.grades import are_graded, without_grades
from labeltrees.data.readers.source import (
    MAX_LINE_BYTES,
    Source,
    check_line_limit,
    read_blocks,
    source_name,
)
from labeltrees.errors import DataFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labeltrees.data.chunk import Chunk

HEADER = re.compile(rb"[ \t]*(\d{1,18})[ \t]+(\d{1,18})[ \t]+(\d{1,18})[ \t]*\r?\n?")


def read_xc(
    path: Source, *, chunk_rows: int = CHUNK_ROWS, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[Chunk]:
    r"""Return the chunks of a file in the XC repository's format.

    The first line is ``n_rows n_features n_labels``. Every other line is a row such as
    ``label,label feature:value feature:value ...``. All ids count from 0. A row without labels
    starts with a space. The header must agree with the rows. Labels may have a relevance, as in
    ``label:3.5,label:1``, if all labels of the file have one.

    Parameters
    ----------
    path : path, binary file or "-"
        The file, gzipped or not.
    chunk_rows : int
        Maximum number of rows in a chunk.
    max_line_bytes : int
        Maximum number of bytes in a line. A longer line raises an error, so that a small
        compressed file cannot take all memory.

    Examples
    --------
    >>> import io
    >>> (chunk,) = read_xc(io.BytesIO(b"2 3 5\n4,1 0:1 2:0.5\n 1:2\n"))
    >>> chunk.features.toarray()
    array([[1. , 0. , 0.5], [0. , 2. , 0. ]], dtype=float32)
    >>> chunk.labels.tolist(), chunk.label_starts.tolist()
    ([4, 1], [0, 2, 2])
    """
    chunk_rows = check_chunk_rows(chunk_rows)
    return _chunks(path, chunk_rows, check_line_limit(max_line_bytes))


def _chunks(source: Source, chunk_rows: int, max_line_bytes: int) -> Iterator[Chunk]:
    name, line, n_rows, left = source_name(source), 1, -1, -1
    grades: bool | None = None  # This is unknown before the first labels.
    for first_line, text in read_blocks(source, max_line_bytes):
        begin, line = 0, first_line
        if n_rows < 0:
            n_rows, n_features, n_labels, begin = _header(name, text)
            line, left = line + 1, n_rows
        if grades is None:
            grades = are_graded(text, begin)
        relevance = None
        if grades and left:
            text, relevance = without_grades(name, line, text, begin, left)
            begin = 0
        n_labels_before = 0
        while begin < len(text):
            if left == 0:
                _check_nothing_follows(name, line, text[begin:], n_rows)
                break
            try:
                rows = _core.parse_xc(
                    text, begin, line, min(chunk_rows, left), n_features, n_labels
                )
            except _core.ParseError as error:
                raise file_error(name, error) from None
            begin, line, left = rows.end, rows.next_line, left - len(rows.lines)
            chunk = chunk_of(rows, n_features)
            if relevance is not None:
                end = n_labels_before + len(chunk.labels)
                own = replace(chunk.targets, relevance=relevance[n_labels_before:end])
                chunk = replace(chunk, targets=own)
                n_labels_before = end
            yield chunk
    if n_rows < 0:
        raise DataFileError(name, 1, "the file is empty; expected 'n_rows n_features n_labels'.")
    if left > 0:
        reason = f"the header promises {n_rows} rows and the file ends after {n_rows - left}."
        raise DataFileError(name, max(line - 1, 1), reason)


def _header(name: str, text: bytes) -> tuple[int, int, int, int]:
    """Return n_rows, n_features, n_labels and the start of the first row."""
    end = text.find(b"\n") + 1 or len(text)
    match = HEADER.fullmatch(text, 0, end)
    if match is None:
        raise DataFileError(name, 1, "expected the header 'n_rows n_features n_labels'.")
    n_rows, n_features, n_labels = map(int, match.groups())
    if n_features > UNBOUNDED_WIDTH:
        reason = f"{n_features} features are more than {UNBOUNDED_WIDTH}."
        raise DataFileError(name, 1, reason)
    return n_rows, n_features, n_labels, end


def _check_nothing_follows(name: str, line: int, text: bytes, n_rows: int) -> None:
    """Raise DataFileError if rows follow after the number of rows in the header."""
    rest = text.lstrip()
    if rest:
        line += text.count(b"\n", 0, len(text) - len(rest))
        reason = f"there are more rows than the {n_rows} that the header promises."
        raise DataFileError(name, line, reason)
