"""A saved model as a command asks for it. scikit-learn is imported only now: it takes a second."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labeltrees import store
from labeltrees.errors import ArgumentError

if TYPE_CHECKING:
    from labeltrees.estimators import (
        ExtremeRegressor,
        LabelClassifier,
        LOMTreeClassifier,
        TreeQueries,
    )

__all__ = ["ModelArgument", "as_tree", "open_model"]

ModelArgument = Annotated[Path, typer.Argument(help="Model file.")]


def open_model(path: Path) -> tuple[store.StoredModel, LabelClassifier]:
    """Return what a model file holds, as it is stored and as an estimator."""
    stored = store.read(path)
    from labeltrees.estimators import from_stored

    return stored, from_stored(stored)


def as_tree(
    estimator: LabelClassifier, what: str
) -> TreeQueries | LOMTreeClassifier | ExtremeRegressor:
    """Return the estimator as one that answers a tree's questions, or raise `ArgumentError`."""
    from labeltrees.estimators import ExtremeRegressor, LOMTreeClassifier, TreeQueries

    if not isinstance(estimator, (TreeQueries, LOMTreeClassifier, ExtremeRegressor)):
        raise ArgumentError.of("model", type(estimator).__name__, f"a tree for {what}")
    return estimator
