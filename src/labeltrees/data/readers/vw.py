"""Vowpal Wabbit's text format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from labeltrees import _core
from labeltrees.checks import choice
from labeltrees.data.readers.assembly import CHUNK_ROWS, check_chunk_rows, parse_chunks
from labeltrees.data.readers.source import MAX_LINE_BYTES, check_line_limit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labeltrees.data.chunk import Chunk
    from labeltrees.data.readers.source import Source

__all__ = ["read_vw"]

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
    chunk_rows: int = CHUNK_ROWS,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[Chunk]:
    r"""Return the chunks of a file in Vowpal Wabbit's text format.

    A row is ``label importance 'tag|namespace:scale feature:value ... |namespace ...``, of which
    only a bar is needed. Features are hashed with their namespace into 2**30 columns; a value
    defaults to 1 and is multiplied by the scale of its namespace. The tag is ignored; as in
    Vowpal Wabbit, a word that touches the first bar is a tag. Empty lines are skipped.

    Parameters
    ----------
    path : path, binary file or "-"
        Where to read, gzipped or not.
    multilabel : bool or "auto"
        Whether a comma separates labels; ``"auto"``: if all of them are integers.
    label_type : {"auto", "int", "str"}
        The type of the labels; ``"auto"``: integers if the first label of the file is one, and
        a name after it is then an error.
    chunk_rows : int
        The largest number of rows in a chunk.
    max_line_bytes : int
        A longer line raises an error, so that a small compressed file cannot take all memory.

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
    return parse_chunks(
        path, chunk_rows, max_line_bytes, _VwParser(lists, kind), _core.HASHED_WIDTH
    )


class _VwParser:
    """Parses block after block, and remembers the type of the file's first label."""

    def __init__(self, lists: _core.LabelLists, kind: _core.LabelKind) -> None:
        self.lists = lists
        self.kind = kind

    def __call__(self, text: bytes, begin: int, first_line: int, max_rows: int) -> _core.ParsedRows:
        rows = _core.parse_vw(text, begin, first_line, max_rows, self.lists, self.kind)
        self.kind = rows.label_kind
        return rows
