"""One look at the first part of a file: what it is and how it is read."""

from __future__ import annotations

import io
import shutil
import tempfile
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, BinaryIO

from labeltrees.checks import choice
from labeltrees.data.readers.assembly import CHUNK_ROWS, check_chunk_rows
from labeltrees.data.readers.formats import FORMATS, TABLE, hinted_format
from labeltrees.data.readers.peek import Head, NamedBytes, read_head
from labeltrees.data.readers.sample import Sample, sample_of
from labeltrees.data.readers.separators import check_separator
from labeltrees.data.readers.sniff import sniff_format
from labeltrees.data.readers.source import (
    MAX_LINE_BYTES,
    Source,
    check_line_limit,
    open_source,
    source_name,
)
from labeltrees.data.readers.table import columns_wished, layout_of_table, read_table
from labeltrees.data.readers.table_layout import TableLayout, Wishes
from labeltrees.data.readers.tsv import tsv_layout
from labeltrees.data.readers.vectorizers import check_vectorizer
from labeltrees.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from labeltrees.data.chunk import Chunk
    from labeltrees.data.readers.table_layout import Column
    from labeltrees.data.readers.vectorizers import Vectorizer

__all__ = ["FileLook", "look_at"]


@dataclass(frozen=True)
class FileLook:
    """What the first megabyte of a file tells about it.

    Parameters
    ----------
    name : str
        The file's name, for messages.
    format : str
        Its format, one of ``FORMATS``.
    options : dict
        How its reader is called, ready for JSON.
    is_text : bool
        Whether rows are texts; otherwise they are features.
    density : float or None
        The share of features that are not zero, among the columns that the looked-at rows use;
        None for texts.
    n_features : int or None
        How many columns the looked-at rows use; None for texts.
    several_labels, graded : bool
        Whether a row has more than one label; whether labels have a relevance other than 1.
    sorted_labels : bool
        Whether equal labels come in long runs, as in a file sorted by label.
    header : bool
        Whether the first line has names of columns.
    columns : tuple of str
        The columns of a table.
    label_separator : str or None
        What separates labels in formats that leave it open; None: nothing does.
    n_rows, n_unlabelled, n_labels : int
        Looked-at rows, those without a label, and distinct labels.
    n_bytes : int or None
        The size of the file; None for a pipe.
    is_whole : bool
        Whether all of the file was looked at.
    notes : tuple of str
        What was assumed, in sentences, and which option changes it.
    """

    name: str
    format: str
    options: Mapping[str, Any] = field(default_factory=dict)
    is_text: bool = False
    density: float | None = None
    n_features: int | None = None
    several_labels: bool = False
    graded: bool = False
    sorted_labels: bool = False
    header: bool = False
    columns: tuple[str, ...] = ()
    label_separator: str | None = None
    n_rows: int = 0
    n_unlabelled: int = 0
    n_labels: int = 0
    n_bytes: int | None = None
    is_whole: bool = False
    notes: tuple[str, ...] = ()
    _source: _Once | None = field(default=None, repr=False, compare=False)

    @property
    def is_dense(self) -> bool:
        """Whether rows are features most of which are not zero."""
        return self.density is not None and self.density >= 0.5

    def open(
        self,
        vectorizer: Vectorizer | None = None,
        *,
        chunk_rows: int = CHUNK_ROWS,
        max_line_bytes: int = MAX_LINE_BYTES,
    ) -> Iterator[Chunk]:
        """Return the chunks of the whole file, read as found.

        A file can be opened any number of times; a pipe once, and nothing that was looked at is
        lost.

        Parameters
        ----------
        vectorizer : object with a ``transform`` method, or None
            Makes features of texts, as for `read_tsv`; not used if rows are features.
        chunk_rows : int
            The largest number of rows in a chunk.
        max_line_bytes : int
            A longer line raises an error.
        """
        check_vectorizer(vectorizer)
        chunk_rows, limit = check_chunk_rows(chunk_rows), check_line_limit(max_line_bytes)
        source = self.name if self._source is None else self._source.take()
        return _read(self.format, self.options, source, vectorizer, chunk_rows, limit)

    def facts(self) -> dict[str, Any]:
        """Return what `from_facts` needs to read another file the same way, ready for JSON."""
        return {"format": self.format, "options": dict(self.options), "is_text": self.is_text}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any], path: Source) -> FileLook:
        r"""Return how to read a file in the way that a look at another one found.

        It is not looked at, so counts are 0. The columns of a table are found by their names; its
        column of labels may be missing.

        Examples
        --------
        >>> import io
        >>> look = look_at(io.BytesIO(b"label,text\ngreet,good morning all\n"))
        >>> other = FileLook.from_facts(look.facts(), io.BytesIO(b"text\ngood night\n"))
        >>> [chunk.texts for chunk in other.open()]
        [['good night']]
        """
        try:
            kind, options = choice("format", facts["format"], FORMATS), dict(facts["options"])
            if kind == "csv":
                _layout(options)
            is_text = bool(facts.get("is_text", False))
        except (LookupError, TypeError, ValueError) as error:
            raise DataError(f"facts of a file cannot be {facts!r:.80}: {error}") from None
        once = _Once(path, isinstance(path, str) and path != "-")
        return cls(source_name(path), kind, options, is_text, _source=once)


