"""Tables of comma-separated values and similar formats, with or without names of columns."""

from __future__ import annotations

import csv
from itertools import chain
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from labeltrees import _core
from labeltrees.checks import choice
from labeltrees.data.chunk import Chunk
from labeltrees.data.readers.assembly import (
    CHUNK_ROWS,
    TextRow,
    check_chunk_rows,
    chunk_labels,
    file_error,
    rows_of,
    text_chunks,
)
from labeltrees.data.readers.columns import is_missing, is_number
from labeltrees.data.readers.detection.first_block import read_first_block
from labeltrees.data.readers.detection.separators import check_separator, split_labels
from labeltrees.data.readers.detection.table_columns import (
    DELIMITERS,
    Column,
    TableLayout,
    TableOptions,
    choose_delimiter,
    is_quoted,
    table_layout,
)
from labeltrees.data.readers.source import (
    MAX_LINE_BYTES,
    Source,
    check_line_limit,
    read_blocks,
    source_name,
    too_long,
)
from labeltrees.data.readers.vectorizers import Vectorizer, check_vectorizer
from labeltrees.data.rows import MAX_WEIGHT, Rows, as_rows
from labeltrees.errors import ArgumentError, DataFileError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

_LARGEST = 3.4e38  # of 32-bit floats
#: The first line of a row, and its cells.
Record: TypeAlias = tuple[int, list[str]]


