"""A saved model as a command asks for it, without scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labeltrees import store
from labeltrees.models.registry import model_from

if TYPE_CHECKING:
    from labeltrees.models.model import FittedModel

ModelArgument = Annotated[Path, typer.Argument(help="Model file.")]


def open_model(path: Path) -> tuple[store.StoredModel, FittedModel]:
    """Return what a model file holds, as it is stored and as a model."""
    stored = store.read(path)
    return stored, model_from(stored)
