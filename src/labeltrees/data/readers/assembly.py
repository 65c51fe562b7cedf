"""Chunks from parsed rows and from texts, and errors of files, the last step of readers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import numpy as np

from labeltrees import _core, checks
from labeltrees.data.chunk import UNBOUNDED_WIDTH, Chunk
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.readers import source as blocks
from labeltrees.data.readers.source import Source, read_blocks, source_name
from labeltrees.data.readers.vectorizers import Vectorizer, default_vectorizer, vectorize
from labeltrees.data.rows import Rows
from labeltrees.errors import DataFileError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    Relevances: TypeAlias = NDArray[np.float32] | None

#: Default maximum number of rows in a chunk. If rows are long, a chunk has only the rows of one
#: block.
CHUNK_ROWS = 16_384


class Parser(Protocol):
    """A function that parses at most ``max_rows`` rows of ``text`` from byte ``begin`` on."""

    def __call__(self, text: bytes, begin: int, first_line: int, max_rows: int) -> _core.ParsedRows:
        """Return the rows, or raise ``_core.ParseError``."""


class Split(Protocol):
    """A function that removes from a block what the core does not parse."""

    def __call__(self, name: str, line: int, text: bytes, /) -> tuple[bytes, Relevances]:
        """Return the text without the grades of labels, and the grades, or None without grades."""


def check_chunk_rows(chunk_rows: int) -> int:
    """Return the largest number of rows in a chunk, or raise `ArgumentError`."""
    most = 2**63 - 1  # The core takes no larger number, and no block of text has this many rows.
    return min(checks.integer("chunk_rows", chunk_rows, 1), most)


def check_width(n_features: int | None) -> int:
    """Return the number of columns, or ``UNBOUNDED_WIDTH`` if ``n_features`` is None."""
    width = checks.Integer(1, UNBOUNDED_WIDTH, optional=True)("n_features", n_features)
    return UNBOUNDED_WIDTH if width is None else width


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
        RaggedLabels(labels, parsed.label_starts),
        weights if len(weights) == rows.n_rows else None,
        int(lines[0]) if rows.n_rows else 1,
        lines,
    )


def parse_chunks(
    source: Source,
    chunk_rows: int,
    max_line_bytes: int,
    parse: Parser,
    width: int,
    split: Split | None = None,
) -> Iterator[Chunk]:
    """Yield the chunks of a text file in which each line is a row.

    ``split`` takes a block of lines and returns the text to parse and the relevance of its labels.
    """
    name = source_name(source)
    for first_line, block in read_blocks(source, max_line_bytes):
        text, relevance = (block, None) if split is None else split(name, first_line, block)
        begin, line, n_before = 0, first_line, 0
        while begin < len(text):
            try:
                rows = parse(text=text, begin=begin, first_line=line, max_rows=chunk_rows)
            except _core.ParseError as error:
                raise file_error(name, error) from None
            begin, line = rows.end, rows.next_line
            if len(rows.lines):
                chunk = with_relevance(chunk_of(rows, width), relevance, n_before)
                n_before += len(chunk.labels)
                yield chunk


def with_relevance(chunk: Chunk, relevance: Relevances, begin: int) -> Chunk:
    """Return a chunk with its part of the relevance of a block's labels, which starts there."""
    if relevance is None:
        return chunk
    own = relevance[begin : begin + len(chunk.labels)]
    return replace(chunk, targets=replace(chunk.targets, relevance=own))


class TextRow(NamedTuple):
    """A row of a file of texts, with its line and its distinct labels."""

    line: int
    labels: Sequence[str]
    text: str
    relevance: Sequence[float] | None = None
    weight: float = 1.0


def text_chunks(
    row_blocks: Iterable[Iterable[TextRow]],
    name: str,
    vectorizer: Vectorizer | None,
    chunk_rows: int,
) -> Iterator[Chunk]:
    """Yield chunks of at most ``chunk_rows`` rows of one block, or fewer if texts are long."""
    make = vectorizer if vectorizer is not None else default_vectorizer()
    held: list[TextRow] = []
    size = 0
    for rows in row_blocks:
        for row in rows:
            held.append(row)
            size += len(row.text)
            if len(held) == chunk_rows or size >= blocks.BLOCK_BYTES:
                yield _chunk(name, held, make)
                held, size = [], 0
        if held:  # Rows of a pipe are yielded without waiting for more.
            yield _chunk(name, held, make)
            held, size = [], 0


def chunk_labels(
    label_lists: Sequence[Sequence[str]], relevance: NDArray[np.float32] | None
) -> RaggedLabels:
    """Return the labels of rows, with their relevance if there is one.

    >>> list(chunk_labels([["a", "b"], [], ["c"]], None).lists())
    [['a', 'b'], [], ['c']]
    """
    found = RaggedLabels.of_lists(label_lists)
    return RaggedLabels(found.labels, found.starts, relevance)


def _chunk(name: str, held: list[TextRow], vectorizer: Vectorizer) -> Chunk:
    line_numbers, label_lists, texts, relevances, weights = zip(*held, strict=True)
    lines = np.array(line_numbers, np.int64)
    rows = vectorize(vectorizer, texts, name, lines)
    relevance = None
    if any(each is not None for each in relevances):
        relevance = np.array(
            [value for row in held for value in (row.relevance or [1.0] * len(row.labels))],
            np.float32,
        )
    weighed = any(weight != 1.0 for weight in weights)
    return Chunk(
        rows,
        chunk_labels(label_lists, relevance),
        np.array(weights, np.float32) if weighed else None,
        int(lines[0]),
        lines,
        list(texts),
    )
