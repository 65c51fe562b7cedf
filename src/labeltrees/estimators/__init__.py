"""The estimators: scikit-learn's contract around the models, one file or folder per method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labeltrees.errors import ArgumentError
from labeltrees.estimators.baselines.frequency_table import FrequencyTableClassifier
from labeltrees.estimators.baselines.one_against_all import OneAgainstAllClassifier
from labeltrees.estimators.boosting.classifier import AdacondClassifier
from labeltrees.estimators.conditional import ConditionalTreeClassifier
from labeltrees.estimators.contract import LabelClassifier, LabelEstimator
from labeltrees.estimators.extreme import ExtremeRegressor
from labeltrees.estimators.filter import FilterTreeClassifier
from labeltrees.estimators.lom import LOMTreeClassifier
from labeltrees.estimators.online import OnlineClassifier
from labeltrees.estimators.self_terminating import SelfTerminatingTreeClassifier
from labeltrees.models.registry import load_model

if TYPE_CHECKING:
    import os

    from labeltrees.models.model import FittedModel

__all__ = [
    "AdacondClassifier",
    "ConditionalTreeClassifier",
    "ExtremeRegressor",
    "FilterTreeClassifier",
    "FrequencyTableClassifier",
    "LOMTreeClassifier",
    "LabelClassifier",
    "LabelEstimator",
    "OneAgainstAllClassifier",
    "OnlineClassifier",
    "SelfTerminatingTreeClassifier",
    "estimator_of",
    "load",
]

_OF_MODEL: dict[str, type[LabelEstimator]] = {
    "ConditionalTreeModel": ConditionalTreeClassifier,
    "PecocTreeModel": ConditionalTreeClassifier,
    "PooledTreesModel": ConditionalTreeClassifier,
    "RefinedTreesModel": ConditionalTreeClassifier,
    "FilterTreeModel": FilterTreeClassifier,
    "LomTreeModel": LOMTreeClassifier,
    "SelfTerminatingTreeModel": SelfTerminatingTreeClassifier,
    "ExtremeModel": ExtremeRegressor,
    "AdacondModel": AdacondClassifier,
    "OneAgainstAllModel": OneAgainstAllClassifier,
    "FrequencyTableModel": FrequencyTableClassifier,
}


def load(path: str | os.PathLike[str], *, mapped: bool = False) -> LabelEstimator:
    """Return the estimator saved at ``path``, as it was when saved.

    Parameters
    ----------
    path : path
        A file that `save` wrote. A truncated, damaged or foreign file raises `ModelFormatError`.
    mapped : bool, default False
        Whether the tensors stay in the file until they are used: loading is fast whatever their
        size, the model's structure is checked but not the tensors' checksums, and the file must
        not be changed in place meanwhile (`save` replaces it, which is safe).

    Returns
    -------
    an estimator
        Its ``model_`` is what `labeltrees.load_model` returns.

    Examples
    --------
    >>> import labeltrees
    >>> tree = labeltrees.ConditionalTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["a", "b"] * 20)
    >>> tree.save("tree.safetensors")
    >>> labeltrees.load("tree.safetensors").predict([[1, 0]]).tolist()
    ['a']
    """
    model = load_model(path, mapped=mapped)
    return estimator_of(model).around(model)


def estimator_of(model: FittedModel) -> type[LabelEstimator]:
    """Return the estimator class of a model.

    >>> from labeltrees.models.lom.model import LomTreeModel
    >>> from labeltrees.models.lom.settings import LomSettings
    >>> estimator_of(LomTreeModel.empty(LomSettings(), 3)).__name__
    'LOMTreeClassifier'
    """
    kind = type(model).__name__
    if kind not in _OF_MODEL:
        raise ArgumentError.of("model", kind, f"one of {', '.join(_OF_MODEL)}")
    return _OF_MODEL[kind]
