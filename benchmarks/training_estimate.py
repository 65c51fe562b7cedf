"""Compare `ExtremeRegressor.estimate_training` on a quarter of the rows with training on all.

Prints the estimate and the measured cost for each set as Markdown. Training runs in a separate
process. The costs are seconds of the processor with one thread, the peak of memory in addition to
the data, and the size of the file.

    python benchmarks/training_estimate.py --data DIR [--sets bibtex yso-en] [--share 0.25]

DIR has the sets as `benchmarks/batch.py` reads them; yso-en are its first 100,000 rows.
"""

from __future__ import annotations

import argparse
import ctypes
import multiprocessing
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from harness.benchmark import Benchmark, Options
from harness.data_sets import training_rows
from harness.processes import ONE_THREAD
from harness.report import Block, table
from labeltrees import ExtremeRegressor


def section(options: Options) -> list[Block]:
    """Return a table of what was estimated and what was measured."""
    os.environ |= ONE_THREAD  # also of a BLAS, whose idle threads wait busily
    own, rows = options.own, []
    for name in own.sets:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            guessed = pool.apply(estimated, (options.data, name, own.share))
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            taken = pool.apply(measured, (options.data, name))
        for what, scale, guess, truth in zip(
            ("seconds", "MiB of memory", "MiB of model"), (1, 2**20, 2**20), guessed, taken,
            strict=True,
        ):  # fmt: skip
            share = f"{guess / truth - 1:+.0%}"
            rows.append([name, what, f"{guess / scale:.3g}", f"{truth / scale:.3g}", share])
    header = ["set", "", "estimate", "measured", "off by"]
    return [f"From {own.share:.0%} of the rows:", table(header, rows)]


def estimated(data: Path, name: str, share: float) -> tuple[Any, ...]:
    X, Y = training_rows(data, name, None)
    chosen = np.random.default_rng(1).permutation(X.shape[0])[: int(share * X.shape[0])]
    chosen.sort()
    return tuple(ExtremeRegressor().estimate_training(X[chosen], Y[chosen], n_rows=X.shape[0]))


def measured(data: Path, name: str) -> tuple[float, int, int]:
    X, Y = training_rows(data, name, None)
    ExtremeRegressor(n_trees=1).fit(X[:200], Y[:200])  # imports are not training
    ctypes.CDLL(None).malloc_trim(0)  # what reading the rows has left free would be used again
    reset_peak()
    before = memory("VmRSS")
    start = time.process_time()
    model = ExtremeRegressor().fit(X, Y)
    seconds = time.process_time() - start
    peak = memory("VmHWM") - before
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save(path)
        return seconds, peak, path.stat().st_size


def reset_peak() -> None:
    """Make the system forget the most memory so far."""
    Path("/proc/self/clear_refs").write_text("5")


def memory(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    return 0


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sets", nargs="+", default=["bibtex", "delicious", "yso-en"])
    parser.add_argument("--share", type=float, default=0.25)


BENCHMARK = Benchmark(
    "training_estimate",
    __doc__,
    {"estimates": section},
    takes=("data",),
    needs_data=True,
    arguments=arguments,
)

if __name__ == "__main__":
    BENCHMARK.main()
