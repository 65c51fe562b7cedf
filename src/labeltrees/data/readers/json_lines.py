"""JSON lines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NoReturn

from labeltrees.data.readers import source as blocks
from labeltrees.data.readers.assembly import CHUNK_ROWS, check_chunk_rows, check_width
from labeltrees.data.readers.records import RecordReader
from labeltrees.data.readers.source import (
    MAX_LINE_BYTES,
    Source,
    check_line_limit,
    read_blocks,
    source_name,
)
from labeltrees.data.readers.vectorizers import Vectorizer, check_vectorizer
from labeltrees.errors import DataFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labeltrees.data.chunk import Chunk


def read_jsonl(
    path: Source,
    *,
    vectorizer: Vectorizer | None = None,
    n_features: int | None = None,
    chunk_rows: int = CHUNK_ROWS,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[Chunk]:
    """Return the chunks of a file with one JSON object on each line.

    An object has ``"label"``, or a list ``"labels"``, or neither. All labels of a file are strings,
    or all are integers. ``"labels"`` may be an object with the relevance of each label, such as
    ``{"cat": 3.5, "pet": 1}``, or a list of ``{"label": 3, "relevance": 3.5}``. If ``"label"`` is
    an object, such as ``{"cat": 0.7, "dog": 0.3}``, it is a distribution and sums to 1.

    An object has ``"text"`` or ``"features"``, the same in all lines. Features are
    ``{"name": value, ...}``, which are hashed into 2**30 columns, or
    ``{"indices": [...], "values": [...]}``, pairs ``[[index, value], ...]``, or the values of a
    dense row. An object may have ``"weight"``. Other fields are
    ignored, and empty lines are skipped. If the first object has no field ``"text"`` or
    ``"label"``, fields with usual names take their place, as in tables. An example is
    ``{"intent": "a", "utterance": "b"}``.

    Parameters
    ----------
    path : path, binary file or "-"
        The file, gzipped or not.
    vectorizer : object with a ``transform`` method, or None
        Makes features from texts, as in `read_tsv`.
    n_features : int or None
        The number of columns for ``"indices"``, or None for ``UNBOUNDED_WIDTH``.
    chunk_rows : int
        Maximum number of rows in a chunk.
    max_line_bytes : int
        Maximum number of bytes in a line. A longer line raises an error, so that a small
        compressed file cannot take all memory.

    Examples
    --------
    >>> import io
    >>> row = b'{"labels": [3, 1], "features": {"indices": [2, 0], "values": [1, 0.5]}}'
    >>> (chunk,) = read_jsonl(io.BytesIO(row), n_features=3)
    >>> chunk.labels, chunk.features.toarray()
    (array([3, 1]), array([[0.5, 0. , 1. ]], dtype=float32))
    """
    chunk_rows = check_chunk_rows(chunk_rows)
    max_line_bytes = check_line_limit(max_line_bytes)
    check_vectorizer(vectorizer)
    records = RecordReader(source_name(path), check_width(n_features), vectorizer)
    return _chunks(path, records, chunk_rows, max_line_bytes)


def _chunks(
    source: Source, records: RecordReader, chunk_rows: int, max_line_bytes: int
) -> Iterator[Chunk]:
    name = records.name
    decode = json.JSONDecoder(parse_constant=_refuse).decode
    size = 0
    for first_line, block in read_blocks(source, max_line_bytes):
        for line, text in enumerate(block.decode().split("\n"), first_line):
            if not text or text.isspace():
                continue
            try:
                record = decode(text)
            except (ValueError, RecursionError) as error:
                raise DataFileError(name, line, f"not JSON: {error}.") from None
            records.add(record, line)
            size += len(text)
            if len(records) == chunk_rows or size >= blocks.BLOCK_BYTES:
                yield records.take()
                size = 0
        if len(records):  # Rows of a pipe are yielded without waiting for more.
            yield records.take()
            size = 0


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON value")
