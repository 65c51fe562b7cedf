"""One pass over a stream by one model, with what it cost and how good it was, window by window."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from labeltrees import ConditionalTreeClassifier

FLOOR = 1e-9  # of the log loss
CHUNK_ROWS, QUICK_CHUNK_ROWS = 16_384, 1_000
PROBE_ROWS, PROBE_WARM = 4_000, 40


@dataclass
class Spent:
    """Seconds of the wall and of all threads of the process, spent in ``with`` blocks."""

    wall: float = 0.0
    cpu: float = 0.0

    def __enter__(self) -> None:
        self.wall -= time.perf_counter()
        self.cpu -= cpu_seconds()

    def __exit__(self, *_: object) -> None:
        self.wall += time.perf_counter()
        self.cpu += cpu_seconds()


@dataclass
class Window:
    """The predictions for the rows since the last record, and the cost of learning them."""

    learning: Spent = field(default_factory=Spent)
    others: Spent = field(default_factory=Spent)
    """Seconds of reading, of making the features, and of everything else but learning."""
    correct: list[np.ndarray] = field(default_factory=list)
    p_label: list[np.ndarray] = field(default_factory=list)
    is_new: list[np.ndarray] = field(default_factory=list)
    entries: int = 0
    faults: int = field(default_factory=lambda: usage().ru_minflt)
    waited: int = field(default_factory=lambda: usage().ru_nivcsw)

    def scores(self) -> dict[str, float | int | None]:
        correct, p, new = map(np.concatenate, (self.correct, self.p_label, self.is_new))
        loss = -np.log(np.maximum(p[~new], FLOOR))
        return {
            "n_rows": len(correct),
            "accuracy": float(correct.mean()),
            "log_loss_seen": float(loss.mean()) if len(loss) else None,
            "new_share": float(new.mean()),
            "entries_per_row": self.entries / len(correct),
            "wall_s": self.learning.wall,
            "cpu_s": self.learning.cpu,
            "other_wall_s": self.others.wall,
            "other_cpu_s": self.others.cpu,
            "minor_faults": usage().ru_minflt - self.faults,
            "involuntary_switches": usage().ru_nivcsw - self.waited,
        }


def grow(
    chunks: Iterable[Any],
    model: ConditionalTreeClassifier,
    record: Callable[[dict[str, Any]], None],
    window_rows: int,
) -> None:
    """Predict, then learn, each chunk; ``record`` gets a window every ``window_rows`` rows.

    Before a window begins, P(label) is computed for rows that will be learned later. Each is
    queried once, and a few of them repeatedly, so that their memory is in the caches. The
    difference is waiting for memory.
    """
    n_rows, window, is_first = 0, Window(), True
    asked: dict[str, float] = {}
    chunks = iter(chunks)
    while True:
        with window.others:
            chunk = next(chunks, None)
        if chunk is None:
            break
        if is_first and n_rows:
            asked = probe(model, chunk)
        is_first = False
        with window.learning:
            seen = model.progressive_fit(chunk.features, chunk.labels)
        window.correct.append(np.asarray(seen.top[:, 0] == chunk.labels, bool))
        window.p_label.append(seen.p_label)
        window.is_new.append(seen.is_new)
        window.entries += chunk.features.nnz
        n_rows += len(chunk.labels)
        if sum(map(len, window.correct)) >= window_rows:
            record({"examples": n_rows, **window.scores(), **asked, **state(model)})
            window, is_first = Window(), True
    if window.correct:
        record({"examples": n_rows, **window.scores(), **asked, **state(model)})


def probe(model: ConditionalTreeClassifier, chunk: Any) -> dict[str, float]:
    """Return the microseconds of the processor that P(label) takes per row, far and near."""
    n = min(PROBE_ROWS, len(chunk.labels))
    far = chunk.features[:n], chunk.labels[:n]
    few = np.arange(n) % PROBE_WARM
    near = chunk.features[few], chunk.labels[few]
    costs = {}
    for name, (X, y) in (("far_us", far), ("near_us", near)):
        started = time.thread_time()
        model.predict_label_proba(X, y)
        costs[name] = (time.thread_time() - started) / n * 1e6
    return costs


def state(model: ConditionalTreeClassifier) -> dict[str, Any]:
    """Return the sizes of a model and of its process."""
    facts = model.model_.describe()
    return {
        "labels": facts["leaves"],
        "depth": facts["depth"],
        "depth_of_an_example": facts["mean_depth_of_an_example"],
        "lines": facts["weight_lines"],
        "pairs": facts.get("reranker_pairs", 0),
        "table_mb": facts["table_bytes_in_memory"] / 1e6,
        "experts_mb": facts.get("reranker_bytes_in_memory", 0) / 1e6,
        "resident_mb": resident_mb(),
        "peak_mb": usage().ru_maxrss / 2**10,
    }


def resident_mb() -> float:
    """Return the memory of this process in use now, or its peak if the system has only that."""
    status = Path("/proc/self/status")
    for line in status.read_text().splitlines() if status.exists() else []:
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 2**10
    return usage().ru_maxrss / 2**10


def usage() -> resource.struct_rusage:
    return resource.getrusage(resource.RUSAGE_SELF)


def cpu_seconds() -> float:
    now = usage()
    return now.ru_utime + now.ru_stime
