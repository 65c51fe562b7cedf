"""The first block of a source, which is read for detection and is then read again."""

from __future__ import annotations

import io
import os
import select
import stat
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from labeltrees.data.readers.source import (
    BYTE_ORDER_MARK,
    Source,
    open_source,
    read_pieces,
    source_name,
)
from labeltrees.errors import ArgumentError, DataFileError

if TYPE_CHECKING:
    from collections.abc import Callable

#: Maximum number of bytes in the first block, after gunzipping.
FIRST_BLOCK_BYTES = 2**20
#: Seconds to wait for more from a pipe that has delivered a whole line.
PATIENCE = 0.2


class NamedBytes(io.BytesIO):
    """Bytes of a file, with the name of the file for messages."""

    def __init__(self, content: bytes, name: str) -> None:
        super().__init__(content)
        self.name = name


class Rejoined(io.BufferedIOBase):
    r"""A stream whose first bytes were read already and are put back in front.

    >>> Rejoined(b"one\n", io.BytesIO(b"two\n"), "<stdin>").read()
    b'one\ntwo\n'
    """

    def __init__(self, head: bytes, rest: BinaryIO, name: str, *, owned: bool = False) -> None:
        self._head = head
        self._rest = rest
        self._owned = owned
        self.name = name

    def close(self) -> None:
        """Close the stream, and the rest too if it is owned."""
        if self._owned:
            self._rest.close()
        super().close()

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        """Return the next bytes, first from the head and then from the rest."""
        if size is None or size < 0:
            head, self._head = self._head, b""
            return head + self._rest.read()
        if self._head:
            head, self._head = self._head[:size], self._head[size:]
            return head
        return self._rest.read(size)

    def is_ready(self) -> bool:
        """Return whether a read returns at once, with more bytes or at the end."""
        return bool(self._head) or _is_ready(self._rest)

    def read1(self, size: int = -1, /) -> bytes:
        """Return the available bytes without waiting for more."""
        if self._head:
            return self.read(len(self._head) if size < 0 else size)
        return _read_some(self._rest, 2**16 if size < 0 else size)


@dataclass(frozen=True)
class FirstBlock:
    """The first content of a source, gunzipped, and a source with the whole content.

    ``source`` can be read again if ``again`` is true, and otherwise once.
    """

    name: str
    content: bytes
    at_end: bool
    source: Source
    again: bool
    n_bytes: int | None

    @property
    def lines(self) -> bytes:
        """The complete lines of the content, without a byte order mark."""
        text = self.content.removeprefix(BYTE_ORDER_MARK)
        return text if self.at_end else text[: text.rfind(b"\n") + 1]

    @property
    def text(self) -> str:
        """The lines before the first one that is not UTF-8, which the reader reports."""
        lines = self.lines
        try:
            return lines.decode()
        except UnicodeDecodeError as error:
            return lines[: lines.rfind(b"\n", 0, error.start) + 1].decode()


def read_first_block(source: Source) -> FirstBlock:
    """Return the first ``FIRST_BLOCK_BYTES`` of a source's content.

    A pipe is read until it pauses after its first line. The bytes that were read are put back.
    Raises `DataFileError` for damaged gzip before any content.
    """
    name = source_name(source)
    if isinstance(source, str | os.PathLike) and source != "-":
        if stat.S_ISREG(os.stat(source).st_mode):
            with open_source(source) as file:
                content, at_end, _ = _content(file, name)
            return FirstBlock(name, content, at_end, source, True, os.path.getsize(source))
        file = open(source, "rb", buffering=0)  # noqa: SIM115  (A pipe can be opened once.)
        return _block_of_stream(file, name, owned=True)
    with open_source(source) as stream:  # An open file stays open.
        return _block_of_stream(stream, name)


def _block_of_stream(file: BinaryIO, name: str, *, owned: bool = False) -> FirstBlock:
    start = file.tell() if _is_seekable(file) else None
    content, at_end, taken = _content(file, name)
    if start is None:
        return FirstBlock(
            name, content, at_end, _rejoined(taken, file, name, owned=owned), False, None
        )
    end = file.seek(0, os.SEEK_END)
    file.seek(start)
    return FirstBlock(name, content, at_end, file, True, end - start)


def _rejoined(taken: bytes, file: BinaryIO, name: str, *, owned: bool) -> BinaryIO:
    return Rejoined(taken, file, name, owned=owned)  # type: ignore[return-value]


class _Recorder:
    """Reads a file, or a pipe without waiting for more, and keeps all bytes that it read."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.taken: list[bytes] = []
        self.is_live = not _is_seekable(file)
        self.seen_line = False
        self.paused = False

    def read(self, size: int) -> bytes:
        if self.is_live and self.seen_line and not _is_ready(self.file):
            self.paused = True
            return b""
        data = _read_some(self.file, min(size, 2**16)) if self.is_live else self.file.read(size)
        if not isinstance(data, bytes):
            raise ArgumentError.of("path", self.file, "opened in binary mode")
        self.taken.append(data)
        return data


def _content(file: BinaryIO, name: str) -> tuple[bytes, bool, bytes]:
    """Return the first content, whether the source ends there, and the bytes that were read."""
    recorder = _Recorder(file)
    pieces = read_pieces(recorder)  # type: ignore[arg-type]
    held: list[bytes] = []
    size, at_end = 0, False
    while size < FIRST_BLOCK_BYTES:
        try:
            piece = next(pieces, b"")
        except (EOFError, zlib.error) as error:
            if not held and not recorder.paused:
                raise DataFileError(name, 1, f"the gzip stream is damaged ({error}).") from None
            break
        if not piece:
            at_end = not recorder.paused
            break
        held.append(piece)
        size += len(piece)
        recorder.seen_line = recorder.seen_line or b"\n" in piece
    return (
        b"".join(held)[:FIRST_BLOCK_BYTES],
        at_end and size <= FIRST_BLOCK_BYTES,
        b"".join(recorder.taken),
    )


def _is_seekable(file: BinaryIO) -> bool:
    try:
        return bool(file.seekable())
    except AttributeError:
        return False


def _is_ready(file: BinaryIO) -> bool:
    """Return whether a pipe has more or has ended, or True where this is unknown."""
    if hasattr(file, "is_ready"):  # A stream in front of a pipe knows this.
        return bool(file.is_ready())
    try:
        ready, _, _ = select.select([file], [], [], PATIENCE)
    except (OSError, ValueError, TypeError):
        return True
    return bool(ready)


def _read_some(file: BinaryIO, size: int) -> bytes:
    """Return the available bytes, at most ``size``, or b"" at the end."""
    read: Callable[[int], bytes | None] = getattr(file, "read1", file.read)
    while (data := read(size)) is None:  # The stream does not block and has no bytes yet.
        select.select([file], [], [])
    return data
