"""The estimators, one file each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labeltrees import store
from labeltrees.errors import ModelFormatError
from labeltrees.estimators.baselines.frequency_table import FrequencyTableClassifier
from labeltrees.estimators.baselines.one_against_all import OneAgainstAllClassifier
from labeltrees.estimators.boosting.classifier import AdacondClassifier
from labeltrees.estimators.conditional import ConditionalTreeClassifier
from labeltrees.estimators.contract import LabelClassifier
from labeltrees.estimators.extreme import ExtremeRegressor
from labeltrees.estimators.filter import FilterTreeClassifier
from labeltrees.estimators.lom import LOMTreeClassifier
from labeltrees.estimators.online import OnlineClassifier
from labeltrees.estimators.self_terminating import SelfTerminatingTreeClassifier
from labeltrees.estimators.tree_queries import TreeQueries

if TYPE_CHECKING:
    import os

__all__ = [
    "AdacondClassifier",
    "ConditionalTreeClassifier",
    "ExtremeRegressor",
    "FilterTreeClassifier",
    "FrequencyTableClassifier",
    "LOMTreeClassifier",
    "LabelClassifier",
    "OneAgainstAllClassifier",
    "OnlineClassifier",
    "SelfTerminatingTreeClassifier",
    "TreeQueries",
    "class_named",
    "from_stored",
    "load",
]

_BY_NAME: dict[str, type[LabelClassifier]] = {
    cls.__name__: cls
    for cls in (
        ConditionalTreeClassifier,
        OneAgainstAllClassifier,
        FrequencyTableClassifier,
        SelfTerminatingTreeClassifier,
        AdacondClassifier,
        LOMTreeClassifier,
        FilterTreeClassifier,
        ExtremeRegressor,
    )
}


def load(path: str | os.PathLike[str], *, mapped: bool = False) -> LabelClassifier:
    """Return the estimator saved at ``path``, as it was when saved.

    A truncated, damaged or foreign file raises `ModelFormatError`. With ``mapped`` the tensors stay
    in the file until they are used: loading is fast whatever their size, the model's structure is
    checked but not the tensors' checksums, and the file must not be changed in place meanwhile
    (`save` replaces it, which is safe).
    """
    return from_stored(store.read(path, mapped=mapped))


def from_stored(stored: store.StoredModel) -> LabelClassifier:
    """Return the estimator that a model file holds."""
    return class_named(stored.kind).from_stored(stored)


def class_named(kind: str) -> type[LabelClassifier]:
    """Return the estimator class of this name, or raise `ModelFormatError`."""
    if kind not in _BY_NAME:
        raise ModelFormatError(
            f"the file holds a {kind!r}; this library knows {', '.join(_BY_NAME)}."
        )
    return _BY_NAME[kind]
