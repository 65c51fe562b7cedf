"""Everything that answering a request needs, in one place."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labeltrees.serve.learning.folder import ModelFolder
from labeltrees.serve.learning.learner import Learner
from labeltrees.serve.problems import Problem
from labeltrees.serve.web.instruments import Instruments
from labeltrees.serve.web.limits import Limits, Rate
from labeltrees.serve.web.questions import Questions
from labeltrees.serve.web.tree_view import TreeViews

if TYPE_CHECKING:
    from labeltrees.serve.learning.learner import Caps
    from labeltrees.serve.learning.replica_folder import ReplicaFolder
    from labeltrees.serve.learning.served import ServedModel
    from labeltrees.serve.learning.snapshot_writer import Schedule
    from labeltrees.serve.web.keys import Keys

__all__ = ["JsonFormatter", "Server"]

logger = logging.getLogger("labeltrees.serve")

PAGE = Path(__file__).parent / "web" / "page"


class JsonFormatter(logging.Formatter):
    """A line of JSON for each event: when, how bad, what, and facts; never what users wrote."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        facts = getattr(record, "facts", {})
        line = {
            "time": round(record.created, 3),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **facts,
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


@dataclass
class Server:
    """The models, who may ask them, how much, and what is measured of it."""

    folder: ModelFolder | ReplicaFolder
    keys: Keys
    limits: Limits = field(default_factory=Limits)
    schedule: Schedule | None = None
    caps: Caps | None = None
    hosts: frozenset[str] = frozenset()
    """The names by which this server may be called; empty for any."""
    log_requests: bool = False
    page: Path = PAGE
    reach_seconds: float = 2.0
    """How long a question waits for what it wants to be learned."""
    taught_at: str = ""
    """Of a replica: the address of the server that learns."""

    def __post_init__(self) -> None:
        self.instruments = Instruments()
        self.executor = ThreadPoolExecutor(2, thread_name_prefix="questions")
        self.questions = Questions(self.executor)
        self.trees = TreeViews()
        self.started = time.time()
        limit = self.limits.requests_per_second
        self.rate = None if limit is None else Rate(limit)
        self.stopping = False
        self.learner: Learner | None = None
        if isinstance(self.folder, ModelFolder):
            self.learner = Learner(self.folder, self.schedule, self.caps, self.note)

    def note(self, event: str, **facts: Any) -> None:
        """Measure and log what the learner did."""
        self.instruments.note(event, **facts)
        if event.endswith("failed"):
            logger.error(event, extra={"facts": facts})
        elif event == "snapshot":
            logger.info(event, extra={"facts": facts})

    @property
    def trouble(self) -> str | None:
        """Why the server is not ready; None if it is."""
        if self.stopping:
            return "The server is stopping."
        return None if self.learner is None else self.learner.trouble

    def served(self, name: str) -> ServedModel:
        """Return a model by its name, or raise a problem."""
        found = self.folder.models.get(name)
        if found is None:
            raise Problem(404, f"There is no model {name!r:.80}.", kind="no-such-model")
        return found

    @property
    def writer(self) -> Learner:
        """The thread that writes; a problem if this is a replica."""
        if self.learner is None:
            raise Problem(
                409, f"This is a replica, which only answers; teach at {self.taught_at}.",
                kind="replica",
            )  # fmt: skip
        return self.learner

    async def reach(self, served: ServedModel, min_seq: int) -> None:
        """Wait until a model has learned so many examples, or raise a problem."""
        if served.seq >= min_seq:
            return
        patience = 0.0 if self.learner is None else self.reach_seconds
        deadline = time.monotonic() + patience
        while served.seq < min_seq:
            if time.monotonic() > deadline:
                raise Problem(
                    412,
                    f"{served.name!r} has learned {served.seq} examples, not min_seq={min_seq}.",
                    kind="not-yet-learned",
                    headers={"Retry-After": "1"},
                    seq=served.seq,
                )
            await asyncio.sleep(0.01)

    def close(self) -> None:
        """Learn what waits, write snapshots, and let the folder go."""
        self.stopping = True
        if self.learner is not None:
            self.learner.stop()
        self.executor.shutdown()
        self.folder.close()
