"""The svmlight and libsvm format, with any number of labels."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from labeltrees import _core
from labeltrees.checks import flag
from labeltrees.data.readers.assembly import (
    CHUNK_ROWS,
    check_chunk_rows,
    check_width,
    parse_chunks,
)
from labeltrees.data.readers.grades import are_graded, looks_graded, without_grades
from labeltrees.data.readers.source import MAX_LINE_BYTES, check_line_limit
from labeltrees.errors import DataFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labeltrees.data.chunk import Chunk
    from labeltrees.data.readers.assembly import Relevances
    from labeltrees.data.readers.source import Source


def read_svmlight(
    path: Source,
    *,
    n_features: int | None = None,
    zero_based: bool = True,
    chunk_rows: int = CHUNK_ROWS,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[Chunk]:
    r"""Return the chunks of a file of rows ``label,label feature:value # comment``.

    Labels are integers of any sign. A row without labels starts with a space. Labels may have a
    relevance, as in ``label:3.5,label:1``, if all labels of the file have one. Lines without
    content are skipped. Query ids (``qid:``) raise an error.

    Parameters
    ----------
    path : path, binary file or "-"
        The file, gzipped or not.
    n_features : int or None
        The number of columns, or None for ``UNBOUNDED_WIDTH``, which allows any id.
    zero_based : bool
        Whether feature ``i`` is column ``i`` or column ``i - 1``. You can read a file whose ids
        count from 1 either way, because the default only leaves column 0 empty.
    chunk_rows : int
        Maximum number of rows in a chunk.
    max_line_bytes : int
        Maximum number of bytes in a line. A longer line raises an error, so that a small
        compressed file cannot take all memory.

    Examples
    --------
    >>> import io
    >>> text = b"# two rows\n7,-1 1:0.5 3:2 # the first\n7 2:1\n"
    >>> (chunk,) = read_svmlight(io.BytesIO(text), n_features=3, zero_based=False)
    >>> chunk.features.toarray()
    array([[0.5, 0. , 2. ], [0. , 1. , 0. ]], dtype=float32)
    """
    chunk_rows = check_chunk_rows(chunk_rows)
    max_line_bytes = check_line_limit(max_line_bytes)
    width = check_width(n_features)
    first = flag("zero_based", zero_based)
    parse = partial(_core.parse_svmlight, n_features=width, zero_based=first)
    return parse_chunks(path, chunk_rows, max_line_bytes, parse, width, _Grades())


class _Grades:
    """Takes the grades off the labels of a file whose first labels have some."""

    def __init__(self) -> None:
        self.found: bool | None = None  # not known before the first labels

    def __call__(self, name: str, line: int, text: bytes, /) -> tuple[bytes, Relevances]:
        if self.found is None:
            self.found = are_graded(text)
            if self.found and not looks_graded(text):
                raise DataFileError(name, line, _MISSING.format(_first_word(text)))
        return without_grades(name, line, text) if self.found else (text, None)


_MISSING = (
    "the first word {!r} looks like a feature, so that the row has no label: a row without labels "
    "starts with a space, and labels with a relevance are 'label:relevance,label:relevance'."
)


def _first_word(text: bytes) -> str:
    rows = (row for row in text.split(b"\n") if row.strip() and not row.startswith((b" ", b"#")))
    return next(rows, b" ").split()[0].decode()[:40]
