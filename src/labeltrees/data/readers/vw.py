"""Vowpal Wabbit's text format."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from labeltrees import _core
from labeltrees.checks import choice, flag
from labeltrees.data.readers.assembly import CHUNK_ROWS, check_chunk_rows, parse_chunks
from labeltrees.data.readers.source import MAX_LINE_BYTES, check_line_limit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labeltrees.data.chunk import Chunk
    from labeltrees.data.readers.source import Source

_NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
_REAL = re.compile(rf"(?![+-]?[0-9]+$){_NUMBER}")
_COST = re.compile(rf"[0-9]+(:{_NUMBER}){{1,2}}")
_NOT_INTEGER = re.compile("the label '([^']*)' is not a 64-bit integer")

_QUOTE = b"\x01"  # Replaces a quote at the start of a label, which the core would read as a tag.
_FIRST_QUOTE = re.compile(rb"^([ \t]*)'", re.MULTILINE)
_ALONE = re.compile(rb"^[ \t]*('[^ \t|\r\n]*)[ \t]+\|", re.MULTILINE)
_TAGGED = re.compile(
    rb"^[ \t]*[^ \t|\r\n'][^|\r\n]*[ \t]('[^ \t|\r\n]*[ \t]*|[^ \t|\r\n]+)\|", re.MULTILINE
)
_UNTAGGED = re.compile(
    rb"^[ \t]*[^ \t|\r\n'][^ \t|\r\n]*([ \t]+[^ \t|\r\n']+)?[ \t]+\|", re.MULTILINE
)

LISTS: dict[bool | str, _core.LabelLists] = {
    True: _core.LabelLists.always,
    False: _core.LabelLists.never,
    "auto": _core.LabelLists.of_integers,
}
KINDS = {
    "auto": _core.LabelKind.unknown,
    "int": _core.LabelKind.integers,
    "str": _core.LabelKind.names,
}


def read_vw(
    path: Source,
    *,
    multilabel: bool | Literal["auto"] = "auto",
    label_type: Literal["auto", "int", "str"] = "auto",
    quoted_labels: bool = False,
    chunk_rows: int = CHUNK_ROWS,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[Chunk]:
    r"""Return the chunks of a file in Vowpal Wabbit's text format.

    A row is ``label importance 'tag|namespace:scale feature:value ... |namespace ...``. Only a bar
    is required. Features are hashed with their namespace into 2**30 columns. A value defaults to 1
    and is multiplied by the scale of its namespace. The tag is ignored. As in Vowpal Wabbit, a word
    that touches the first bar is a tag, and so is a word that starts with a quote. Empty lines are
    skipped. Labels of regression (``0.5``) and of contextual bandits (``1:0.5:0.3``) are no names
    of classes and raise an error.

    A row with a tag and without a label, such as ``'s |word it``, raises an error if no labelled
    row of the file has a tag, because the tag may be meant as a label.

    Parameters
    ----------
    path : path, binary file or "-"
        The file, gzipped or not.
    multilabel : bool or "auto"
        Whether a comma separates labels. With ``"auto"`` it does if all labels are integers.
    label_type : {"auto", "int", "str"}
        The type of the labels. With ``"auto"``, labels are integers if the first label of the file
        is one, and a name after it is an error. ``"str"`` also reads ``0.5`` and ``1:0.5:0.3`` as
        names.
    quoted_labels : bool
        Whether a word with a quote at the start of a line is a label such as ``'s``. If so, no row
        may have a tag without a label.
    chunk_rows : int
        Maximum number of rows in a chunk.
    max_line_bytes : int
        Maximum number of bytes in a line. A longer line raises an error, so that a small
        compressed file cannot take all memory.

    Examples
    --------
    >>> import io
    >>> (chunk,) = read_vw(io.BytesIO(b"cat 2 |animal legs:4 tail\n|animal wings\n"))
    >>> chunk.labels.tolist(), chunk.label_starts.tolist(), chunk.weights.tolist()
    (['cat'], [0, 1, 1], [2.0, 1.0])
    """
    chunk_rows = check_chunk_rows(chunk_rows)
    max_line_bytes = check_line_limit(max_line_bytes)
    lists = LISTS[choice("multilabel", multilabel, LISTS)]
    kind = KINDS[choice("label_type", label_type, KINDS)]
    parser = _VwParser(lists, kind, flag("quoted_labels", quoted_labels))
    chunks = parse_chunks(path, chunk_rows, max_line_bytes, parser, _core.HASHED_WIDTH)
    return map(_with_quotes, chunks) if quoted_labels else chunks


class _VwParser:
    """Parses block after block, and remembers the type of the file's first label."""

    def __init__(self, lists: _core.LabelLists, kind: _core.LabelKind, quoted_labels: bool) -> None:
        self.lists = lists
        self.kind = kind
        self.quoted_labels = quoted_labels
        self.tags = _Tags()
        self.block = b""
        self.readable = b""

    def __call__(self, text: bytes, begin: int, first_line: int, max_rows: int) -> _core.ParsedRows:
        if text is not self.block:
            self.block, self.readable = text, text
            if self.quoted_labels:
                self.readable = _FIRST_QUOTE.sub(rb"\1" + _QUOTE, text)
            else:
                self.tags.check(text, first_line)
        unknown = self.kind == _core.LabelKind.unknown
        try:
            rows = _core.parse_vw(self.readable, begin, first_line, max_rows, self.lists, self.kind)
        except _core.ParseError as error:
            raise _explained(error) from None
        self.kind = rows.label_kind
        if unknown and self.kind == _core.LabelKind.names:
            _refuse_costs(rows)
        return rows


