"""What the server measures of itself, for Prometheus."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

if TYPE_CHECKING:
    from labeltrees.serve.learning.folder import ModelFolder
    from labeltrees.serve.learning.learner import Learner
    from labeltrees.serve.learning.replica_folder import ReplicaFolder

__all__ = ["Instruments"]

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
_GROUPS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Instruments:
    """Counters, histograms and gauges of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = self._made(
            Counter, "requests", "Requests by operation and status.", ("operation", "status")
        )
        self._seconds = self._made(
            Histogram, "request_seconds", "Time to answer.", ("operation",), buckets=_SECONDS
        )
        self._examples = self._made(Counter, "examples", "Examples learned.", ("model",))
        self._new = self._made(Counter, "new_labels", "Labels never seen before.", ("model",))
        self._commit = self._made(
            Histogram, "commit_seconds", "Time to commit a group.", (), buckets=_SECONDS
        )
        self._group = self._made(
            Histogram, "commit_requests", "Requests committed together.", (), buckets=_GROUPS
        )
        self._snapshots = self._made(
            Counter, "snapshots", "Snapshots by model and outcome.", ("model", "outcome")
        )
        self._snapshot_seconds = self._made(
            Gauge, "snapshot_write_seconds", "Time to write the last snapshot.", ("model",)
        )
        self._gauges = {
            name: self._made(Gauge, name, text, ("model",))
            for name, text in {
                "model_examples": "Examples learned from the log: the sequence number.",
                "model_labels": "Labels known.",
                "model_bytes": "Memory of the tables of weights.",
                "window_log_loss": "Log loss of the last examples, foreseen before learned.",
                "window_accuracy": "Accuracy of the last examples, foreseen before learned.",
                "window_calibration_error": "ECE@1 of the last examples.",
                "snapshot_age_seconds": "Time since the last snapshot.",
                "log_lag_examples": "Examples in the log after the last snapshot.",
            }.items()
        }
        self._waiting = self._made(Gauge, "waiting_requests", "Requests waiting to be learned.", ())
        self._ready = self._made(Gauge, "ready", "Whether the server is ready: 1 or 0.", ())
        self._resident = self._made(Gauge, "resident_bytes", "Memory of the process.", ())
        self._children: dict[tuple[str, int], tuple[Any, Any]] = {}

    def _made(
        self, kind: Any, name: str, text: str, labels: tuple[str, ...], **options: Any
    ) -> Any:
        return kind(f"labeltrees_{name}", text, labels, registry=self.registry, **options)

    def answered(self, operation: str, status: int, seconds: float) -> None:
        """Count a request."""
        found = self._children.get((operation, status))
        if found is None:
            counter = self._requests.labels(operation, str(status))
            found = counter, self._seconds.labels(operation)
            self._children[operation, status] = found
        found[0].inc()
        found[1].observe(seconds)

    def note(self, event: str, **facts: Any) -> None:
        """Count what the learner did."""
        if event == "committed":
            self._commit.observe(facts["seconds"])
            self._group.observe(facts["requests"])
        elif event == "learned":
            name = facts["served"].name
            outcomes = facts["outcomes"]
            self._examples.labels(name).inc(sum(len(each.foreseen) for each in outcomes))
            self._new.labels(name).inc(sum(len(each.new_labels) for each in outcomes))
        elif event == "snapshot":
            self._snapshots.labels(facts["model"], "written").inc()
            self._snapshot_seconds.labels(facts["model"]).set(facts["seconds"])
        elif event == "snapshot_failed":
            self._snapshots.labels(facts["model"], "failed").inc()

    def text(self, folder: ModelFolder | ReplicaFolder, learner: Learner | None) -> bytes:
        """Return all of it in Prometheus' text format, as of now."""
        self._resident.set(resident_bytes())
        if learner is not None:
            self._waiting.set(learner.n_waiting)
        self._ready.set(float(learner is None or learner.trouble is None))
        for name, served in list(folder.models.items()):
            window = served.quality.window()
            values: dict[str, float | None] = {
                "model_examples": served.seq,
                "model_labels": served.n_labels,
                "model_bytes": served.memory_bytes,
                **{
                    f"window_{each}": window[each]
                    for each in ("log_loss", "accuracy", "calibration_error")
                },
            }
            if learner is not None:
                since = learner.snapshots.times.get(name, time.time())
                values["snapshot_age_seconds"] = time.time() - since
                values["log_lag_examples"] = served.seq - learner.snapshots.seqs.get(name, 0)
            for each, value in values.items():
                if value is not None:
                    self._gauges[each].labels(name).set(value)
        return bytes(generate_latest(self.registry))

    def forget(self, name: str) -> None:
        """Leave out a model that is served no more."""
        for gauge in self._gauges.values():
            if (name,) in gauge._metrics:
                gauge.remove(name)


def resident_bytes() -> int:
    """Return how much memory this process has, 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096
    except OSError:
        return 0
