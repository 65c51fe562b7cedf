"""A method taught all rows that are there: one call for every method."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from labeltrees.choosing.gathering import label_lists
from labeltrees.data.targets import learned_labels

if TYPE_CHECKING:
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


def fit(recipe: Recipe, data: Chunk) -> FittedModel:
    """Return the model that a recipe makes of the data."""
    if recipe.method == "xreg":
        return _fit_extreme(recipe.settings, data)
    if recipe.method == "adacond":
        return _fit_boosted(recipe, data)
    how = cast("OneLabel", recipe.one_label)
    rows, labels, weights = data.examples(how, recipe.seed)
    model: Any
    if recipe.method == "conditional":
        from labeltrees.models.conditional.start import start_on_all

        model = start_on_all(recipe.settings, rows, labels, weights)
    else:
        kind = _KINDS[recipe.method]()
        model = kind.over(recipe.settings, rows.n_features, learned_labels(labels, weights))
    model.learn_in_passes(rows, labels, weights)
    return cast("FittedModel", model)


def _lom() -> Any:
    from labeltrees.models.lom.model import LomTreeModel

    return LomTreeModel


def _filter() -> Any:
    from labeltrees.models.filter.model import FilterTreeModel

    return FilterTreeModel


def _one_against_all() -> Any:
    from labeltrees.models.baselines.one_against_all import OneAgainstAllModel

    return OneAgainstAllModel


_KINDS = {"lomtree": _lom, "filtertree": _filter, "one-against-all": _one_against_all}


def _fit_extreme(settings: Any, data: Chunk) -> FittedModel:
    from labeltrees.models.extreme.relevance import as_relevance
    from labeltrees.models.extreme.training import train_extreme

    relevance = as_relevance(label_lists(data))
    return train_extreme(data.rows, relevance, settings)


def _fit_boosted(recipe: Recipe, data: Chunk) -> FittedModel:
    from sklearn.base import clone

    from labeltrees.estimators import AdacondClassifier

    how = cast("OneLabel", recipe.one_label)
    rows, labels, weights = data.examples(how, recipe.seed)
    settings = recipe.settings
    boosted = AdacondClassifier(clone(recipe.base), eta=settings.eta, n_rounds=settings.n_rounds)
    boosted.fit(rows, labels, sample_weight=weights)
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
