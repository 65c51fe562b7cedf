"""The web application, with its operations, the page, and security headers for all responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from labeltrees.serve.problems import Problem
from labeltrees.serve.web.api.document import as_page, openapi
from labeltrees.serve.web.api.operations import problem_response, routes
from labeltrees.serve.web.api.table import OPERATIONS

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from labeltrees.serve.server import Server

__all__ = ["make_app"]

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]
_STYLE = (
    ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:0}"
    "main{max-width:56rem;margin:auto;padding:1rem}pre{overflow:auto;padding:.6rem;"
    "background:color-mix(in srgb,currentColor 8%,transparent)}h2{font-size:1.05rem;"
    "margin-top:2rem}"
)


def make_app(server: Server) -> ASGIApp:
    """Return the application of a server."""
    document = openapi(OPERATIONS)
    encoded, page = msgspec.json.encode(document), as_page(document)

    async def read_document(request: Request) -> Response:  # noqa: ARG001
        return Response(encoded, media_type="application/json")

    async def read_page(request: Request) -> Response:  # noqa: ARG001
        return HTMLResponse(page)

    async def read_style(request: Request) -> Response:  # noqa: ARG001
        return Response(_STYLE, media_type="text/css")

    app = Starlette(
        routes=[
            *routes(server, OPERATIONS),
            Route("/openapi.json", read_document),
            Route("/docs", read_page),
            Route("/docs.css", read_style),
            Mount("/", StaticFiles(directory=server.page, html=True)),
        ],
        exception_handlers={404: _not_found, 405: _not_allowed},
    )
    return _with_headers(app)


async def _not_found(request: Request, error: Any) -> Response:  # noqa: ARG001
    return problem_response(
        Problem(
            404, "This address does not exist. See /docs for all addresses.", kind="no-such-page"
        )
    )


async def _not_allowed(request: Request, error: Any) -> Response:
    headers = dict(getattr(error, "headers", None) or {})
    return problem_response(
        Problem(
            405,
            f"{request.method} is not supported at this address. See /docs.",
            kind="no-method",
            headers=headers,
        )
    )


def _with_headers(app: ASGIApp) -> ASGIApp:
    """Return the application with security headers in every response."""

    async def with_headers(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        await app(scope, receive, send_with_headers)

    return with_headers
