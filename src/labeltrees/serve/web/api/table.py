"""Every operation of the server, in one table: routes, rights and the OpenAPI document."""

from __future__ import annotations

from typing import Any

from labeltrees.serve import wire
from labeltrees.serve.web.api import annif, asking, health, models, open_inference, teaching
from labeltrees.serve.web.api.operations import Operation

__all__ = ["OPERATIONS"]

_M = "/v1/models/{model}"
_FORM = "application/x-www-form-urlencoded"


def _get(path: str, summary: str, answer: Any, **rest: Any) -> Operation:
    return Operation("GET", path, summary, answer, **rest)


def _post(path: str, summary: str, answer: Any, content: Any, **rest: Any) -> Operation:
    return Operation("POST", path, summary, answer, content=content, **rest)


OPERATIONS: list[Operation] = [
    _post(
        f"{_M}/predict", "Ask for likely labels, or for the probabilities of some",
        asking.predict, wire.PredictRequest, answers=wire.PredictAnswer,
        example={"text": "def f(self):\n    return self.", "k": 3},
    ),
    _post(
        f"{_M}/learn", "Teach examples; they are on disk and learned when the answer comes",
        teaching.learn, wire.LearnRequest, answers=wire.LearnAnswer, right="learn",
        example={"examples": [{"text": "import ", "label": "os"}]},
    ),
    _post(
        f"{_M}/complete", "Complete Python code at its end",
        asking.complete, wire.CompleteRequest, answers=wire.CompleteAnswer,
        example={"source": "import os\nos.pa", "k": 5},
    ),
    _post(
        f"{_M}/explain", "Ask why a row gives a label its probability",
        asking.explain, wire.ExplainRequest, example={"text": "import ", "label": "os"},
    ),
    _post(
        f"{_M}/rows", "Ask which rows suit a label best",
        asking.rows, wire.RowsRequest, answers=wire.RowsAnswer,
        example={"rows": [{"text": "import "}, {"text": "return "}], "labels": ["os"], "k": 1},
    ),
    _get("/v1/models", "List the models", models.list_models),
    _get(_M, "Read what a model is and how good", models.read_model),
    Operation(
        "PUT", _M, "Serve one more model: a model file, or JSON for a new one", models.add_model,
        right="admin", takes="application/octet-stream", status=201,
    ),
    Operation(
        "DELETE", _M, "Forget a model and its examples", models.remove_model,
        right="admin", status=204,
    ),
    _get(
        f"{_M}/quality", "Read scores, learning curve, reliability and new labels",
        models.model_quality,
    ),
    _get(
        f"{_M}/tree", "Look at a part of the tree, or at the path to a label", models.model_tree,
        parameters={
            "node": "The node to look at; 0 is the root.",
            "levels": "How many levels below it.",
            "label": "The label whose path is wanted instead.",
        },
    ),
    _get(
        f"{_M}/labels", "Search labels by a part of their names", models.search_labels,
        parameters={"containing": "The part.", "most": "How many, at most 100."},
    ),
    Operation(
        "POST", f"{_M}/snapshot", "Write a snapshot now", teaching.snapshot, right="learn"
    ),
    _get(f"{_M}/snapshot", "List the snapshots", teaching.read_snapshots),
    _post(
        f"{_M}/trim", "Forget the oldest examples of the log", teaching.trim, wire.TrimRequest,
        right="admin", example={"upto": 1000},
    ),
    _get("/livez", "Does the process answer?", health.livez, right=None),
    _get("/readyz", "Can everything be asked and taught?", health.readyz, right=None),
    _get("/metrics", "Measurements for Prometheus", health.metrics, media="text/plain"),
    _get("/v1/nothing", "Do nothing, to measure what a request costs", health.nothing),
    _get("/v1/projects", "List models as Annif's projects", annif.list_projects),
    _get("/v1/projects/{model}", "Read a model as Annif's project", annif.read_project),
    Operation(
        "POST", "/v1/projects/{model}/suggest", "Suggest labels as Annif does", annif.suggest,
        takes=_FORM, example={"text": "a text", "limit": 5},
    ),
    _get(
        "/v2", "Open Inference Protocol: the server", open_inference.inference_server,
        plain_errors=True,
    ),
    _get(
        "/v2/health/live", "Open Inference Protocol: liveness", open_inference.inference_live,
        right=None, plain_errors=True,
    ),
    _get(
        "/v2/health/ready", "Open Inference Protocol: readiness", open_inference.inference_ready,
        right=None, plain_errors=True,
    ),
    _get(
        "/v2/models/{model}", "Open Inference Protocol: a model", open_inference.inference_model,
        plain_errors=True,
    ),
    _get(
        "/v2/models/{model}/ready", "Open Inference Protocol: whether a model is there",
        open_inference.inference_model_ready, plain_errors=True,
    ),
    _post(
        "/v2/models/{model}/infer", "Open Inference Protocol: ask", open_inference.infer,
        wire.InferRequest, plain_errors=True,
        example={
            "inputs": [{"name": "text", "shape": [1], "datatype": "BYTES", "data": ["import "]}]
        },
    ),
]  # fmt: skip
"""The first ones are looked up fastest."""
