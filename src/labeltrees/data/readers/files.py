"""The profile of a file, and several files read as one."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

from labeltrees.checks import choice, flag
from labeltrees.data.readers.assembly import CHUNK_ROWS
from labeltrees.data.readers.detection.file_format import detect_format
from labeltrees.data.readers.detection.first_block import (
    FirstBlock,
    NamedBytes,
    read_first_block,
)
from labeltrees.data.readers.detection.layout import (
    FileLayout,
    ReusableSource,
    check_options,
    detected_layout,
    read_as,
)
from labeltrees.data.readers.detection.profile import MAX_PROFILED_ROWS, Counts
from labeltrees.data.readers.detection.separators import check_separator
from labeltrees.data.readers.detection.table_columns import TableOptions
from labeltrees.data.readers.formats import FORMATS, TABLE, hinted_format
from labeltrees.data.readers.source import MAX_LINE_BYTES, Source, open_source
from labeltrees.data.readers.table import columns_wished
from labeltrees.data.readers.vectorizers import NoFeatures
from labeltrees.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from labeltrees.data.chunk import Chunk
    from labeltrees.data.readers.detection.profile import DataProfile
    from labeltrees.data.readers.detection.table_columns import Column
    from labeltrees.data.readers.vectorizers import Vectorizer


def profile_file(
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
) -> DataProfile:
    r"""Return the profile of the first megabyte of a file, with the layout that reads all of it.

    The content decides on the format, and the suffix of the name is a hint. Only the rows that a
    pipe delivers without a pause after its first line are profiled. `DataProfile.open` reads them
    and the rest.

    Parameters
    ----------
    path : path, binary file or "-"
        The file, gzipped or not.
    format : str or None
        One of ``FORMATS``. If it is None, it is detected.
    labelled : bool
        Whether the file must have labels. If not, plain lines of text are read as such.
    label_separator : str or None
        The separator of labels in TSV and CSV, or None if every field is one label. For
        ``"auto"``, see `choose_separator`.
    label_column, text_column, rating_column : str, int or None
        Columns of CSV by name or by number from 1, as for `read_csv`. For TSV, ``label_column`` is
        1 or 2. If they are None, they are detected.
    header : bool or None
        Whether the first line of TSV or CSV has names of columns. If it is None, this is detected.
    quoted_labels : bool
        Whether a first word such as ``'s`` is a label in the format of Vowpal Wabbit, as for
        `read_vw`.

    Raises
    ------
    DataFileError
        If nothing fits, the content contradicts the suffix, or labels and texts look swapped.

    Examples
    --------
    >>> import io
    >>> rows = io.BytesIO(b"__label__greet good morning\n__label__leave good night\n")
    >>> profile = profile_file(rows)
    >>> profile.format, profile.is_text, profile.n_rows, profile.n_labels
    ('fasttext', True, 2, 2)
    """
    check_separator(label_separator)
    block = read_first_block(path)
    hint = hinted_format(path)
    if format is not None:
        kind = choice("format", format, FORMATS)
    else:
        kind = detect_format(block.content, block.name, hint, labelled=labelled)
    options = TableOptions(
        label_column,
        columns_wished("text_column", text_column),
        rating_column,
        label_separator,
        "auto" if header is None else header,
        labelled,
    )
    check_options(kind, options)
    if flag("quoted_labels", quoted_labels) and kind != "vw":
        raise ArgumentError(
            f"is not an option of the format {kind}, got True.",
            argument="quoted_labels",
            value=True,
        )
    if kind in ("parquet", "npz") and not block.again:
        block = replace(block, source=_copied(block.source), again=True)
    source = ReusableSource(block.source, block.again)
    layout = FileLayout(block.name, kind, n_bytes=block.n_bytes, source=source)
    layout = detected_layout(layout, block, options)
    if quoted_labels:
        layout = replace(layout, options={"quoted_labels": True})
    return _profile_of_block(layout, block)


class _Copy(io.BufferedRandom):
    """A temporary file that is deleted after its last use."""

    def __del__(self) -> None:
        self.close()


def _copied(source: Source) -> BinaryIO:
    """Return a temporary file with the content of a stream, which can be read in any order."""
    copy = _Copy(tempfile.TemporaryFile(buffering=0))  # noqa: SIM115
    with open_source(source) as file:
        shutil.copyfileobj(file, copy)
    copy.seek(0)
    return copy


def _profile_of_block(layout: FileLayout, block: FirstBlock) -> DataProfile:
    """Return the profile of the rows in the first block of a file."""
    in_place = layout.format in ("parquet", "npz")  # A part of such a file cannot be read.
    assert layout.source is not None
    source: Source = layout.source.source
    if not in_place:
        source = NamedBytes(_lines_to_profile(layout.format, block), block.name)
    limit = max(MAX_LINE_BYTES, len(block.content))
    is_whole = block.at_end or in_place
    counts = Counts()
    try:
        chunks = read_as(layout.format, layout.options, source, NoFeatures(), CHUNK_ROWS, limit)
        for chunk in chunks:
            counts.add(chunk)
            if counts.n_rows >= MAX_PROFILED_ROWS:
                is_whole = False
                break  # An error in later rows is raised when they are read.
    finally:
        if layout.source.start is not None:
            layout.source.take()
    counts.is_text = counts.is_text or TABLE[layout.format].holds == "text"
    return counts.profile(is_whole, 0, replace(layout, is_text=counts.is_text))


def _lines_to_profile(kind: str, block: FirstBlock) -> bytes:
    """Return the complete lines of a block, with their number in the header of the format XC."""
    lines = block.lines
    if kind != "xc" or block.at_end:
        return lines
    first, newline, rest = lines.partition(b"\n")
    n_rows, *sizes = first.split() or [b"0"]
    promised = int(n_rows) if n_rows.isdigit() else 0
    seen = min(promised, rest.count(b"\n"))
    return b" ".join([b"%d" % seen, *sizes]) + newline + rest


def are_files(X: Any) -> bool:
    """Return whether X is a path or a list of paths.

    >>> are_files(["a.xc", "b.xc"]), are_files("a.xc"), are_files([[0, 1]])
    (True, True, False)
    """
    if isinstance(X, str | os.PathLike):
        return True
    is_list = isinstance(X, list | tuple) and len(X) > 0
    return is_list and all(isinstance(each, str | os.PathLike) for each in X)


def chunks_of(files: Any, vectorizer: Vectorizer | None) -> Iterator[Chunk]:
    """Return the chunks of files, all of which are read with the layout of the first one.

    ``files`` is a path, a list of paths, or an iterator of chunks.
    """
    if not are_files(files):
        if not hasattr(files, "__iter__"):
            raise ArgumentError.of("files", files, "a path, a list of paths or a reader")
        yield from files
        return
    paths = [files] if isinstance(files, str | os.PathLike) else list(files)
    facts = layout_facts(paths[0])
    for path in paths:
        yield from FileLayout.from_facts(facts, path).open(vectorizer)


def layout_facts(path: Source) -> dict[str, Any]:
    """Return the facts of a file's layout, for `FileLayout.from_facts`."""
    layout = profile_file(path).layout
    assert layout is not None
    return layout.facts()
