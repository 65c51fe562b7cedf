"""Rows of results as lines of TSV, CSV or JSON, on stdout or in a file."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import stat
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labeltrees import checks
from labeltrees.errors import ArgumentError
from labeltrees.store import check_out

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import BinaryIO

FORMS = ("tsv", "csv", "jsonl")
_SUFFIXES = {".csv": "csv", ".json": "jsonl", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_SECONDS_BETWEEN = 0.5
_BINARY = getattr(os, "O_BINARY", 0)  # Without it, Windows would write other line ends.


def form_of(path: str, form: str | None, option: str) -> str:
    """Return the format of the lines in a file, which is ``form`` or follows from the suffix.

    >>> form_of("answers.csv", None, "--predictions-format"), form_of("-", None, "")
    ('csv', 'tsv')
    """
    if form is not None:
        return checks.choice(option, form, FORMS)
    return _SUFFIXES.get(Path(path).suffix.lower(), "tsv")


def tsv_line(first: Iterable[object], labels: Sequence[Any], probabilities: Sequence[float]) -> str:
    r"""Return the first values, then labels and probabilities in turn, separated by tabs.

    >>> tsv_line(["row 7"], ["cat", "dog"], [0.75, 0.25])
    'row 7\tcat\t0.75\tdog\t0.25'
    """
    pairs = (f"{label}\t{p:.6g}" for label, p in zip(labels, probabilities, strict=True))
    return "\t".join((*(_number(value) for value in first), *pairs))


def csv_line(values: Iterable[object]) -> str:
    """Return a line of CSV without a line end. An empty field stands for None.

    >>> csv_line(["a, b", 0.5, None])
    '"a, b",0.5,'
    """
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(
        ["" if value is None else _number(value) for value in values]
    )
    return out.getvalue()


def json_line(value: dict[str, Any]) -> str:
    """Return a JSON object on one line.

    >>> json_line({"label": "hélas", "p": 0.5})
    '{"label": "hélas", "p": 0.5}'
    """
    return json.dumps(value, ensure_ascii=False, default=int)


def _number(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


class AnswerFile:
    """Lines on stdout ("-") or in a file, which other programs may read while they are written.

    The first ``n_bytes`` of a file are kept, and the rest is overwritten. Lines wait for `flush`.
    """

    def __init__(self, path: str, option: str, n_bytes: int = 0) -> None:
        self.n_bytes = n_bytes
        self._path = path
        self._held: list[str] = []
        self._next = 0.0
        self._is_stdout = path == "-"
        is_pipe = self._is_stdout or stat.S_ISFIFO(_mode(path))
        self._file: BinaryIO = sys.stdout.buffer if self._is_stdout else _opened(path, option)
        if not is_pipe:
            if os.fstat(self._file.fileno()).st_size < n_bytes:
                self._file.close()
                raise ArgumentError(
                    f"{option} {path} is shorter than at the last checkpoint. Restore the whole "
                    "file, or name another file and remove --resume."
                )
            self._file.truncate(n_bytes)
            self._file.seek(n_bytes)

    def add(self, line: str) -> None:
        """Add a line, which waits for `flush`."""
        self._held.append(line)

    def flush(self, *, now: bool = True) -> None:
        """Write the waiting lines. Without ``now`` this happens at most every half second."""
        clock = time.monotonic()
        if not self._held or (not now and clock < self._next):
            return
        content = "".join(f"{line}\n" for line in self._held).encode("utf-8", "surrogateescape")
        self._held.clear()
        self._next = clock + _SECONDS_BETWEEN
        try:
            self._file.write(content)
            self._file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._path) from None
        self.n_bytes += len(content)

    def close(self) -> None:
        """Close the file. Standard output stays open."""
        if not self._is_stdout:
            with contextlib.suppress(OSError):  # A full disk was an error before.
                self._file.close()


def _mode(path: str) -> int:
    try:
        return os.stat(path).st_mode
    except (OSError, ValueError):  # The file does not exist, or `check_out` reports the problem.
        return 0


def _opened(path: str, option: str) -> BinaryIO:
    if stat.S_ISFIFO(_mode(path)):
        return open(path, "wb")
    check_out(path, option)
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | _BINARY, 0o666), "r+b")
