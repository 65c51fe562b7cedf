"""The lines of a file together with its rows, for ids and other parts that readers leave out."""

from __future__ import annotations

import io
import json
from collections import deque
from typing import TYPE_CHECKING, Any

from labeltrees.data.readers.source import MAX_LINE_BYTES, Source, read_blocks, source_name
from labeltrees.errors import DataFileError

if TYPE_CHECKING:
    from labeltrees.data.chunk import Chunk


class RememberedLines(io.RawIOBase):
    r"""The content of a source for a reader, which keeps lines until they are forgotten.

    With ``bare``, a line without a tab is read as a text without a label.

    Examples
    --------
    >>> lines = RememberedLines(io.BytesIO(b"one\ntwo\n"), bare=True)
    >>> lines.read(100), lines.line(2)
    (b'\tone\n\ttwo\n', b'two')
    """

    def __init__(
        self, source: Source, max_line_bytes: int = MAX_LINE_BYTES, *, bare: bool = False
    ) -> None:
        super().__init__()
        self.name = source_name(source)
        self._blocks = read_blocks(source, max_line_bytes)
        self._bare = bare
        self._left = b""
        self._held: deque[tuple[int, list[bytes]]] = deque()

    def is_ready(self) -> bool:
        """Return whether part of a block has not been read yet."""
        return bool(self._left)

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes of complete lines."""
        if not self._left:
            first_line, block = next(self._blocks, (0, b""))
            lines = block.split(b"\n")
            self._left = b"\n".join(map(_with_tab, lines)) if self._bare else block
            if not lines[-1]:  # after the last line's end
                lines.pop()
            if lines:
                self._held.append((first_line, lines))
        size = len(self._left) if size < 0 else size
        given, self._left = self._left[:size], self._left[size:]
        return given

    def line(self, number: int) -> bytes:
        """Return a line that was read and is still kept."""
        for first_line, lines in self._held:
            if number < first_line + len(lines):
                return lines[number - first_line].removesuffix(b"\r")
        raise LookupError(number)

    def forget(self, chunk: Chunk) -> None:
        """Forget the lines before a chunk."""
        while self._held and self._held[0][0] + len(self._held[0][1]) <= chunk.first_line:
            self._held.popleft()


def _with_tab(line: bytes) -> bytes:
    return b"\t" + line if line.strip() and b"\t" not in line else line


def json_field(line: bytes, field: str, name: str, number: int) -> Any:
    """Return a field of a JSON object, None if it has no such field.

    >>> json_field(b'{"id": 7, "text": "x"}', "id", "rows.jsonl", 1)
    7
    """
    try:
        return json.loads(line).get(field)
    except (ValueError, AttributeError, RecursionError) as error:  # The reader raises first.
        raise DataFileError(name, number, f"not a JSON object: {error}.") from None


def vw_tag(line: bytes) -> str:
    """Return the tag of a row in Vowpal Wabbit's format, "" if it has none.

    >>> vw_tag(b"3 2.0 'row-7|f x"), vw_tag(b"3 'a |f x"), vw_tag(b"row-7|f x"), vw_tag(b"3 |f x")
    ('row-7', 'a', 'row-7', '')
    """
    head = line.partition(b"|")[0].decode("utf-8", "replace")
    words = head.split()
    if words and (words[-1].startswith("'") or not head[-1].isspace()):
        return words[-1].removeprefix("'")
    return ""
