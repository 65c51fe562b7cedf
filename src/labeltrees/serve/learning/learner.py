"""The one thread that writes: it gathers requests, commits them together, learns, acknowledges.

An example is acknowledged after it is on disk and learned. Requests that come while others are
being committed wait and are committed together (group commit), so that many clients share the
price of one flush. Snapshots are copied between groups and written by another thread.
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

from labeltrees.serve.learning.log import NewLessons
from labeltrees.serve.learning.snapshot_writer import Schedule, SnapshotWriter
from labeltrees.serve.problems import DamagedLogError, Problem
from labeltrees.serve.wire import LearnAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from labeltrees.serve.learning.folder import ModelFolder
    from labeltrees.serve.learning.served import Lesson, ServedModel
    from labeltrees.store import StoredModel

__all__ = ["Caps", "Learner", "Waiting"]

_MOST_GATHERING = 0.005
"""So many seconds a group waits at most for as many requests as came together lately."""
_PROBE_SECONDS = 2.0


@dataclass(frozen=True)
class Caps:
    """How large a model may become."""

    labels: int = 10_000_000
    memory_bytes: int | None = None


@dataclass
class Waiting:
    """A request to learn: checked, and not yet committed."""

    served: ServedModel
    lesson: Lesson
    examples: Sequence[bytes]
    key: str | None = None
    digest: bytes = b""
    future: Future[LearnAnswer] = field(default_factory=Future)


@dataclass
class _Job:
    """Something else that only the writing thread may do."""

    work: Callable[[], Any]
    future: Future[Any] = field(default_factory=Future)


@dataclass
class _Planned:
    """A request that goes into the next commit."""

    waiting: Waiting
    served: ServedModel
    new: NewLessons


class Learner:
    """Commits and learns what is put into its queue, in the order of the queue.

    Parameters
    ----------
    folder : ModelFolder
        The models and their log.
    schedule : Schedule
        When snapshots are made.
    caps : Caps
        How large a model may become.
    note : function of an event's name and its facts
        Called with what happened, for logs and metrics.
    """

    def __init__(
        self,
        folder: ModelFolder,
        schedule: Schedule | None = None,
        caps: Caps | None = None,
        note: Callable[..., None] | None = None,
    ) -> None:
        self.folder = folder
        self.schedule, self.caps = schedule or Schedule(), caps or Caps()
        self._note = note or (lambda *_, **__: None)
        self._queue: queue.SimpleQueue[Waiting | _Job | None] = queue.SimpleQueue()
        self._failure = ""
        self.disk_trouble: str | None = None
        self.broken: dict[str, str] = {}
        """Models that are behind the log, and why; only a restart mends them."""
        self.snapshots = SnapshotWriter(folder, self.schedule, self._note)
        self._recent = [1] * 8
        self._commit_seconds = 0.0
        self._next_probe = 0.0
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="learner", daemon=True)
        self._thread.start()

    @property
    def trouble(self) -> str | None:
        """Why the server is not ready to learn; None if it is."""
        behind = next(iter(self.broken.values()), None)
        return self._failure or self.disk_trouble or behind or self.snapshots.trouble

    @property
    def n_waiting(self) -> int:
        """How many requests wait to be committed."""
        return self._queue.qsize()

    def put(self, waiting: Waiting) -> Future[LearnAnswer]:
        """Let a request be committed and learned; its answer comes with the future."""
        if self._stopped:
            raise Problem(503, "The server is stopping.", kind="stopping")
        if self._failure:
            raise Problem(503, self._failure, kind="behind-the-log")
        if self.n_waiting >= self.schedule.most_waiting:
            raise Problem(
                429,
                f"{self.n_waiting} requests wait to be learned; try again later.",
                kind="too-many-waiting",
                headers={"Retry-After": "1"},
            )
        self._queue.put(waiting)
        return waiting.future

    def run(self, work: Callable[[], Any]) -> Future[Any]:
        """Let the writing thread do something between groups."""
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
        """Forget a model, its snapshots and its examples."""
        return self.run(lambda: self._remove(name))

    def _remove(self, name: str) -> None:
        self.snapshots.finish()  # else the one being written would come back
        self.folder.remove(name)
        self.snapshots.forget(name)
        self.broken.pop(name, None)

    def stop(self) -> None:
        """Learn what waits, write a snapshot of what has changed, and end."""
        self._stopped = True
        self._queue.put(None)
        self._thread.join()
        self.snapshots.finish()

    def _run(self) -> None:
        try:
            self._work()
        except Exception as error:
            self._failure = f"The thread that learns has failed: {error!r}. Restart the server."
            self._note("learner_failed", error="".join(traceback.format_exception(error)))
            self._refuse_all()

    def _refuse_all(self) -> None:
        """Tell everybody who waits that nothing will be learned any more."""
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
            if not self._learn_group(self._gather(first)):
                break
        self.snapshots.write_all()

    def _gather(self, first: Waiting) -> list[Waiting | _Job | None]:
        """Return the requests that are there, and those that come while a little time passes."""
        group: list[Waiting | _Job | None] = [first]
        wanted = max(self._recent)
        # Half of what a commit takes: who comes too late waits for a whole one.
        deadline = time.perf_counter() + min(self._commit_seconds / 2, _MOST_GATHERING)
        while len(group) < self.schedule.most_requests:
            left = deadline - time.perf_counter() if len(group) < wanted else 0.0
            try:
                found = self._queue.get(timeout=left) if left > 0 else self._queue.get_nowait()
            except queue.Empty:
                break
            group.append(found)
            if not isinstance(found, Waiting):
                break
        self._recent = [*self._recent[1:], len(group)]
        return group

    def _learn_group(self, group: list[Waiting | _Job | None]) -> bool:
        """Commit and learn a group; whatever ends it is done after. Return whether to go on."""
        last = group[-1]
        requests = [each for each in group if isinstance(each, Waiting)]
        planned = self._plan(requests)
        if planned and self._commit(planned):
            for name in dict.fromkeys(each.served.name for each in planned):
                self._teach([each for each in planned if each.served.name == name])
        if isinstance(last, _Job):
            _do(last)
        self.snapshots.write_when_due(self.broken)
        return last is not None

    def _plan(self, requests: list[Waiting]) -> list[_Planned]:
        """Return what is to be committed of the requests; others get their answer here."""
        planned: list[_Planned] = []
        ends: dict[str, tuple[int, bytes]] = {}
        n_new: dict[str, int] = {}
        kinds: dict[str, type] = {}
        keys: dict[tuple[str, str], _Planned] = {}
        for waiting in requests:
            if not waiting.future.set_running_or_notify_cancel():
                continue  # nobody waits for it any more, and nothing of it is kept
            try:
                served = self._served(waiting)
                if self._answered_before(waiting, served, keys):
                    continue
                self._check_caps(waiting, served, n_new, kinds)
                seq, link = ends.get(served.name, (served.seq, served.link))
                links = served.links(waiting.examples, link)
                new = NewLessons(
                    self.folder.ids[served.name], seq + 1, links, waiting.examples,
                    waiting.key, waiting.digest,
                )  # fmt: skip
                ends[served.name] = seq + len(links), links[-1]
                planned.append(_Planned(waiting, served, new))
                if waiting.key is not None:
                    keys[served.name, waiting.key] = planned[-1]
            except Exception as error:
                waiting.future.set_exception(self._disk_problem(error))
        return planned

    def _served(self, waiting: Waiting) -> ServedModel:
        served = waiting.served
        if self.folder.models.get(served.name) is not served:  # deleted while the request waited
            raise Problem(404, f"There is no model {served.name!r}.", kind="no-such-model")
        if served.name in self.broken:
            raise Problem(503, self.broken[served.name], kind="behind-the-log")
        return served

    def _answered_before(
        self, waiting: Waiting, served: ServedModel, keys: dict[tuple[str, str], _Planned]
    ) -> bool:
        """Answer a request whose key has been seen; it is not learned again."""
        if waiting.key is None:
            return False
        twin = keys.get((served.name, waiting.key))
        if twin is not None:
            digest, first, n = twin.new.digest, twin.new.first_seq, len(twin.new.examples)
        else:
            found = self.folder.log.earlier(self.folder.ids[served.name], waiting.key)
            if found is None:
                return False
            digest, first, n = found
        if digest != waiting.digest:
            raise Problem(
                422,
                "This Idempotency-Key came before with other examples; use a new one.",
                kind="key-reused",
            )
        again = LearnAnswer(served.name, first, first + n - 1, [], [], repeated=True)
        if twin is None:
            waiting.future.set_result(again)
        else:
            twin.waiting.future.add_done_callback(lambda done: _follow(done, waiting, again))
        return True

    def _check_caps(
        self,
        waiting: Waiting,
        served: ServedModel,
        n_new: dict[str, int],
        kinds: dict[str, type],
    ) -> None:
        """Raise a problem if the model would become too large, or labels would be of two kinds."""
        lesson, model = waiting.lesson, served.model
        served.check_labels(lesson)
        if kinds.setdefault(served.name, lesson.label_type) is not lesson.label_type:
            raise Problem(422, "The labels of a model are all strings or all integers.")
        vocabulary = model.vocabulary
        new = len({label for label in lesson.labels.tolist() if label not in vocabulary})
        n_new[served.name] = n_new.get(served.name, 0) + new
        if new and served.n_labels + n_new[served.name] > self.caps.labels:
            n_new[served.name] -= new
            raise Problem(
                507, f"{served.name!r} may have at most {self.caps.labels:,} labels; "
                "these examples would bring more.", kind="too-many-labels",
            )  # fmt: skip
        most = self.caps.memory_bytes
        if most is not None and served.memory_bytes > most:
            raise Problem(
                507, f"{served.name!r} has {served.memory_bytes:,} bytes, over its limit of "
                f"{most:,}: it answers, but learns no more.", kind="too-much-memory",
            )  # fmt: skip

    def _commit(self, planned: list[_Planned]) -> bool:
        """Write the examples to disk; if that fails nothing is learned, and everybody is told."""
        begin = time.perf_counter()
        try:
            self.folder.log.append([each.new for each in planned])
        except Exception as error:
            problem = self._disk_problem(error)
            self._note("commit_failed", error=str(error))
            for each in planned:
                each.waiting.future.set_exception(problem)
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
            f"{self.disk_trouble}. Nothing was learned; questions are still answered.",
            kind="log-failed",
            headers={"Retry-After": "5"},
        )

    def _teach(self, planned: list[_Planned]) -> None:
        served = planned[0].served
        try:
            outcomes = served.learn(
                [each.waiting.lesson for each in planned], planned[-1].new.links[-1]
            )
        except Exception as error:
            reason = (
                f"The model {served.name!r} failed to learn what is in its log: {error!r}. It "
                "answers as before; restart the server to learn it from the log."
            )
            self.broken[served.name] = reason
            self._note("learning_failed", model=served.name, error=repr(error))
            for each in planned:
                problem = Problem(503, reason, kind="behind-the-log", first_seq=each.new.first_seq)
                each.waiting.future.set_exception(problem)
            return
        self._note("learned", served=served, outcomes=outcomes)
        for each, outcome in zip(planned, outcomes, strict=True):
            first, last = each.new.first_seq, each.new.first_seq + len(each.new.examples) - 1
            answer = LearnAnswer(
                served.name, first, last, outcome.new_labels, outcome.foreseen,
                refused=outcome.refused,
            )  # fmt: skip
            each.waiting.future.set_result(answer)

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


def _follow(done: Future[LearnAnswer], waiting: Waiting, answer: LearnAnswer) -> None:
    error = done.exception()
    if error is None:
        waiting.future.set_result(answer)
    else:
        waiting.future.set_exception(error)
