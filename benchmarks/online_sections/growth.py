"""Time per example against the number of labels, all else equal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from harness import plots
from harness.benchmark import Options
from harness.report import Block, notes, number, table
from harness.timing import timed
from labeltrees import ConditionalTreeClassifier
from online_sections import our_runs

SIZES = (1_000, 10_000, 100_000, 1_000_000)
N_ROUNDS = 3  # how often each label is learned before time is taken
N_CALLS = 5
CALL_ROWS = (
    4_000,
    4_000,
    500,
    500,
)  # rows per call to update, to query P(label), and to search the top 1 and top 5
N_WARM = 40  # labels that are queried repeatedly, so that their memory is in the caches
CHUNK_ROWS = 16_384
CODE_BITS = 20
SCRAMBLER = 0x9E3D5  # odd, so multiplying by it permutes the codes
HEADER = [
    "labels",
    "depth",
    "accuracy",
    "learn µs",
    "P(label) µs",
    f"of {N_WARM} labels only, µs",
    "exact top 1 µs",
    "exact top 5 µs",
    "MB",
]

COSTS = {
    "learn": ("update", "#0072B2"),
    "p_label": ("P(label given x)", "#D55E00"),
    "top_1": ("exact top 1", "#009E73"),
}


@dataclass(frozen=True)
class Point:
    """What one example costs at one number of labels, in microseconds."""

    n_labels: int
    depth: int
    accuracy: float
    learn: float
    p_label: float
    p_warm: float
    """P(label) of rows of a few labels, whose part of the table stays in the caches."""
    top_1: float
    top_5: float
    megabytes: float


def section(options: Options) -> list[Block]:
    """Return a table of easy and one of hard data, and draw them."""
    sizes = [size for size in SIZES if size <= (options.limit or SIZES[-1])] or [options.limit]
    easy = [measure(size, window_rows) for size in sizes]
    hard = [measure(size, bit_rows) for size in sizes]
    titles = ("features tell labels apart (windows)", "features hardly do (single bits)")
    draw(dict(zip(titles, (easy, hard), strict=True)), options.plots)
    said = notes(
        f"Every label has a code of {CODE_BITS} bits; a row has 20 features. *Windows*: pieces of "
        "4 and 10 bits of the code, enough to tell the labels apart. *Single bits*: one feature "
        "for each bit, so labels differ little, probabilities are flat and search must look far.",
        f"Each label is learned {N_ROUNDS} times, in random order. Times are the median of "
        f"{N_CALLS} calls that learn {CALL_ROWS[0]:,} rows, compute P(label) of {CALL_ROWS[1]:,} "
        f"others, and search {CALL_ROWS[2]:,} others for the top 1 and as many for the top 5. "
        f"Of {N_WARM} labels only: P(label) of as many rows, whose memory the caches still have; "
        "what the others take longer is waiting for memory.",
    )
    blocks: list[Block] = ["### Growth with the number of labels"]
    for title, points in (("Windows of bits.", easy), ("Single bits.", hard)):
        blocks += [title, table(HEADER, [*map(row, points), ratios(points)])]
    return [*blocks, said, *plots.links("growth")]


def draw(points: dict[str, list[Point]], folder: Path) -> None:
    """Draw the time per example against the number of labels, both on logarithmic scales."""
    figure, panels = plots.figure(1, rows=len(points), size=(4.8, 3.1), sharey=True)
    axes = panels[:, 0]
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter, StrMethodFormatter

    for axis, (title, several) in zip(axes, points.items(), strict=True):
        n_labels = [each.n_labels for each in several]
        for name, (label, colour) in COSTS.items():
            cost = [getattr(each, name) for each in several]
            axis.loglog(n_labels, cost, "o-", ms=4, label=label, color=colour)
        plots.linear(axis, n_labels, several[0].learn)
        axis.set(title=title, xlabel="labels", ylabel="µs per row")
        axis.xaxis.set_major_formatter(EngFormatter(sep=""))
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        axis.yaxis.set_minor_formatter(NullFormatter())
    plots.titled(figure, "Updates and P(label) grow far slower than O(n)")
    plots.finish(figure, axes, folder / "growth.png")


def measure(
    n_labels: int,
    make_rows: Callable[[np.ndarray], csr_array],
    make: Callable[[], Any] = ConditionalTreeClassifier,
) -> Point:
    """Learn every label a few times, then time each kind of call."""
    random = np.random.default_rng(0)
    model = make()
    for _ in range(N_ROUNDS):
        order = random.permutation(n_labels)
        for start in range(0, n_labels, CHUNK_ROWS):
            labels = order[start : start + CHUNK_ROWS]
            model.partial_fit(make_rows(labels), labels)
    learn, p_label, p_warm, top_1, top_5, hits = [], [], [], [], [], []
    few = random.integers(n_labels, size=N_WARM)
    for _ in range(N_CALLS):
        # Each call has other labels, because the call before would have warmed their memory.
        y, asked, searched, listed = (random.integers(n_labels, size=size) for size in CALL_ROWS)
        learn.append(timed(model.partial_fit, make_rows(y), y)[1])
        p_label.append(timed(model.predict_label_proba, make_rows(asked), asked)[1])
        again = few[random.integers(N_WARM, size=CALL_ROWS[1])]
        p_warm.append(timed(model.predict_label_proba, make_rows(again), again)[1])
        top, seconds = timed(model.predict_top_k, make_rows(searched), 1)
        top_1.append(seconds)
        top_5.append(timed(model.predict_top_k, make_rows(listed), 5)[1])
        hits.append((top.labels[:, 0] == searched).mean())
    costs = [
        float(np.median(calls)) / size * 1e6
        for calls, size in zip(
            (learn, p_label, p_warm, top_1, top_5), (*CALL_ROWS[:2], *CALL_ROWS[1:]), strict=True
        )
    ]
    megabytes = our_runs.megabytes(model)
    return Point(n_labels, model.tree_.depth, float(np.mean(hits)), *costs, megabytes)


def window_rows(labels: np.ndarray) -> csr_array:
    """Return rows of 20 ones: the five 4-bit pieces of a code, 15 windows of 10 bits around it."""
    codes = labels.astype(np.int64) * SCRAMBLER % 2**CODE_BITS
    around = codes | codes << CODE_BITS
    pieces = [16 * i + (codes >> 4 * i & 15) for i in range(5)]
    windows = [80 + 1024 * i + (around >> i & 1023) for i in range(15)]
    return rows_of_ones(np.stack(pieces + windows, axis=1), 80 + 15 * 1024)


def bit_rows(labels: np.ndarray) -> csr_array:
    """Return rows of 20 ones, with one of two columns for each bit of a code."""
    codes = labels.astype(np.int64) * SCRAMBLER % 2**CODE_BITS
    places = np.arange(CODE_BITS)
    return rows_of_ones(2 * places + (codes[:, np.newaxis] >> places & 1), 2 * CODE_BITS)


def rows_of_ones(columns: np.ndarray, n_features: int) -> csr_array:
    n_rows, width = columns.shape
    starts = np.arange(n_rows + 1, dtype=np.int32) * width
    values = np.ones(columns.size, np.float32)
    return csr_array((values, columns.astype(np.int32).ravel(), starts), shape=(n_rows, n_features))


def row(point: Point) -> list[str]:
    return [
        f"{point.n_labels:,}",
        str(point.depth),
        number(point.accuracy, 3),
        *(number(each, 1) for each in costs_of(point)),
        number(point.megabytes, 0),
    ]


def ratios(points: list[Point]) -> list[str]:
    first, last = points[0], points[-1]
    costs = [late / early for late, early in zip(costs_of(last), costs_of(first), strict=True)]
    return ["last / first", "-", "-", *(f"{cost:.1f}" for cost in costs), "-"]


def costs_of(point: Point) -> tuple[float, ...]:
    return point.learn, point.p_label, point.p_warm, point.top_1, point.top_5
