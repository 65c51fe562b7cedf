"""Sizes and times as people type them: 500MB, 30s."""

from __future__ import annotations

import re
from dataclasses import dataclass

from labeltrees.errors import ArgumentError

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*([a-z]*)\s*", re.IGNORECASE | re.ASCII)


def size_in_bytes(option: str, text: str) -> int:
    """Return the bytes that a size such as 500MB, 2G or 1.5GiB stands for.

    >>> size_in_bytes("--max-memory", "1.5GiB"), size_in_bytes("--max-memory", "500mb")
    (1610612736, 500000000)
    """
    found = _AMOUNT.fullmatch(text)
    unit = found[2].lower().removesuffix("b") if found else ""
    if found is None or unit not in _UNITS | _BINARY:
        raise ArgumentError.of(option, text, "a size such as 500MB, 2GB or 1.5GiB")
    return int(float(found[1]) * (_UNITS | _BINARY)[unit])


@dataclass(frozen=True)
class Every:
    """How often something is done: after so many rows, or so many seconds."""

    rows: int | None = None
    seconds: float | None = None

    def is_due(self, n_rows: int, seconds: float) -> bool:
        """Return whether it is time again, so many rows and seconds after the last time."""
        if self.rows is not None:
            return n_rows >= self.rows
        return self.seconds is not None and n_rows > 0 and seconds >= self.seconds


def every(option: str, text: str) -> Every:
    """Return what 10000 (rows), 30s, 5m or 2h stands for.

    >>> every("--checkpoint-every", "10000"), every("--checkpoint-every", "5m")
    (Every(rows=10000, seconds=None), Every(rows=None, seconds=300.0))
    """
    found = _AMOUNT.fullmatch(text)
    if found is not None and float(found[1]) > 0:
        number, unit = found[1], found[2].lower()
        if not unit and number.isdigit():
            return Every(rows=int(number))
        if unit in _SECONDS:
            return Every(seconds=float(number) * _SECONDS[unit])
    raise ArgumentError.of(option, text, "rows such as 10000, or a time such as 30s, 5m or 2h")
