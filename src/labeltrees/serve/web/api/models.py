"""The models themselves: which there are, how good they are, what their trees look like."""

from __future__ import annotations

import asyncio
import os
import tempfile
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from starlette.responses import Response

from labeltrees import store
from labeltrees.errors import ModelFormatError
from labeltrees.models.capabilities import Above, BestRows, Explains, HasTree, Updates, can
from labeltrees.serve.learning.new_models import new_model
from labeltrees.serve.problems import Problem
from labeltrees.serve.wire import NewModel

if TYPE_CHECKING:
    from pathlib import Path

    from labeltrees.serve.learning.served import ServedModel
    from labeltrees.serve.web.api.operations import Call

__all__ = [
    "add_model",
    "list_models",
    "model_quality",
    "model_tree",
    "read_model",
    "remove_model",
    "search_labels",
]

_QUESTIONS = {"above": Above, "rows": BestRows, "explain": Explains, "tree": HasTree}
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
        "can_learn": served.can_learn,
        "demo": served.demo,
    }


async def read_model(call: Call) -> dict[str, Any]:
    """Tell of a model: labels, examples, settings, sizes, and how well it foresees."""
    served = call.server.served(call.name)
    about = await call.server.questions.elsewhere(served.model.describe)
    settings = getattr(served.model, "settings", None)
    return {
        **_short(served),
        "features": served.model.n_features,
        "columns": served.reader.columns,
        "answers": [name for name, each in _QUESTIONS.items() if can(served.model, each)],
        "learns_row_by_row": can(served.model, Updates) and not served.model.takes_label_sets,
        "settings": {} if settings is None else settings.to_dict(),
        "sizes": about,
        "memory_bytes": served.memory_bytes,
        "quality": served.quality.summary(),
    }


async def model_quality(call: Call) -> dict[str, Any]:
    """Tell how well examples were foreseen: scores, learning curve, reliability, new labels."""
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
    """Show a part of the tree: a node and what is below it; or the path to a label."""
    served = call.server.served(call.name)
    asked = call.request.query_params
    node, levels = _number(call, "node", 0, 2**31), _number(call, "levels", 1, _MOST_LEVELS)
    view = await call.server.questions.elsewhere(lambda: call.server.trees.of(served))
    found: dict[str, Any] = {"model": served.name, "seq": view.seq, "nodes": view.tree.n_nodes}
    if "label" in asked:
        leaf_of = _label_id(served, asked["label"])
        if leaf_of < 0 or leaf_of >= len(view.labels):
            raise Problem(404, "This label has not been learned.", kind="no-such-label")
        try:
            path = view.path(leaf_of)
        except ValueError:  # known, but without a leaf
            raise Problem(404, "This label has no leaf.", kind="no-such-label") from None
        return found | {"path": [view.node(each) for each in path]}
    return found | {"tree": view.subtree(node, levels)}


async def search_labels(call: Call) -> dict[str, Any]:
    """Find labels by a part of their name, with their leaves."""
    served = call.server.served(call.name)
    text = call.request.query_params.get("containing", "")
    most = _number(call, "most", 20, 100)
    if can(served.model, HasTree):
        view = await call.server.questions.elsewhere(lambda: call.server.trees.of(served))
        found = await call.server.questions.elsewhere(lambda: view.search(text, most))
    else:
        found = await call.server.questions.elsewhere(lambda: _containing(served, text, most))
    return {"model": served.name, "seq": served.seq, "labels": found}


def _containing(served: ServedModel, text: str, most: int) -> list[dict[str, Any]]:
    wanted = text.casefold()
    labels = served.model.vocabulary.labels.tolist()
    found = [label for label in labels if wanted in str(label).casefold()]
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
    """Serve one more model: a model file as it is, or JSON that says what it is to learn."""
    server = call.server
    name, writer = call.name, server.writer
    if (call.header("content-type") or "").startswith("application/json"):
        try:
            wanted = msgspec.json.decode(call.body, type=NewModel)
        except msgspec.ValidationError as error:
            raise Problem(422, f"{error}.", kind="bad-content") from None
        except (msgspec.DecodeError, RecursionError) as error:
            raise Problem(400, f"The body is not JSON: {error}.", kind="not-json") from None
        stored = await server.questions.elsewhere(lambda: new_model(wanted))
    else:
        stored = await server.questions.elsewhere(
            lambda: _from_bytes(call.body, server.folder.path)
        )
    served = await asyncio.wrap_future(writer.add(name, stored))
    return Response(msgspec.json.encode(_short(served)), 201, media_type="application/json")


def _from_bytes(body: bytes, folder: Path) -> store.StoredModel:
    """Return what a model file holds that came as the body of a request."""
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
    """Forget a model, its snapshots and its examples."""
    server = call.server
    name = server.served(call.name).name
    writer = server.writer
    await asyncio.wrap_future(writer.remove(name))
    server.instruments.forget(name)
    return Response(status_code=204)
