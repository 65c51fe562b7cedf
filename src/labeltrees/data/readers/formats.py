"""The reader for a file, by the name of its format or of the file."""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import TYPE_CHECKING, Protocol

from labeltrees.checks import choice
from labeltrees.data.readers.assembly import CHUNK_ROWS
from labeltrees.data.readers.json_lines import read_jsonl
from labeltrees.data.readers.parquet import read_parquet
from labeltrees.data.readers.source import MAX_LINE_BYTES, Source, source_name
from labeltrees.data.readers.svmlight import read_svmlight
from labeltrees.data.readers.tsv import read_tsv
from labeltrees.data.readers.vw import read_vw
from labeltrees.data.readers.xc import read_xc
from labeltrees.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labeltrees.data.chunk import Chunk
    from labeltrees.data.readers.vectorizers import Vectorizer

__all__ = ["FORMATS", "SUFFIXES", "format_of", "open_reader"]


class _NumberReader(Protocol):
    def __call__(
        self, path: Source, *, chunk_rows: int, max_line_bytes: int
    ) -> Iterator[Chunk]: ...


class _TextReader(Protocol):
    def __call__(
        self,
        path: Source,
        *,
        vectorizer: Vectorizer | None,
        chunk_rows: int,
        max_line_bytes: int,
    ) -> Iterator[Chunk]: ...


NUMBER_FORMATS: dict[str, _NumberReader] = {
    "xc": read_xc,
    "svmlight": read_svmlight,
    "vw": read_vw,
}
TEXT_FORMATS: dict[str, _TextReader] = {
    "tsv": read_tsv,
    "jsonl": read_jsonl,
    "parquet": read_parquet,
}
FORMATS = (*NUMBER_FORMATS, *TEXT_FORMATS)
SUFFIXES = {
    ".txt": "xc",
    ".xc": "xc",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".vw": "vw",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".parquet": "parquet",
}


def open_reader(
    path: Source,
    *,
    format: str | None = None,  # noqa: A002
    vectorizer: Vectorizer | None = None,
    chunk_rows: int = CHUNK_ROWS,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[Chunk]:
    """Return the chunks of a file in any format, read with the format's default options.

    Parameters
    ----------
    path : path, binary file or "-"
        Where to read, gzipped or not.
    format : {"xc", "svmlight", "vw", "tsv", "jsonl", "parquet"} or None
        None: by the suffix of the file's name, before ``.gz`` if it has that.
    vectorizer : object with a ``transform`` method, or None
        Makes features of texts, as for `read_tsv`; for formats with text only.
    chunk_rows : int
        The largest number of rows in a chunk.
    max_line_bytes : int
        A longer line raises an error, so that a small compressed file cannot take all memory.

    Examples
    --------
    >>> import io
    >>> (chunk,) = open_reader(io.BytesIO(b"3 1:0.5"), format="svmlight")
    >>> chunk.labels.tolist()
    [3]
    """
    chosen = format_of(path) if format is None else choice("format", format, FORMATS)
    if chosen in TEXT_FORMATS:
        return TEXT_FORMATS[chosen](
            path, vectorizer=vectorizer, chunk_rows=chunk_rows, max_line_bytes=max_line_bytes
        )
    if vectorizer is not None:
        allowed = f"None for the format {chosen}, which has no text"
        raise ArgumentError.of("vectorizer", vectorizer, allowed)
    return NUMBER_FORMATS[chosen](path, chunk_rows=chunk_rows, max_line_bytes=max_line_bytes)


def format_of(source: Source) -> str:
    """Return the format that the suffix of a file's name (before ``.gz``) stands for.

    >>> format_of("rows.svm.gz")
    'svmlight'
    """
    name = PurePath(source_name(source))
    if name.suffix.lower() == ".gz":
        name = name.with_suffix("")
    chosen = SUFFIXES.get(name.suffix.lower())
    if chosen is None:
        formats = ", ".join(FORMATS)
        raise ArgumentError(
            f"the name {os.fspath(name)!r} does not tell the format: pass format=, one of "
            f"{formats}, or use one of the suffixes {', '.join(SUFFIXES)}."
        )
    return chosen
