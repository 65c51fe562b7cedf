"""Detect the format of a file by its content, with the suffix of its name as a hint."""

from __future__ import annotations

import csv
import json
import re
from typing import TYPE_CHECKING

from labeltrees.data.readers.columns import is_header_pair, plain
from labeltrees.data.readers.detection.table_columns import choose_delimiter, has_known_name
from labeltrees.data.readers.fasttext import LABEL_PREFIX
from labeltrees.data.readers.source import BYTE_ORDER_MARK, GZIP_MAGIC, not_utf8
from labeltrees.data.readers.svmlight import HEADER
from labeltrees.errors import DataFileError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: Maximum number of lines from which the format is detected.
_SAMPLE_LINES = 200
_PAIRS = r"([ \t]+[0-9]+:[^ \t:]+)"
_XC_ROW = re.compile(rf"([0-9]+(:[0-9.eE+-]+)?(,[0-9]+(:[0-9.eE+-]+)?)*)?{_PAIRS}*[ \t]*")
_SVMLIGHT_ROW = re.compile(rf"([0-9.eE,:+-]+|[ \t])([ \t]*qid:[0-9]+)?{_PAIRS}*[ \t]*(#.*)?|#.*")
_VW_ROW = re.compile(r"[^|]*\|[^ \t|]*([ \t|].*)?")
_VW_FEATURE = re.compile(r"\|[^ \t|]*[ \t]+[^ \t|]")
EXPECTED = {
    "xc": "a header 'n_rows n_features n_labels', then rows 'label,label feature:value ...'",
    "svmlight": "rows 'label feature:value feature:value ...'",
    "vw": "rows 'label |namespace feature feature:value ...'",
    "tsv": "rows 'label<TAB>text'",
    "csv": "rows of cells, the first with names such as 'label,text'",
    "jsonl": """rows '{"label": "cat", "text": "a small animal"}'""",
    "fasttext": "rows '__label__cat a small animal'",
    "parquet": "the content of a Parquet file",
    "npz": "the content of a file that numpy.savez wrote",
}


def detect_format(content: bytes, name: str, hint: str | None, *, labelled: bool = True) -> str:
    r"""Return the format of a file that begins with ``content``.

    ``hint`` is the format of the file's suffix, or None. Plain lines are a format only if the file
    may lack labels (``labelled=False``). Raises `DataFileError` if content and hint contradict each
    other, or if no format fits.

    >>> detect_format(b"__label__greet good morning\n", "rows.txt", None)
    'fasttext'
    """
    if content.startswith(b"PAR1"):
        return _agreed("parquet", hint, name, "PAR1...")
    if content.startswith(b"PK\x03\x04"):
        return _agreed("npz", hint, name, "PK...")
    if hint in ("parquet", "npz"):
        raise DataFileError(name, 1, f"the content is not a {hint} file.")
    lines = _lines(content, name)
    if not lines:
        raise DataFileError(name, 1, "the file is empty.")
    if lines[0].lstrip().startswith("["):
        reason = (
            "the file looks like one JSON array, but one object per line is expected. Convert it "
            f"with jq -c '.[]' {name} > rows.jsonl"
        )
        raise DataFileError(name, 1, reason)
    if hint is not None and _FITS[hint](lines):
        return _table_if_wide(hint, lines)
    for kind, fits in _FITS.items():
        if kind != hint and fits(lines) and (kind != "csv" or hint is None or _is_named(lines)):
            return _agreed(_table_if_wide(kind, lines), hint, name, lines[0])
    if hint is not None:
        return hint  # Its reader reports what is wrong, and where.
    if not labelled:
        return "lines"
    raise DataFileError(name, 1, _nothing_fits(lines[0]))


def _lines(content: bytes, name: str) -> list[str]:
    """Return the first lines that are not empty, of which the last one may be cut off."""
    text = content.removeprefix(BYTE_ORDER_MARK)
    complete = text[: text.rfind(b"\n") + 1] or text
    if complete.startswith(GZIP_MAGIC) or b"\0" in complete[:4096]:
        raise DataFileError(name, 1, not_utf8(complete[:2] + b"\xff"))
    lines: list[str] = []
    for number, line in enumerate(complete.split(b"\n", _SAMPLE_LINES)[:_SAMPLE_LINES], 1):
        try:
            decoded = line.decode().rstrip("\r")
        except UnicodeDecodeError as error:
            if complete is text and error.reason == "unexpected end of data":
                decoded = line[: error.start].decode()
            else:
                raise DataFileError(name, number, not_utf8(line)) from None
        if decoded.strip():
            lines.append(decoded)
    return lines


