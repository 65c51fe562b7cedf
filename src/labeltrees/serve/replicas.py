"""Processes that only predict, and share one copy of the weights.

A *keeper* process loads the newest snapshots and forks the replicas, so that unmodified pages of
memory are shared between processes. When there is a newer snapshot, the keeper loads it, forks new
replicas, and lets the old ones finish. All of them accept connections from one socket. The keeper
is forked before the server loads a model, and it never starts a thread.
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
from labeltrees.serve.learning.served import ServedModel
from labeltrees.serve.learning.snapshots import Snapshots
from labeltrees.serve.problems import ServeError
from labeltrees.serve.server import config_of

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from pathlib import Path

    from labeltrees.serve.server import Server

    MakeServer = Callable[["ReplicaFolder"], Server]

_POLL_SECONDS = 0.2


class ReplicaFolder:
    """The models of the newest snapshots of a folder, which is only read.

    Parameters
    ----------
    path : path
        The folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.models: dict[str, ServedModel] = {}
        for name in models_in(path):
            seq, stored, _ = self.snapshots(name).newest()
            self.models[name] = ServedModel(name, stored, seq)

    def snapshots(self, name: str) -> Snapshots:
        """Return the snapshots of a model."""
        return Snapshots(models_in(self.path)[name])

    def close(self) -> None:
        """Do nothing, because no file is open."""


def start_keeper(path: Path, listening: socket.socket, n: int, make: MakeServer) -> int:
    """Fork the process that keeps ``n`` replicas; return its id.

    The keeper ends with this process, or when it receives SIGTERM.
    """
    parent = os.getpid()
    keeper = os.fork()
    if keeper:
        return keeper
    code = 1
    try:
        # A terminal sends SIGINT to all processes. The parent reacts to it.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        _keep(path, listening, n, make, parent)
        code = 0
    except SystemExit:
        code = 0
    finally:
        os._exit(code)


def _keep(path: Path, listening: socket.socket, n: int, make: MakeServer, parent: int) -> None:
    generation: list[int] = []
    loaded: dict[str, int] = {}
    try:
        while os.getppid() == parent:
            newest = _newest(path)
            if newest and newest != loaded:
                try:
                    folder = ReplicaFolder(path)
                except (ServeError, OSError, ValueError):
                    time.sleep(_POLL_SECONDS)  # a snapshot is being written; keep the old replicas
                    continue
                gc.freeze()  # the collector would write to pages that replicas share
                older = generation
                generation = [_fork_replica(folder, listening, make) for _ in range(n)]
                loaded = {name: served.seq for name, served in folder.models.items()}
                del folder
                _end(older)
            alive = [each for each in generation if _is_alive(each)]
            if len(alive) < len(generation):
                loaded = {}  # replace a generation that lost a child by a complete one
            generation = alive
            time.sleep(_POLL_SECONDS)
    finally:
        _end(generation)


def _newest(path: Path) -> dict[str, int]:
    """Return the number of the newest snapshot of every model."""
    found = {name: Snapshots(home).seqs() for name, home in models_in(path).items()}
    return {name: seqs[0] for name, seqs in found.items() if seqs}


def _is_alive(child: int) -> bool:
    """Return whether a child process is running."""
    ended, _ = os.waitpid(child, os.WNOHANG)
    return ended == 0


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
        _serve(make(folder), listening, keeper)
    finally:
        os._exit(0)


def _serve(server: Server, listening: socket.socket, keeper: int) -> None:
    """Serve until SIGTERM arrives or the keeper has ended."""
    web = uvicorn.Server(config_of(server, callback_notify=None))

    async def check_keeper() -> None:
        if os.getppid() != keeper:
            web.should_exit = True

    web.config.callback_notify = check_keeper
    web.config.timeout_notify = 1
    signal.signal(signal.SIGTERM, lambda *_: None)  # uvicorn sends it to this process at its end
    web.run(sockets=[listening])
    server.close()
