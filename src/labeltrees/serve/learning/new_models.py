"""Models that have learned nothing yet."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labeltrees import _core, checks
from labeltrees.errors import ModelFormatError
from labeltrees.models.conditional.settings import ConditionalSettings
from labeltrees.models.conditional.start import start_on_stream
from labeltrees.models.model import stored_width
from labeltrees.serve.problems import Problem
from labeltrees.store import TRANSFORM

if TYPE_CHECKING:
    from labeltrees.serve.wire import NewModel
    from labeltrees.store import StoredModel

__all__ = ["new_model", "new_model_like"]

_LEARNS = ("text", "features", "python")


def new_model(wanted: NewModel) -> StoredModel:
    """Return a conditional tree that knows nothing, as its file would hold it.

    Of texts it learns words and pairs of words; of features, any names; of Python code, the
    identifier that comes next.

    >>> from labeltrees.serve.wire import NewModel
    >>> new_model(NewModel("features")).model
    'RefinedTreesModel'
    """
    checks.choice("learns", wanted.learns, _LEARNS)
    settings = _settings(wanted.settings)
    if wanted.learns != "text":
        model = start_on_stream(settings, _core.HASHED_WIDTH)
        about = {"format": "python"} if wanted.learns == "python" else {"format": "jsonl"}
        return model.stored(extra={"input": about})
    from labeltrees.transforms import hashed_text_features, to_tensors, width_of

    words = hashed_text_features()
    width = width_of(words)
    assert width is not None
    facts, tensors = to_tensors(words)
    stored = start_on_stream(settings, width).stored(extra={"input": {"format": "jsonl"}})
    own = {f"transform.{name}": tensor for name, tensor in tensors.items()}
    return replace(stored, tensors=stored.tensors | own, transform={"transformer": facts})


def new_model_like(stored: StoredModel, settings: dict[str, Any]) -> StoredModel:
    """Return a conditional tree that knows nothing and takes the same rows as another model.

    >>> from labeltrees.serve.wire import NewModel
    >>> new_model_like(new_model(NewModel("features")), {"refine": 0}).model
    'ConditionalTreeModel'
    """
    model = start_on_stream(_settings(settings), stored_width(stored.facts))
    extra = {name: stored.extra[name] for name in ("input",) if name in stored.extra}
    fresh = model.stored(extra=extra)
    own = {name: t for name, t in stored.tensors.items() if name.startswith(TRANSFORM)}
    return replace(fresh, tensors=fresh.tensors | own, transform=stored.transform)


def _settings(given: dict[str, Any]) -> ConditionalSettings:
    try:
        return ConditionalSettings.from_dict(ConditionalSettings().to_dict() | given, n_labels=0)
    except ModelFormatError as error:
        raise Problem(422, f"settings: {error}", kind="bad-content") from None
