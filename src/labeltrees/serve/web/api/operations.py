"""Run an operation for a request, with all checks and limits."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import Response
from starlette.routing import Route

from labeltrees.serve.problems import Problem, problem_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from labeltrees.serve.server import Server
    from labeltrees.serve.web.access import Right

logger = logging.getLogger("labeltrees.serve")
_encode = msgspec.json.Encoder().encode
JSON = "application/json"
PROBLEM = "application/problem+json"


@dataclass(frozen=True)
class Limits:
    """Maximum size of a request and of its response, maximum time, and rate of requests."""

    body_bytes: int = 8 * 2**20
    rows: int = 10_000
    response_labels: int = 1_000_000
    """Labels of all rows of a response together."""
    label_characters: int = 1000
    seconds: float = 30.0
    requests_per_second: float | None = None
    """Requests of one client, None without a limit."""

    def check_rows(self, n_rows: int) -> None:
        """Raise a problem if there are too many rows."""
        if n_rows > self.rows:
            raise Problem(
                413,
                f"A request can have at most {self.rows:,} rows, got {n_rows:,}.",
                kind="too-many-rows",
            )

    def check_labels(self, labels: list[int | str]) -> None:
        """Raise a problem if a label is too long."""
        for label in labels:
            if isinstance(label, str) and len(label) > self.label_characters:
                raise Problem(
                    413,
                    f"A label can have at most {self.label_characters:,} characters, got "
                    f"{len(label):,}.",
                    kind="label-too-long",
                )


class Call:
    """An admitted request: its body, its address, and the server."""

    __slots__ = ("body", "content", "request", "server")

    def __init__(self, server: Server, request: Request, body: bytes, content: Any) -> None:
        self.server, self.request, self.body, self.content = server, request, body, content

    @property
    def name(self) -> str:
        """The model's name in the address."""
        return str(self.request.path_params["model"])

    def header(self, name: str) -> str | None:
        """Return a header of the request."""
        return self.request.headers.get(name)


@dataclass(frozen=True)
class Operation:
    """One operation of the server."""

    method: str
    path: str
    summary: str
    function: Callable[[Call], Awaitable[Any]]
    right: Right | None = "read"
    """The right that a key needs, None for an operation without a key."""
    content: Any = None
    """Type of the body, None without a JSON body."""
    returns: Any = None
    """Type of the response, for the document."""
    example: Any = None
    """Example of a body, for the document."""
    parameters: dict[str, str] = field(default_factory=dict)
    """Query parameters and their descriptions."""
    media: str = JSON
    takes: str = JSON
    """Media type of the body."""
    status: int = 200
    plain_errors: bool = False
    """Whether errors have the form of the Open Inference Protocol."""

    @property
    def name(self) -> str:
        """The name of the operation in metrics and in the document."""
        return self.function.__name__


def routes(server: Server, operations: list[Operation]) -> list[Route]:
    """Return a route for each operation."""
    return [
        Route(each.path, _endpoint(server, each), methods=[each.method], name=each.name)
        for each in operations
    ]


def _endpoint(server: Server, operation: Operation) -> Any:
    decode = None if operation.content is None else msgspec.json.Decoder(operation.content).decode
    instruments, name, status = server.instruments, operation.name, operation.status
    limit = server.limits.seconds

    async def endpoint(request: Request) -> Response:
        begin = time.perf_counter()
        try:
            _admit(server, operation, request)
            async with asyncio.timeout(limit):
                body = await _body(request, server.limits.body_bytes)
                content = None if decode is None else _decoded(decode, body)
                found = await operation.function(Call(server, request, body, content))
            if not isinstance(found, Response):
                found = Response(_encode(found), status, media_type=JSON)
        except Exception as error:
            found = _failed(error, operation, limit)
        seconds = time.perf_counter() - begin
        instruments.responded(name, found.status_code, seconds)
        if server.log_requests:
            facts = {"operation": name, "status": found.status_code, "seconds": round(seconds, 6)}
            logger.info("request", extra={"facts": facts})
        return found

    return endpoint


def _failed(error: Exception, operation: Operation, limit: float) -> Response:
    if isinstance(error, TimeoutError):
        problem: Problem | None = Problem(
            503,
            f"The request took more than {limit:g} s. Try again later.",
            kind="timeout",
            headers={"Retry-After": "1"},
        )
    else:
        problem = problem_of(error)
    if problem is None:
        logger.error("fault", exc_info=error, extra={"facts": {"operation": operation.name}})
        problem = Problem(500, "The server has failed. Its log has the traceback.", kind="fault")
    if operation.plain_errors:
        content = _encode({"error": problem.detail})
        return Response(content, problem.status, headers=problem.headers, media_type=JSON)
    return problem_response(problem)


def problem_response(problem: Problem) -> Response:
    """Return the response for a problem."""
    body = _encode(problem.body())
    return Response(body, problem.status, headers=problem.headers, media_type=PROBLEM)


def _admit(server: Server, operation: Operation, request: Request) -> None:
    if operation.right is None:
        return
    client = request.client
    address = "" if client is None else client.host
    if server.keys.keys:
        key = server.keys.check(request.headers.get("authorization"), operation.right, address)
        address = "" if key is None else key.name
    else:
        check_origin(server, request)
    if server.rate is not None:
        server.rate.check(address)


def check_origin(server: Server, request: Request) -> None:
    """Raise a problem for a request that a browser sends for a page of another site.

    Without keys, requests are trusted because they come from this machine. The host name must
    therefore be one of the server, and the page must come from the server as well.
    """
    host = request.headers.get("host", "")
    if server.hosts and host.rsplit(":", 1)[0].strip("[]") not in server.hosts:
        raise Problem(403, "The Host header is not a name of this server.", kind="foreign-host")
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != host:
        raise Problem(403, "Requests from pages of other sites need a key.", kind="foreign-origin")


async def _body(request: Request, most: int) -> bytes:
    length = request.headers.get("content-length")
    if length is not None and length.isdecimal() and int(length) > most:
        raise _too_long(most)
    parts: list[bytes] = []
    n_bytes = 0
    async for part in request.stream():
        n_bytes += len(part)
        if n_bytes > most:
            raise _too_long(most)
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_long(most: int) -> Problem:
    return Problem(413, f"A body can have at most {most:,} bytes.", kind="body-too-long")


def _decoded(decode: Callable[[bytes], Any], body: bytes) -> Any:
    try:
        return decode(body)
    except msgspec.ValidationError as error:
        raise Problem(422, f"{error}.", kind="bad-content") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Problem(400, f"The body is not JSON: {error}.", kind="not-json") from None