class _Once:
    """A source that can be read once, or as often as one likes."""

    def __init__(self, source: Source, again: bool) -> None:
        self.source = source
        self.again = again
        self.start = source.tell() if again and hasattr(source, "tell") else None
        self.taken = False

    def take(self) -> Source:
        if self.taken and not self.again:
            raise DataError(f"{source_name(self.source)} is a stream, which can be read once.")
        self.taken = True
        if self.start is not None:
            self.source.seek(self.start)  # type: ignore[union-attr]
        return self.source


def look_at(
    path: Source,
    *,
    format: str | None = None,  # noqa: A002
    labelled: bool = True,
    label_separator: str | None = "auto",
    label_column: Column | None = None,
    text_column: Column | Sequence[Column] | None = None,
    rating_column: Column | None = None,
    header: bool | None = None,
) -> FileLook:
    r"""Return what a look at the first megabyte of a file tells: its format and how to read it.

    The content decides, and the suffix of the name is a hint. Of a pipe, what it delivers without
    a pause after its first line is looked at; `FileLook.open` reads that and the rest.

    Parameters
    ----------
    path : path, binary file or "-"
        Where to read, gzipped or not.
    format : str or None
        One of ``FORMATS``, if the caller knows it.
    labelled : bool
        Whether the file must have labels. If not, plain lines of text are read as such.
    label_separator : str or None
        What separates labels in TSV and CSV; None: nothing does; ``"auto"``: see
        `choose_separator`.
    label_column, text_column, rating_column : str, int or None
        Columns of CSV by name or by number from 1, as for `read_csv`; of TSV, ``label_column``
        is 1 or 2. None: they are found out.
    header : bool or None
        Whether the first line of TSV or CSV has names of columns; None: that is found out.

    Raises
    ------
    DataFileError
        If nothing fits, the content contradicts the suffix, or labels and texts look swapped.

    Examples
    --------
    >>> import io
    >>> look = look_at(io.BytesIO(b"__label__greet good morning\n__label__leave good night\n"))
    >>> look.format, look.is_text, look.n_rows, look.n_labels
    ('fasttext', True, 2, 2)
    """
    check_separator(label_separator)
    head = read_head(path)
    hint = hinted_format(path)
    if format is not None:
        kind = choice("format", format, FORMATS)
    else:
        kind = sniff_format(head.content, head.name, hint, labelled=labelled)
    wishes = Wishes(
        label_column,
        columns_wished("text_column", text_column),
        rating_column,
        label_separator,
        "auto" if header is None else header,
        labelled,
    )
    _refuse_unused(kind, wishes)
    if kind in ("parquet", "npz") and not head.again:
        head = replace(head, source=_copied(head.source), again=True)
    source = _Once(head.source, head.again)
    found = FileLook(head.name, kind, n_bytes=head.n_bytes, is_whole=head.at_end, _source=source)
    found = _with_options(found, head, wishes)
    return _with_counts(found, head)


class _Copy(io.BufferedRandom):
    """A temporary file that goes when nobody reads it any more."""

    def __del__(self) -> None:
        self.close()


def _copied(source: Source) -> BinaryIO:
    """Return a temporary file with the content of a stream, which can be read in any order."""
    copy = _Copy(tempfile.TemporaryFile(buffering=0))  # noqa: SIM115
    with open_source(source) as file:
        shutil.copyfileobj(file, copy)
    copy.seek(0)
    return copy


