"""What every reader does last: arrays of the core into chunks, its errors into file errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.sparse import csr_array

from labeltrees import _core
from labeltrees.data.chunk import UNBOUNDED_WIDTH, Chunk
from labeltrees.data.readers.source import Source, read_blocks, source_name
from labeltrees.errors import ArgumentError, DataFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = [
    "CHUNK_ROWS",
    "Parser",
    "check_chunk_rows",
    "check_width",
    "chunk_of",
    "file_error",
    "parse_chunks",
]

#: Rows of a chunk unless told otherwise; long rows make smaller chunks, of one block of text.
CHUNK_ROWS = 16_384


class Parser(Protocol):
    """Parses at most ``max_rows`` rows of ``text`` from byte ``begin`` on."""

    def __call__(self, text: bytes, begin: int, first_line: int, max_rows: int) -> _core.ParsedRows:
        """Return the rows; raises ``_core.ParseError``."""


def check_chunk_rows(chunk_rows: int) -> None:
    """Raise ArgumentError unless ``chunk_rows`` is a positive integer."""
    if isinstance(chunk_rows, bool) or not isinstance(chunk_rows, int) or chunk_rows < 1:
        raise ArgumentError.of("chunk_rows", chunk_rows, "an integer >= 1")


def check_width(n_features: int | None) -> int:
    """Return the number of columns for ``n_features``, which may be unknown."""
    if n_features is None:
        return UNBOUNDED_WIDTH
    allowed = f"None or an integer in [1, {UNBOUNDED_WIDTH}]"
    if isinstance(n_features, bool) or not isinstance(n_features, int):
        raise ArgumentError.of("n_features", n_features, allowed)
    if not 1 <= n_features <= UNBOUNDED_WIDTH:
        raise ArgumentError.of("n_features", n_features, allowed)
    return n_features


def file_error(name: str, error: _core.ParseError) -> DataFileError:
    """Return the core's error as an error of the file ``name``."""
    line, reason = error.args
    return DataFileError(name, line, f"{reason}.")


def chunk_of(rows: _core.ParsedRows, width: int) -> Chunk:
    """Return a chunk of parsed rows, without copying their features."""
    n_rows = len(rows.row_starts) - 1
    # With 64-bit row starts scipy would copy the indices to 64 bits as well.
    starts = rows.row_starts
    if len(rows.indices) < 2**31:
        starts = starts.astype(np.int32)
    features = csr_array((rows.values, rows.indices, starts), shape=(n_rows, width))
    features.has_canonical_format = True
    labels: NDArray[np.int64] | NDArray[np.object_] = rows.labels
    if rows.label_kind == _core.LabelKind.names:
        labels = np.array(rows.label_names, dtype=np.object_)[rows.labels]
    weights = rows.weights if len(rows.weights) == n_rows else None
    first_line = int(rows.lines[0]) if n_rows else 1
    return Chunk(features, labels, rows.label_starts, weights, first_line, rows.lines)


def parse_chunks(source: Source, chunk_rows: int, parse: Parser, width: int) -> Iterator[Chunk]:
    """Yield the chunks of a text file whose every line stands for itself."""
    name = source_name(source)
    for first_line, text in read_blocks(source):
        begin, line = 0, first_line
        while begin < len(text):
            try:
                rows = parse(text=text, begin=begin, first_line=line, max_rows=chunk_rows)
            except _core.ParseError as error:
                raise file_error(name, error) from None
            begin, line = rows.end, rows.next_line
            if len(rows.lines):
                yield chunk_of(rows, width)
