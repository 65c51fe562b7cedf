"""From options to a recipe: a method, its settings, and how hard to try."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from labeltrees.autotrain.fitting import Recipe
from labeltrees.errors import ArgumentError

if TYPE_CHECKING:
    from labeltrees.cli.methods import Chosen

__all__ = ["Effort", "recipe_of"]

Effort = Literal["fast", "usual", "best"]

_EFFORTS: dict[str, dict[str, dict[str, Any]]] = {
    # Validation rows of clinc150: log loss .362, .289, .281 with 1, 4 and 8 (docs/training.md).
    "conditional": {"fast": {"n_trees": 1}, "best": {"n_trees": 8, "refine": 16}},
    "xreg": {"fast": {"n_trees": 1}, "best": {"n_trees": 6}},
}


def recipe_of(
    chosen: Chosen, *, effort: Effort = "usual", one_label: str = "each", of_texts: bool = False
) -> Recipe:
    """Return how the model is made; options that were given go before what the effort says.

    The columns of ``of_texts`` are words, which stay as they are however few they are.
    """
    if effort != "usual" and chosen.name not in _EFFORTS:
        raise ArgumentError(f"--{effort} is not an option of --model {chosen.name}.")
    more = _EFFORTS.get(chosen.name, {}).get(effort, {}) | ({"scale": None} if of_texts else {})
    settings = chosen.settings(**{n: v for n, v in more.items() if n not in chosen.given})
    recipe = Recipe(chosen.name, settings, one_label, seed=chosen.seed)
    return replace(recipe, base=_base(chosen)) if chosen.name == "adacond" else recipe


def _base(chosen: Chosen) -> Any:
    """Return the estimator that "adacond" boosts, with those of its settings that were given."""
    from labeltrees.estimators import estimator_of

    # Plain trees, because rounds are many.
    plain: dict[str, Any] = {"structure": "online", "n_trees": 1, "refine": 0}
    more = plain if chosen.base.name == "conditional" else {}
    settings = chosen.settings_of(
        chosen.base, **{n: v for n, v in more.items() if n not in chosen.given}
    )
    own = {name: getattr(settings, name) for name in settings.names()}
    return estimator_of(chosen.base.model_class)(**own)
