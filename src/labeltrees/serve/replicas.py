"""Processes that only answer, and share one copy of the weights.

A *keeper* process loads the newest snapshots and forks the replicas, so that they share its memory:
what nobody writes is there once. When there is a newer snapshot it loads that, forks new replicas,
and lets the old ones finish. All of them accept connections from one socket. The keeper is forked
before the server loads a model, and never starts a thread.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from typing import TYPE_CHECKING

import uvicorn

from labeltrees.serve.learning.folder import models_in
from labeltrees.serve.learning.replica_folder import ReplicaFolder
from labeltrees.serve.learning.snapshots import Snapshots
from labeltrees.serve.problems import ServeError
from labeltrees.serve.running import config_of

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from pathlib import Path

    from labeltrees.serve.server import Server

    MakeServer = Callable[[ReplicaFolder], Server]

__all__ = ["start_keeper"]

_LOOK_SECONDS = 0.2


def start_keeper(path: Path, listening: socket.socket, n: int, make: MakeServer) -> int:
    """Fork the process that keeps ``n`` replicas; return its id.

    It ends when this process does, or when it is sent SIGTERM.
    """
    parent = os.getpid()
    keeper = os.fork()
    if keeper:
        return keeper
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the parent acts
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        _keep(path, listening, n, make, parent)
        code = 0
    except SystemExit:
        code = 0
    finally:
        os._exit(code)


def _keep(path: Path, listening: socket.socket, n: int, make: MakeServer, parent: int) -> None:
    generation: list[int] = []
    shown: dict[str, int] = {}
    try:
        while os.getppid() == parent:
            newest = _newest(path)
            if newest and newest != shown:
                try:
                    folder = ReplicaFolder(path)
                except (ServeError, OSError, ValueError):
                    time.sleep(_LOOK_SECONDS)  # it is being written; what is there goes on
                    continue
                gc.freeze()  # so that nobody writes to what all share
                older = generation
                generation = [_fork_replica(folder, listening, make) for _ in range(n)]
                shown = {name: served.seq for name, served in folder.models.items()}
                del folder
                _end(older)
            generation = [_alive(each) or _lost(shown) for each in generation]
            generation = [each for each in generation if each]
            time.sleep(_LOOK_SECONDS)
    finally:
        _end(generation)


def _newest(path: Path) -> dict[str, int]:
    """Return the number of the newest snapshot of every model."""
    found = {name: Snapshots(home).seqs() for name, home in models_in(path).items()}
    return {name: seqs[0] for name, seqs in found.items() if seqs}


def _alive(child: int) -> int:
    """Return a child's id, 0 if it has ended."""
    done, _ = os.waitpid(child, os.WNOHANG)
    return 0 if done else child


def _lost(shown: dict[str, int]) -> int:
    """Forget what is shown, so that a whole generation takes the place of one that lost a child."""
    shown.clear()
    return 0


def _end(children: list[int]) -> None:
    for child in children:
        os.kill(child, signal.SIGTERM)


def _fork_replica(folder: ReplicaFolder, listening: socket.socket, make: MakeServer) -> int:
    keeper = os.getpid()
    child = os.fork()
    if child:
        return child
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _answer(make(folder), listening, keeper)
    finally:
        os._exit(0)


def _answer(server: Server, listening: socket.socket, keeper: int) -> None:
    """Serve until SIGTERM comes or the keeper has gone."""
    web = uvicorn.Server(config_of(server, callback_notify=None))

    async def look_up() -> None:
        if os.getppid() != keeper:
            web.should_exit = True

    web.config.callback_notify = look_up
    web.config.timeout_notify = 1
    signal.signal(signal.SIGTERM, lambda *_: None)  # uvicorn sends it to itself again at its end
    web.run(sockets=[listening])
    server.close()
