"""Models that have learned nothing yet."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labeltrees import _core, checks
from labeltrees.errors import ModelFormatError
from labeltrees.models.conditional.settings import ConditionalSettings
from labeltrees.models.conditional.start import start_on_stream
from labeltrees.serve.problems import Problem

if TYPE_CHECKING:
    from labeltrees.serve.wire import NewModel
    from labeltrees.store import StoredModel

__all__ = ["new_model"]

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
    try:
        settings = ConditionalSettings.from_dict(
            ConditionalSettings().to_dict() | wanted.settings, n_labels=0
        )
    except ModelFormatError as error:
        raise Problem(422, f"settings: {error}", kind="bad-content") from None
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
