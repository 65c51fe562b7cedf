"""The only thread that writes. It collects requests, commits them together, and learns them.

An example is acknowledged after it is on disk and learned. Requests that arrive during a commit
wait and are committed together (group commit), so that many clients share the cost of one flush.
Snapshots are copied between groups and written by another thread.
"""

from __future__ import annotations

import queue
import sqlite3
import threading
import time
import traceback
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labeltrees.serve.learning.log import NewExamples
from labeltrees.serve.learning.snapshots import Schedule, SnapshotWriter
from labeltrees.serve.problems import DamagedLogError, Problem
from labeltrees.serve.wire import LearnResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from labeltrees.serve.learning.folder import ModelFolder
    from labeltrees.serve.learning.served import CheckedExamples, ServedModel
    from labeltrees.store import StoredModel

_MAX_COLLECT_SECONDS = 0.005
"""Maximum time in seconds to wait for as many requests as recent groups had."""
_PROBE_SECONDS = 2.0
"""Time in seconds between two attempts to write to a disk that has failed."""


@dataclass(frozen=True)
class ModelLimits:
    """Maximum number of labels of a model, and maximum bytes of its weights."""

    labels: int = 10_000_000
    memory_bytes: int | None = None


@dataclass
class PendingRequest:
    """A request to learn that was checked and is not yet committed."""

    served: ServedModel
    batch: CheckedExamples
    examples: Sequence[bytes]
    key: str | None = None
    digest: bytes = b""
    future: Future[LearnResponse] = field(default_factory=Future)


@dataclass
class _Job:
    """Other work that only this thread may do."""

    work: Callable[[], Any]
    future: Future[Any] = field(default_factory=Future)


@dataclass
class _Planned:
    """A request of the next commit."""

    pending: PendingRequest
    served: ServedModel
    new: NewExamples


