"""Probabilities over millions of labels, in logarithmic time."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labeltrees import cards, decisions, hub, metrics
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
    "XlrRanker",
    "cards",
    "decisions",
    "evaluate",
    "hub",
    "load",
    "load_model",
    "metrics",
    "save",
]

# Imported when first used, so that reading a model does not wait for scikit-learn.
_HOME = {
    "AdacondClassifier": "labeltrees.estimators",
    "Bm25Ranker": "labeltrees.estimators",
    "ConditionalTreeClassifier": "labeltrees.estimators",
    "DismecRanker": "labeltrees.estimators",
    "ExtremeRegressor": "labeltrees.estimators",
    "FilterTreeClassifier": "labeltrees.estimators",
    "FrequencyTableClassifier": "labeltrees.estimators",
    "LOMTreeClassifier": "labeltrees.estimators",
    "LabelTree": "labeltrees.tree",
    "LeastSquaresRegressor": "labeltrees.estimators",
    "LemlRegressor": "labeltrees.estimators",
    "MultiLabelTreeClassifier": "labeltrees.estimators",
    "OneAgainstAllClassifier": "labeltrees.estimators",
    "PfastreXmlRanker": "labeltrees.estimators",
    "ProxmlRanker": "labeltrees.estimators",
    "RankSvmRanker": "labeltrees.estimators",
    "SelfTerminatingTreeClassifier": "labeltrees.estimators",
    "TextClassifier": "labeltrees.estimators",
    "XlrRanker": "labeltrees.estimators",
    "evaluate": "labeltrees.evaluation",
    "load": "labeltrees.estimators",
    "load_model": "labeltrees.models.registry",
    "save": "labeltrees.estimators",
}


def __getattr__(name: str) -> Any:
    if name in {"cards", "decisions", "hub", "metrics"}:
        return import_module(f"labeltrees.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'labeltrees' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
