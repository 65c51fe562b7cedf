"""Operations on the state of the server and of its models: list, describe, add and remove."""

from __future__ import annotations

import asyncio
import os
import tempfile
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from starlette.responses import Response

from labeltrees import __version__, store
from labeltrees.errors import ModelFormatError
from labeltrees.models.capabilities import Above, BestRows, Explains, HasTree, Updates, can
from labeltrees.serve.learning.new_models import new_model
from labeltrees.serve.problems import Problem
from labeltrees.serve.wire import NewModel

if TYPE_CHECKING:
    from pathlib import Path

    from labeltrees.serve.learning.served import ServedModel
    from labeltrees.serve.web.api.operations import Call

_CAPABILITIES = {"above": Above, "rows": BestRows, "explain": Explains, "tree": HasTree}
_MOST_LEVELS = 6


async def list_models(call: Call) -> dict[str, Any]:
    """List the models."""
    return {"models": [_short(each) for each in list(call.server.folder.models.values())]}


def _short(served: ServedModel) -> dict[str, Any]:
    return {
        "name": served.name,
        "kind": type(served.model).__name__,
        "takes": served.reader.kind,
        "seq": served.seq,
        "labels": served.n_labels,
        "several_labels": served.several_labels,
        "can_learn": served.can_learn,
        "demo": served.demo,
    }


async def read_model(call: Call) -> dict[str, Any]:
    """Describe a model: labels, examples, settings, sizes, and scores of its predictions."""
    served = call.server.served(call.name)
    about = await call.server.predictions.in_thread(served.model.describe)
    settings = getattr(served.model, "settings", None)
    return {
        **_short(served),
        "features": served.model.n_features,
        "columns": served.reader.columns,
        "capabilities": [name for name, each in _CAPABILITIES.items() if can(served.model, each)],
        "learns_row_by_row": can(served.model, Updates),
        "settings": {} if settings is None else settings.to_dict(),
        "sizes": about,
        "memory_bytes": served.memory_bytes,
        "quality": served.quality.summary(),
    }


async def model_quality(call: Call) -> dict[str, Any]:
    """Return the quality of a model: scores, learning curve, reliability and new labels."""
    served = call.server.served(call.name)
    quality = served.quality
    return {
        "model": served.name,
        "seq": served.seq,
        **quality.summary(),
        "curve": quality.curve(),
        "reliability": quality.reliability(),
        "new_labels": [
            {"label": label, "seq": seq} for label, seq in reversed(list(quality.new_labels))
        ],
    }


async def model_tree(call: Call) -> dict[str, Any]:
    """Return a node of the tree with its descendants, or the path to a label."""
    served = call.server.served(call.name)
    query = call.request.query_params
    node, levels = _number(call, "node", 0, 2**31), _number(call, "levels", 1, _MOST_LEVELS)
    view = await call.server.predictions.in_thread(lambda: call.server.trees.of(served))
    found: dict[str, Any] = {"model": served.name, "seq": view.seq, "nodes": view.tree.n_nodes}
    if "label" in query:
        label_id = _label_id(served, query["label"])
        if label_id < 0 or label_id >= len(view.labels):
            raise Problem(404, "The model has not learned this label.", kind="no-such-label")
        try:
            path = view.path(label_id)
        except ValueError:  # a known label without a leaf
            raise Problem(404, "This label has no leaf.", kind="no-such-label") from None
        return found | {"path": [view.node(each) for each in path]}
    return found | {"tree": view.subtree(node, levels)}


async def search_labels(call: Call) -> dict[str, Any]:
    """Return labels whose names contain a text, with their leaves."""
    served = call.server.served(call.name)
    text = call.request.query_params.get("containing", "")
    most = _number(call, "most", 20, 100)
    if can(served.model, HasTree):
        view = await call.server.predictions.in_thread(lambda: call.server.trees.of(served))
        found = await call.server.predictions.in_thread(lambda: view.search(text, most))
    else:
        found = await call.server.predictions.in_thread(lambda: _containing(served, text, most))
    return {"model": served.name, "seq": served.seq, "labels": found}


def _containing(served: ServedModel, text: str, most: int) -> list[dict[str, Any]]:
    part = text.casefold()
    labels = served.model.vocabulary.labels.tolist()
    found = [label for label in labels if part in str(label).casefold()]
    return [{"label": label} for label in found[:most]]


def _label_id(served: ServedModel, text: str) -> int:
    vocabulary = served.model.vocabulary
    if vocabulary.is_text:
        return int(vocabulary.ids([text])[0])
    try:
        return int(vocabulary.ids(np.array([int(text)], np.int64))[0])
    except (ValueError, OverflowError):
        return -1


def _number(call: Call, name: str, default: int, most: int) -> int:
    text = call.request.query_params.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdecimal() or int(text[:20]) > most:
        raise Problem(
            422, f"{name} must be an integer in [0, {most}], got {text!r:.60}.", kind="bad-content"
        )
    return int(text)


async def add_model(call: Call) -> Response:
    """Serve one more model: a model file, or JSON that describes a new model."""
    server = call.server
    name, writer = call.name, server.writer
    if (call.header("content-type") or "").startswith("application/json"):
        try:
            request = msgspec.json.decode(call.body, type=NewModel)
        except msgspec.ValidationError as error:
            raise Problem(422, f"{error}.", kind="bad-content") from None
        except (msgspec.DecodeError, RecursionError) as error:
            raise Problem(400, f"The body is not JSON: {error}.", kind="not-json") from None
        stored = await server.predictions.in_thread(lambda: new_model(request))
    else:
        stored = await server.predictions.in_thread(
            lambda: _from_bytes(call.body, server.folder.path)
        )
    served = await asyncio.wrap_future(writer.add(name, stored))
    return Response(msgspec.json.encode(_short(served)), 201, media_type="application/json")


def _from_bytes(body: bytes, folder: Path) -> store.StoredModel:
    """Return the content of a model file that is the body of a request."""
    handle, path = tempfile.mkstemp(prefix=".arriving-", dir=folder)
    try:
        with open(handle, "wb") as file:
            file.write(body)
        return store.read(path, name="the body")
    except ModelFormatError as error:
        raise Problem(422, str(error), kind="bad-model-file") from None
    finally:
        os.unlink(path)


async def remove_model(call: Call) -> Response:
    """Delete a model, its snapshots and its examples."""
    server = call.server
    name = server.served(call.name).name
    writer = server.writer
    await asyncio.wrap_future(writer.remove(name))
    server.instruments.forget(name)
    return Response(status_code=204)


async def livez(call: Call) -> dict[str, Any]:  # noqa: ARG001
    """Return that the process responds."""
    return {"status": "alive", "version": __version__}


async def readyz(call: Call) -> dict[str, Any]:
    """Return that models are loaded and examples can be saved, or a problem."""
    trouble = call.server.trouble
    if trouble is not None:
        raise Problem(503, trouble, kind="not-ready")
    return {"status": "ready"}


async def metrics(call: Call) -> Response:
    """Return the metrics in the text format of Prometheus."""
    server = call.server
    text = server.instruments.text(server.folder, server.learning)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


async def nothing(call: Call) -> dict[str, Any]:  # noqa: ARG001
    """Return an empty object, to measure the cost of a request."""
    return {}
