"""Make features of texts, and fit the model of any method to rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from labeltrees.autotrain._memory import kept_within_memory
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.rows import as_rows
from labeltrees.data.targets import learned_labels, weighted_by_label
from labeltrees.errors import DataError
from labeltrees.metrics import label_matrix

if TYPE_CHECKING:
    from pathlib import Path

    from labeltrees.autotrain._options import Recipe
    from labeltrees.data.chunk import Chunk
    from labeltrees.models.model import FittedModel


@dataclass(frozen=True)
class Features:
    """A transformer that makes features of texts, or None if rows have features."""

    transform: Any = None
    """A scikit-learn vectoriser."""

    def fit(self, data: Chunk) -> tuple[Features, Chunk]:
        """Return features fitted to these texts, and the data with them."""
        if data.texts is None or self.transform is None:
            return self, data
        from sklearn.base import clone

        fitted = clone(self.transform)
        try:
            rows = as_rows(fitted.fit_transform(data.texts))
        except ValueError as error:  # such as an empty vocabulary
            raise DataError(f"No features can be made from the texts: {error}") from None
        return replace(self, transform=fitted), replace(data, rows=rows)

    def apply(self, data: Chunk) -> Chunk:
        """Return the data with the features of their texts."""
        if data.texts is None or self.transform is None:
            return data
        return replace(data, rows=as_rows(self.transform.transform(data.texts)))

    @property
    def names(self) -> list[str] | None:
        """The words that the features count, if they are known."""
        if not hasattr(self.transform, "get_feature_names_out"):
            return None
        return list(self.transform.get_feature_names_out())


def fit(recipe: Recipe, data: Chunk, folder: Path | None = None) -> FittedModel:
    """Return the model of a recipe, fitted to the data.

    A ``folder`` is only for methods that train from files. The rows may be in files, and training
    keeps more of them there.
    """
    method = recipe.method
    if method.trains_from_files:
        return method.fit_chunk(recipe.settings, data, folder)
    if not method.streams:
        return _fit_estimator(recipe, data)
    if method.several_labels:
        return _fit_sets(recipe, data)
    single = data.with_one_label(recipe.one_label, recipe.seed)
    rows, labels = single.rows, single.labels
    weights = weighted_by_label(labels, single.row_weights, recipe.settings.class_weight)
    model = method.start_on_rows(recipe.settings, rows, labels, weights)
    with kept_within_memory(model):
        model.learn_in_passes(rows, single.targets, weights)
    return cast("FittedModel", model)


def _fit_sets(recipe: Recipe, data: Chunk) -> FittedModel:
    """Return a model that learned all labels of each row together, in passes over the rows."""
    weights = data.row_weights
    learned = data if weights.all() else data.take(np.flatnonzero(weights))
    sets = RaggedLabels.of_chunk(learned)
    if not len(sets.labels):
        raise DataError("No row of the data has a label.")
    names = learned_labels(sets.labels, np.empty(0, np.float32))
    model = recipe.method.model_class.over(recipe.settings, learned.rows, sets, names)
    with kept_within_memory(model):
        model.learn_in_passes(learned.rows, sets, learned.row_weights)
    return cast("FittedModel", model)


def _fit_estimator(recipe: Recipe, data: Chunk) -> FittedModel:
    """Return the model of the method's estimator, which knows how to fit."""
    method, settings = recipe.method, recipe.settings
    own = {name: getattr(settings, name) for name in settings.names()}
    if method.takes_base:
        from sklearn.base import clone

        own["base"] = clone(recipe.base)
    estimator = method.estimator_class(**own)
    if method.several_labels:
        estimator.fit(data.rows, label_lists(data))
    else:
        estimator.fit(**_fitted_to(estimator, recipe, data))
    recipe.facts.update(method.facts_of_fit(estimator))
    return cast("FittedModel", estimator.model_)


def _fitted_to(estimator: Any, recipe: Recipe, data: Chunk) -> dict[str, Any]:
    """Return the arguments of a classifier's ``fit``, with distributions if it accepts them."""
    if data.is_distribution and getattr(estimator, "accepts_distributions", False):
        labels = learned_labels(data.labels, np.empty(0, np.float32))
        y = label_matrix(data.labels, data.relevance, classes=labels, starts=data.label_starts)
        y.data /= np.repeat(y.sum(axis=1), np.diff(y.indptr))  # 32-bit floats hardly sum to 1
        return {"X": data.rows, "y": y, "sample_weight": data.weights, "classes": labels}
    single = data.with_one_label(recipe.one_label, recipe.seed)
    return {"X": single.rows, "y": single.labels, "sample_weight": single.weights}


def label_lists(data: Chunk) -> list[Any]:
    """Return the labels of each row as a list, or as a dict of labels and relevance."""
    if data.relevance is None:
        return list(data.targets.lists())
    graded = replace(data.targets, labels=data.relevance).lists()
    pairs = zip(data.targets.lists(), graded, strict=True)
    return [dict(zip(labels, values, strict=True)) for labels, values in pairs]
