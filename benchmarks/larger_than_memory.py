"""Extreme regression from files under a memory limit of a quarter of their rows.

Writes synthetic rows to files, learns from them with `fit_files` in a process whose memory a cgroup
limits (the pages of files that the system keeps for it count, too), and from memory without a
limit. Prints as Markdown the most memory of each, seconds, and whether the model is the same.

    python benchmarks/larger_than_memory.py [--rows 400000] [--features 300] [--labels 4000]
        [--epochs 3] [--folder DIR]

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
from pathlib import Path

import numpy as np

from labeltrees import ExtremeRegressor
from labeltrees.data.chunk import Chunk
from labeltrees.data.rows import Rows
from machine import described
from online_sections.markdown import table

CHUNK = 2_000
WIDTH = 50_000
GROUP = Path("/sys/fs/cgroup/memory")


def main() -> None:
    options = parsed()
    if options.role:
        print(json.dumps(learn(options)))
        return
    n_bytes = 8 * options.rows * options.features
    limit = n_bytes // 4
    print(f"{described()}\n")
    print(f"{options.rows:,} rows of {options.features} features among {WIDTH:,}, ", end="")
    print(f"{options.labels:,} labels, 3 a row; rows take {n_bytes / 2**20:,.0f} MiB, ", end="")
    print(f"the limit is {limit / 2**20:,.0f} MiB; 1 tree, {options.epochs} epochs\n")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        limited = started("files", options, folder, limit)
        free = started("memory", options, folder, None)
    rows = [
        [name, f"{found['peak'] / 2**20:,.0f}", f"{found['own'] / 2**20:,.0f}",
         f"{found['seconds']:.0f}", found["model"][:16]]
        for name, found in (("fit_files, limited", limited), ("fit", free))
    ]  # fmt: skip
    headers = ["", "most MiB, with pages of files", "of its own", "seconds", "SHA-256 of the model"]
    print(table(headers, rows))
    print(f"\nThe same model: {'yes' if limited['model'] == free['model'] else 'NO'}")


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--features", type=int, default=300)
    parser.add_argument("--labels", type=int, default=4_000)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--folder", default=".")
    parser.add_argument("--role", choices=["files", "memory"], help=argparse.SUPPRESS)
    return parser.parse_args()


def chunks(n_rows: int, n_features: int, n_labels: int):
    """Yield rows whose labels have features of their own, besides others at random."""
    own = np.random.default_rng(0).integers(0, WIDTH, (n_labels, n_features // 6))
    for begin in range(0, n_rows, CHUNK):
        random = np.random.default_rng([1, begin])
        n = min(CHUNK, n_rows - begin)
        labels = np.sort(random.zipf(1.2, (n, 3)) % n_labels, axis=1)
        noise = random.integers(0, WIDTH, (n, n_features - 3 * own.shape[1]))
        features = np.sort(np.hstack([own[labels].reshape(n, -1), noise]), axis=1)
        kept = np.diff(features, axis=1, prepend=-1) > 0
        starts = np.concatenate(([0], np.cumsum(kept.sum(axis=1)))).astype(np.int64)
        indices = features[kept].astype(np.int32)
        values = random.random(len(indices), np.float32) + np.float32(0.1)
        rows = Rows(starts, indices, values, WIDTH)
        label_starts = np.arange(0, 3 * n + 1, 3, dtype=np.int64)
        yield Chunk(rows, labels.ravel().astype(np.int64), label_starts, None, begin + 1)


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
    model = ExtremeRegressor(n_trees=1, max_epochs=options.epochs)
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
    main()
