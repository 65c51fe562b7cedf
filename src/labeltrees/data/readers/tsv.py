"""Lines of labels and text."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Literal, TypeAlias

from labeltrees.checks import choice
from labeltrees.data.readers.assembly import CHUNK_ROWS, TextRow, check_chunk_rows, text_chunks
from labeltrees.data.readers.columns import is_header_pair
from labeltrees.data.readers.detection.first_block import read_first_block
from labeltrees.data.readers.detection.separators import (
    check_separator,
    choose_separator,
    sentence_share,
    split_labels,
)
from labeltrees.data.readers.source import (
    MAX_LINE_BYTES,
    Source,
    check_line_limit,
    read_blocks,
    source_name,
)
from labeltrees.data.readers.vectorizers import Vectorizer, check_vectorizer, fit_texts
from labeltrees.errors import DataFileError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sklearn.feature_extraction.text import TfidfVectorizer

    from labeltrees.data.chunk import Chunk

LabelColumn: TypeAlias = Literal["auto", 1, 2]
_LABEL_COLUMNS: tuple[LabelColumn, ...] = ("auto", 1, 2)
_HEADERS: tuple[bool | Literal["auto"], ...] = (True, False, "auto")
_FEWEST_ROWS = 10  # Smallest number of rows whose columns are compared.


@dataclass(frozen=True)
class TsvLayout:
    """The layout of the lines of a file, and sentences with the reasons."""

    label_separator: str | None = " "
    label_column: Literal[1, 2] = 1
    header: bool = False
    notes: tuple[str, ...] = ()


def read_tsv(
    path: Source,
    *,
    vectorizer: Vectorizer | None = None,
    label_separator: str | None = "auto",
    label_column: LabelColumn = "auto",
    header: bool | Literal["auto"] = "auto",
    chunk_rows: int = CHUNK_ROWS,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[Chunk]:
    r"""Return the chunks of a file of lines ``labels<TAB>text``.

    Labels are strings. A line that starts with the tab has no label. Empty lines are skipped.
    Quotes have no special meaning.

    Parameters
    ----------
    path : path, binary file or "-"
        The file, gzipped or not.
    vectorizer : object with a ``transform`` method, or None
        Makes features from texts. If it needs fitting, it must be fitted, see `fit_tfidf`. None
        stands for scikit-learn's ``HashingVectorizer`` of words and pairs of words, with 2**20
        columns and rows of length 1.
    label_separator : str or None
        The separator of labels, or None if a line has one label, which may contain spaces.
        ``"auto"`` detects it from the first megabyte of lines, see `choose_separator`.
    label_column : {"auto", 1, 2}
        1 if labels stand before the first tab, 2 if they stand after the last tab. ``"auto"``
        follows the header line and is 1 without one. Lines whose columns look swapped raise an
        error.
    header : bool or "auto"
        Whether the first line names the columns. ``"auto"`` recognises lines such as
        ``label<TAB>text``.
    chunk_rows : int
        Maximum number of rows in a chunk.
    max_line_bytes : int
        Maximum number of bytes in a line. A longer line raises an error, so that a small
        compressed file cannot take all memory.

    Examples
    --------
    >>> import io
    >>> (chunk,) = read_tsv(io.BytesIO(b"greet polite\tgood morning\n"))
    >>> chunk.labels, chunk.features.shape, chunk.features.nnz
    (array(['greet', 'polite'], dtype=object), (1, 1048576), 3)
    """
    chunk_rows = check_chunk_rows(chunk_rows)
    max_line_bytes = check_line_limit(max_line_bytes)
    check_vectorizer(vectorizer)
    check_separator(label_separator)
    choice("label_column", label_column, _LABEL_COLUMNS)
    choice("header", header, _HEADERS)
    blocks = _blocks(path, max_line_bytes, label_separator, label_column, header)
    return text_chunks(blocks, source_name(path), vectorizer, chunk_rows)


def fit_tfidf(
    path: Source,
    *,
    vectorizer: TfidfVectorizer | None = None,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> TfidfVectorizer:
    r"""Return a TF-IDF vectoriser fitted to the texts of a TSV file in one pass.

    It holds only the vocabulary in memory, which does not grow with the number of lines.

    Parameters
    ----------
    path : path, binary file or "-"
        The file, gzipped or not.
    vectorizer : TfidfVectorizer or None
        A vectoriser with the parameters, which is not changed. None stands for scikit-learn's
        defaults.
    max_line_bytes : int
        Maximum number of bytes in a line. A longer line raises an error.

    Examples
    --------
    >>> import io
    >>> fitted = fit_tfidf(io.BytesIO(b"a\tgood morning\nb\tgood night\n"))
    >>> fitted.get_feature_names_out()
    array(['good', 'morning', 'night'], dtype=object)
    """
    limit = check_line_limit(max_line_bytes)
    rows = chain.from_iterable(_blocks(path, limit, "auto", "auto", "auto"))
    return fit_texts((row.text for row in rows), vectorizer)


def tsv_layout(
    lines: Iterable[tuple[int, str]],
    name: str,
    label_separator: str | None = "auto",
    label_column: LabelColumn = "auto",
    header: bool | Literal["auto"] = "auto",
) -> TsvLayout:
    r"""Return the layout of lines, the first of which are given with their numbers.

    Raises `DataFileError` if labels and texts look swapped and ``label_column`` is "auto".

    >>> tsv_layout([(1, "text\tlabel"), (2, "good morning\tgreet")], "rows.tsv").label_column
    2
    """
    rows = [(line, text) for line, text in lines if "\t" in text]
    notes: list[str] = []
    first, _, second = rows[0][1].rstrip("\r").partition("\t") if rows else ("", "", "")
    named = is_header_pair(first, second) or is_header_pair(second, first)
    at_top = bool(rows) and rows[0][0] == 1
    has_header = at_top and named if header == "auto" else header
    column: Literal[1, 2] = 1 if label_column == "auto" else label_column
    if has_header and at_top:
        notes.append(f"The first line, {first!r} and {second!r}, is used as names of columns.")
        rows = rows[1:]
        if label_column == "auto" and is_header_pair(second, first):
            column = 2
    notes.extend(_note_on_tabs(rows))
    pairs = [_cut(text, column) for _, text in rows]
    separator = label_separator
    if label_separator == "auto":
        chosen = choose_separator([field for field, _ in pairs])
        separator = chosen.separator
        notes.extend(chosen.notes)
    if label_column == "auto" and not (has_header and named):
        _refuse_swapped(pairs, separator, name, rows[0][0] if rows else 1)
    return TsvLayout(separator, column, has_header, tuple(notes))


def _note_on_tabs(rows: list[tuple[int, str]]) -> Iterator[str]:
    """Yield a sentence if the lines look like rows of a table."""
    sizes = {text.count("\t") for _, text in rows}
    if len(rows) >= _FEWEST_ROWS and len(sizes) == 1 and sizes != {1}:
        yield (
            f"Every line has {sizes.pop()} tabs, and all but one of them belong to the text. "
            "format='csv' (--format csv) reads a table instead."
        )


def _refuse_swapped(
    pairs: list[tuple[str, str]], separator: str | None, name: str, line: int
) -> None:
    """Raise DataFileError if labels look like texts and texts look like labels."""
    pairs = [pair for pair in pairs if pair[0].strip()]
    n_rows = len(pairs)
    if n_rows < _FEWEST_ROWS:
        return
    fields, texts = {field for field, _ in pairs}, {text for _, text in pairs}
    field_size = sum(len(field) for field, _ in pairs) / n_rows
    text_size = sum(len(text) for _, text in pairs) / n_rows
    repeated = 2 * len(fields) > n_rows and 2 * len(texts) <= len(fields)
    labels = [label for field, _ in pairs for label in split_labels(field, separator)]
    words = [word for _, text in pairs for word in text.split()]
    many = 2 * len(set(labels)) > n_rows and field_size > 1.5 * text_size
    many = many and _variety(words) < _variety(labels) and not all(map(str.isdigit, labels))
    wordy = sentence_share(fields)
    sentences = wordy > 0.3 and 2 * len(fields) > n_rows and sentence_share(texts) < wordy / 2
    if sentences or (field_size > text_size and (repeated or many)):
        reason = (
            f"labels and texts look swapped: the first {n_rows} rows have {len(fields)} "
            f"different label fields of {field_size:.0f} characters on average and {len(texts)} "
            f"different texts of {text_size:.0f}. If the text comes first, pass label_column=2 "
            "(--label-column 2). If the file is right, pass label_column=1 (--label-column 1)."
        )
        raise DataFileError(name, line, reason)


def _variety(words: list[str]) -> float:
    """Return the share of distinct words, which is lower for labels than for texts."""
    return len(set(words)) / max(len(words), 1)


def _blocks(
    source: Source,
    max_line_bytes: int,
    label_separator: str | None,
    label_column: LabelColumn,
    header: bool | Literal["auto"],
) -> Iterator[Iterator[TextRow]]:
    """Yield the rows of each block of lines."""
    name = source_name(source)
    if "auto" in (label_separator, label_column, header):
        first = read_first_block(source)
        source = first.source
        lines = enumerate(first.text.split("\n"), 1)
        layout = tsv_layout(lines, name, label_separator, label_column, header)
    else:
        layout = TsvLayout(label_separator, 2 if label_column == 2 else 1, header is True)
    for first_line, block in read_blocks(source, max_line_bytes):
        yield _rows(name, first_line, block, layout)


def _rows(name: str, first_line: int, block: bytes, layout: TsvLayout) -> Iterator[TextRow]:
    """Yield the rows of all lines that are neither empty nor the header."""
    separator, column = layout.label_separator, layout.label_column
    for line, text in enumerate(block.decode().split("\n"), first_line):
        if "\t" not in text:
            if text.strip():
                raise DataFileError(name, line, "there is no tab between labels and text.")
        elif line > 1 or not layout.header:
            field, rest = _cut(text, column)
            yield TextRow(line, split_labels(field, separator), rest)


def _cut(text: str, label_column: int) -> tuple[str, str]:
    """Return the labels and the text of a line with a tab."""
    text = text.removesuffix("\r")
    if label_column == 1:
        field, _, rest = text.partition("\t")
        return field, rest
    rest, _, field = text.rpartition("\t")
    return field, rest
