"""What every reader does last: arrays of the core into chunks, its errors into file errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from labeltrees import _core
from labeltrees.data.chunk import UNBOUNDED_WIDTH, Chunk
from labeltrees.data.readers.source import Source, read_blocks, source_name
from labeltrees.data.rows import Rows
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
    "rows_of",
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


def rows_of(parsed: _core.ParsedRows, width: int) -> Rows:
    """Return the features of parsed rows, without a copy."""
    return Rows(parsed.row_starts, parsed.indices, parsed.values, width)


def chunk_of(parsed: _core.ParsedRows, width: int) -> Chunk:
    """Return a chunk of parsed rows, without copying their features."""
    rows = rows_of(parsed, width)
    labels: NDArray[np.int64] | NDArray[np.object_] = parsed.labels
    if parsed.label_kind == _core.LabelKind.names:
        labels = np.array(parsed.label_names, dtype=np.object_)[labels]
    weights, lines = parsed.weights, parsed.lines
    return Chunk(
        rows,
        labels,
        parsed.label_starts,
        weights if len(weights) == rows.n_rows else None,
        int(lines[0]) if rows.n_rows else 1,
        lines,
    )


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
