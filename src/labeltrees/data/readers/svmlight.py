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
from labeltrees.data.readers.source import MAX_LINE_BYTES, check_line_limit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labeltrees.data.chunk import Chunk
    from labeltrees.data.readers.source import Source

__all__ = ["read_svmlight"]


def read_svmlight(
    path: Source,
    *,
    n_features: int | None = None,
    zero_based: bool = True,
    chunk_rows: int = CHUNK_ROWS,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[Chunk]:
    r"""Return the chunks of a file of rows ``label,label feature:value ... # comment``.

    Labels are integers of any sign; a row without labels starts with a space. Lines without
    content are skipped. Query ids (``qid:``) raise an error.

    Parameters
    ----------
    path : path, binary file or "-"
        Where to read, gzipped or not.
    n_features : int or None
        The number of columns; None gives ``UNBOUNDED_WIDTH``, and any id is allowed.
    zero_based : bool
        Whether feature ``i`` is column ``i`` or column ``i - 1``. A file whose ids count from 1
        can be read either way: the default leaves column 0 empty.
    chunk_rows : int
        The largest number of rows in a chunk.
    max_line_bytes : int
        A longer line raises an error, so that a small compressed file cannot take all memory.

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
    return parse_chunks(path, chunk_rows, max_line_bytes, parse, width)
