"""How fast a learned model answers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import vstack

from harness.report import Block, notes, table
from online_sections import our_runs
from online_sections.stream_file import WHOLE_STREAM

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.benchmark import Options

N_ROWS = 20_000
N_RUNS = 3


def section(options: Options) -> list[Block]:
    """Return rows per second of each question, asked of rows that were not learned."""
    length = options.limit or WHOLE_STREAM
    model, rest = our_runs.learned_head("shuffled", length)
    X = vstack([features for features, _ in rest], format="csr")[:N_ROWS]
    y = np.concatenate([labels for _, labels in rest])[:N_ROWS]
    seconds = {
        "`predict_label_proba`": best_of(lambda: model.predict_label_proba(X, y)),
        "exact top 1": best_of(lambda: model.predict_top_k(X, 1)),
        "exact top 5": best_of(lambda: model.predict_top_k(X, 5)),
    }
    one = seconds["exact top 1"]
    rows = [
        [name, f"{len(y) / each:,.0f}", f"{each / len(y) * 1e6:.1f}", f"{each / one:.2f}"]
        for name, each in seconds.items()
    ]
    said = (
        f"Learned {length * 4 // 5:,} examples of the shuffled stream, {len(model.classes_):,} "
        f"labels; asked {len(y):,} further rows, best of {N_RUNS}, one thread."
    )
    header = ["question", "rows/s", "µs/row", "cost / top 1"]
    return ["### Queries", table(header, rows), notes(said)]


def best_of(ask: Callable[[], object], n_runs: int = N_RUNS) -> float:
    """Return the seconds of the fastest of a few runs."""
    best = float("inf")
    for _ in range(n_runs):
        started = time.perf_counter()
        ask()
        best = min(best, time.perf_counter() - started)
    return best
