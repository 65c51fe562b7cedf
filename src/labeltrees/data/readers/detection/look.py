"""One look at the first part of a file: what it is and how it is read."""

from __future__ import annotations

import io
import json
import shutil
import tempfile
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, BinaryIO

from labeltrees.checks import choice, flag
from labeltrees.data.readers.assembly import CHUNK_ROWS
from labeltrees.data.readers.detection.file_look import FileLook, Once, read_as
from labeltrees.data.readers.detection.peek import Head, NamedBytes, read_head
from labeltrees.data.readers.detection.sample import Sample, sample_of
from labeltrees.data.readers.detection.separators import check_separator
from labeltrees.data.readers.detection.sniff import sniff_format
from labeltrees.data.readers.detection.table_layout import Wishes
from labeltrees.data.readers.formats import FORMATS, TABLE, hinted_format
from labeltrees.data.readers.records import aliases_of
from labeltrees.data.readers.source import MAX_LINE_BYTES, Source, open_source
from labeltrees.data.readers.table import columns_wished, layout_of_table
from labeltrees.data.readers.tsv import tsv_layout
from labeltrees.data.readers.vectorizers import NoFeatures
from labeltrees.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labeltrees.data.readers.detection.table_layout import Column

__all__ = ["look_at"]


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
    quoted_labels: bool = False,
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
    quoted_labels : bool
        Of Vowpal Wabbit's format: whether a first word such as ``'s`` is a label, as for
        `read_vw`.

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
    if flag("quoted_labels", quoted_labels) and kind != "vw":
        raise ArgumentError(
            f"is not used by the format {kind}, got True.", argument="quoted_labels", value=True
        )
    if kind in ("parquet", "npz") and not head.again:
        head = replace(head, source=_copied(head.source), again=True)
    source = Once(head.source, head.again)
    found = FileLook(head.name, kind, n_bytes=head.n_bytes, is_whole=head.at_end, source=source)
    found = _with_options(found, head, wishes)
    if quoted_labels:
        found = replace(found, options={"quoted_labels": True})
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
            raise ArgumentError(
                f"is not used by the format {kind}, got {value!r}.", argument=name, value=value
            )


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
                "header": wishes.header,  # another file may have none
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
    if found.format == "jsonl":
        return replace(found, notes=_notes_on_fields(head.text))
    return found


def _notes_on_fields(text: str) -> tuple[str, ...]:
    """Return which fields of the first JSON object stand for text and label."""
    first = next((line for line in text.split("\n") if line.strip()), "")
    try:
        record = json.loads(first)
    except (ValueError, RecursionError):
        return ()  # the reader says what is wrong
    if not isinstance(record, dict):
        return ()
    aliases = aliases_of(record).items()
    return tuple(f"The field {given!r} is taken for the {meant}." for given, meant in aliases)


def _with_counts(found: FileLook, head: Head) -> FileLook:
    """Return the look with what its rows are."""
    if found.format in ("parquet", "npz"):
        source: Source = found.source.source if found.source else found.name
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
        ratings=sample.ratings,
        distributions=sample.distributions,
        several_share=sample.several_share,
        max_relevance=sample.max_relevance,
        n_rows=sample.n_rows,
        n_unlabelled=sample.n_unlabelled,
        n_labels=sample.n_labels,
        is_whole=sample.is_whole,
        assumed=found.notes,
        notes=(*found.notes, *sample.notes()),
    )


def _sample(found: FileLook, source: Source, head: Head) -> Sample:
    limit = max(MAX_LINE_BYTES, len(head.content))
    try:
        chunks = read_as(found.format, found.options, source, NoFeatures(), CHUNK_ROWS, limit)
        is_whole = head.at_end or found.format in ("parquet", "npz")
        return sample_of(chunks, is_whole=is_whole)
    finally:
        if found.source is not None and found.source.start is not None:
            found.source.take()


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
