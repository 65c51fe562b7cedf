"""Read the next chunk while the current one is in use."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, TypeVar, overload

from labeltrees.checks import integer, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Item = TypeVar("Item")

_PATIENCE = 0.05  # Seconds after which the reader checks whether the consumer has left.
_FAREWELL = 0.25  # Seconds to wait for the end of the reader, which a silent pipe may prevent.


@overload
def read_ahead(items: Iterable[Item], n_ahead: int = 2) -> Iterator[Item]: ...
@overload
def read_ahead(
    items: Iterable[Item], n_ahead: int = 2, *, tick: float
) -> Iterator[Item | None]: ...
def read_ahead(
    items: Iterable[Item], n_ahead: int = 2, *, tick: float | None = None
) -> Iterator[Item | None]:
    """Return the items in their order, while a thread makes up to ``n_ahead`` of them in advance.

    An exception is raised in the place of its item. If you leave early, the thread ends. A thread
    that waits for a silent pipe is left alone, but it does not keep the process alive.

    Parameters
    ----------
    items : iterable
        The items to make in advance.
    n_ahead : int
        Maximum number of items that are ready in advance.
    tick : float, optional
        Number of seconds without an item after which None is yielded, so that the caller can do
        something else.

    Examples
    --------
    >>> list(read_ahead(range(4)))
    [0, 1, 2, 3]
    """
    n_ahead = integer("n_ahead", n_ahead, 1)
    if tick is not None:
        tick = number("tick", tick, 0, threading.TIMEOUT_MAX, open_low=True)
    ready: queue.Queue[tuple[bool, Item | BaseException | None]] = queue.Queue(n_ahead)
    left = threading.Event()

    def offer(more: bool, item: Item | BaseException | None) -> None:
        while not left.is_set():
            try:
                ready.put((more, item), timeout=_PATIENCE)
            except queue.Full:
                continue
            return

    def read() -> None:
        try:
            for item in items:
                offer(True, item)
                if left.is_set():
                    return
            offer(False, None)
        except BaseException as error:
            offer(False, error)

    reader = threading.Thread(target=read, name="labeltrees-read-ahead", daemon=True)
    reader.start()
    try:
        while True:
            try:
                more, item = ready.get(timeout=tick)
            except queue.Empty:
                yield None
                continue
            if more:
                yield item  # type: ignore[misc]
            elif isinstance(item, BaseException):
                raise item
            else:
                return
    finally:
        left.set()
        reader.join(_FAREWELL)
