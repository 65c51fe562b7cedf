"""From options to a recipe: a method, its settings, and how hard to try."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from labeltrees.choosing.fitting import Recipe
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
    from labeltrees.estimators import (
        ConditionalTreeClassifier,
        FrequencyTableClassifier,
        OneAgainstAllClassifier,
        SelfTerminatingTreeClassifier,
    )
    from labeltrees.models.conditional.settings import ConditionalSettings

    name = chosen.given.get("base", "tree")
    if name == "tree":
        usable = ConditionalSettings.names()
        own = {n: value for n, value in chosen.given.items() if n in usable}
        own |= {"random_state": chosen.seed, "n_jobs": chosen.jobs}
        # Plain trees, because rounds are many.
        plain: dict[str, Any] = {"structure": "online", "n_trees": 1, "refine": 0}
        return ConditionalTreeClassifier(**plain | own)
    return {
        "self-terminating": SelfTerminatingTreeClassifier(random_state=chosen.seed),
        "one-against-all": OneAgainstAllClassifier(random_state=chosen.seed),
        "frequency-table": FrequencyTableClassifier(),
    }[name]
