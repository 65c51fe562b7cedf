"""When snapshots are written, and by which thread."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labeltrees.serve.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from labeltrees.serve.learning.folder import ModelFolder
    from labeltrees.store import StoredModel

__all__ = ["Schedule", "SnapshotWriter"]


@dataclass(frozen=True)
class Schedule:
    """When snapshots are made, and how much is committed together."""

    snapshot_examples: int = 50_000
    snapshot_seconds: float = 60.0
    most_requests: int = 1000
    most_waiting: int = 10_000


class SnapshotWriter:
    """Copies models and writes the copies, one at a time; for the thread that learns.

    Parameters
    ----------
    folder : ModelFolder
        The models and where their snapshots are.
    schedule : Schedule
        When snapshots are made.
    note : function of an event's name and its facts
        Called with what happened.
    """

    def __init__(self, folder: ModelFolder, schedule: Schedule, note: Callable[..., None]) -> None:
        self._folder, self._schedule, self._note = folder, schedule, note
        self.trouble: str | None = None
        """Why the last snapshot could not be written; None if it was."""
        self.times: dict[str, float] = dict.fromkeys(folder.models, time.time())
        self.seqs = {name: folder.snapshots(name).seqs()[0] for name in folder.models}
        """How many examples the newest snapshot of each model has learned."""
        self._writing: threading.Thread | None = None

    def finish(self) -> None:
        """Wait until no snapshot is being written."""
        if self._writing is not None:
            self._writing.join()
            self._writing = None

    def forget(self, name: str) -> None:
        """Forget how far the snapshots of a model have come, which is served no more."""
        self.times.pop(name, None)
        self.seqs.pop(name, None)

    def write_when_due(self, left_out: Container[str]) -> None:
        """Begin to write a snapshot if it is time for one."""
        now = time.time()
        if self._writing is not None and self._writing.is_alive():
            return
        for name, served in self._folder.models.items():
            n_new = served.seq - self.seqs.get(name, 0)
            age = now - self.times.setdefault(name, now)
            schedule = self._schedule
            due = n_new >= schedule.snapshot_examples or age >= schedule.snapshot_seconds
            if n_new > 0 and due and name not in left_out:
                self.times[name] = now  # if it fails, it is tried again after the same time
                try:
                    self.write(name, wait=False)
                except Exception as error:
                    self._failed(name, error)
                return

    def write_all(self) -> None:
        """Write a snapshot of every model that has learned since its last one."""
        for name, served in list(self._folder.models.items()):
            if served.seq > self.seqs.get(name, 0):
                try:
                    self.write(name, wait=True)
                except Exception as error:
                    self._failed(name, error)

    def write(self, name: str, *, wait: bool) -> int:
        """Copy what a model is now, and write it here or in another thread; return its number."""
        served = self._folder.models.get(name)
        if served is None:
            raise Problem(404, f"There is no model {name!r}.", kind="no-such-model")
        self.finish()
        seq, stored = served.stored()
        if wait:
            self._write(name, seq, stored)
            if self.trouble is not None:
                raise Problem(503, self.trouble, kind="snapshot-failed")
        else:
            arguments = (name, seq, stored)
            self._writing = threading.Thread(target=self._write, args=arguments, daemon=True)
            self._writing.start()
        return seq

    def _write(self, name: str, seq: int, stored: StoredModel) -> None:
        begin = time.perf_counter()
        try:
            path = self._folder.snapshots(name).write(stored, seq)
            n_bytes = path.stat().st_size
        except Exception as error:
            self._failed(name, error)
            return
        self.trouble = None
        self.times[name], self.seqs[name] = time.time(), seq
        seconds = time.perf_counter() - begin
        self._note("snapshot", model=name, seq=seq, bytes=n_bytes, seconds=seconds)

    def _failed(self, name: str, error: Exception) -> None:
        self.trouble = f"A snapshot of {name!r} failed: {error}"
        self._note("snapshot_failed", model=name, error=str(error))
