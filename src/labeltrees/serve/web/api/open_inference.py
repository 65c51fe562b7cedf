"""The Open Inference Protocol, version 2: tensors in, tensors out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labeltrees import __version__
from labeltrees.serve.problems import Problem
from labeltrees.serve.wire import Row

if TYPE_CHECKING:
    from labeltrees.serve.learning.served import ServedModel
    from labeltrees.serve.web.api.operations import Call
    from labeltrees.serve.wire import InferRequest, InferTensor

__all__ = [
    "infer",
    "inference_live",
    "inference_model",
    "inference_model_ready",
    "inference_ready",
    "inference_server",
]


async def inference_live(call: Call) -> dict[str, Any]:  # noqa: ARG001
    """Tell that the server lives."""
    return {"live": True}


async def inference_ready(call: Call) -> dict[str, Any]:
    """Tell whether the server is ready."""
    if call.server.trouble is not None:
        raise Problem(503, call.server.trouble, kind="not-ready")
    return {"ready": True}


async def inference_server(call: Call) -> dict[str, Any]:  # noqa: ARG001
    """Tell which server it is."""
    return {"name": "labeltrees", "version": __version__, "extensions": []}


async def inference_model(call: Call) -> dict[str, Any]:
    """Tell which tensors a model takes and gives."""
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
    """Tell that a model is there to be asked."""
    return {"name": call.server.served(call.name).name, "ready": True}


async def infer(call: Call) -> dict[str, Any]:
    """Answer rows with their k likeliest labels; ``k`` is a parameter of the request."""
    asked: InferRequest = call.content
    served = call.server.served(call.name)
    k = asked.parameters.get("k", 5)
    if not isinstance(k, int) or not 1 <= k <= 1000:
        raise Problem(422, f"k must be an integer in [1, 1000], got {k!r:.60}.")
    if len(asked.inputs) != 1:
        raise Problem(422, f"One input is needed, got {len(asked.inputs)}.")
    sent = _rows(asked.inputs[0], served)
    call.server.limits.check_rows(len(sent))
    seq = served.seq
    answers = await call.server.questions.top(served, sent, k) if sent else []
    width = max((len(each.labels) for each in answers), default=0)
    labels: list[str] = []
    probabilities: list[float] = []
    for each in answers:
        left = width - len(each.labels)
        labels += [str(label) for label in each.labels] + [""] * left
        probabilities += each.probabilities + [0.0] * left
    shape = [len(answers), width]
    found = {
        "model_name": served.name,
        "model_version": str(seq),
        "outputs": [
            {"name": "labels", "datatype": "BYTES", "shape": shape, "data": labels},
            {"name": "probabilities", "datatype": "FP64", "shape": shape, "data": probabilities},
        ],
    }
    return found if asked.id is None else {"id": asked.id, **found}


def _rows(tensor: InferTensor, served: ServedModel) -> list[Row]:
    if tensor.datatype == "BYTES":
        texts = tensor.data
        if not all(isinstance(each, str) for each in texts):
            raise Problem(422, "The data of a BYTES tensor must be strings.")
        if tensor.shape not in ([len(texts)], [len(texts), 1]):
            raise Problem(422, f"The shape {tensor.shape} does not fit {len(texts)} strings.")
        return [Row(str(text)) for text in texts]
    if tensor.datatype not in ("FP32", "FP64", "INT32", "INT64"):
        raise Problem(422, f"The datatype {tensor.datatype!r:.40} is not known.")
    width = served.model.n_features
    if len(tensor.shape) != 2 or tensor.shape[1] != width:
        raise Problem(422, f"The shape must be [rows, {width}], got {tensor.shape}.")
    values = _flat(tensor.data)
    if tensor.shape[0] < 0 or len(values) != tensor.shape[0] * width:
        raise Problem(422, f"The shape {tensor.shape} does not fit {len(values)} numbers.")
    return [Row(None, values[i : i + width]) for i in range(0, len(values), width)]


def _flat(data: list[Any]) -> list[float | list[float]]:
    values: list[float | list[float]] = []
    for each in data:
        own = each if isinstance(each, list) else [each]
        if not all(isinstance(value, (int, float)) for value in own):
            raise Problem(422, "The data of this tensor must be numbers.")
        values += [float(value) for value in own]
    return values