def _with_quotes(chunk: Chunk) -> Chunk:
    """Return the chunk with the quotes at the start of labels restored."""
    if chunk.labels.dtype != np.object_:
        return chunk
    mark = _QUOTE.decode()
    names = [f"'{name[1:]}" if name.startswith(mark) else name for name in chunk.labels.tolist()]
    targets = replace(chunk.targets, labels=np.array(names, np.object_))
    return replace(chunk, targets=targets)


class _Tags:
    """Detects rows with a tag and no label in a file whose labelled rows have no tags."""

    def __init__(self) -> None:
        self.lone: tuple[int, str] | None = None  # The line and the tag of the first such row.
        self.has_tagged = False
        self.has_untagged = False

    def check(self, text: bytes, first_line: int) -> None:
        """Check a block, and raise ParseError with the line of a suspicious tag."""
        self.has_untagged = self.has_untagged or _UNTAGGED.search(text) is not None
        if self.has_tagged or (b"'" not in text and self.lone is None):
            return
        self.has_tagged = _TAGGED.search(text) is not None
        alone = _ALONE.search(text) if self.lone is None else None
        if alone is not None:
            line = first_line + text.count(b"\n", 0, alone.start(1))
            self.lone = line, alone.group(1).decode()
        if self.lone is not None and self.has_untagged and not self.has_tagged:
            line, tag = self.lone
            reason = (
                f"the word {tag!a} is a tag, because it starts with a quote, and the row has "
                "no label. If it is a label, pass quoted_labels=True (--quoted-labels) or write it "
                "without the quote"
            )
            raise _core.ParseError(line, reason)


def _refuse_costs(rows: _core.ParsedRows) -> None:
    """Raise ParseError if the first label of the file is a number or a cost."""
    name = rows.label_names[0]
    row = int(np.argmax(np.diff(rows.label_starts) > 0))
    what = _what_is(name)
    if what:
        raise _core.ParseError(
            int(rows.lines[row]),
            f"the label {ascii(name)[:60]} is {what}, but classes are integers or names. Pass "
            "label_type='str' to read it as a name",
        )


def _what_is(label: str) -> str:
    if _REAL.fullmatch(label):
        return "a real number, as for regression"
    if _COST.fullmatch(label):
        return "a label of contextual bandits or of costs"
    return ""


def _explained(error: _core.ParseError) -> _core.ParseError:
    """Return the error, with a description of the label if it is not an integer."""
    line, reason = error.args
    found = _NOT_INTEGER.match(reason)
    what = _what_is(found.group(1)) if found else ""
    return _core.ParseError(line, f"{reason}: it is {what}") if what else error
