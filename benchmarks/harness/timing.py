"""Seconds of a call."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any


def timed(
    call: Callable[..., Any],
    *arguments: Any,
    repeat: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[Any, float]:
    """Return the answer of a call and its seconds, the least of the repeats."""
    best, answer = float("inf"), None
    for _ in range(repeat):
        started = clock()
        answer = call(*arguments)
        best = min(best, clock() - started)
    return answer, best


#: The same in seconds of the processor.
processor_timed = partial(timed, clock=time.process_time)
