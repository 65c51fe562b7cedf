"""Show the progress of a long command, only on a terminal."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

_SECONDS_BETWEEN = 0.1  # Minimum time between two updates of the bar.


class Progress:
    """A live bar on stderr with rows, rate, named values, time spent and time left.

    It is silent if stderr is not a terminal, if it is not enabled, and after the first error of the
    terminal, because showing progress must never fail a command. rich is imported only when a bar
    is shown.

    Parameters
    ----------
    description : str
        The name of the task.
    total : int, optional
        The number of rows, if known.
    enabled : bool, default True
        Whether to show anything.

    Examples
    --------
    >>> with Progress("learning", total=100) as progress:
    ...     progress.advance(50, loss=0.5, labels=12)
    """

    def __init__(self, description: str, *, total: int | None = None, enabled: bool = True) -> None:
        self.description, self.total, self.enabled = description, total, enabled
        self._fields: dict[str, object] = {}
        self._bar: RichProgress | None = None
        self._next_show = 0.0

    def __enter__(self) -> Progress:
        try:
            if self.enabled and sys.stderr.isatty():
                self._bar = self._start()
        except Exception:
            self._bar = None
        return self

    @property
    def is_shown(self) -> bool:
        """Whether there is a bar on the terminal now."""
        return self._bar is not None

    def _start(self) -> RichProgress:
        from rich import progress
        from rich.console import Console

        bar = progress.Progress(
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(bar_width=10),  # The whole bar fits into 80 columns.
            progress.TextColumn("{task.completed:,.0f}{task.fields[note]}", markup=False),
            progress.TimeRemainingColumn(compact=True, elapsed_when_finished=True),
            console=Console(stderr=True),
            auto_refresh=False,  # Without a thread, errors of the terminal are caught.
            redirect_stdout=False,  # stdout is for results.
        )
        bar.add_task(self.description, total=self.total, note="")
        bar.start()
        return bar

    def advance(self, n: int = 1, **fields: object) -> None:
        """Count n more rows, and show named values such as ``loss`` and ``labels``."""
        if self._bar is None:
            return
        self._fields.update(fields)
        now = time.monotonic()
        show = now >= self._next_show
        if show:
            self._next_show = now + _SECONDS_BETWEEN
        try:
            task = self._bar.tasks[0]
            rate = f" {task.speed:,.0f}/s" if task.speed else ""
            note = rate + "".join(f" {name} {_short(v)}" for name, v in self._fields.items())
            self._bar.update(task.id, advance=n, note=note, refresh=show)
        except Exception:
            self.__exit__()

    def __exit__(self, *error: object) -> None:
        bar, self._bar = self._bar, None
        try:
            if bar is not None:
                bar.stop()
        except Exception:
            return


SILENT = Progress("", enabled=False)
"""A progress that is never shown."""


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
