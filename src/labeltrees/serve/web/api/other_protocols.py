"""The interfaces of other projects: the Open Inference Protocol (version 2), and Annif's REST."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from labeltrees import __version__
from labeltrees.serve.problems import Problem
from labeltrees.serve.wire import InputRow

if TYPE_CHECKING:
    from labeltrees.serve.learning.served import ServedModel
    from labeltrees.serve.web.api.operations import Call
    from labeltrees.serve.wire import InferRequest, InferTensor

_MOST_SUGGESTIONS = 1000


async def inference_live(call: Call) -> dict[str, Any]:  # noqa: ARG001
    """Return that the server is alive."""
    return {"live": True}


async def inference_ready(call: Call) -> dict[str, Any]:
    """Return that the server is ready, or a problem."""
    if call.server.trouble is not None:
        raise Problem(503, call.server.trouble, kind="not-ready")
    return {"ready": True}


async def inference_server(call: Call) -> dict[str, Any]:  # noqa: ARG001
    """Return the name and version of the server."""
    return {"name": "labeltrees", "version": __version__, "extensions": []}


async def inference_model(call: Call) -> dict[str, Any]:
    """Return the input and output tensors of a model."""
    served = call.server.served(call.name)
    name, datatype, shape = "features", "FP32", [-1, served.model.n_features]
    if served.reader.kind != "features":
        name, datatype, shape = "text", "BYTES", [-1]
    return {
        "name": served.name,
        "versions": [str(served.seq)],
        "platform": "labeltrees",
        "inputs": [{"name": name, "datatype": datatype, "shape": shape}],
        "outputs": [
            {"name": "labels", "datatype": "BYTES", "shape": [-1, -1]},
            {"name": "probabilities", "datatype": "FP64", "shape": [-1, -1]},
        ],
    }


async def inference_model_ready(call: Call) -> dict[str, Any]:
    """Return that a model is ready."""
    return {"name": call.server.served(call.name).name, "ready": True}


async def infer(call: Call) -> dict[str, Any]:
    """Return the k most likely labels of rows; ``k`` is a parameter of the request."""
    request: InferRequest = call.content
    served = call.server.served(call.name)
    k = request.parameters.get("k", 5)
    if not isinstance(k, int) or not 1 <= k <= 1000:
        raise Problem(422, f"k must be an integer in [1, 1000], got {k!r:.60}.")
    if len(request.inputs) != 1:
        raise Problem(422, f"A request must have one input, got {len(request.inputs)}.")
    sent = _rows(request.inputs[0], served)
    call.server.limits.check_rows(len(sent))
    seq = served.seq
    found = await call.server.predictions.top(served, sent, k) if sent else []
    width = max((len(each.labels) for each in found), default=0)
    labels: list[str] = []
    probabilities: list[float] = []
    for each in found:
        left = width - len(each.labels)
        labels += [str(label) for label in each.labels] + [""] * left
        probabilities += each.probabilities + [0.0] * left
    shape = [len(found), width]
    response = {
        "model_name": served.name,
        "model_version": str(seq),
        "outputs": [
            {"name": "labels", "datatype": "BYTES", "shape": shape, "data": labels},
            {"name": "probabilities", "datatype": "FP64", "shape": shape, "data": probabilities},
        ],
    }
    return response if request.id is None else {"id": request.id, **response}


def _rows(tensor: InferTensor, served: ServedModel) -> list[InputRow]:
    if tensor.datatype == "BYTES":
        texts = tensor.data
        if not all(isinstance(each, str) for each in texts):
            raise Problem(422, "The data of a BYTES tensor must be strings.")
        if tensor.shape not in ([len(texts)], [len(texts), 1]):
            raise Problem(422, f"The shape {tensor.shape} does not fit {len(texts)} strings.")
        return [InputRow(str(text)) for text in texts]
    if tensor.datatype not in ("FP32", "FP64", "INT32", "INT64"):
        raise Problem(
            422, "The datatype must be BYTES, FP32, FP64, INT32 or INT64, got "
            f"{tensor.datatype!r:.40}.",
        )  # fmt: skip
    width = served.model.n_features
    if len(tensor.shape) != 2 or tensor.shape[1] != width:
        raise Problem(422, f"The shape must be [rows, {width}], got {tensor.shape}.")
    values = _flat(tensor.data)
    if tensor.shape[0] < 0 or len(values) != tensor.shape[0] * width:
        raise Problem(422, f"The shape {tensor.shape} does not fit {len(values)} numbers.")
    return [InputRow(None, values[i : i + width]) for i in range(0, len(values), width)]


def _flat(data: list[Any]) -> list[float | list[float]]:
    values: list[float | list[float]] = []
    for each in data:
        own = each if isinstance(each, list) else [each]
        if not all(isinstance(value, (int, float)) for value in own):
            raise Problem(422, "The data of this tensor must be numbers.")
        values += [float(value) for value in own]
    return values


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
    """List the models as projects of Annif."""
    models = list(call.server.folder.models.values())
    return {"projects": [_project(each, call.server.started) for each in models]}


async def read_project(call: Call) -> dict[str, Any]:
    """Describe a model as a project of Annif."""
    return _project(call.server.served(call.name), call.server.started)


async def suggest(call: Call) -> dict[str, Any]:
    """Suggest labels for a text; as in Annif, a form has 'text', 'limit' and 'threshold'."""
    served = call.server.served(call.name)
    try:
        form = parse_qs(call.body.decode(), keep_blank_values=True, max_num_fields=20)
    except (UnicodeDecodeError, ValueError) as error:
        raise Problem(400, f"The body is not a form: {error}.", kind="not-a-form") from None
    if "text" not in form:
        raise Problem(422, "The form has no 'text'.", kind="bad-content")
    limit = _number(form, "limit", 10, _MOST_SUGGESTIONS)
    threshold = _number(form, "threshold", 0.0, 1.0)
    row = InputRow(form["text"][-1])
    if limit < 1:
        return {"results": []}
    found = (await call.server.predictions.top(served, [row], int(limit)))[0]
    return {
        "results": [
            {"uri": str(label), "label": str(label), "notation": None, "score": p}
            for label, p in zip(found.labels, found.probabilities, strict=True)
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
