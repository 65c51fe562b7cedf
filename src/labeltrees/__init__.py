"""Probabilities over millions of labels, in logarithmic time."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labeltrees import cards, decisions, hub, metrics
    from labeltrees.autotrain._report import TrainingReport
    from labeltrees.autotrain._train import train
    from labeltrees.estimators import (
        AdacondClassifier,
        Bm25Ranker,
        ConditionalTreeClassifier,
        DismecRanker,
        ExtremeRegressor,
        FilterTreeClassifier,
        FrequencyTableClassifier,
        LeastSquaresRegressor,
        LemlRegressor,
        LOMTreeClassifier,
        MultiLabelTreeClassifier,
        OneAgainstAllClassifier,
        PfastreXmlRanker,
        ProxmlRanker,
        RankSvmRanker,
        SelfTerminatingTreeClassifier,
        TextClassifier,
        XlrRanker,
        load,
        save,
    )
    from labeltrees.evaluation import evaluate
    from labeltrees.models.registry import load_model
    from labeltrees.tree import LabelTree

__version__ = "0.2.0"
__all__ = [
    "AdacondClassifier",
    "Bm25Ranker",
    "ConditionalTreeClassifier",
    "DismecRanker",
    "ExtremeRegressor",
    "FilterTreeClassifier",
    "FrequencyTableClassifier",
    "LOMTreeClassifier",
    "LabelTree",
    "LeastSquaresRegressor",
    "LemlRegressor",
    "MultiLabelTreeClassifier",
    "OneAgainstAllClassifier",
    "PfastreXmlRanker",
    "ProxmlRanker",
    "RankSvmRanker",
    "SelfTerminatingTreeClassifier",
    "TextClassifier",
    "TrainingReport",
    "XlrRanker",
    "cards",
    "decisions",
    "evaluate",
    "hub",
    "load",
    "load_model",
    "metrics",
    "save",
    "train",
]

_MODULES = ("cards", "decisions", "hub", "metrics")
# Imported when first used, so that reading a model does not wait for scikit-learn.
_HOME = {
    "LabelTree": "labeltrees.tree",
    "TrainingReport": "labeltrees.autotrain._report",
    "evaluate": "labeltrees.evaluation",
    "load_model": "labeltrees.models.registry",
    "train": "labeltrees.autotrain._train",
}
"""The modules of public names that are not estimators."""


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"labeltrees.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'labeltrees' has no attribute {name!r}")
    return getattr(import_module(_HOME.get(name, "labeltrees.estimators")), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
