"""Operations: from a request to an answer, with everything that is checked on the way."""

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
    from labeltrees.serve.web.keys import Right

__all__ = ["Call", "Operation", "problem_response", "routes"]

logger = logging.getLogger("labeltrees.serve")
_encode = msgspec.json.Encoder().encode
JSON = "application/json"
PROBLEM = "application/problem+json"


class Call:
    """A request that was let in: its body, its address, and the server that answers."""

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
    """One thing that can be asked of the server."""

    method: str
    path: str
    summary: str
    answer: Callable[[Call], Awaitable[Any]]
    right: Right | None = "read"
    """What a key must allow; None for everybody."""
    content: Any = None
    """The type of the body; None if it is not JSON, or there is none."""
    answers: Any = None
    """The type of the answer, for the document."""
    example: Any = None
    """A body, for the document."""
    parameters: dict[str, str] = field(default_factory=dict)
    """What may stand in the address after the question mark, and what it means."""
    media: str = JSON
    takes: str = JSON
    """The media type of the body."""
    status: int = 200
    plain_errors: bool = False
    """Whether errors are told as the Open Inference Protocol wants it."""

    @property
    def name(self) -> str:
        """What it is called in metrics and in the document."""
        return self.answer.__name__


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
            _let_in(server, operation, request)
            async with asyncio.timeout(limit):
                body = await _body(request, server.limits.body_bytes)
                content = None if decode is None else _decoded(decode, body)
                found = await operation.answer(Call(server, request, body, content))
            if not isinstance(found, Response):
                found = Response(_encode(found), status, media_type=JSON)
        except Exception as error:
            found = _failed(error, operation, limit)
        seconds = time.perf_counter() - begin
        instruments.answered(name, found.status_code, seconds)
        if server.log_requests:
            facts = {"operation": name, "status": found.status_code, "seconds": round(seconds, 6)}
            logger.info("request", extra={"facts": facts})
        return found

    return endpoint


def _failed(error: Exception, operation: Operation, limit: float) -> Response:
    if isinstance(error, TimeoutError):
        problem: Problem | None = Problem(
            503, f"No answer within {limit:g} s.", kind="timeout", headers={"Retry-After": "1"}
        )
    else:
        problem = problem_of(error)
    if problem is None:
        logger.error("fault", exc_info=error, extra={"facts": {"operation": operation.name}})
        problem = Problem(500, "The server failed; its log says where.", kind="fault")
    if operation.plain_errors:
        said = _encode({"error": problem.detail})
        return Response(said, problem.status, headers=problem.headers, media_type=JSON)
    return problem_response(problem)


def problem_response(problem: Problem) -> Response:
    """Return a problem as an answer."""
    body = _encode(problem.body())
    return Response(body, problem.status, headers=problem.headers, media_type=PROBLEM)


def _let_in(server: Server, operation: Operation, request: Request) -> None:
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
    """Raise a problem for a request that a page of somebody else made a browser send.

    Without keys, that it comes from this machine is all that speaks for it: the name by which the
    server was called must be its own, and so must be the page.
    """
    host = request.headers.get("host", "")
    if server.hosts and host.rsplit(":", 1)[0].strip("[]") not in server.hosts:
        raise Problem(403, "The server is not known by this name.", kind="foreign-host")
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != host:
        raise Problem(403, "Requests of other pages need a key.", kind="foreign-origin")


async def _body(request: Request, most: int) -> bytes:
    told = request.headers.get("content-length")
    if told is not None and told.isdecimal() and int(told) > most:
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
    return Problem(413, f"A body may have {most:,} bytes.", kind="body-too-long")


def _decoded(decode: Callable[[bytes], Any], body: bytes) -> Any:
    try:
        return decode(body)
    except msgspec.ValidationError as error:
        raise Problem(422, f"{error}.", kind="bad-content") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Problem(400, f"The body is not JSON: {error}.", kind="not-json") from None
