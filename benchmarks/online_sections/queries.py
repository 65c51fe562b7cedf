"""How fast a learned model answers, and what two threads gain."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy.sparse import vstack

from harness.benchmark import Options
from harness.report import Block, notes, number, table
from harness.timing import timed
from labeltrees import ConditionalTreeClassifier
from labeltrees.data.python_source import PythonSource
from online_sections import our_runs
from online_sections.scores import Answers
from online_sections.stream_file import WHOLE_STREAM, short_length, tail_start

N_ROWS = 20_000
N_RUNS = 3


def queries(options: Options) -> list[Block]:
    """Return rows per second of each kind of query, for rows that were not learned."""
    length = options.limit or WHOLE_STREAM
    model, rest = our_runs.learned_head("shuffled", length)
    X = vstack([features for features, _ in rest], format="csr")[:N_ROWS]
    y = np.concatenate([labels for _, labels in rest])[:N_ROWS]
    seconds = {
        "`predict_label_proba`": timed(lambda: model.predict_label_proba(X, y), repeat=N_RUNS)[1],
        "exact top 1": timed(lambda: model.predict_top_k(X, 1), repeat=N_RUNS)[1],
        "exact top 5": timed(lambda: model.predict_top_k(X, 5), repeat=N_RUNS)[1],
    }
    one = seconds["exact top 1"]
    rows = [
        [name, f"{len(y) / each:,.0f}", f"{each / len(y) * 1e6:.1f}", f"{each / one:.2f}"]
        for name, each in seconds.items()
    ]
    said = (
        f"Learned {length * 4 // 5:,} examples of the shuffled stream, {len(model.classes_):,} "
        f"labels. Queried {len(y):,} further rows, best of {N_RUNS}, one thread."
    )
    header = ["question", "rows/s", "µs/row", "cost / top 1"]
    return ["### Queries", table(header, rows), notes(said)]


THREADS_HEADER = ["work", "1 thread, rows/s", "2 threads, rows/s", "times as fast"]


def threads(options: Options) -> list[Block]:
    """Return what two threads gain at learning and at answering."""
    length = short_length(options)
    learned, losses = learning(options)
    model, rest = our_runs.learned_head("shuffled", length)
    X = vstack([features for features, _ in rest], format="csr")[:N_ROWS]
    y = np.concatenate([labels for _, labels in rest])[:N_ROWS]
    asked: dict[str, Callable[[], object]] = {
        "`predict_label_proba`": lambda: model.predict_label_proba(X, y),
        "exact top 1": lambda: model.predict_top_k(X, 1),
        "exact top 5": lambda: model.predict_top_k(X, 5),
    }
    rows = [learned]
    for name, ask in asked.items():
        seconds = []
        for n_jobs in (1, 2):
            model.set_params(n_jobs=n_jobs)
            seconds.append(timed(ask, repeat=N_RUNS)[1])
        rows.append(compared(name, len(y), seconds))
    said = (
        f"Learning: {length:,} examples shuffled, best of 3; progressive log loss over the "
        f"last fifth {losses[0]:.3f} with one thread, {losses[1]:.3f} with two. Answering: "
        f"{len(y):,} rows, {len(model.classes_):,} labels, best of 3."
    )
    return ["### Threads", table(THREADS_HEADER, rows), notes(said)]


def learning(options: Options) -> tuple[list[str], list[float]]:
    source = PythonSource(order="shuffled", limit=short_length(options))
    chunks = [(chunk.features, chunk.labels) for chunk in source]
    n_rows = sum(len(labels) for _, labels in chunks)
    best, losses = [np.inf, np.inf], [0.0, 0.0]
    for _ in range(3):
        for at, n_jobs in enumerate((1, 2)):
            learner = ConditionalTreeClassifier(n_jobs=n_jobs)
            started = time.perf_counter()
            seen = [learner.progressive_fit(X, y, k=0) for X, y in chunks]
            best[at] = min(best[at], time.perf_counter() - started)
            p_label = np.concatenate([each.p_label for each in seen])
            is_new = np.concatenate([each.is_new for each in seen])
            answers = Answers("", np.zeros(n_rows), p_label, is_new=is_new)
            losses[at] = answers.tail(n_rows - tail_start(n_rows)).log_loss_seen or 0.0
    return compared("learning", n_rows, best), losses


def compared(name: str, n_rows: int, seconds: list[float]) -> list[str]:
    rates = [number(n_rows / each, 0) for each in seconds]
    return [name, *rates, number(seconds[0] / seconds[1], 2)]
