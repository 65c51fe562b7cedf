"""The command `labeltrees serve`, which starts the HTTP server."""

from __future__ import annotations

import logging
import os
import socket
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labeltrees import store
from labeltrees.cli.method_options import size_in_bytes
from labeltrees.cli.report import QuietOption, say, say_all, say_now
from labeltrees.errors import ArgumentError
from labeltrees.progress import Progress

if TYPE_CHECKING:
    from labeltrees.serve.learning.folder import ModelFolder
    from labeltrees.serve.replicas import ReplicaFolder

HOME = Path("labeltrees-served")
_NEEDED = ("msgspec", "starlette", "uvicorn", "prometheus_client")


def serve(
    folder: Annotated[
        Path, typer.Argument(help="Folder for models, snapshots and the log.")
    ] = HOME,
    model: Annotated[
        list[str] | None,
        typer.Option(help="Name and file of a model, as NAME=FILE. You can repeat this option."),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port, or 0 for any free port.")
    ] = 8000,
    host: Annotated[
        str,
        typer.Option(
            help="Address of the server. Addresses that other machines can reach need keys."
        ),
    ] = "127.0.0.1",
    replicas: Annotated[
        int,
        typer.Option(
            min=0, max=64, help="Number of processes that only predict, at --replica-port."
        ),
    ] = 0,
    replica_port: Annotated[
        int | None,
        typer.Option(
            min=1, max=65535, help="Port of the replicas, by default the port after --port."
        ),
    ] = None,
    snapshot_examples: Annotated[
        int, typer.Option(min=1, help="Number of examples between snapshots.")
    ] = 50_000,
    snapshot_seconds: Annotated[
        float, typer.Option(min=0.1, help="Seconds between snapshots while the model learns.")
    ] = 60.0,
    most_together: Annotated[
        int, typer.Option(min=1, help="Maximum number of requests that are committed together.")
    ] = 1000,
    max_body: Annotated[str, typer.Option(help="Maximum size of the body of a request.")] = "8M",
    max_rows: Annotated[
        int, typer.Option(min=1, help="Maximum number of rows of a request.")
    ] = 10_000,
    max_labels: Annotated[
        int, typer.Option(min=1, help="Maximum number of labels of a model.")
    ] = 10_000_000,
    max_memory: Annotated[
        str | None, typer.Option(help="Maximum memory of the weights of a model, such as 4G.")
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(min=0.1, help="Maximum number of requests per second of a client."),
    ] = None,
    log_requests: Annotated[
        bool, typer.Option("--log-requests", help="Log every request, without its content.")
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Serve models over HTTP, with predictions and with updates that survive a crash.

    Example:
        labeltrees serve served --model intents=intents.safetensors
    """
    demand_serve_extra()
    from labeltrees.serve.learning.folder import ModelFolder
    from labeltrees.serve.learning.snapshots import Schedule
    from labeltrees.serve.learning.thread import ModelLimits
    from labeltrees.serve.replicas import start_keeper
    from labeltrees.serve.server import LOCAL, Server, check_address, log_to_stderr, run
    from labeltrees.serve.web.access import Keys
    from labeltrees.serve.web.api.operations import Limits

    named = _named(model or [])
    if replicas and not hasattr(os, "fork"):
        raise ArgumentError(
            f"--replicas must be 0 on this system, got {replicas}. Replicas need fork, which "
            "Linux and macOS have."
        )
    keys = Keys(folder)
    check_address(host, has_keys=bool(keys.keys))
    limits = Limits(
        body_bytes=size_in_bytes("--max-body", max_body), rows=max_rows, requests_per_second=rate
    )
    model_limits = ModelLimits(
        max_labels, None if max_memory is None else size_in_bytes("--max-memory", max_memory)
    )
    hosts = frozenset() if keys.keys else LOCAL | {host}
    listening = _listening(host, port)
    where = _address(host, listening)
    if replicas:
        also = _listening(host, replica_port or listening.getsockname()[1] + 1)

        def replica(snapshots: ReplicaFolder) -> Server:
            return Server(snapshots, keys, limits, hosts=hosts, learning_url=where)

        start_keeper(folder, also, replicas, replica)  # before anything has threads or memory
        say(f"{replicas} replicas at {_address(host, also)} predict from the newest snapshots.")
        also.close()
    opened = ModelFolder(folder, report=say)
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
        model_limits,
        hosts,
        log_requests,
    )
    _report(opened, where)
    run(server, [listening])


def demand_serve_extra() -> None:
    """Raise `ImportError` with the command that installs the missing packages."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise ImportError(
            f"a server needs {', '.join(missing)}. Run pip install 'labeltrees[serve]' first."
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
    """Return a socket that listens at the address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except OSError as error:
        made.close()
        reason = error.strerror or str(error)
        raise OSError(
            f"cannot listen at {host}:{port} ({reason}). Try --port 0, which takes a free port."
        ) from None
    made.listen(1024)
    return made


def _fill(folder: ModelFolder, named: dict[str, Path], *, quiet: bool) -> None:
    """Add the named models that the folder does not have, or the demo if it has no model."""
    from labeltrees.serve.learning.new_models import DEMO, DEMO_EXAMPLES, demo_model

    for name, path in named.items():
        if name in folder.models:
            say(f"{name}: loaded from {folder.path} with its updates; {path} is not read.")
        else:
            folder.add(name, store.read(path))
    if folder.models:
        return
    say(f"Training the demo, which predicts identifiers, on {DEMO_EXAMPLES:,} examples.")
    say_now()
    with Progress("learning", total=DEMO_EXAMPLES, enabled=not quiet) as progress:
        stored = demo_model(progress)
    folder.add(DEMO, stored)


def _address(host: str, listening: socket.socket) -> str:
    port = listening.getsockname()[1]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _report(folder: ModelFolder, where: str) -> None:
    for name, served in folder.models.items():
        say(
            f"  {name} has {served.n_labels:,} labels and has learned {served.seq:,} examples here."
        )
    name = next(iter(folder.models))
    say(f"Serving at {where}/ (page) and {where}/docs (interface). Ctrl-C stops the server. Try:")
    takes = folder.models[name].reader.kind
    body = '{"features": {"name": 1}}' if takes == "features" else '{"text": "import ", "k": 3}'
    say(f"  curl {where}/v1/models/{name}/predict -d '{body}'")
    say_all()