def _agreed(kind: str, hint: str | None, name: str, first: str) -> str:
    """Return the format of the content, or raise `DataFileError` if the suffix contradicts it."""
    if hint is None or kind == hint or {kind, hint} == {"tsv", "csv"}:
        return kind
    raise DataFileError(
        name,
        1,
        f"the suffix stands for {hint}, which is {EXPECTED[hint]}, but the content looks like "
        f"{kind}: the first line is {_short(first)}. Pass format={kind!r} (--format {kind}) or "
        "rename the file.",
    )


def _nothing_fits(first: str) -> str:
    known = "; ".join(f"{kind}: {what}" for kind, what in EXPECTED.items() if what[0] == "r")
    return (
        f"the format cannot be detected: the first line is {_short(first)}. Expected are {known}. "
        "Pass format= (--format). 'lines' is for texts without labels."
    )


def _short(line: str) -> str:
    return repr(line if len(line) <= 80 else f"{line[:77]}...")


def _table_if_wide(kind: str, lines: Sequence[str]) -> str:
    """Return "csv" instead of "tsv" for lines that are a table with a header."""
    if kind != "tsv":
        return kind
    cells = lines[0].split("\t")
    same = all(line.count("\t") == len(cells) - 1 for line in lines)
    if len(cells) == 2 and (is_header_pair(*cells) or is_header_pair(*cells[::-1])):
        return "tsv"
    return "csv" if same and len(lines) > 1 and has_known_name(cells) else kind


def _fits_json(lines: Sequence[str]) -> bool:
    if not lines[0].lstrip().startswith("{"):
        return False
    try:
        json.loads(lines[0])
    except ValueError:
        return len(lines) == 1  # This is one long line that is cut off.
    return True


def _fits_fasttext(lines: Sequence[str]) -> bool:
    starts = sum(line.lstrip().startswith(LABEL_PREFIX) for line in lines)
    return 2 * starts > len(lines)


def _fits_xc(lines: Sequence[str]) -> bool:
    if HEADER.fullmatch(lines[0].encode()) is None:
        return False
    return all(_XC_ROW.fullmatch(line) for line in lines[1:3])


def _fits_svmlight(lines: Sequence[str]) -> bool:
    rows = [line for line in lines[:50] if not line.startswith("#")]
    fitting = all(_SVMLIGHT_ROW.fullmatch(line) for line in rows)
    return fitting and any(":" in line for line in rows)


def _fits_vw(lines: Sequence[str]) -> bool:
    """Return whether all lines have a bar after few words, and most have a feature after it."""
    for line in lines:
        if not _VW_ROW.fullmatch(line) or len(line.partition("|")[0].split()) > 4:
            return False
    return 2 * sum(_VW_FEATURE.search(line) is not None for line in lines) > len(lines)


def _fits_tsv(lines: Sequence[str]) -> bool:
    """Return whether all lines have a tab that is not just before the bar of Vowpal Wabbit."""
    rest = [line.partition("\t") for line in lines]
    return all(tab for _, tab, _ in rest) and not all(text.startswith("|") for *_, text in rest)


def _fits_csv(lines: Sequence[str]) -> bool:
    """Return whether lines have equally many cells, one of which is a usual name or a number."""
    delimiter = choose_delimiter("\n".join(lines))
    try:
        rows = [row for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:
        return False
    n_cells = len(rows[0])
    if n_cells < 2 or len(rows) < 2 or delimiter == "\t":
        return False
    if any(len(row) != n_cells for row in rows[:-1]):
        return False
    return has_known_name(rows[0]) or all(
        any(plain(cell).isdigit() for cell in row) for row in rows[1:]
    )


def _is_named(lines: Sequence[str]) -> bool:
    return has_known_name(lines[0].split(choose_delimiter("\n".join(lines))))


_FITS: dict[str, Callable[[Sequence[str]], bool]] = {
    "jsonl": _fits_json,
    "fasttext": _fits_fasttext,
    "xc": _fits_xc,
    "svmlight": _fits_svmlight,
    "tsv": _fits_tsv,
    "vw": _fits_vw,
    "csv": _fits_csv,
    "lines": lambda _: False,
}
