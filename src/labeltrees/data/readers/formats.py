"""All formats in one table, and the reader of a file by the name of its format or its content."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal

from labeltrees.checks import choice
from labeltrees.data.readers.assembly import CHUNK_ROWS, check_chunk_rows
from labeltrees.data.readers.detection.file_format import detect_format
from labeltrees.data.readers.detection.first_block import read_first_block
from labeltrees.data.readers.fasttext import read_fasttext, read_lines
from labeltrees.data.readers.json_lines import read_jsonl
from labeltrees.data.readers.npz import read_npz
from labeltrees.data.readers.parquet import read_parquet
from labeltrees.data.readers.source import (
    MAX_LINE_BYTES,
    Source,
    check_line_limit,
    source_name,
)
from labeltrees.data.readers.svmlight import read_svmlight, read_xc
from labeltrees.data.readers.table import read_csv
from labeltrees.data.readers.tsv import read_tsv
from labeltrees.data.readers.vw import read_vw
from labeltrees.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from labeltrees.data.chunk import Chunk
    from labeltrees.data.readers.vectorizers import Vectorizer


@dataclass(frozen=True)
class Format:
    """The reader of a format, the suffixes of its files, and what its rows hold.

    ``holds`` states whether rows are texts, features or either of them.
    """

    reader: Callable[..., Iterator[Chunk]]
    suffixes: tuple[str, ...]
    holds: Literal["text", "features", "either"]

    def read(
        self,
        path: Source,
        *,
        options: Mapping[str, Any],
        vectorizer: Vectorizer | None,
        chunk_rows: int,
        max_line_bytes: int,
    ) -> Iterator[Chunk]:
        """Return the chunks of a file, read with the options of its layout."""
        given = {} if self.holds == "features" else {"vectorizer": vectorizer}
        return self.reader(
            path, chunk_rows=chunk_rows, max_line_bytes=max_line_bytes, **given, **options
        )


#: All formats by name.
TABLE: dict[str, Format] = {
    "xc": Format(read_xc, (".xc",), "features"),
    "svmlight": Format(read_svmlight, (".svm", ".svmlight", ".libsvm"), "features"),
    "vw": Format(read_vw, (".vw",), "features"),
    "npz": Format(read_npz, (".npz",), "features"),
    "tsv": Format(read_tsv, (".tsv",), "text"),
    "csv": Format(read_csv, (".csv",), "either"),
    "fasttext": Format(read_fasttext, (".fasttext", ".ft"), "text"),
    "lines": Format(read_lines, (), "text"),
    "jsonl": Format(read_jsonl, (".jsonl", ".json", ".ndjson"), "either"),
    "parquet": Format(read_parquet, (".parquet",), "either"),
}
FORMATS = tuple(TABLE)
SUFFIXES = {suffix: name for name, each in TABLE.items() for suffix in each.suffixes}


def open_reader(
    path: Source,
    *,
    format: str | None = None,  # noqa: A002
    vectorizer: Vectorizer | None = None,
    chunk_rows: int = CHUNK_ROWS,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[Chunk]:
    """Return the chunks of a file in any format, read with the format's default options.

    `profile_file` also describes the content of the file.

    Parameters
    ----------
    path : path, binary file or "-"
        The file, gzipped or not.
    format : str or None
        "xc", "svmlight", "vw", "npz", "tsv", "csv", "fasttext", "lines", "jsonl" or "parquet";
        If it is None, the content of the file decides, with the suffix of its name as a hint.
    vectorizer : object with a ``transform`` method, or None
        Makes features from texts, as in `read_tsv`. Only formats with texts take it.
    chunk_rows : int
        Maximum number of rows in a chunk.
    max_line_bytes : int
        Maximum number of bytes in a line. A longer line raises an error, so that a small
        compressed file cannot take all memory.

    Examples
    --------
    >>> import io
    >>> (chunk,) = open_reader(io.BytesIO(b"3 1:0.5"), format="svmlight")
    >>> chunk.labels.tolist()
    [3]
    """
    if format is None:
        block = read_first_block(path)
        source, chosen = block.source, detect_format(block.content, block.name, hinted_format(path))
    else:
        source, chosen = path, choice("format", format, FORMATS)
    if vectorizer is not None and TABLE[chosen].holds == "features":
        allowed = f"None for the format {chosen}, which has no text"
        raise ArgumentError.of("vectorizer", vectorizer, allowed)
    return TABLE[chosen].read(
        source,
        options={},
        vectorizer=vectorizer,
        chunk_rows=check_chunk_rows(chunk_rows),
        max_line_bytes=check_line_limit(max_line_bytes),
    )


def hinted_format(source: Source) -> str | None:
    """Return the format that the suffix of a file's name (before ``.gz``) stands for, if any.

    >>> hinted_format("rows.svm.gz"), hinted_format("rows.txt")
    ('svmlight', None)
    """
    name = PurePath(source_name(source))
    if name.suffix.lower() == ".gz":
        name = name.with_suffix("")
    return SUFFIXES.get(name.suffix.lower())
