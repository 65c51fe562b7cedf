"""Models without training: new ones, and the demo, which is served if no model is named."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees import _core, checks
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.python_source import N_FEATURES, PythonSource
from labeltrees.errors import ArgumentError, ModelFormatError
from labeltrees.models.model import stored_width
from labeltrees.models.registry import method_of_model, methods
from labeltrees.serve.learning.quality import ProgressiveQuality
from labeltrees.serve.problems import Problem
from labeltrees.store import TRANSFORM

if TYPE_CHECKING:
    from labeltrees.models.method import Method
    from labeltrees.models.model import FittedModel
    from labeltrees.progress import Progress
    from labeltrees.serve.wire import NewModel
    from labeltrees.store import StoredModel

DEMO = "demo"
DEMO_EXAMPLES = 200_000
"""Number of examples that the demo learns at its first start, which takes some seconds."""

_DEMO_BATCH = 2048
_LEARNS = ("text", "features", "python")


def new_model(request: NewModel) -> StoredModel:
    """Return the stored form of a model without training.

    A model of texts learns words and pairs of words. A model of features takes any names. A model
    of Python code learns which identifier comes next.

    >>> from labeltrees.serve.wire import NewModel
    >>> new_model(NewModel("features")).model
    'RefinedTreesModel'
    """
    checks.choice("learns", request.learns, _LEARNS)
    streaming = [name for name, each in methods().items() if each.streams and not each.is_baseline]
    method = methods()[checks.choice("method", request.method, streaming)]
    if request.learns != "text":
        model = _started(method, request.settings, _core.HASHED_WIDTH)
        about = {"format": "python"} if request.learns == "python" else {"format": "jsonl"}
        return model.stored(extra={"input": about})
    from labeltrees.transforms import hashed_text_features, to_tensors, width_of

    words = hashed_text_features()
    width = width_of(words)
    assert width is not None
    facts, tensors = to_tensors(words)
    model = _started(method, request.settings, width)
    stored = model.stored(extra={"input": {"format": "jsonl"}})
    own = {f"transform.{name}": tensor for name, tensor in tensors.items()}
    return replace(stored, tensors=stored.tensors | own, transform={"transformer": facts})


def new_model_like(stored: StoredModel, settings: dict[str, Any]) -> StoredModel:
    """Return a model without training of the same method, which takes the same rows.

    >>> from labeltrees.serve.wire import NewModel
    >>> new_model_like(new_model(NewModel("features")), {"refine": 0}).model
    'ConditionalTreeModel'
    """
    method = method_of_model(stored.model)
    if method is None or not method.streams:
        raise ArgumentError(f"a {stored.model} cannot learn row by row.")
    model = _started(method, settings, stored_width(stored.facts))
    extra = {name: stored.extra[name] for name in ("input",) if name in stored.extra}
    fresh = model.stored(extra=extra)
    own = {name: t for name, t in stored.tensors.items() if name.startswith(TRANSFORM)}
    return replace(fresh, tensors=fresh.tensors | own, transform=stored.transform)


def _started(method: Method, given: dict[str, Any], n_features: int) -> FittedModel:
    defaults = method.settings_class().to_dict()
    try:
        settings = method.settings_class.from_dict(defaults | given, n_labels=0)
    except ModelFormatError as error:
        raise Problem(422, f"settings: {error}", kind="bad-content") from None
    started: FittedModel = method.start(settings, n_features)
    return started


def demo_model(progress: Progress, n_examples: int = DEMO_EXAMPLES) -> StoredModel:
    """Return the stored form of a model that has learned the beginning of the built-in stream."""
    model = _started(methods()["conditional"], {}, N_FEATURES)
    updated: Any = model
    quality = ProgressiveQuality()
    for chunk in PythonSource(limit=n_examples, chunk_rows=_DEMO_BATCH):
        weights = np.ones(chunk.n_rows, np.float32)
        labels = RaggedLabels.of_single(chunk.labels)
        predicted = updated.update(chunk.rows, labels, weights, k=1)
        ids = model.vocabulary.ids(chunk.labels)
        seqs = np.zeros(chunk.n_rows, np.int64)
        quality.observe(predicted, labels, ids, weights, seqs=seqs)
        window = quality.window()
        progress.advance(
            chunk.n_rows, log_loss=round(window["log_loss"], 3), labels=len(model.vocabulary)
        )
    about = {"demo": True, "quality": quality.state()}
    return model.stored(extra={"input": {"format": "python"}, "serve": about})
