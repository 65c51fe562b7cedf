"""Examples per second and peak memory of the built-in stream, in both orders.

Run as `.venv/bin/python benchmarks/stream_generation.py`; prints a Markdown table. Each order is
run in processes of its own, so that the peak is its own; memory is what the stream adds to a
process that has imported the library. The file cache is warm: the best of three runs counts.
"""

from __future__ import annotations

import datetime
import json
import platform
import resource
import subprocess
import sys
import time

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


def main() -> None:
    print("| order | examples | examples/s | added memory (MB) |")
    print("|---|---:|---:|---:|")
    for order in ORDERS:
        run = best_run(order)
        speed = run["n_examples"] / run["seconds"]
        print(f"| {order} | {run['n_examples']:,} | {speed:,.0f} | {run['memory_mb']:.0f} |")
    python = f"{platform.python_implementation()} {platform.python_version()}"
    print(f"\n{python}, {platform.machine()}, {datetime.datetime.now(datetime.UTC).date()}.")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1])))
    else:
        main()
