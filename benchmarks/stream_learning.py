"""The built-in stream with default settings: quality, learning speed, memory, file sizes.

Prints a Markdown table. Learning is timed alone (`partial_fit`, one thread), in a separate run;
accuracy is progressive, over the last 20 % of the stream.

    python benchmarks/stream_learning.py [--limit N] [--set mixing=False] [--set balance="'labels'"]
"""

from __future__ import annotations

import argparse
import ast
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

import labeltrees
from harness.benchmark import Benchmark, Options
from harness.report import Block, number, table
from labeltrees import ConditionalTreeClassifier
from labeltrees.cli.commands.demo import Cache
from labeltrees.data.python_source import PythonSource
from labeltrees.metrics import ProgressiveValidation

WHOLE_STREAM = 1_500_000
HEADER = [
    *("order", "accuracy", "cache", "log loss (seen)", "ECE@1", "learned/s", "table MB"),
    *("file MB", "inference-only MB", "max dp"),
]


def learning_speed(source: PythonSource, settings: dict) -> tuple[ConditionalTreeClassifier, float]:
    model, seconds, n_rows = ConditionalTreeClassifier(**settings), 0.0, 0
    for chunk in source:
        started = time.perf_counter()
        model.partial_fit(chunk.features, chunk.labels)
        seconds += time.perf_counter() - started
        n_rows += chunk.n_rows
    return model, n_rows / seconds


def quality(
    source: PythonSource, n_examples: int, settings: dict
) -> tuple[ProgressiveValidation, float]:
    model, cache = ConditionalTreeClassifier(**settings), Cache()
    scores = ProgressiveValidation(n_expected=n_examples)
    hits = []
    for chunk in source:
        seen = model.progressive_fit(chunk.features, chunk.labels)
        scores.observe(seen, chunk.labels)
        hits.append(cache.update(chunk.contexts, chunk.labels))
    return scores, float(np.concatenate(hits)[scores.tail_start :].mean())


def files(model: ConditionalTreeClassifier, source: PythonSource) -> tuple[int, int, float]:
    """Sizes of the two kinds of model file, and the largest difference of a probability."""
    with tempfile.TemporaryDirectory() as folder:
        whole, small = Path(folder) / "whole", Path(folder) / "small"
        model.save(whole)
        model.save(small, keep_state=False)
        frozen = labeltrees.load(small)
        chunk = next(iter(source))
        rows = chunk.features[:20_000]
        top, p = model.predict_top_k(rows, 5)
        difference = 0.0
        for k in range(5):
            again = frozen.predict_label_proba(rows, top[:, k])
            difference = max(difference, float(np.abs(again - p[:, k]).max()))
        return whole.stat().st_size, small.stat().st_size, difference


def section(options: Options) -> list[Block]:
    """Return a table of both orders."""
    settings = {
        name: ast.literal_eval(value)
        for name, value in (each.split("=", 1) for each in options.own.set)
    }
    limit = options.limit or WHOLE_STREAM
    rows = [one_order(order, limit, settings) for order in ("files", "shuffled")]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [
        f"{limit:,} examples, settings: {settings or 'defaults'}.",
        table(HEADER, rows),
        f"Peak memory of the whole run: {peak:,.0f} MB.",
    ]


def one_order(order: str, limit: int, settings: dict) -> list[str]:
    """Return quality, speed and sizes of the stream in one order."""
    source = PythonSource(order=order, limit=limit)  # type: ignore[arg-type]
    model, rate = learning_speed(source, settings)
    table_bytes = model.model_.core.n_bytes
    whole, small, difference = files(model, source)
    del model
    scores, cache = quality(source, source.count(), settings)
    tail = scores.summary().tail
    return [
        order,
        number(tail.accuracy),
        number(cache),
        number(tail.log_loss_seen, 3),
        number(tail.calibration_error, 3),
        number(rate, 0),
        *(number(each / 1e6, 0) for each in (table_bytes, whole, small)),
        f"{difference:.1e}",
    ]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")


BENCHMARK = Benchmark(
    "stream_learning", __doc__, {"orders": section}, takes=("limit",), arguments=arguments
)

if __name__ == "__main__":
    BENCHMARK.main()
