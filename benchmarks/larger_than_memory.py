"""Extreme regression from files under a memory limit of a quarter of their rows.

Writes synthetic rows to files, learns from them with `fit_files` in a process whose memory a cgroup
limits (the pages of files that the system keeps for it count, too), and from memory without a
limit. Prints as Markdown the most memory of each, seconds, and whether the model is the same.

    python benchmarks/larger_than_memory.py [--rows 150000] [--features 900] [--labels 200]
        [--epochs 1] [--folder DIR]

Needs Linux and the right to make a cgroup (root). DIR must be on a disk, not in memory.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from multiprocessing.pool import ThreadPool
from pathlib import Path

import numpy as np

from harness.benchmark import Benchmark, Options
from harness.report import Block, table
from labeltrees import ExtremeRegressor
from labeltrees.data.chunk import Chunk
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.rows import Rows

CHUNK = 500
WIDTH = 50_000
GROUP = Path("/sys/fs/cgroup/memory")


def section(options: Options) -> list[Block]:
    """Return a table of both ways, which run at the same time."""
    own = options.own
    n_bytes = 8 * own.rows * own.features
    limit = n_bytes // 4
    with tempfile.TemporaryDirectory(dir=own.folder) as folder, ThreadPool(2) as pool:
        ours = [("files", own, folder, limit), ("memory", own, folder, None)]
        limited, free = pool.starmap(started, ours, chunksize=1)
    rows = [
        [name, f"{found['peak'] / 2**20:,.0f}", f"{found['own'] / 2**20:,.0f}",
         f"{found['seconds']:.0f}", found["model"][:16]]
        for name, found in (("fit_files, limited", limited), ("fit", free))
    ]  # fmt: skip
    headers = ["", "most MiB, with pages of files", "of its own", "seconds", "SHA-256 of the model"]
    return [
        f"{own.rows:,} rows of {own.features} features among {WIDTH:,}, {own.labels:,} labels, "
        f"3 a row; rows take {n_bytes / 2**20:,.0f} MiB, the limit is {limit / 2**20:,.0f} MiB; "
        f"1 tree, {own.epochs} epochs, not calibrated; both ran at the same time.",
        table(headers, rows),
        f"The same model: {'yes' if limited['model'] == free['model'] else 'NO'}",
    ]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, default=150_000)
    parser.add_argument("--features", type=int, default=900)
    parser.add_argument("--labels", type=int, default=200)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--folder", default=".")
    parser.add_argument("--role", choices=["files", "memory"], help=argparse.SUPPRESS)


BENCHMARK = Benchmark("larger_than_memory", __doc__, {"memory": section}, arguments=arguments)


def chunks(n_rows: int, n_features: int, n_labels: int):
    """Yield rows with one feature per equal range, from one of three labels or at random."""
    step = WIDTH // n_features
    own = np.random.default_rng(0).integers(0, step, (n_labels, n_features), dtype=np.int32)
    ranges = np.arange(n_features, dtype=np.int32)
    for begin in range(0, n_rows, CHUNK):
        random = np.random.default_rng([1, begin])
        n = min(CHUNK, n_rows - begin)
        labels = np.sort(random.zipf(1.2, (n, 3)) % n_labels, axis=1)
        places = random.integers(0, step, (n, n_features), dtype=np.int32)
        for which in range(3):  # every fourth feature is noise
            places[:, which::4] = own[labels[:, which], which::4]
        indices = (ranges * step + places).ravel()
        values = random.random(len(indices), np.float32) + np.float32(0.1)
        starts = np.arange(0, len(indices) + 1, n_features, dtype=np.int64)
        label_starts = np.arange(0, 3 * n + 1, 3, dtype=np.int64)
        rows = Rows(starts, indices, values, WIDTH)
        yield Chunk(
            rows, RaggedLabels(labels.ravel().astype(np.int64), label_starts), None, begin + 1
        )


def started(role: str, options: argparse.Namespace, folder: str, limit: int | None) -> dict:
    """Return what a child process found, kept below a limit if there is one."""
    group = GROUP / f"labeltrees-{os.getpid()}-{role}"
    group.mkdir()
    try:
        if limit is not None:
            (group / "memory.limit_in_bytes").write_text(str(limit))
        given = [f"--{name}={getattr(options, name)}"
                 for name in ("rows", "features", "labels", "epochs")]  # fmt: skip
        command = [sys.executable, __file__, "--role", role, "--folder", folder, *given]
        child = subprocess.Popen(
            command,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},  # whose threads take 32 MiB each
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: (group / "cgroup.procs").write_text(str(os.getpid())),
        )
        out, _ = child.communicate()
        if child.returncode:
            raise SystemExit(f"{role}: ended with {child.returncode}")
        peak = int((group / "memory.max_usage_in_bytes").read_text())
    finally:
        group.rmdir()
    return json.loads(out) | {"peak": peak}


def learn(options: argparse.Namespace) -> dict:
    """Learn from a reader in files, or from memory; the model's digest and what it took."""
    reader = chunks(options.rows, options.features, options.labels)
    model = ExtremeRegressor(n_trees=1, max_epochs=options.epochs, calibrate=False)
    start = time.perf_counter()
    if options.role == "files":
        model.fit_files(reader, folder=options.folder)
    else:
        X, y = gathered(reader)
        start = time.perf_counter()
        model.fit(X, y)
    seconds = time.perf_counter() - start
    path = Path(options.folder) / f"model-{options.role}"
    model.save(path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"seconds": seconds, "model": digest, "own": own_bytes()}


def gathered(reader):
    from labeltrees.data.rows import stacked

    held = list(reader)
    return stacked([chunk.rows for chunk in held]), [
        row for chunk in held for row in chunk.labels.reshape(-1, 3).tolist()
    ]


def own_bytes() -> int:
    """Return the memory of this process that belongs to no file, at its end."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    if "--role" in sys.argv:
        print(json.dumps(learn(BENCHMARK.parser().parse_args())))
    else:
        BENCHMARK.main()