def read_csv(
    path: Source,
    *,
    vectorizer: Vectorizer | None = None,
    delimiter: str | None = None,
    header: bool | Literal["auto"] = "auto",
    label_column: Column | None = None,
    text_column: Column | Sequence[Column] | None = None,
    rating_column: Column | None = None,
    label_separator: str | None = "auto",
    chunk_rows: int = CHUNK_ROWS,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[Chunk]:
    r"""Return the chunks of a table of comma-separated values.

    Cells may be in quotes, as in Python's ``csv``. Options that are not given are detected from the
    names of the columns, then from the first megabyte of rows. If there is a column of texts, rows
    are texts, and other columns are not used. Otherwise columns of numbers are features in their
    order, where an empty cell counts as 0. If there are other columns, all features are named
    ``column`` or ``column=value`` and hashed into 2**30 columns, as in JSON lines.

    Parameters
    ----------
    path : path, binary file or "-"
        The file, gzipped or not.
    vectorizer : object with a ``transform`` method, or None
        Makes features from texts, as in `read_tsv`.
    delimiter : {",", ";", "|", "\t"} or None
        The delimiter of cells. None chooses the one that gives the most rows the same number of
        cells.
    header : bool or "auto"
        Whether the first row has the names of the columns.
    label_column : str, int or None
        The column of labels, by name or by number from 1.
    text_column : str, int, list of them or None
        The columns of texts, which are joined with spaces.
    rating_column : str, int or None
        The column with the relevance of the row's label, a number >= 0.
    label_separator : str or None
        The separator of labels, or None if a cell is one label. ``"auto"`` works as in
        `read_tsv`, but never chooses a space.
    chunk_rows : int
        Maximum number of rows in a chunk.
    max_line_bytes : int
        Maximum number of bytes in a row. A longer row raises an error, so that a small
        compressed file cannot take all memory.

    Examples
    --------
    >>> import io
    >>> text = b'intent,text\ngreet,"good morning, all"\nleave,good night\n'
    >>> (chunk,) = read_csv(io.BytesIO(text))
    >>> chunk.labels.tolist(), chunk.texts
    (['greet', 'leave'], ['good morning, all', 'good night'])
    """
    chunk_rows = check_chunk_rows(chunk_rows)
    max_line_bytes = check_line_limit(max_line_bytes)
    check_vectorizer(vectorizer)
    check_separator(label_separator)
    choice("header", header, (True, False, "auto"))
    if delimiter is not None:
        choice("delimiter", delimiter, DELIMITERS)
    texts = columns_wished("text_column", text_column)
    columns_wished("label_column", label_column)
    columns_wished("rating_column", rating_column)
    # Missing labels are an error of training, not of reading.
    options = TableOptions(label_column, texts, rating_column, label_separator, header)
    return _found_out(path, options, delimiter, vectorizer, chunk_rows, max_line_bytes)


def read_table(
    path: Source,
    layout: TableLayout,
    *,
    vectorizer: Vectorizer | None = None,
    chunk_rows: int = CHUNK_ROWS,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[Chunk]:
    r"""Return the chunks of a table of known layout, whose columns are found by their names.

    The columns of labels, ratings and weights may be missing. Without the column of labels, no row
    has a label.

    Examples
    --------
    >>> import io
    >>> layout = TableLayout(",", True, True, ("kind", "legs"), label="kind", numbers=("legs",))
    >>> (chunk,) = read_table(io.BytesIO(b"legs\n4\n2\n"), layout)
    >>> chunk.n_unlabelled, chunk.features.toarray().tolist()
    (2, [[4.0], [2.0]])
    """
    chunk_rows = check_chunk_rows(chunk_rows)
    max_line_bytes = check_line_limit(max_line_bytes)
    check_vectorizer(vectorizer)
    records = _records(read_blocks(path, max_line_bytes), source_name(path), layout, max_line_bytes)
    return _chunks(records, source_name(path), layout, vectorizer, chunk_rows)


def layout_of_table(
    text: str, name: str, options: TableOptions, delimiter: str | None
) -> TableLayout:
    r"""Return the layout of a table whose first rows are given.

    >>> layout_of_table("label,text\na,good morning all\n", "rows.csv", TableOptions(), None).texts
    ('text',)
    """
    delimiter = delimiter or choose_delimiter(text)
    bare = TableLayout(delimiter, is_quoted(text, delimiter), False, ())
    records = _records(iter([(1, text.encode())]), name, bare, len(text) + 1)
    rows: list[list[str]] = []
    try:
        for block in records:
            rows.extend(cells for _, cells in block)
    except DataFileError:
        if not rows:  # The last row may be cut off inside quotes.
            raise
    if not rows:
        return bare
    return table_layout(name, bare.delimiter, bare.quoted, rows, options)


def _found_out(
    source: Source,
    options: TableOptions,
    delimiter: str | None,
    vectorizer: Vectorizer | None,
    chunk_rows: int,
    max_line_bytes: int,
) -> Iterator[Chunk]:
    name = source_name(source)
    block = read_first_block(source)
    layout = layout_of_table(block.text, name, options, delimiter)
    records = _records(read_blocks(block.source, max_line_bytes), name, layout, max_line_bytes)
    yield from _chunks(records, name, layout, vectorizer, chunk_rows)


def _records(
    text_blocks: Iterable[tuple[int, bytes]], name: str, layout: TableLayout, limit: int
) -> Iterator[list[Record]]:
    """Yield the rows that end in one block of text after the other, the header included."""
    begin, size, n_left = 1, 0, 0

    def lines() -> Iterator[str]:
        nonlocal size, n_left
        for _, block in text_blocks:
            parts = block.decode().removesuffix("\n").split("\n")
            n_left = len(parts)
            for line in parts:
                n_left -= 1
                size += len(line) + 1
                if size > limit + 1 and size > len(line) + 1:
                    # The limit of a single line is checked where it is read.
                    raise DataFileError(name, begin, f"a quote is not closed, or {too_long(limit)}")
                yield line + "\n"

    csv.field_size_limit(max(csv.field_size_limit(), min(limit, 2**31 - 1)))
    reader = csv.reader(
        lines(),
        delimiter=layout.delimiter,
        quoting=csv.QUOTE_MINIMAL if layout.quoted else csv.QUOTE_NONE,
        strict=True,
    )
    held: list[Record] = []
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            if held:
                yield held
            raise DataFileError(name, begin, f"not a row of a table: {error}.") from None
        if cells and (len(cells) > 1 or cells[0].strip()):
            held.append((begin, cells))
        if held and (n_left == 0 or cells is None):  # Rows of a pipe do not wait.
            yield held
            held = []
        if cells is None:
            return
        begin, size = reader.line_num + 1, 0


def _chunks(
    records: Iterator[list[Record]],
    name: str,
    layout: TableLayout,
    vectorizer: Vectorizer | None,
    chunk_rows: int,
) -> Iterator[Chunk]:
    first = next(records, None)
    if first is None:
        return
    line, cells = first[0]
    columns = [cell.strip() for cell in cells] if layout.header else list(layout.columns)
    reader = _RowReader(name, layout, columns, line)
    row_blocks = chain([first[layout.header :]], records)
    if layout.texts:
        texts = (map(reader.text_row, rows) for rows in row_blocks)
        yield from text_chunks(texts, name, vectorizer, chunk_rows)
        return
    for rows in row_blocks:
        for begin in range(0, len(rows), chunk_rows):
            yield reader.feature_chunk(rows[begin : begin + chunk_rows])


class _RowReader:
    """Reads the rows of a table with these columns."""

    def __init__(self, name: str, layout: TableLayout, columns: list[str], line: int) -> None:
        places = {column: at for at, column in enumerate(columns)}
        needed = (*layout.texts, *layout.numbers, *layout.categories)
        missing = [column for column in needed if column not in places]
        if missing:
            reason = f"the column {missing[0]!r} is missing. The columns are {', '.join(columns)}."
            raise DataFileError(name, line, reason)
        self.name, self.separator, self.n_columns = name, layout.label_separator, len(columns)
        self.label = None if layout.label is None else places.get(layout.label)
        self.rating = None if layout.rating is None else places.get(layout.rating)
        self.weight = None if layout.weight is None else places.get(layout.weight)
        self.texts = [places[column] for column in layout.texts]
        self.numbers = [(places[column], column) for column in layout.numbers]
        self.categories = [(places[column], column) for column in layout.categories]

    def text_row(self, row: Record) -> TextRow:
        line, cells = row
        self._check_size(line, cells)
        text = " ".join(cells[at].strip() for at in self.texts if cells[at].strip())
        return TextRow(line, *self._labels(line, cells, text), self._weight(line, cells))

    def _labels(
        self, line: int, cells: list[str], text: str
    ) -> tuple[list[str], str, list[float] | None]:
        labels = [] if self.label is None else split_labels(cells[self.label], self.separator)
        if self.rating is None or not labels:
            return labels, text, None
        value = self._number(line, cells[self.rating], "relevance")
        return labels, text, [value] * len(labels)

    def feature_chunk(self, held: list[Record]) -> Chunk:
        for line, cells in held:
            self._check_size(line, cells)
        lines = np.array([line for line, _ in held], np.int64)
        found = [self._labels(line, cells, "") for line, cells in held]
        relevance = None
        if self.rating is not None and self.label is not None:
            relevance = np.array([v for _, _, r in found for v in r or ()], np.float32)
        weights = None
        if self.weight is not None:
            weights = np.array([self._weight(line, cells) for line, cells in held], np.float32)
        rows = self._named_rows(held, lines) if self.categories else self._dense_rows(held)
        labels = chunk_labels([each for each, _, _ in found], relevance)
        return Chunk(rows, labels, weights, int(lines[0]), lines)

    def _dense_rows(self, held: list[Record]) -> Rows:
        return as_rows(self._values(held))

    def _named_rows(self, held: list[Record], lines: NDArray[np.int64]) -> Rows:
        """Return rows of hashed names, ``column`` for numbers and ``column=value`` otherwise."""
        names: list[str] = []
        values: list[float] = []
        starts = [0]
        numbers = self._values(held) if self.numbers else np.zeros((len(held), 0))
        for (_, cells), row in zip(held, numbers, strict=True):
            given = [(name, v) for (_, name), v in zip(self.numbers, row, strict=True) if v]
            given += [
                (f"{name}={cells[at].strip()}", 1.0)
                for at, name in self.categories
                if not is_missing(cells[at])
            ]
            names.extend(name for name, _ in given)
            values.extend(value for _, value in given)
            starts.append(len(values))
        try:
            parsed = _core.gather_rows(
                np.array(starts, np.int64),
                _core.hash_names(names),
                np.array(values, np.float64),
                lines,
                _core.HASHED_WIDTH,
            )
        except _core.ParseError as error:
            raise file_error(self.name, error) from None
        return rows_of(parsed, _core.HASHED_WIDTH)

    def _values(self, held: list[Record]) -> NDArray[np.float64]:
        """Return the columns of numbers, in which missing numbers are 0."""
        cells = [[row[at] for at, _ in self.numbers] for _, row in held]
        try:
            values = np.array(cells, np.float64)
        except ValueError:
            values = np.full((len(held), len(self.numbers)), np.nan)
        if not np.isfinite(values).all() or np.abs(values).max(initial=0) > _LARGEST:
            for at, (line, row) in enumerate(held):
                values[at] = [
                    0.0 if is_missing(row[place]) else self._number(line, row[place], column, -1)
                    for place, column in self.numbers
                ]
        return values

    def _weight(self, line: int, cells: list[str]) -> float:
        if self.weight is None or is_missing(cells[self.weight]):
            return 1.0
        return self._number(line, cells[self.weight], "weight", high=MAX_WEIGHT)

    def _number(
        self, line: int, cell: str, what: str, sign: int = 1, high: float = _LARGEST
    ) -> float:
        """Return the number of a cell, which may be negative only if ``sign`` is negative."""
        value = float(cell) if is_number(cell) else np.nan
        if not (0 <= value <= high or (sign < 0 and abs(value) <= high)):
            allowed = "a finite number" if sign < 0 else f"a number in [0, {high:g}]"
            raise DataFileError(self.name, line, f"the {what} {cell[:40]!r} is not {allowed}.")
        return value

    def _check_size(self, line: int, cells: list[str]) -> None:
        if len(cells) != self.n_columns:
            reason = f"the row has {len(cells)} cells, but the first row has {self.n_columns}."
            raise DataFileError(self.name, line, reason)


def columns_wished(
    argument: str, columns: Column | Sequence[Column] | None
) -> tuple[Column, ...] | None:
    """Return columns as a tuple, or raise `ArgumentError`."""
    if columns is None:
        return None
    several = [columns] if isinstance(columns, str | int) else list(columns)
    for column in several:
        if isinstance(column, bool) or not isinstance(column, str | int):
            raise ArgumentError.of(argument, columns, "the name of a column or its number, from 1")
    return tuple(several)
