"""The web application, with the table of its operations, the page, and security headers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from labeltrees.serve import wire
from labeltrees.serve.problems import Problem
from labeltrees.serve.web.api import learning, other_protocols, predicting, state
from labeltrees.serve.web.api.document import as_page, openapi
from labeltrees.serve.web.api.operations import Operation, problem_response, routes

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from labeltrees.serve.server import Server

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

_M = "/v1/models/{model}"
_FORM = "application/x-www-form-urlencoded"


def _get(path: str, summary: str, function: Any, **rest: Any) -> Operation:
    return Operation("GET", path, summary, function, **rest)


def _post(path: str, summary: str, function: Any, content: Any, **rest: Any) -> Operation:
    return Operation("POST", path, summary, function, content=content, **rest)


OPERATIONS: list[Operation] = [
    _post(
        f"{_M}/predict", "Predict the most likely labels, or the probabilities of given labels",
        predicting.predict, wire.PredictRequest, returns=wire.PredictResponse,
        example={"text": "def f(self):\n    return self.", "k": 3},
    ),
    _post(
        f"{_M}/learn", "Learn examples; they are on disk and learned when the response arrives",
        learning.learn, wire.LearnRequest, returns=wire.LearnResponse, right="learn",
        example={"examples": [{"text": "import ", "label": "os"}]},
    ),
    _post(
        f"{_M}/complete", "Complete Python code at its end",
        predicting.complete, wire.CompleteRequest, returns=wire.CompleteResponse,
        example={"source": "import os\nos.pa", "k": 5},
    ),
    _post(
        f"{_M}/explain", "Explain the probability of a label",
        predicting.explain, wire.ExplainRequest, example={"text": "import ", "label": "os"},
    ),
    _post(
        f"{_M}/rows", "Find the rows with the largest probabilities of a label",
        predicting.rows, wire.RowsRequest, returns=wire.RowsResponse,
        example={"rows": [{"text": "import "}, {"text": "return "}], "labels": ["os"], "k": 1},
    ),
    _get("/v1/models", "List the models", state.list_models),
    _get(_M, "Describe a model and its quality", state.read_model),
    Operation(
        "PUT", _M, "Serve one more model: a model file, or JSON for a new model", state.add_model,
        right="admin", takes="application/octet-stream", status=201,
    ),
    Operation(
        "DELETE", _M, "Delete a model and its examples", state.remove_model,
        right="admin", status=204,
    ),
    _get(
        f"{_M}/quality", "Read scores, learning curve, reliability and new labels",
        state.model_quality,
    ),
    _get(
        f"{_M}/tree", "Read a part of the tree, or the path to a label", state.model_tree,
        parameters={
            "node": "The node, 0 for the root.",
            "levels": "Number of levels below the node.",
            "label": "The label whose path is returned instead.",
        },
    ),
    _get(
        f"{_M}/labels", "Search labels by a part of their name", state.search_labels,
        parameters={"containing": "The part of the name.", "most": "Maximum number, at most 100."},
    ),
    Operation(
        "POST", f"{_M}/snapshot", "Write a snapshot now", learning.snapshot, right="learn"
    ),
    _get(f"{_M}/snapshot", "List the snapshots", learning.read_snapshots),
    _post(
        f"{_M}/trim", "Delete the oldest examples of the log", learning.trim, wire.TrimRequest,
        right="admin", example={"upto": 1000},
    ),
    _get("/livez", "Check that the process responds", state.livez, right=None),
    _get("/readyz", "Check that models can predict and learn", state.readyz, right=None),
    _get("/metrics", "Read metrics for Prometheus", state.metrics, media="text/plain"),
    _get("/v1/nothing", "Do nothing, to measure the cost of a request", state.nothing),
    _get("/v1/projects", "List the models as projects of Annif", other_protocols.list_projects),
    _get(
        "/v1/projects/{model}", "Describe a model as a project of Annif",
        other_protocols.read_project,
    ),
    Operation(
        "POST", "/v1/projects/{model}/suggest", "Suggest labels, with the interface of Annif",
        other_protocols.suggest,
        takes=_FORM, example={"text": "a text", "limit": 5},
    ),
    _get(
        "/v2", "Open Inference Protocol: the server", other_protocols.inference_server,
        plain_errors=True,
    ),
    _get(
        "/v2/health/live", "Open Inference Protocol: liveness", other_protocols.inference_live,
        right=None, plain_errors=True,
    ),
    _get(
        "/v2/health/ready", "Open Inference Protocol: readiness", other_protocols.inference_ready,
        right=None, plain_errors=True,
    ),
    _get(
        "/v2/models/{model}", "Open Inference Protocol: a model", other_protocols.inference_model,
        plain_errors=True,
    ),
    _get(
        "/v2/models/{model}/ready", "Open Inference Protocol: readiness of a model",
        other_protocols.inference_model_ready, plain_errors=True,
    ),
    _post(
        "/v2/models/{model}/infer", "Open Inference Protocol: predict", other_protocols.infer,
        wire.InferRequest, plain_errors=True,
        example={
            "inputs": [{"name": "text", "shape": [1], "datatype": "BYTES", "data": ["import "]}]
        },
    ),
]  # fmt: skip
"""Operations in the order of lookup, the most frequent ones first."""


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
