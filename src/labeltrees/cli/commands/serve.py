"""`labeltrees serve`: ask and teach models over HTTP, and lose nothing."""

from __future__ import annotations

import logging
import os
import socket
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labeltrees import store
from labeltrees.cli.report import QuietOption, say, say_all, say_now
from labeltrees.cli.units import size_in_bytes
from labeltrees.errors import ArgumentError
from labeltrees.progress import Progress

if TYPE_CHECKING:
    from labeltrees.serve.learning.folder import ModelFolder
    from labeltrees.serve.learning.replica_folder import ReplicaFolder

HOME = Path("labeltrees-served")
_NEEDED = ("msgspec", "starlette", "uvicorn", "prometheus_client")


def serve(
    folder: Annotated[
        Path, typer.Argument(help="Where models, snapshots and the log are kept.")
    ] = HOME,
    model: Annotated[
        list[str] | None,
        typer.Option(help="Serve a model file as well: NAME=FILE; may be repeated."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any that is free.")] = 8000,
    host: Annotated[
        str, typer.Option(help="The address to listen at; others than this machine's need keys.")
    ] = "127.0.0.1",
    replicas: Annotated[
        int, typer.Option(min=0, max=64, help="Processes that only answer, at --replica-port.")
    ] = 0,
    replica_port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="By default the port after --port.")
    ] = None,
    snapshot_examples: Annotated[
        int, typer.Option(min=1, help="Write a snapshot after so many examples.")
    ] = 50_000,
    snapshot_seconds: Annotated[
        float, typer.Option(min=0.1, help="And after so many seconds, if anything was learned.")
    ] = 60.0,
    most_together: Annotated[
        int, typer.Option(min=1, help="The most requests that are committed together.")
    ] = 1000,
    max_body: Annotated[str, typer.Option(help="The largest body of a request.")] = "8M",
    max_rows: Annotated[int, typer.Option(min=1, help="The most rows of a request.")] = 10_000,
    max_labels: Annotated[
        int, typer.Option(min=1, help="The most labels that a model may learn.")
    ] = 10_000_000,
    max_memory: Annotated[
        str | None, typer.Option(help="The most memory of a model's weights, such as 4G.")
    ] = None,
    rate: Annotated[
        float | None, typer.Option(min=0.1, help="The most requests per second of a client.")
    ] = None,
    log_requests: Annotated[
        bool, typer.Option("--log-requests", help="Log every request, without what it says.")
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Ask and teach models over HTTP; what was acknowledged survives a crash, exactly."""
    demand_serve_extra()
    from labeltrees.serve.learning.folder import ModelFolder
    from labeltrees.serve.learning.learner import Caps
    from labeltrees.serve.learning.snapshot_writer import Schedule
    from labeltrees.serve.replicas import start_keeper
    from labeltrees.serve.running import LOCAL, check_address, log_to_stderr, run
    from labeltrees.serve.server import Server
    from labeltrees.serve.web.keys import Keys
    from labeltrees.serve.web.limits import Limits

    named = _named(model or [])
    if replicas and not hasattr(os, "fork"):
        raise ArgumentError(
            f"--replicas must be 0 on this system, got {replicas}: replicas are forked, which "
            "Linux and macOS can."
        )
    keys = Keys(folder)
    check_address(host, has_keys=bool(keys.keys))
    limits = Limits(
        body_bytes=size_in_bytes("--max-body", max_body), rows=max_rows, requests_per_second=rate
    )
    caps = Caps(
        max_labels, None if max_memory is None else size_in_bytes("--max-memory", max_memory)
    )
    hosts = frozenset() if keys.keys else LOCAL | {host}
    listening = _listening(host, port)
    where = _address(host, listening)
    if replicas:
        also = _listening(host, replica_port or listening.getsockname()[1] + 1)

        def replica(snapshots: ReplicaFolder) -> Server:
            return Server(snapshots, keys, limits, hosts=hosts, taught_at=where)

        start_keeper(folder, also, replicas, replica)  # before anything has threads or memory
        say(f"{replicas} replicas answer at {_address(host, also)}, from the newest snapshots.")
        also.close()
    opened = ModelFolder(folder, tell=say)
    try:
        _fill(opened, named, quiet=quiet)
    except BaseException:
        opened.close()
        raise
    log_to_stderr(logging.WARNING if quiet else logging.INFO)
    server = Server(
        opened,
        keys,
        limits,
        Schedule(snapshot_examples, snapshot_seconds, most_together),
        caps,
        hosts,
        log_requests,
    )
    _tell(opened, where)
    run(server, [listening])


def demand_serve_extra() -> None:
    """Raise `ImportError` with what to do unless what a server needs is installed."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise ImportError(
            f"a server needs {', '.join(missing)}: run pip install 'labeltrees[serve]' first."
        )


def _named(models: list[str]) -> dict[str, Path]:
    from labeltrees.serve.learning.folder import check_name

    named: dict[str, Path] = {}
    for each in models:
        name, equals, path = each.partition("=")
        if not equals or not path:
            raise ArgumentError.of("--model", each, "NAME=FILE")
        named[check_name(name)] = Path(path)
    return named


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket at the address, before anything takes time."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except OSError as error:
        made.close()
        reason = error.strerror or str(error)
        raise OSError(f"{host}:{port} cannot be listened at: {reason}; try --port 0.") from None
    made.listen(1024)
    return made


def _fill(folder: ModelFolder, named: dict[str, Path], *, quiet: bool) -> None:
    """Add the models that are named and not yet there; the demo if there would be none."""
    from labeltrees.serve.learning.demo import DEMO, DEMO_EXAMPLES, demo_model

    for name, path in named.items():
        if name in folder.models:
            say(f"{name}: as it is in {folder.path}, with what it has learned; {path} is not read.")
        else:
            folder.add(name, store.read(path))
    if folder.models:
        return
    say(f"Learning {DEMO_EXAMPLES:,} examples: which identifier comes next in Python code?")
    say_now()
    with Progress("learning", total=DEMO_EXAMPLES, enabled=not quiet) as progress:
        stored = demo_model(progress)
    folder.add(DEMO, stored)


def _address(host: str, listening: socket.socket) -> str:
    port = listening.getsockname()[1]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _tell(folder: ModelFolder, where: str) -> None:
    for name, served in folder.models.items():
        say(f"  {name}: {served.n_labels:,} labels, {served.seq:,} examples learned here")
    name = next(iter(folder.models))
    say(f"Serving at {where}/ (the page), {where}/docs (the interface). Ctrl-C stops. Try:")
    takes = folder.models[name].reader.kind
    body = '{"features": {"name": 1}}' if takes == "features" else '{"text": "import ", "k": 3}'
    say(f"  curl {where}/v1/models/{name}/predict -d '{body}'")
    say_all()
