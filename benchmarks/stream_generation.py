"""Examples per second and peak memory of the built-in stream, in both orders.

Run as `.venv/bin/python benchmarks/stream_generation.py`; prints a Markdown table. Each order is
run in separate processes. Memory is what the stream adds to a process that has imported the
library. The best of three runs counts, so the file cache is warm.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

from harness.benchmark import Benchmark, Options
from harness.report import Block, number, table
from labeltrees.data.python_source import PythonSource

ORDERS = ("files", "shuffled")
N_RUNS = 3


def peak_mb() -> float:
    """Return the process's peak memory; Linux counts it in KB, macOS in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def measure(order: str) -> dict[str, float]:
    before = peak_mb()
    start = time.perf_counter()
    n_examples = sum(len(chunk.labels) for chunk in PythonSource(order=order))  # type: ignore[arg-type]
    seconds = time.perf_counter() - start
    return {"n_examples": n_examples, "seconds": seconds, "memory_mb": peak_mb() - before}


def best_run(order: str) -> dict[str, float]:
    runs = [
        json.loads(subprocess.check_output([sys.executable, __file__, order]))
        for _ in range(N_RUNS)
    ]
    return min(runs, key=lambda run: run["seconds"])


def section(_: Options) -> list[Block]:
    """Return a table of both orders."""
    rows = []
    for order in ORDERS:
        run = best_run(order)
        speed = run["n_examples"] / run["seconds"]
        sizes = (run["n_examples"], speed, run["memory_mb"])
        rows.append([order, *(number(each, 0) for each in sizes)])
    return [table(["order", "examples", "examples/s", "added memory (MB)"], rows)]


BENCHMARK = Benchmark("stream_generation", __doc__, {"orders": section})


if __name__ == "__main__":
    if sys.argv[1:] in ([order] for order in ORDERS):
        print(json.dumps(measure(sys.argv[1])))
    else:
        BENCHMARK.main()
