"""What every program of a peer shares; the standard library alone, as it runs in any environment.

A program is a module with two functions, run by `benchmarks/contact_peer.py`.
``train(rows, folder, settings)`` makes features, tunes on rows kept apart, learns again from all
rows, saves, and returns what it chose and the seconds of tuning.
``predict(rows, folder, settings)`` returns an `Answer` for each row.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from typing import Any

from contact_sections.person_files import PersonRows

KS = (1, 3, 5)
N_ANSWERS = max(KS)
FLOOR = 1e-9  # of a probability whose logarithm is taken
MOST_VALID_ROWS = 5_000

#: The top five ``labels`` of a row, their ``probabilities``, and ``p_truth`` if it has one label.
Answer = dict[str, Any]


def apart(rows: PersonRows) -> tuple[PersonRows, PersonRows]:
    """Return rows to learn from and rows to choose by: a tenth, of less than 5,000 a fifth."""
    share = 5 if len(rows) < MOST_VALID_ROWS else 10
    n_valid = min(len(rows) // share, MOST_VALID_ROWS)
    numbers = list(range(len(rows)))
    return rows.take(numbers[n_valid:]), rows.take(numbers[:n_valid])


def tuned(
    grid: Iterable[Any], attempt: Callable[[Any], Iterable[Answer]], valid: PersonRows
) -> Any:
    """Return the settings whose answers to the rows to choose by are best."""
    return max(grid, key=lambda settings: quality(valid.labels, attempt(settings)))


def quality(truth: list[tuple[str, ...]], answers: Iterable[Answer]) -> tuple[float, float]:
    """Return accuracy or the mean of P@k, and the log-likelihood, which decides among equals."""
    answers = list(answers)
    several = any(len(row) != 1 for row in truth)
    found = [answer["labels"] for answer in answers]
    p = [answer.get("p_truth") or FLOOR for answer in answers]
    precisions = [precision(truth, found, k) for k in (KS if several else KS[:1])]
    return sum(precisions) / len(precisions), sum(map(math.log, p)) / len(p)


def precision(truth: list[tuple[str, ...]], found: list[list[str]], k: int) -> float:
    """Return P@k, the mean share of true labels among the first k."""
    hits = [len(set(row[:k]) & set(named)) for named, row in zip(truth, found, strict=True)]
    return sum(hits) / k / len(hits)


class Stopwatch:
    """The seconds spent in a ``with`` block."""

    seconds = 0.0

    def __enter__(self) -> Stopwatch:
        self.seconds -= time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter()
