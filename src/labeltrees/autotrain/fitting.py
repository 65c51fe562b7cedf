"""A method taught all rows that are there: one call for every method."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from labeltrees.autotrain.gathering import label_lists, weights_of
from labeltrees.autotrain.memory_shares import kept_within_memory
from labeltrees.autotrain.methods import methods
from labeltrees.data.label_sets import LabelSets
from labeltrees.data.targets import learned_labels, weighted_by_label
from labeltrees.errors import DataError
from labeltrees.metrics import label_matrix
from labeltrees.models.capabilities import LearnsSets, can

if TYPE_CHECKING:
    from pathlib import Path

    from labeltrees.autotrain.methods import Method
    from labeltrees.data.chunk import Chunk, OneLabel
    from labeltrees.models.model import FittedModel

__all__ = ["Recipe", "fit"]


@dataclass(frozen=True)
class Recipe:
    """A method with its settings, and what a method of one label makes of rows with several."""

    method: str
    settings: Any
    one_label: str = "each"
    base: Any = None
    """What "adacond" boosts: an estimator."""
    seed: int = 0
    facts: dict[str, Any] = field(default_factory=dict, compare=False)
    """What the last fit had to say of itself."""


def fit(recipe: Recipe, data: Chunk, folder: Path | None = None) -> FittedModel:
    """Return the model that a recipe makes of the data.

    With a ``folder``, for "xreg" alone, rows may be in files, and more of them is kept there.
    """
    method = methods()[recipe.method]
    if method.name == "xreg":
        return _fit_extreme(recipe.settings, data, folder)
    if method.name == "adacond":
        return _fit_boosted(recipe, data)
    if can(method.model_class, LearnsSets):
        return _fit_sets(method, recipe.settings, data)
    if not method.streams:
        return _fit_estimator(method, recipe, data)
    rows, labels, weights = data.examples(cast("OneLabel", recipe.one_label), recipe.seed)
    weights = weighted_by_label(labels, weights, recipe.settings.class_weight)
    model: Any
    if method.name == "conditional":
        from labeltrees.models.conditional.start import start_on_all

        model = start_on_all(recipe.settings, rows, labels, weights)
    else:
        known = learned_labels(labels, weights)
        model = method.model_class.over(recipe.settings, rows.n_features, known)
    with kept_within_memory(model):
        model.learn_in_passes(rows, labels, weights)
    return cast("FittedModel", model)


def _fit_extreme(settings: Any, data: Chunk, folder: Path | None) -> FittedModel:
    from labeltrees.models.extreme.files import relevance_of_chunk
    from labeltrees.models.extreme.training import train_extreme

    relevance = relevance_of_chunk(data).scaled()
    return train_extreme(data.rows, relevance, settings, folder=folder)


def _fit_sets(method: Method, settings: Any, data: Chunk) -> FittedModel:
    """Return a model that learned all labels of each row together, in passes over the rows."""
    weights = weights_of(data)
    learned = data if weights.all() else data.take(np.flatnonzero(weights))
    sets = LabelSets.of_chunk(learned)
    if not len(sets.labels):
        raise DataError("the data have no row with a label.")
    names = learned_labels(sets.labels, np.empty(0, np.float32))
    model = method.model_class.over(settings, learned.rows, sets, names)
    with kept_within_memory(model):
        model.learn_in_passes(learned.rows, sets, weights_of(learned))
    return cast("FittedModel", model)


def _fit_estimator(method: Method, recipe: Recipe, data: Chunk) -> FittedModel:
    """Return the model of the method's estimator, which knows how to fit."""
    from labeltrees.estimators import estimator_of

    settings = recipe.settings
    own = {name: getattr(settings, name) for name in settings.names()}
    estimator: Any = estimator_of(method.model_class)(**own)
    if method.several:
        estimator.fit(data.rows, label_lists(data))
    else:
        estimator.fit(**_fitted_to(estimator, recipe, data))
    return cast("FittedModel", estimator.model_)


def _fitted_to(estimator: Any, recipe: Recipe, data: Chunk) -> dict[str, Any]:
    """Return what a classifier is fitted to: distributions if it takes them, else labels."""
    if data.is_distribution and getattr(estimator, "accepts_distributions", False):
        labels = learned_labels(data.labels, np.empty(0, np.float32))
        y = label_matrix(data.labels, data.relevance, classes=labels, starts=data.label_starts)
        y.data /= np.repeat(y.sum(axis=1), np.diff(y.indptr))  # 32-bit floats hardly sum to 1
        return {"X": data.rows, "y": y, "sample_weight": data.weights, "classes": labels}
    rows, labels, weights = data.examples(cast("OneLabel", recipe.one_label), recipe.seed)
    return {"X": rows, "y": labels, "sample_weight": weights}


def _fit_boosted(recipe: Recipe, data: Chunk) -> FittedModel:
    from sklearn.base import clone

    from labeltrees.estimators import AdacondClassifier

    settings = recipe.settings
    own = {name: getattr(settings, name) for name in settings.names()}
    boosted = AdacondClassifier(clone(recipe.base), **own)
    boosted.fit(**_fitted_to(boosted, recipe, data))
    recipe.facts.update(
        rounds=len(boosted.bound_),
        stop_reason=boosted.stop_reason_,
        eta=boosted.eta_,
        rows_above_eta_round_1=float(boosted.train_exceed_[0]),
        rows_above_eta=float(boosted.train_exceed_[-1]),
        bound=float(boosted.bound_[-1]),
    )
    model: FittedModel = boosted.model_
    return model
