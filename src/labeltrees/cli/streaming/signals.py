"""Handle SIGINT and SIGTERM so that a command can finish a step, save and report."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SECONDS_ALIKE = 1.0  # A terminal and a parent often send the same signal.


class StopRequested(Exception):  # noqa: N818  (a request, not a fault)
    """A signal arrived while the command was waiting."""


class Stopping:
    """Notes the first SIGINT or SIGTERM in its block. Another one a second later interrupts.

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
        """The exit code after the signal, or 0 without a signal."""
        return 0 if self.caught is None else 128 + self.caught

    def __enter__(self) -> Stopping:
        # Other threads cannot handle signals.
        if threading.current_thread() is threading.main_thread():
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
            raise StopRequested

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Let a signal raise `StopRequested` in this block, which only waits."""
        self._is_waiting = True
        try:
            if self.caught is not None:
                raise StopRequested
            yield
        finally:
            self._is_waiting = False
