"""From options to a recipe: a method, its settings, and how hard to try."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from labeltrees.autotrain.fitting import Recipe
from labeltrees.errors import ArgumentError

if TYPE_CHECKING:
    from labeltrees.cli.methods import Chosen
    from labeltrees.data.chunk import OneLabel

__all__ = ["Effort", "recipe_of"]

Effort = Literal["fast", "usual", "best"]


def recipe_of(
    chosen: Chosen,
    *,
    effort: Effort = "usual",
    one_label: OneLabel = "each",
    of_texts: bool = False,
) -> Recipe:
    """Return how the model is made; options that were given go before what the effort says.

    The columns of ``of_texts`` are words, which stay as they are however few they are.
    """
    method = chosen.method
    if effort != "usual" and effort not in method.effort_settings:
        raise ArgumentError(f"--{effort} is not an option of --model {chosen.name}.")
    more = {**method.effort_settings.get(effort, {}), **({"scale": None} if of_texts else {})}
    settings = chosen.settings(**{n: v for n, v in more.items() if n not in chosen.given})
    recipe = Recipe(method, settings, one_label, seed=chosen.seed)
    return replace(recipe, base=_base(chosen)) if method.takes_base else recipe


def _base(chosen: Chosen) -> Any:
    """Return the estimator that is boosted, with those of its settings that were given."""
    method = chosen.base
    more = {n: v for n, v in method.base_settings.items() if n not in chosen.given}
    settings = chosen.settings_of(method, **more)
    return method.estimator_class(**{name: getattr(settings, name) for name in settings.names()})