def _refuse_unused(kind: str, wishes: Wishes) -> None:
    """Raise ArgumentError for an option that the format does not use."""
    used = {"csv": 5, "tsv": 3}.get(kind, 0)
    given = (
        ("label_separator", wishes.label_separator, "auto"),
        ("header", wishes.header, "auto"),
        ("label_column", wishes.label, None),
        ("text_column", wishes.texts, None),
        ("rating_column", wishes.rating, None),
    )
    for name, value, default in given[used:]:
        if value != default:
            raise ArgumentError(f"{name} is not used by the format {kind}, got {value!r}.")


def _with_options(found: FileLook, head: Head, wishes: Wishes) -> FileLook:
    """Return the look with the options of its reader."""
    if found.format == "tsv":
        lines = enumerate(head.text.split("\n"), 1)
        column: Any = "auto" if wishes.label is None else wishes.label
        if column not in ("auto", 1, 2, "1", "2"):
            raise ArgumentError.of("label_column", column, "1 or 2 for the format tsv")
        column = column if column == "auto" else int(column)
        layout = tsv_layout(lines, head.name, wishes.label_separator, column, wishes.header)
        return replace(
            found,
            options={
                "label_separator": layout.label_separator,
                "label_column": layout.label_column,
                "header": layout.header,
            },
            header=layout.header,
            label_separator=layout.label_separator,
            notes=layout.notes,
        )
    if found.format == "csv":
        table = layout_of_table(head.text, head.name, wishes, None)
        facts = {key: value for key, value in asdict(table).items() if key != "notes"}
        return replace(
            found,
            options={k: list(v) if isinstance(v, tuple) else v for k, v in facts.items()},
            header=table.header,
            columns=table.columns,
            label_separator=table.label_separator,
            notes=table.notes,
        )
    return found


def _with_counts(found: FileLook, head: Head) -> FileLook:
    """Return the look with what its rows are."""
    if found.format in ("parquet", "npz"):
        source: Source = found._source.source if found._source else found.name
    else:
        source = NamedBytes(_rows_only(found.format, head), head.name)
    sample = _sample(found, source, head)
    return replace(
        found,
        is_text=sample.is_text or TABLE[found.format].holds == "text",
        density=sample.density,
        n_features=sample.n_features,
        several_labels=sample.several_labels,
        graded=sample.graded,
        sorted_labels=sample.sorted_labels,
        n_rows=sample.n_rows,
        n_unlabelled=sample.n_unlabelled,
        n_labels=sample.n_labels,
        is_whole=sample.is_whole,
        notes=(*found.notes, *sample.notes()),
    )


def _sample(found: FileLook, source: Source, head: Head) -> Sample:
    from labeltrees.data.readers.vectorizers import NoFeatures

    limit = max(MAX_LINE_BYTES, len(head.content))
    try:
        chunks = _read(found.format, found.options, source, NoFeatures(), CHUNK_ROWS, limit)
        is_whole = head.at_end or found.format in ("parquet", "npz")
        return sample_of(chunks, is_whole=is_whole)
    finally:
        if found._source is not None and found._source.start is not None:
            found._source.take()


def _rows_only(kind: str, head: Head) -> bytes:
    """Return the looked-at lines; the header of XC promises as many as there are."""
    lines = head.lines
    if kind != "xc" or head.at_end:
        return lines
    first, newline, rest = lines.partition(b"\n")
    n_rows, *sizes = first.split() or [b"0"]
    promised = int(n_rows) if n_rows.isdigit() else 0
    seen = min(promised, rest.count(b"\n"))
    return b" ".join([b"%d" % seen, *sizes]) + newline + rest


def _layout(options: Mapping[str, Any]) -> TableLayout:
    known = {each.name for each in fields(TableLayout)}
    if not options.keys() <= known:
        raise ValueError(f"unknown options {sorted(options.keys() - known)}")
    given: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in options.items()
    }
    return TableLayout(**given)


def _read(
    kind: str,
    options: Mapping[str, Any],
    source: Source,
    vectorizer: Vectorizer | None,
    chunk_rows: int,
    max_line_bytes: int,
) -> Iterator[Chunk]:
    if kind == "csv":
        return read_table(
            source,
            _layout(options),
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
