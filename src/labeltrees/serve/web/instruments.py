"""The metrics of the server, for Prometheus."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

if TYPE_CHECKING:
    from labeltrees.serve.learning.folder import ModelFolder
    from labeltrees.serve.learning.thread import LearningThread
    from labeltrees.serve.replicas import ReplicaFolder

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
_GROUPS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Instruments:
    """Counters, histograms and gauges of one server, and the standard metrics of its process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector("labeltrees", registry=self.registry)
        self._requests = self._made(
            Counter, "requests", "Requests by operation and status.", ("operation", "status")
        )
        self._seconds = self._made(
            Histogram, "request_seconds", "Time of a response.", ("operation",), buckets=_SECONDS
        )
        self._examples = self._made(Counter, "examples", "Examples learned.", ("model",))
        self._new = self._made(Counter, "new_labels", "Labels learned first.", ("model",))
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
                "window_log_loss": "Log loss of recent examples, predicted before learning.",
                "window_accuracy": "Accuracy of recent examples, predicted before learning.",
                "window_calibration_error": "ECE@1 of recent examples.",
                "snapshot_age_seconds": "Time since the last snapshot.",
                "log_lag_examples": "Examples in the log after the last snapshot.",
            }.items()
        }
        self._waiting = self._made(Gauge, "waiting_requests", "Requests waiting to be learned.", ())
        self._ready = self._made(Gauge, "ready", "Whether the server is ready: 1 or 0.", ())
        self._children: dict[tuple[str, int], tuple[Any, Any]] = {}

    def _made(
        self, kind: Any, name: str, text: str, labels: tuple[str, ...], **options: Any
    ) -> Any:
        return kind(f"labeltrees_{name}", text, labels, registry=self.registry, **options)

    def responded(self, operation: str, status: int, seconds: float) -> None:
        """Count a request."""
        found = self._children.get((operation, status))
        if found is None:
            counter = self._requests.labels(operation, str(status))
            found = counter, self._seconds.labels(operation)
            self._children[operation, status] = found
        found[0].inc()
        found[1].observe(seconds)

    def note(self, event: str, **facts: Any) -> None:
        """Count an event of the thread that learns."""
        if event == "committed":
            self._commit.observe(facts["seconds"])
            self._group.observe(facts["requests"])
        elif event == "learned":
            name = facts["served"].name
            results = facts["results"]
            self._examples.labels(name).inc(sum(len(each.predicted) for each in results))
            self._new.labels(name).inc(sum(len(each.new_labels) for each in results))
        elif event == "snapshot":
            self._snapshots.labels(facts["model"], "written").inc()
            self._snapshot_seconds.labels(facts["model"]).set(facts["seconds"])
        elif event == "snapshot_failed":
            self._snapshots.labels(facts["model"], "failed").inc()

    def text(self, folder: ModelFolder | ReplicaFolder, learning: LearningThread | None) -> bytes:
        """Return the current metrics in the text format of Prometheus."""
        if learning is not None:
            self._waiting.set(learning.n_waiting)
        self._ready.set(float(learning is None or learning.trouble is None))
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
            if learning is not None:
                since = learning.snapshots.times.get(name, time.time())
                values["snapshot_age_seconds"] = time.time() - since
                values["log_lag_examples"] = served.seq - learning.snapshots.seqs.get(name, 0)
            for each, value in values.items():
                if value is not None:
                    self._gauges[each].labels(name).set(value)
        return bytes(generate_latest(self.registry))

    def forget(self, name: str) -> None:
        """Drop the metrics of a model that is no longer served."""
        for gauge in self._gauges.values():
            if (name,) in gauge._metrics:
                gauge.remove(name)