class LearningThread:
    """Commits and learns requests in the order of a queue.

    Parameters
    ----------
    folder : ModelFolder
        The models and their log.
    schedule : Schedule
        When snapshots are written.
    limits : ModelLimits
        Maximum size of a model.
    note : function of an event's name and its facts
        Called after each event, for logs and metrics.
    """

    def __init__(
        self,
        folder: ModelFolder,
        schedule: Schedule | None = None,
        limits: ModelLimits | None = None,
        note: Callable[..., None] | None = None,
    ) -> None:
        self.folder = folder
        self.schedule, self.limits = schedule or Schedule(), limits or ModelLimits()
        self._note = note or (lambda *_, **__: None)
        self._queue: queue.SimpleQueue[PendingRequest | _Job | None] = queue.SimpleQueue()
        self._failure = ""
        self.disk_trouble: str | None = None
        self.broken: dict[str, str] = {}
        """Models that lag behind the log, with the reason; restart required."""
        self.snapshots = SnapshotWriter(folder, self.schedule, self._note)
        self._recent_sizes = [1] * 8
        self._commit_seconds = 0.0
        self._next_probe = 0.0
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="learning", daemon=True)
        self._thread.start()

    @property
    def trouble(self) -> str | None:
        """Why the server is not ready to learn, None if it is."""
        broken = next(iter(self.broken.values()), None)
        return self._failure or self.disk_trouble or broken or self.snapshots.trouble

    @property
    def n_waiting(self) -> int:
        """Number of requests that wait to be committed."""
        return self._queue.qsize()

    def put(self, pending: PendingRequest) -> Future[LearnResponse]:
        """Queue a request; the future has its response after it was committed and learned."""
        if self._stopped:
            raise Problem(503, "The server is stopping.", kind="stopping")
        if self._failure:
            raise Problem(503, self._failure, kind="behind-the-log")
        if self.n_waiting >= self.schedule.most_waiting:
            raise Problem(
                429,
                f"{self.n_waiting} requests wait to be learned. Try again later.",
                kind="too-many-waiting",
                headers={"Retry-After": "1"},
            )
        self._queue.put(pending)
        return pending.future

    def run(self, work: Callable[[], Any]) -> Future[Any]:
        """Queue other work for this thread; the future has its result."""
        job = _Job(work)
        self._queue.put(job)
        return job.future

    def snapshot(self, name: str) -> Future[int]:
        """Write a snapshot of a model now; the future has its number of examples."""
        return self.run(lambda: self.snapshots.write(name, wait=True))

    def add(self, name: str, stored: StoredModel) -> Future[ServedModel]:
        """Serve one more model."""
        return self.run(lambda: self.folder.add(name, stored))

    def remove(self, name: str) -> Future[None]:
        """Delete a model, its snapshots and its examples."""
        return self.run(lambda: self._remove(name))

    def _remove(self, name: str) -> None:
        self.snapshots.finish()  # a snapshot that is being written would restore the model
        self.folder.remove(name)
        self.snapshots.forget(name)
        self.broken.pop(name, None)

    def stop(self) -> None:
        """Learn the requests of the queue, write snapshots of changed models, and end."""
        self._stopped = True
        self._queue.put(None)
        self._thread.join()
        self.snapshots.finish()

    def _run(self) -> None:
        try:
            self._work()
        except Exception as error:
            self._failure = f"The thread that learns has failed: {error!r}. Restart the server."
            self._note("learning_thread_failed", error="".join(traceback.format_exception(error)))
            self._refuse_all()

    def _refuse_all(self) -> None:
        """Fail every request of the queue, because no more requests will be learned."""
        while True:
            try:
                waiting = self._queue.get_nowait()
            except queue.Empty:
                return
            if waiting is not None and waiting.future.set_running_or_notify_cancel():
                waiting.future.set_exception(Problem(503, self._failure, kind="behind-the-log"))

    def _work(self) -> None:
        while True:
            try:
                first = self._queue.get(timeout=0.25)
            except queue.Empty:
                self._idle()
                continue
            if first is None:
                break
            if isinstance(first, _Job):
                _do(first)
                continue
            if not self._learn_group(self._collect(first)):
                break
        self.snapshots.write_all()

    def _collect(self, first: PendingRequest) -> list[PendingRequest | _Job | None]:
        """Return the queued requests, and more that arrive within a short time."""
        group: list[PendingRequest | _Job | None] = [first]
        expected = max(self._recent_sizes)
        # Half the time of a commit, because a request that comes too late waits for a whole one.
        deadline = time.perf_counter() + min(self._commit_seconds / 2, _MAX_COLLECT_SECONDS)
        while len(group) < self.schedule.most_requests:
            left = deadline - time.perf_counter() if len(group) < expected else 0.0
            try:
                found = self._queue.get(timeout=left) if left > 0 else self._queue.get_nowait()
            except queue.Empty:
                break
            group.append(found)
            if not isinstance(found, PendingRequest):
                break
        self._recent_sizes = [*self._recent_sizes[1:], len(group)]
        return group

    def _learn_group(self, group: list[PendingRequest | _Job | None]) -> bool:
        """Commit and learn a group, then do the job at its end; return whether to continue."""
        last = group[-1]
        requests = [each for each in group if isinstance(each, PendingRequest)]
        planned = self._plan(requests)
        if planned and self._commit(planned):
            for name in dict.fromkeys(each.served.name for each in planned):
                self._learn([each for each in planned if each.served.name == name])
        if isinstance(last, _Job):
            _do(last)
        self.snapshots.write_when_due(self.broken)
        return last is not None

    def _plan(self, requests: list[PendingRequest]) -> list[_Planned]:
        """Return the requests to commit; repeated and refused ones get their response here."""
        planned: list[_Planned] = []
        ends: dict[str, tuple[int, bytes]] = {}
        n_new: dict[str, int] = {}
        label_types: dict[str, type | None] = {}
        keys: dict[tuple[str, str], _Planned] = {}
        for pending in requests:
            if not pending.future.set_running_or_notify_cancel():
                continue  # the client is gone, so the examples are dropped
            try:
                served = self._served(pending)
                if self._repeated(pending, served, keys):
                    continue
                self._check_limits(pending, served, n_new, label_types)
                seq, link = ends.get(served.name, (served.seq, served.link))
                links = served.links(pending.examples, link)
                new = NewExamples(
                    self.folder.ids[served.name], seq + 1, links, pending.examples,
                    pending.key, pending.digest,
                )  # fmt: skip
                ends[served.name] = seq + len(links), links[-1]
                planned.append(_Planned(pending, served, new))
                if pending.key is not None:
                    keys[served.name, pending.key] = planned[-1]
            except Exception as error:
                pending.future.set_exception(self._disk_problem(error))
        return planned

    def _served(self, pending: PendingRequest) -> ServedModel:
        served = pending.served
        if self.folder.models.get(served.name) is not served:  # deleted while the request waited
            raise Problem(404, f"There is no model {served.name!r}.", kind="no-such-model")
        if served.name in self.broken:
            raise Problem(503, self.broken[served.name], kind="behind-the-log")
        return served

    def _repeated(
        self, pending: PendingRequest, served: ServedModel, keys: dict[tuple[str, str], _Planned]
    ) -> bool:
        """Respond to a request whose key is known; its examples are not learned again."""
        if pending.key is None:
            return False
        twin = keys.get((served.name, pending.key))
        if twin is not None:
            digest, first, n = twin.new.digest, twin.new.first_seq, len(twin.new.examples)
        else:
            found = self.folder.log.find_request(self.folder.ids[served.name], pending.key)
            if found is None:
                return False
            digest, first, n = found
        if digest != pending.digest:
            raise Problem(
                422,
                "An earlier request used this Idempotency-Key with other examples. Use a new key.",
                kind="key-reused",
            )
        again = LearnResponse(served.name, first, first + n - 1, [], [], repeated=True)
        if twin is None:
            pending.future.set_result(again)
        else:
            twin.pending.future.add_done_callback(lambda done: _follow(done, pending, again))
        return True

    def _check_limits(
        self,
        pending: PendingRequest,
        served: ServedModel,
        n_new: dict[str, int],
        label_types: dict[str, type | None],
    ) -> None:
        """Raise a problem if the model would become too large, or labels would mix two types."""
        batch, model = pending.batch, served.model
        served.check_labels(batch)
        known = label_types.setdefault(served.name, batch.label_type) or batch.label_type
        label_types[served.name] = known
        if batch.label_type not in (known, None):
            raise Problem(422, "The labels of a model must be all strings or all integers.")
        vocabulary = model.vocabulary
        new = len({label for label in batch.labels.labels.tolist() if label not in vocabulary})
        n_new[served.name] = n_new.get(served.name, 0) + new
        if new and served.n_labels + n_new[served.name] > self.limits.labels:
            n_new[served.name] -= new
            raise Problem(
                507, f"{served.name!r} can have at most {self.limits.labels:,} labels, and these "
                "examples would exceed that number.", kind="too-many-labels",
            )  # fmt: skip
        most = self.limits.memory_bytes
        if most is not None and served.memory_bytes > most:
            raise Problem(
                507, f"{served.name!r} has {served.memory_bytes:,} bytes, over its limit of "
                f"{most:,}. It still predicts, but it learns no more.", kind="too-much-memory",
            )  # fmt: skip

    def _commit(self, planned: list[_Planned]) -> bool:
        """Write the examples to disk; if that fails, fail all requests and return False."""
        begin = time.perf_counter()
        try:
            self.folder.log.append([each.new for each in planned])
        except Exception as error:
            problem = self._disk_problem(error)
            self._note("commit_failed", error=str(error))
            for each in planned:
                each.pending.future.set_exception(problem)
            return False
        self.disk_trouble = None
        n = sum(len(each.new.examples) for each in planned)
        seconds = time.perf_counter() - begin
        self._commit_seconds += (seconds - self._commit_seconds) / 8
        self._note("committed", requests=len(planned), examples=n, seconds=seconds)
        return True

    def _disk_problem(self, error: Exception) -> Exception:
        if not isinstance(error, (sqlite3.Error, OSError, DamagedLogError)):
            return error
        self.disk_trouble = f"The log cannot be written: {error}"
        self._next_probe = time.monotonic() + _PROBE_SECONDS
        return Problem(
            503,
            f"{self.disk_trouble}. The examples were not learned. Predictions still work.",
            kind="log-failed",
            headers={"Retry-After": "5"},
        )

    def _learn(self, planned: list[_Planned]) -> None:
        served = planned[0].served
        try:
            results = served.learn(
                [each.pending.batch for each in planned], planned[-1].new.links[-1]
            )
        except Exception as error:
            reason = (
                f"The model {served.name!r} failed to learn examples of its log: {error!r}. It "
                "still predicts as before. Restart the server to learn them from the log."
            )
            self.broken[served.name] = reason
            self._note("learning_failed", model=served.name, error=repr(error))
            for each in planned:
                problem = Problem(503, reason, kind="behind-the-log", first_seq=each.new.first_seq)
                each.pending.future.set_exception(problem)
            return
        self._note("learned", served=served, results=results)
        for each, result in zip(planned, results, strict=True):
            first, last = each.new.first_seq, each.new.first_seq + len(each.new.examples) - 1
            response = LearnResponse(
                served.name, first, last, result.new_labels, result.predicted,
                refused=result.refused,
            )  # fmt: skip
            each.pending.future.set_result(response)

    def _idle(self) -> None:
        self.snapshots.write_when_due(self.broken)
        if self.disk_trouble is not None and time.monotonic() >= self._next_probe:
            self._next_probe = time.monotonic() + _PROBE_SECONDS
            try:
                self.folder.log.probe()
                self.disk_trouble = None
            except Exception as error:
                self.disk_trouble = f"The log cannot be written: {error}"


def _do(job: _Job) -> None:
    if not job.future.set_running_or_notify_cancel():
        return
    try:
        job.future.set_result(job.work())
    except Exception as error:
        job.future.set_exception(error)


def _follow(done: Future[LearnResponse], pending: PendingRequest, response: LearnResponse) -> None:
    error = done.exception()
    if error is None:
        pending.future.set_result(response)
    else:
        pending.future.set_exception(error)
