"""Compare training on a Dask cluster with training on one machine.

Prints as Markdown what each step of training takes in one process with one thread, what speed-up
follows from that for 1 to 64 workers, and then what it takes with one worker process and with
several, of one thread each, on this machine. All models must have the same SHA-256.

    python benchmarks/dask_training.py --data DIR [--set yso-en-full] [--limit N] [--workers 1 2]
        [--partitions 8] [--trees 3] [--only steps]

DIR has the sets as `benchmarks/batch.py` reads them.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import dask
import numpy as np
from distributed import Client, LocalCluster
from scipy.sparse import csr_array

from harness.benchmark import Benchmark, Options
from harness.data_sets import training_rows
from harness.report import Block, Table, table
from labeltrees import ExtremeRegressor, _core
from labeltrees.dask import fit
from labeltrees.dask._partitions import facts_of, part_of
from labeltrees.dask._planning import MeanFeatures, crown_of, ordered_part, part_below, plan_tree
from labeltrees.dask._tasks import merged
from labeltrees.models.extreme.training import TrainingSize, held_numbers, joined_tree, train_nodes


def rows_of(options: Options) -> tuple[csr_array, csr_array]:
    return training_rows(options.data, options.own.set, options.limit)


def steps(options: Options) -> list[Block]:
    """Return what each step takes in one process, and what follows for more workers."""
    X, Y = rows_of(options)
    n_trees = options.own.trees
    size = (
        f"{options.own.set}: {X.shape[0]:,} rows, {X.nnz / X.shape[0]:.1f} features a row, "
        f"{Y.shape[1]:,} labels, {Y.nnz / X.shape[0]:.2f} a row; {n_trees} trees"
    )
    return ["### Steps", size, *step_tables(measured_steps(X, Y, n_trees), n_trees)]


def workers(options: Options) -> list[Block]:
    """Return a table of one machine and of workers."""
    return ["### Workers", compared_workers(*rows_of(options), options.own)]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--set", default="yso-en-full")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--trees", type=int, default=3)


def measured_steps(X: csr_array, Y: csr_array, n_trees: int) -> dict[str, Any]:
    """Return the seconds of each step for one tree, and of each task of training it."""
    settings = ExtremeRegressor(n_trees=n_trees)._settings()
    part = part_of(X, Y, None, 0)
    whole = merged([facts_of(part)], True)
    relevance = part.relevance.scaled()
    seconds: dict[str, Any] = {}

    def timed(name: str, work: Any, *args: Any) -> Any:
        start = time.process_time()
        result = work(*args)
        seconds[name] = time.process_time() - start
        return result

    n_labels = len(relevance.vocabulary)
    data = timed("prepare", _core.RelevanceData, *part.rows.arrays, *relevance.arrays, n_labels)
    features = MeanFeatures(*timed("features", data.label_features, 1))
    crown = timed("crown", crown_of, features, settings, 0, False)
    orders, parts_of_tree = [], []
    for number in range(len(crown.subtrees)):
        start = time.process_time()
        orders.append(ordered_part(part_below(features, crown, number), settings, 0))
        parts_of_tree.append(time.process_time() - start)
    plan = timed("plan", plan_tree, crown, orders, whole, settings)
    size = TrainingSize.of(part.rows, relevance)
    held, tree, parts, tasks = held_numbers(size.n_rows, settings), plan.tree(), [], []
    for group in plan.groups:
        start = time.process_time()
        parts.append(train_nodes(data, tree, group.nodes, held, size, settings, 0, 1))
        tasks.append((group.has_root, time.process_time() - start))
    timed("join", joined_tree, tree, parts, int((held >= 0).sum()))
    root = sum(s for is_root, s in tasks if is_root)
    return seconds | {"root": root, "tasks": tasks, "parts": parts_of_tree}


def step_tables(steps: dict[str, Any], n_trees: int) -> list[Block]:
    tasks = [seconds for _, seconds in steps["tasks"]]
    below = sum(tasks) - steps["root"]
    once = {"prepare rows": steps["prepare"], "mean features of labels": steps["features"]}
    each = {
        "share out the labels of the root": steps["crown"],
        f"cluster those of its {len(steps['parts'])} children": sum(steps["parts"]),
        "share out the work": steps["plan"],
        "train the root": steps["root"],
        f"train the {len(tasks) - 1} other tasks": below,
        "join": steps["join"],
    }
    total = sum(once.values()) + n_trees * sum(each.values())
    rows = [[name, f"{s:.2f}", f"{s / total:.1%}"] for name, s in once.items()]
    rows += [[f"{name}, each tree", f"{s:.2f}", f"{n_trees * s / total:.1%}"]
             for name, s in each.items()]  # fmt: skip
    shares = table(["one process, one thread", "processor seconds", "of the whole"], rows)
    root = f"The root of a tree: {steps['root'] / sum(tasks):.1%} of training its nodes."
    alone = steps["crown"] + steps["plan"]
    serial = alone + max(steps["parts"]) + steps["join"] * n_trees
    rows = []
    for n in (1, 2, 4, 8, 16, 32, 64):
        longest = scheduled(tasks * n_trees, n)
        clustering = -(-n_trees // n) * alone + scheduled(steps["parts"] * n_trees, n)
        seconds = sum(once.values()) / n + clustering + longest + n_trees * steps["join"]
        rows.append([str(n), f"{seconds:.1f}", f"{total / seconds:.1f}"])
    bound = total / (serial + max(tasks))
    return [
        shares,
        root,
        "What these times allow if sending rows cost nothing:",
        table(["workers", "seconds", "times faster"], rows),
        f"However many workers: {bound:.1f} times, by the top of a tree and its clustering.",
    ]


def scheduled(tasks: list[float], n_workers: int) -> float:
    """Return how long tasks take if the longest are begun first."""
    ends = np.zeros(n_workers)
    for seconds in sorted(tasks, reverse=True):
        ends[ends.argmin()] += seconds
    return float(ends.max())


def load(path: str) -> csr_array:
    """Return a partition from its file, as a worker does."""
    with np.load(path) as file:
        return csr_array((file["data"], file["indices"], file["indptr"]), shape=file["shape"])


def compared_workers(X: csr_array, Y: csr_array, options: argparse.Namespace) -> Table:
    start, start_cpu = time.perf_counter(), time.process_time()
    local = ExtremeRegressor(n_trees=options.trees).fit(X, Y)
    seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    rows = [["ExtremeRegressor.fit, one thread", f"{seconds:.1f}", "", f"{cpu:.1f}", ""]]
    wanted, first = digest(local), None
    with tempfile.TemporaryDirectory() as folder:
        files = [
            written(Path(folder), name, matrix, options.partitions)
            for name, matrix in (("X", X), ("Y", Y))
        ]
        for n_workers in options.workers:
            seconds, busiest, peak, found = run(files, n_workers, options.trees)
            first = first or (seconds, busiest)
            same = "the same" if found == wanted else "ANOTHER"
            ratios = [f"{first[0] / seconds:.2f}", f"{busiest:.1f}", f"{first[1] / busiest:.2f}"]
            name = f"{n_workers} worker{'s' * (n_workers > 1)}, one thread each"
            rows.append([name, f"{seconds:.1f}", *ratios, f"{peak / 2**20:,.0f}", same])
    rows[0] += [f"{data_bytes(X, Y) / 2**20:,.0f} (data)", wanted[:12]]
    headers = ["", "seconds", "times faster", "processor seconds of the busiest worker",
               "times less", "most MiB of a worker", "model"]  # fmt: skip
    return table(headers, rows)


def data_bytes(X: csr_array, Y: csr_array) -> int:
    return sum(a.nbytes for m in (X, Y) for a in (m.data, m.indices, m.indptr))


def written(folder: Path, name: str, matrix: csr_array, n_parts: int) -> list[str]:
    cuts = np.linspace(0, matrix.shape[0], n_parts + 1).astype(int)
    paths = []
    for number, (begin, end) in enumerate(pairwise(cuts)):
        part = matrix[begin:end]
        paths.append(str(folder / f"{name}{number}.npz"))
        np.savez(paths[-1], data=part.data, indices=part.indices, indptr=part.indptr,
                 shape=part.shape)  # fmt: skip
    return paths


def run(files: list[list[str]], n_workers: int, n_trees: int) -> tuple[float, float, int, str]:
    """Return wall seconds, the busiest worker's processor seconds, peak memory, and the digest.

    What the processor was busy with a worker does not depend on what else the machine does.
    """
    how = {"threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": 0}
    with LocalCluster(n_workers=n_workers, **how) as cluster, Client(cluster) as client:
        client.run(np.zeros, 1)
        X, Y = ([dask.delayed(load)(path) for path in paths] for paths in files)
        before = client.run(time.process_time)
        start = time.perf_counter()
        model = fit(ExtremeRegressor(n_trees=n_trees), X, Y, client=client)
        seconds = time.perf_counter() - start
        after = client.run(time.process_time)
        busiest = max(after[worker] - before[worker] for worker in after)
        peaks = client.run(peak_bytes)
    return seconds, busiest, max(peaks.values()), digest(model)


def peak_bytes() -> int:
    """Return the most memory that this process has taken."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def digest(model: ExtremeRegressor) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save(path)
        return hashlib.sha256(path.read_bytes()).hexdigest()


BENCHMARK = Benchmark(
    "dask_training",
    __doc__,
    {"steps": steps, "workers": workers},
    takes=("data", "limit"),
    needs_data=True,
    arguments=arguments,
)

if __name__ == "__main__":
    BENCHMARK.main()
