"""Annif's REST interface, as far as Annif's own `http` backend asks for it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from labeltrees.serve.problems import Problem
from labeltrees.serve.wire import Row

if TYPE_CHECKING:
    from labeltrees.serve.learning.served import ServedModel
    from labeltrees.serve.web.api.operations import Call

__all__ = ["list_projects", "read_project", "suggest"]

_MOST = 1000


def _project(served: ServedModel, started: float) -> dict[str, Any]:
    moment = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(started))
    return {
        "project_id": served.name,
        "name": served.name,
        "language": "",
        "backend": {"backend_id": "labeltrees"},
        "vocab": {
            "vocab_id": served.name,
            "languages": [],
            "loaded": True,
            "size": served.n_labels,
        },
        "vocab_language": "",
        "is_trained": served.n_labels > 0,
        "modification_time": moment,
    }


async def list_projects(call: Call) -> dict[str, Any]:
    """List the models as Annif's projects."""
    models = list(call.server.folder.models.values())
    return {"projects": [_project(each, call.server.started) for each in models]}


async def read_project(call: Call) -> dict[str, Any]:
    """Tell of a model what Annif asks of a project."""
    return _project(call.server.served(call.name), call.server.started)


async def suggest(call: Call) -> dict[str, Any]:
    """Suggest labels for a text, as Annif does: a form with 'text', 'limit' and 'threshold'."""
    served = call.server.served(call.name)
    try:
        form = parse_qs(call.body.decode(), keep_blank_values=True, max_num_fields=20)
    except (UnicodeDecodeError, ValueError) as error:
        raise Problem(400, f"The body is not a form: {error}.", kind="not-a-form") from None
    if "text" not in form:
        raise Problem(422, "The form has no 'text'.", kind="bad-content")
    limit = _number(form, "limit", 10, _MOST)
    threshold = _number(form, "threshold", 0.0, 1.0)
    row = Row(form["text"][-1])
    if limit < 1:
        return {"results": []}
    answer = (await call.server.questions.top(served, [row], int(limit)))[0]
    return {
        "results": [
            {"uri": str(label), "label": str(label), "notation": None, "score": p}
            for label, p in zip(answer.labels, answer.probabilities, strict=True)
            if p >= threshold
        ]
    }


def _number(form: dict[str, list[str]], name: str, default: float, most: float) -> float:
    try:
        value = float(form.get(name, [str(default)])[-1])
    except ValueError:
        value = -1.0
    if not 0 <= value <= most:
        raise Problem(422, f"{name!r} must be a number in [0, {most:g}].", kind="bad-content")
    return value
