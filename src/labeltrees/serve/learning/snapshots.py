"""Snapshots of a model: their files, and the thread that writes them on a schedule."""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labeltrees import store
from labeltrees.errors import ModelFormatError
from labeltrees.serve.problems import Problem, ServeError

if TYPE_CHECKING:
    from collections.abc import Callable, Container
    from pathlib import Path

    from labeltrees.serve.learning.folder import ModelFolder

KEPT = 2
"""Number of snapshots to keep. If the newest is damaged, the previous one is used."""

_NAME = re.compile(r"(\d{15})\.safetensors")


class Snapshots:
    """The snapshot files of one model, in a folder.

    The name of a file is the number of examples that the model had learned. A file is written
    under another name, flushed and renamed, and then the folder is flushed. After a crash it is
    therefore either complete or absent.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def seqs(self) -> list[int]:
        """Return the numbers of examples of all snapshots, newest first."""
        if not self.folder.is_dir():
            return []
        found = [_NAME.fullmatch(path.name) for path in self.folder.iterdir()]
        return sorted((int(match[1]) for match in found if match), reverse=True)

    def path(self, seq: int) -> Path:
        """Return the path of the snapshot after ``seq`` examples."""
        return self.folder / f"{seq:015d}.safetensors"

    def write(self, stored: store.StoredModel, seq: int) -> Path:
        """Write a snapshot, and delete the snapshots that are no longer needed."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for left in self.folder.glob(".*.safetensors.*"):  # from a process that was killed
            left.unlink(missing_ok=True)
        store.write(self.path(seq), stored)
        for old in self.seqs()[KEPT:]:
            self.path(old).unlink(missing_ok=True)
        return self.path(seq)

    def newest(self, *, mapped: bool = False) -> tuple[int, store.StoredModel, list[str]]:
        """Return the newest complete snapshot: its number, its content, and faults of newer ones.

        Raises `ServeError` if no snapshot is complete.
        """
        faults: list[str] = []
        for seq in self.seqs():
            try:
                return seq, store.read(self.path(seq), mapped=mapped), faults
            except (ModelFormatError, OSError) as error:
                faults.append(str(error))
        reason = faults[0] if faults else "the folder is empty"
        raise ServeError(f"{self.folder} has no complete snapshot: {reason}.")


@dataclass(frozen=True)
class Schedule:
    """When snapshots are written, and how many requests are committed together."""

    snapshot_examples: int = 50_000
    snapshot_seconds: float = 60.0
    most_requests: int = 1000
    most_waiting: int = 10_000


class SnapshotWriter:
    """Copies models and writes the copies, one at a time, for the thread that learns.

    Parameters
    ----------
    folder : ModelFolder
        The models, and the folders of their snapshots.
    schedule : Schedule
        When snapshots are written.
    note : function of an event's name and its facts
        Called after each snapshot.
    """

    def __init__(self, folder: ModelFolder, schedule: Schedule, note: Callable[..., None]) -> None:
        self._folder, self._schedule, self._note = folder, schedule, note
        self.trouble: str | None = None
        """Why the last snapshot could not be written, None if it was."""
        self.times: dict[str, float] = dict.fromkeys(folder.models, time.time())
        self.seqs = {name: folder.snapshots(name).seqs()[0] for name in folder.models}
        """Number of examples that the newest snapshot of each model has learned."""
        self._writing: threading.Thread | None = None

    def finish(self) -> None:
        """Wait until no snapshot is being written."""
        if self._writing is not None:
            self._writing.join()
            self._writing = None

    def forget(self, name: str) -> None:
        """Drop the state of a model that is no longer served."""
        self.times.pop(name, None)
        self.seqs.pop(name, None)

    def write_when_due(self, excluded: Container[str]) -> None:
        """Start to write a snapshot if one is due."""
        now = time.time()
        if self._writing is not None and self._writing.is_alive():
            return
        for name, served in self._folder.models.items():
            n_new = served.seq - self.seqs.get(name, 0)
            age = now - self.times.setdefault(name, now)
            schedule = self._schedule
            due = n_new >= schedule.snapshot_examples or age >= schedule.snapshot_seconds
            if n_new > 0 and due and name not in excluded:
                self.times[name] = now  # a failed snapshot is tried again after the same time
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
        """Copy a model, and write the copy here or in another thread; return its number."""
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

    def _write(self, name: str, seq: int, stored: store.StoredModel) -> None:
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
