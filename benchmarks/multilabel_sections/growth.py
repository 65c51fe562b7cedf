"""Time per row against the number of labels, all else equal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.benchmark import Options
from harness.report import Block, notes, number, table
from harness.timing import processor_timed as timed
from labeltrees import MultiLabelTreeClassifier
from multilabel_sections.contestants import OURS
from online_sections.growth import window_rows
from online_sections.our_runs import megabytes

SIZES = (1_000, 10_000, 100_000, 1_000_000)
LABELS_PER_ROW = 3
N_ROUNDS = 1  # how often each topic is learned before time is taken
N_CALLS = 5
MAX_MEMORY = 6 * 2**30  # of the tables; only a million labels would take more
CALL_ROWS = (
    4_000,
    4_000,
    1_000,
)  # rows per call to update, to query P(label), and to search the top 1
CHUNK_ROWS = 16_384
WISHED = 4.0
HEADER = ["labels", "depth", "P@1", "learn µs", "P(label) µs", "exact top 1 µs", "MB"]


@dataclass(frozen=True)
class Point:
    """What one row costs at one number of labels, in microseconds."""

    n_labels: int
    depth: int
    precision: float
    learn: float
    p_label: float
    top_1: float
    megabytes: float

    @property
    def costs(self) -> tuple[float, ...]:
        return self.learn, self.p_label, self.top_1


def section(options: Options) -> Iterator[Block]:
    """Return a table for each model, with the ratio of the largest to the smallest."""
    sizes = [size for size in SIZES if size <= (options.limit or SIZES[-1])] or [SIZES[0]]
    yield "### Growth with the number of labels"
    for title, settings in ((OURS.name, {}), (f"{OURS.name}, `refine=0`", {"refine": 0})):
        points = []
        for size in sizes:
            print(f"  {title}, {size:,} labels", file=sys.stderr, flush=True)
            points.append(measure(size, settings))
        yield f"{title}:"
        yield table(HEADER, [*map(row, points), ratios(points)])
    yield notes(
        f"There is the same number of topics and labels, and a topic has {LABELS_PER_ROW} labels, "
        f"so a label has {LABELS_PER_ROW} topics. A row has 20 features, pieces of its topic's "
        f"code of 20 bits. Each topic is learned {times(N_ROUNDS)}, in random order. Tables are "
        f"kept within {MAX_MEMORY / 2**30:g} GiB (`max_memory`), so later keys share weights.",
        f"Times, of the processor, are the median of {N_CALLS} calls that learn {CALL_ROWS[0]:,} "
        f"rows, compute P(label) of {CALL_ROWS[1]:,} others, and search {CALL_ROWS[2]:,} others "
        f"for the top 1. The last line should stay under {WISHED:g}.",
    )


def times(n: int) -> str:
    return "once" if n == 1 else f"{n} times"


def measure(n_labels: int, settings: dict[str, Any]) -> Point:
    """Learn every topic a few times, then time each kind of call."""
    random = np.random.default_rng(0)
    model = MultiLabelTreeClassifier(max_memory=MAX_MEMORY, **settings)
    for _ in range(N_ROUNDS):
        order = random.permutation(n_labels)
        for start in range(0, n_labels, CHUNK_ROWS):
            topics = order[start : start + CHUNK_ROWS]
            model.partial_fit(window_rows(topics), label_sets(topics, n_labels))
    learn, p_label, top_1, hits = [], [], [], []
    for _ in range(N_CALLS):
        # Each call has other topics, because the call before would have warmed their memory.
        taught, asked, searched = (random.integers(n_labels, size=size) for size in CALL_ROWS)
        learn.append(timed(model.partial_fit, window_rows(taught), label_sets(taught, n_labels))[1])
        p_label.append(timed(model.predict_label_proba, window_rows(asked), asked)[1])
        top, seconds = timed(model.predict_top_k, window_rows(searched), 1)
        top_1.append(seconds)
        hits.append(((top.labels[:, 0] - searched) % n_labels < LABELS_PER_ROW).mean())
    costs = [
        float(np.median(calls)) / size * 1e6
        for calls, size in zip((learn, p_label, top_1), CALL_ROWS, strict=True)
    ]
    depth = model.model_.describe()["depth"]
    return Point(n_labels, depth, float(np.mean(hits)), *costs, megabytes(model))


def label_sets(topics: np.ndarray, n_labels: int) -> list[list[int]]:
    """Return each topic's labels, which are its own and the next ones.

    They are lists, because a matrix names all its columns in every call, which costs O(n_labels).
    """
    labels: list[list[int]] = (
        (topics[:, np.newaxis] + np.arange(LABELS_PER_ROW)) % n_labels
    ).tolist()
    return labels


def row(point: Point) -> list[str]:
    return [
        f"{point.n_labels:,}",
        str(point.depth),
        number(100 * point.precision, 1),
        *(number(each, 1) for each in point.costs),
        number(point.megabytes, 0),
    ]


def ratios(points: list[Point]) -> list[str]:
    first, last = points[0], points[-1]
    costs = [late / early for late, early in zip(last.costs, first.costs, strict=True)]
    return ["last / first", "-", "-", *(f"{cost:.1f}" for cost in costs), "-"]
