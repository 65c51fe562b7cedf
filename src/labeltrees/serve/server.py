"""The server: its models, its threads and its limits, its address, and how it starts and ends."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn

from labeltrees.errors import ArgumentError
from labeltrees.serve.learning.folder import ModelFolder
from labeltrees.serve.learning.thread import LearningThread
from labeltrees.serve.problems import Problem
from labeltrees.serve.web.access import Rate
from labeltrees.serve.web.api.operations import Limits
from labeltrees.serve.web.app import make_app
from labeltrees.serve.web.batching import PredictionBatches
from labeltrees.serve.web.instruments import Instruments
from labeltrees.serve.web.tree_view import TreeViews

if TYPE_CHECKING:
    import socket

    from labeltrees.serve.learning.served import ServedModel
    from labeltrees.serve.learning.snapshots import Schedule
    from labeltrees.serve.learning.thread import ModelLimits
    from labeltrees.serve.replicas import ReplicaFolder
    from labeltrees.serve.web.access import Keys

logger = logging.getLogger("labeltrees.serve")

LOCAL = frozenset(("127.0.0.1", "localhost", "::1"))
PAGE = Path(__file__).parent / "web" / "page"
_SWITCH_SECONDS = 0.0005
"""Time in seconds after which the thread that learns yields to others; Python's default is 5 ms."""
_MOST_CONNECTIONS = 2048
_DRAIN_SECONDS = 20


class JsonFormatter(logging.Formatter):
    """Formats events as lines of JSON: time, level, event and facts, but no content of requests."""

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
    """The models with their keys, limits and metrics."""

    folder: ModelFolder | ReplicaFolder
    keys: Keys
    limits: Limits = field(default_factory=Limits)
    schedule: Schedule | None = None
    model_limits: ModelLimits | None = None
    hosts: frozenset[str] = frozenset()
    """Host names that requests may use, empty for any."""
    log_requests: bool = False
    page: Path = PAGE
    reach_seconds: float = 2.0
    """Maximum time in seconds that a request waits until its ``min_seq`` is learned."""
    learning_url: str = ""
    """Address of the server that learns, for a replica."""

    def __post_init__(self) -> None:
        self.instruments = Instruments()
        self.executor = ThreadPoolExecutor(2, thread_name_prefix="predictions")
        self.predictions = PredictionBatches(self.executor)
        self.trees = TreeViews()
        self.started = time.time()
        limit = self.limits.requests_per_second
        self.rate = None if limit is None else Rate(limit)
        self.stopping = False
        self.learning: LearningThread | None = None
        if isinstance(self.folder, ModelFolder):
            self.learning = LearningThread(self.folder, self.schedule, self.model_limits, self.note)

    def note(self, event: str, **facts: Any) -> None:
        """Count and log an event of the thread that learns."""
        self.instruments.note(event, **facts)
        if event.endswith("failed"):
            logger.error(event, extra={"facts": facts})
        elif event == "snapshot":
            logger.info(event, extra={"facts": facts})

    @property
    def trouble(self) -> str | None:
        """Why the server is not ready, None if it is."""
        if self.stopping:
            return "The server is stopping."
        return None if self.learning is None else self.learning.trouble

    def served(self, name: str) -> ServedModel:
        """Return a model by its name, or raise a problem."""
        found = self.folder.models.get(name)
        if found is None:
            raise Problem(404, f"There is no model {name!r:.80}.", kind="no-such-model")
        return found

    @property
    def writer(self) -> LearningThread:
        """The thread that learns; a replica raises a problem."""
        if self.learning is None:
            raise Problem(
                409, "This is a replica, which only predicts. Send examples to "
                f"{self.learning_url}.", kind="replica",
            )  # fmt: skip
        return self.learning

    async def reach(self, served: ServedModel, min_seq: int) -> None:
        """Wait until a model has learned ``min_seq`` examples, or raise a problem."""
        if served.seq >= min_seq:
            return
        patience = 0.0 if self.learning is None else self.reach_seconds
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
        """Learn the waiting examples, write snapshots, and release the folder."""
        self.stopping = True
        if self.learning is not None:
            self.learning.stop()
        self.executor.shutdown()
        self.folder.close()


def is_local(host: str) -> bool:
    """Return whether an address can be reached only from this machine.

    >>> is_local("127.0.0.1"), is_local("0.0.0.0")
    (True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_address(host: str, *, has_keys: bool) -> None:
    """Raise `ArgumentError` for an address that other machines can reach if there are no keys."""
    if not has_keys and not is_local(host):
        raise ArgumentError(
            f"--host {host} can be reached from other machines, but there are no keys. Create one "
            "with `labeltrees keys FOLDER --add NAME`, or use --host 127.0.0.1."
        )


def log_to_stderr(level: int = logging.INFO) -> None:
    """Write events to stderr, one line of JSON for each."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name in ("labeltrees.serve", "uvicorn.error"):
        own = logging.getLogger(name)
        own.handlers, own.propagate = [handler], False
        own.setLevel(level if name == "labeltrees.serve" else logging.WARNING)


def config_of(server: Server, **where: Any) -> uvicorn.Config:
    """Return the uvicorn configuration of a server."""
    return uvicorn.Config(
        make_app(server),
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        lifespan="off",
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_DRAIN_SECONDS,
        **where,
    )


def run(server: Server, sockets: list[socket.socket]) -> None:
    """Serve until SIGINT or SIGTERM, then finish open requests, write snapshots, and return."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    web = uvicorn.Server(config_of(server))
    # uvicorn sends itself the signal again at its end, but the server still has to be closed.
    before = {each: signal.signal(each, _ignore) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        web.run(sockets=sockets)
    finally:
        server.close()
        for each, handler in before.items():
            signal.signal(each, handler)


def _ignore(number: int, frame: object) -> None:
    """Do nothing, because uvicorn has handled the signal."""
