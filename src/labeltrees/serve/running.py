"""The process that serves: its address, its signals, and how it ends."""

from __future__ import annotations

import ipaddress
import logging
import signal
import sys
from typing import TYPE_CHECKING, Any

import uvicorn

from labeltrees.errors import ArgumentError
from labeltrees.serve.server import JsonFormatter
from labeltrees.serve.web.app import make_app

if TYPE_CHECKING:
    import socket

    from labeltrees.serve.server import Server

__all__ = ["LOCAL", "check_address", "is_local", "log_to_stderr", "run"]

LOCAL = frozenset(("127.0.0.1", "localhost", "::1"))
_SWITCH_SECONDS = 0.0005
"""A thread that learns gives way to one that answers after so long; Python's default is 5 ms."""
_MOST_CONNECTIONS = 2048
_DRAIN_SECONDS = 20


def is_local(host: str) -> bool:
    """Return whether only this machine reaches an address.

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
    """Raise `ArgumentError` for an address that others reach if there are no keys."""
    if not has_keys and not is_local(host):
        raise ArgumentError(
            f"--host {host} can be reached by others, and there are no keys: make one first with "
            "`labeltrees keys FOLDER --add NAME`, or serve at 127.0.0.1."
        )


def log_to_stderr(level: int = logging.INFO) -> None:
    """Write what happens to stderr, a line of JSON for each event."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name in ("labeltrees.serve", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level if name == "labeltrees.serve" else logging.WARNING)


def config_of(server: Server, **where: Any) -> uvicorn.Config:
    """Return how uvicorn serves."""
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
    """Serve until SIGINT or SIGTERM: then answer what is there, write snapshots, and return."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    web = uvicorn.Server(config_of(server))
    # uvicorn sends itself the signal again when it is done; there is still something to do then.
    before = {each: signal.signal(each, _heard) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        web.run(sockets=sockets)
    finally:
        server.close()
        for each, handler in before.items():
            signal.signal(each, handler)


def _heard(number: int, frame: object) -> None:
    """Do nothing: the signal has been heard."""
