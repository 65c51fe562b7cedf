"""The svmlight format and the format of the extreme classification repository (XC)."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from labeltrees import _core
from labeltrees.checks import flag
from labeltrees.data.chunk import UNBOUNDED_WIDTH
from labeltrees.data.readers.assembly import (
    CHUNK_ROWS,
    check_chunk_rows,
    check_width,
    chunk_of,
    file_error,
    parse_chunks,
    with_relevance,
)
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

    from numpy.typing import NDArray

    from labeltrees.data.chunk import Chunk
    from labeltrees.data.readers.assembly import Relevances

HEADER = re.compile(rb"[ \t]*(\d{1,18})[ \t]+(\d{1,18})[ \t]+(\d{1,18})[ \t]*\r?\n?")
_LABELS = re.compile(rb"^[^ \t\r\n#][^ \t\r\n]*", re.MULTILINE)
_GRADE = re.compile(rb"\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_LARGEST = 3.4e38  # of 32-bit floats
_FIRST_PAIRS = re.compile(rb"^([0-9]+):[^ \t\r\n,]+[ \t]+([0-9]+):", re.MULTILINE)
_LIST = re.compile(rb"^[^ \t\r\n#:,]+:[^ \t\r\n,]+,", re.MULTILINE)


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
    "the first word {!r} looks like a feature, so the row has no label. A row without labels must "
    "start with a space, and labels with a relevance are 'label:relevance,label:relevance'."
)


def _first_word(text: bytes) -> str:
    rows = (row for row in text.split(b"\n") if row.strip() and not row.startswith((b" ", b"#")))
    return next(rows, b" ").split()[0].decode()[:40]


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
            chunk = with_relevance(chunk_of(rows, n_features), relevance, n_labels_before)
            n_labels_before += len(chunk.labels)
            yield chunk
    if n_rows < 0:
        raise DataFileError(
            name, 1, "the file is empty, but must start with 'n_rows n_features n_labels'."
        )
    if left > 0:
        reason = f"the header announces {n_rows} rows, but the file has {n_rows - left}."
        raise DataFileError(name, max(line - 1, 1), reason)


def _header(name: str, text: bytes) -> tuple[int, int, int, int]:
    """Return n_rows, n_features, n_labels and the start of the first row."""
    end = text.find(b"\n") + 1 or len(text)
    match = HEADER.fullmatch(text, 0, end)
    if match is None:
        raise DataFileError(name, 1, "expected the header 'n_rows n_features n_labels'.")
    n_rows, n_features, n_labels = map(int, match.groups())
    if n_features > UNBOUNDED_WIDTH:
        reason = f"the header has {n_features} features, but at most {UNBOUNDED_WIDTH} are allowed."
        raise DataFileError(name, 1, reason)
    return n_rows, n_features, n_labels, end


def _check_nothing_follows(name: str, line: int, text: bytes, n_rows: int) -> None:
    """Raise DataFileError if rows follow after the number of rows in the header."""
    rest = text.lstrip()
    if rest:
        line += text.count(b"\n", 0, len(text) - len(rest))
        reason = f"the file has more rows than the {n_rows} that the header announces."
        raise DataFileError(name, line, reason)


def are_graded(text: bytes, begin: int = 0) -> bool | None:
    r"""Return whether the first labels have grades, or None if there are no labels.

    >>> are_graded(b"3:2.5 0:1\n"), are_graded(b"3 0:1\n"), are_graded(b" 0:1\n")
    (True, False, None)
    """
    first = _LABELS.search(text, begin)
    return None if first is None else b":" in first.group()


def looks_graded(text: bytes) -> bool:
    r"""Return whether the first words ``a:b`` of rows are labels, in a format without a header.

    They are labels if a row has a list of them, or if the first word cannot be a feature because
    features increase. Rows of features without a label may look the same if they do not begin with
    a space.

    >>> looks_graded(b"3:2.5 0:1\n"), looks_graded(b"0:1 2:3\n"), looks_graded(b"0:1,2:3 4:1\n")
    (True, False, True)
    """
    if _LIST.search(text):
        return True
    return any(int(pair[1]) >= int(pair[2]) for pair in _FIRST_PAIRS.finditer(text))


def without_grades(
    name: str, line: int, text: bytes, begin: int = 0, n_rows: int | None = None
) -> tuple[bytes, NDArray[np.float32]]:
    r"""Return the rows without the grades of their labels, and a grade for each distinct label.

    ``line`` is the line of the first row. If ``n_rows`` is given, later rows stay as they are.

    >>> without_grades("rows", 1, b"3:2.5,7:1 0:1\n")
    (b'3,7 0:1\n', array([2.5, 1. ], dtype=float32))
    """
    lines = text[begin:].split(b"\n")
    relevance: list[float] = []
    for at, row in enumerate(lines[:n_rows]):
        match = _LABELS.match(row)
        if match is None:
            continue
        grades: dict[bytes, float] = {}
        for pair in match.group().split(b","):
            label, _, grade = pair.partition(b":")
            if not _GRADE.fullmatch(grade) or not float(grade) <= _LARGEST:
                reason = (
                    f"the label {pair.decode()[:40]!r} has no relevance "
                    ">= 0 after a colon, but the "
                    "first label of the file has a relevance."
                )
                raise DataFileError(name, line + at, reason)
            grades.setdefault(label.lstrip(b"+0") or b"0", float(grade))  # 03 is 3.
        lines[at] = b",".join(grades) + row[match.end() :]
        relevance.extend(grades.values())
    return b"\n".join(lines), np.array(relevance, np.float32)
