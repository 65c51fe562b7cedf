"""SIGINT and SIGTERM for a command that wants to finish what it is doing, save and report."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SECONDS_ALIKE = 1.0  # a terminal and a parent often send the same signal


class AskedToStop(Exception):  # noqa: N818  (a request, not a fault)
    """A signal came while there was nothing to do but wait."""


class Stopping:
    """Notes the first SIGINT or SIGTERM while its block runs; one more, a second later, interrupts.

    Examples
    --------
    >>> with Stopping() as stopping:
    ...     signal.raise_signal(signal.SIGTERM)
    ...     stopping.exit_code
    143
    """

    def __init__(self) -> None:
        self.caught: int | None = None
        self._since = 0.0
        self._is_waiting = False
        self._before: dict[int, Any] = {}

    @property
    def exit_code(self) -> int:
        """What the shell expects of a process that a signal ended, 0 if none came."""
        return 0 if self.caught is None else 128 + self.caught

    def __enter__(self) -> Stopping:
        if threading.current_thread() is threading.main_thread():  # no other may handle signals
            self._before = {each: signal.signal(each, self._note) for each in _SIGNALS}
        return self

    def __exit__(self, *error: object) -> None:
        for each, handler in self._before.items():
            signal.signal(each, handler)

    def _note(self, number: int, frame: object) -> None:  # noqa: ARG002
        if self.caught is None:
            self.caught, self._since = number, time.monotonic()
        elif time.monotonic() - self._since > _SECONDS_ALIKE:
            raise KeyboardInterrupt
        if self._is_waiting:
            self._is_waiting = False
            raise AskedToStop

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Let a signal raise `AskedToStop` in this block, which only waits, so nothing is lost."""
        self._is_waiting = True
        try:
            if self.caught is not None:
                raise AskedToStop
            yield
        finally:
            self._is_waiting = False
