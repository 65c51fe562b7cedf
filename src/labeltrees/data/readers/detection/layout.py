"""The layout of a file, with its format, its columns and the separator of its labels."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from labeltrees.checks import choice
from labeltrees.data.readers.assembly import CHUNK_ROWS, check_chunk_rows
from labeltrees.data.readers.detection.table_columns import TableLayout, TableOptions
from labeltrees.data.readers.formats import FORMATS, TABLE
from labeltrees.data.readers.records import aliases_of
from labeltrees.data.readers.source import (
    MAX_LINE_BYTES,
    Source,
    check_line_limit,
    source_name,
)
from labeltrees.data.readers.table import layout_of_table, read_table
from labeltrees.data.readers.tsv import tsv_layout
from labeltrees.data.readers.vectorizers import check_vectorizer
from labeltrees.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from labeltrees.data.chunk import Chunk
    from labeltrees.data.readers.detection.first_block import FirstBlock
    from labeltrees.data.readers.vectorizers import Vectorizer


@dataclass(frozen=True)
class FileLayout:
    r"""How a file is read, and the file itself, read that way.

    Parameters
    ----------
    name : str
        The file's name, for messages.
    format : str
        Its format, one of ``FORMATS``.
    options : dict
        The arguments of the format's reader, ready for JSON. For TSV and tables they include
        the separator of labels and the columns.
    is_text : bool
        Whether rows are texts. If not, they are features.
    assumed : tuple of str
        Sentences about what was assumed, and which option changes it.
    n_bytes : int or None
        The size of the file, or None if it is unknown, for example for a pipe.
    source : ReusableSource or None
        Where `open` reads. If it is None, `open` reads the file ``name``.

    Examples
    --------
    >>> import io
    >>> from labeltrees.data.readers import profile_file
    >>> layout = profile_file(io.BytesIO(b"greet\tgood morning\nleave\tgood night\n")).layout
    >>> layout.format, layout.is_text
    ('tsv', True)
    >>> [chunk.texts for chunk in layout.open()]
    [['good morning', 'good night']]
    """

    name: str
    format: str
    options: Mapping[str, Any] = field(default_factory=dict)
    is_text: bool = False
    assumed: tuple[str, ...] = ()
    n_bytes: int | None = None
    source: ReusableSource | None = field(default=None, repr=False, compare=False)

    def open(
        self,
        vectorizer: Vectorizer | None = None,
        *,
        chunk_rows: int = CHUNK_ROWS,
        max_line_bytes: int = MAX_LINE_BYTES,
    ) -> Iterator[Chunk]:
        """Return the chunks of the whole file.

        You can open a file as often as you like, but a pipe only once. The rows of a pipe that
        were read for its profile are returned first.

        Parameters
        ----------
        vectorizer : object with a ``transform`` method, or None
            Makes features from texts, as in `read_tsv`. It is not used if rows are features.
        chunk_rows : int
            Maximum number of rows in a chunk.
        max_line_bytes : int
            Maximum number of bytes in a line. A longer line raises an error.
        """
        check_vectorizer(vectorizer)
        chunk_rows, limit = check_chunk_rows(chunk_rows), check_line_limit(max_line_bytes)
        source = self.name if self.source is None else self.source.take()
        return read_as(self.format, self.options, source, vectorizer, chunk_rows, limit)

    def facts(self) -> dict[str, Any]:
        """Return what `from_facts` needs to read another file the same way, ready for JSON."""
        return {"format": self.format, "options": dict(self.options), "is_text": self.is_text}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any], path: Source) -> FileLayout:
        r"""Return the layout of a file that is read in the same way as another one.

        The file itself is not read yet. The columns of a table are found by their names, and the
        column of labels may be missing.

        Examples
        --------
        >>> import io
        >>> from labeltrees.data.readers import profile_file
        >>> profile = profile_file(io.BytesIO(b"label,text\ngreet,good morning all\n"))
        >>> facts = profile.layout.facts()
        >>> other = FileLayout.from_facts(facts, io.BytesIO(b"text\ngood night\n"))
        >>> [chunk.texts for chunk in other.open()]
        [['good night']]
        """
        try:
            kind, options = choice("format", facts["format"], FORMATS), dict(facts["options"])
            if kind == "csv":
                _table_layout_of(options)
            is_text = bool(facts.get("is_text", False))
        except (LookupError, TypeError, ValueError) as error:
            raise DataError(
                f"the layout of a file in a model file is wrong ({error}): {facts!r:.80}"
            ) from None
        source = ReusableSource(path, again=not hasattr(path, "read") and path != "-")
        return cls(source_name(path), kind, options, is_text, source=source)


class ReusableSource:
    """A source that can be read from its start, once or as often as you like."""

    def __init__(self, source: Source, again: bool) -> None:
        self.source = source
        self.again = again
        self.start = source.tell() if again and hasattr(source, "tell") else None
        self.taken = False

    def take(self) -> Source:
        """Return the source at its start, or raise `DataError` if it was read already."""
        if self.taken and not self.again:
            raise DataError(f"{source_name(self.source)} is a stream, which can be read only once.")
        self.taken = True
        if self.start is not None:
            self.source.seek(self.start)  # type: ignore[union-attr]
        return self.source


def read_as(
    kind: str,
    options: Mapping[str, Any],
    source: Source,
    vectorizer: Vectorizer | None,
    chunk_rows: int,
    max_line_bytes: int,
) -> Iterator[Chunk]:
    """Return the chunks of a source in a format, read with the options of a layout."""
    if kind == "csv":
        return read_table(
            source,
            _table_layout_of(options),
            vectorizer=vectorizer,
            chunk_rows=chunk_rows,
            max_line_bytes=max_line_bytes,
        )
    return TABLE[kind].read(
        source,
        options=options,
        vectorizer=vectorizer,
        chunk_rows=chunk_rows,
        max_line_bytes=max_line_bytes,
    )


def _table_layout_of(options: Mapping[str, Any]) -> TableLayout:
    """Return the layout of a table from its options, or raise ValueError or TypeError."""
    known = {each.name for each in fields(TableLayout)}
    if not options.keys() <= known:
        raise ValueError(f"unknown options {sorted(options.keys() - known)}")
    given: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in options.items()
    }
    return TableLayout(**given)


def check_options(kind: str, options: TableOptions) -> None:
    """Raise `ArgumentError` for an option that the format does not use."""
    n_used = {"csv": 5, "tsv": 3}.get(kind, 0)
    given = (
        ("label_separator", options.label_separator, "auto"),
        ("header", options.header, "auto"),
        ("label_column", options.label, None),
        ("text_column", options.texts, None),
        ("rating_column", options.rating, None),
    )
    for name, value, default in given[n_used:]:
        if value != default:
            raise ArgumentError(
                f"is not an option of the format {kind}, got {value!r}.", argument=name, value=value
            )


def detected_layout(layout: FileLayout, block: FirstBlock, options: TableOptions) -> FileLayout:
    """Return a layout completed with what the first block shows about columns and separators."""
    if layout.format == "tsv":
        return _with_tsv_columns(layout, block, options)
    if layout.format == "csv":
        table = layout_of_table(block.text, block.name, options, None)
        facts = {key: value for key, value in asdict(table).items() if key != "notes"}
        return replace(
            layout,
            options={k: list(v) if isinstance(v, tuple) else v for k, v in facts.items()},
            assumed=table.notes,
        )
    if layout.format == "jsonl":
        return replace(layout, assumed=_notes_on_fields(block.text))
    return layout


def _with_tsv_columns(layout: FileLayout, block: FirstBlock, options: TableOptions) -> FileLayout:
    column: Any = "auto" if options.label is None else options.label
    if column not in ("auto", 1, 2, "1", "2"):
        raise ArgumentError.of("label_column", column, "1 or 2 for the format tsv")
    column = column if column == "auto" else int(column)
    lines = enumerate(block.text.split("\n"), 1)
    found = tsv_layout(lines, block.name, options.label_separator, column, options.header)
    return replace(
        layout,
        options={
            "label_separator": found.label_separator,
            "label_column": found.label_column,
            "header": options.header,  # another file may have none
        },
        assumed=found.notes,
    )


def _notes_on_fields(text: str) -> tuple[str, ...]:
    """Return sentences on the fields of the first JSON object that are text and label."""
    first = next((line for line in text.split("\n") if line.strip()), "")
    try:
        record = json.loads(first)
    except (ValueError, RecursionError):
        return ()  # The reader reports what is wrong.
    if not isinstance(record, dict):
        return ()
    aliases = aliases_of(record).items()
    return tuple(f"The field {given!r} is used as the {meant}." for given, meant in aliases)
