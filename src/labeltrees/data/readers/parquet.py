"""Parquet files, through pyarrow."""

from __future__ import annotations

import tempfile
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from labeltrees.data.readers.assembly import CHUNK_ROWS, check_chunk_rows, check_width
from labeltrees.data.readers.records import FIELDS, RecordReader
from labeltrees.data.readers.source import (
    GZIP_MAGIC,
    MAX_LINE_BYTES,
    Source,
    check_line_limit,
    open_source,
    read_pieces,
    source_name,
    too_long,
)
from labeltrees.data.readers.vectorizers import Vectorizer, check_vectorizer
from labeltrees.errors import DataFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labeltrees.data.chunk import Chunk


def read_parquet(
    path: Source,
    *,
    vectorizer: Vectorizer | None = None,
    n_features: int | None = None,
    chunk_rows: int = CHUNK_ROWS,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[Chunk]:
    """Return the chunks of a Parquet file whose columns are the fields of `read_jsonl`.

    ``features`` is a map from names to numbers, a struct of ``indices`` and ``values``, or a
    struct of named numbers. This reader needs pyarrow. In errors and chunks, the "line" is the
    number of the row, from 1. A stream that cannot be rewound, or is gzipped, is copied to a
    temporary file first.

    Parameters
    ----------
    path : path, binary file or "-"
        The file.
    vectorizer : object with a ``transform`` method, or None
        Makes features from texts, as in `read_tsv`.
    n_features : int or None
        The number of columns for ``indices``, or None for ``UNBOUNDED_WIDTH``.
    chunk_rows : int
        Maximum number of rows in a chunk.
    max_line_bytes : int
        Maximum length of a text. A longer text raises an error. The memory for the pages of the
        file depends on pyarrow.

    Examples
    --------
    >>> import io, pyarrow, pyarrow.parquet
    >>> file = io.BytesIO()
    >>> table = pyarrow.table({"label": [3], "features": [{"indices": [1], "values": [0.5]}]})
    >>> pyarrow.parquet.write_table(table, file)
    >>> (chunk,) = read_parquet(io.BytesIO(file.getvalue()), n_features=2)
    >>> chunk.labels, chunk.features.toarray()
    (array([3]), array([[0. , 0.5]], dtype=float32))
    """
    chunk_rows = check_chunk_rows(chunk_rows)
    check_vectorizer(vectorizer)
    records = RecordReader(source_name(path), check_width(n_features), vectorizer)
    max_line_bytes = check_line_limit(max_line_bytes)
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "Parquet files need pyarrow. Run pip install 'labeltrees[parquet]' first."
        ) from error
    return _chunks(path, records, chunk_rows, max_line_bytes)


def _chunks(
    source: Source, records: RecordReader, chunk_rows: int, max_line_bytes: int
) -> Iterator[Chunk]:
    name, line = records.name, 1
    with seekable(source) as file:
        for batch in _batches(file, name, chunk_rows):
            for record in _records(batch, name, line):
                if len(str(record.get("text") or "")) > max_line_bytes:
                    raise DataFileError(name, line, too_long(max_line_bytes))
                records.add(record, line)
                line += 1
            if len(records):
                yield records.take()


def _batches(file: BinaryIO, name: str, chunk_rows: int) -> Iterator[Any]:
    """Yield record batches of the columns that are fields."""
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    n_rows = 0
    try:
        parquet = ParquetFile(file)
        columns = [column for column in FIELDS if column in parquet.schema_arrow.names]
        for batch in parquet.iter_batches(batch_size=chunk_rows, columns=columns):
            yield batch
            n_rows += batch.num_rows
    except (ArrowException, OSError) as error:
        # The first line of Arrow's message is the reason, the others are places in its source.
        reason = (str(error).splitlines() or ["unreadable"])[0].rstrip(".")
        raise DataFileError(name, n_rows + 1, f"Parquet: {reason}.") from error


def _records(batch: Any, name: str, first_line: int) -> Iterator[dict[str, object]]:
    """Yield the rows of a batch as the objects that JSON lines have."""
    try:
        rows = batch.to_pylist()
    except UnicodeDecodeError:
        raise DataFileError(
            name, first_line + _first_bad_row(batch), "a string is not valid UTF-8."
        ) from None
    for row in rows:
        features = row.get("features")
        if isinstance(features, list):  # pyarrow returns a map as a list of pairs.
            row["features"] = dict(features) if _are_pairs(features) else features
        elif isinstance(features, dict):
            row["features"] = {key: v for key, v in features.items() if v is not None}
        for key in ("label", "labels"):
            labels = row.get(key)
            if isinstance(labels, list) and labels and _are_pairs(labels):
                row[key] = dict(labels)
            elif isinstance(labels, dict):  # fields of other rows are None
                row[key] = {name: v for name, v in labels.items() if v is not None}
        yield row


def _are_pairs(entries: list[object]) -> bool:
    return all(isinstance(entry, tuple) and len(entry) == 2 for entry in entries)


def _first_bad_row(batch: Any) -> int:
    for row in range(batch.num_rows):
        try:
            batch.slice(row, 1).to_pylist()
        except UnicodeDecodeError:
            return row
    return 0


@contextmanager
def seekable(source: Source) -> Iterator[BinaryIO]:
    """Open a source so that it can be read in any order."""
    with open_source(source) as file:
        if file.seekable():
            start = file.tell()
            head = file.read(len(GZIP_MAGIC))
            file.seek(start)
            if head != GZIP_MAGIC:
                yield file
                return
        with tempfile.TemporaryFile() as copy:
            try:
                for piece in read_pieces(file):
                    copy.write(piece)
            except (EOFError, zlib.error) as error:
                reason = f"the gzip stream is damaged or cut short ({error})."
                raise DataFileError(source_name(source), 1, reason) from None
            copy.seek(0)
            yield copy
