"""Settings between which no rule decides: the rows themselves do, where that takes little time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.autotrain.fitting import fit
from labeltrees.evaluation import Evaluator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labeltrees.autotrain.options import Recipe
    from labeltrees.data.chunk import Chunk
    from labeltrees.data.readers import DataProfile

__all__ = ["best_variant"]

_N_PARTS = 3
_LEAST_ROWS = 1000
_MOST_WORK = 2e6
"""Stored values of the rows compared on, times labels per row: some seconds."""


def best_variant(recipe: Recipe, data: Chunk, profile: DataProfile) -> tuple[Recipe, int | None]:
    """Return the recipe, or the variant of it that is best in three parts of the data.

    Of very many rows some are drawn at random, as many as take some seconds.

    Parameters
    ----------
    recipe : Recipe
    data : Chunk
        With features. Each part is asked about once and learned from otherwise.
    profile : DataProfile

    Returns
    -------
    recipe : Recipe
        By the mean of P@1, P@3 and P@5. The recipe itself where there is nothing to try or too few
        rows to tell.
    n_drawn : int or None
        On how many rows recipes were compared, if on some of many.
    """
    others = recipe.method.variants if profile.several_labels and not profile.graded else ()
    n_rows = min(data.n_rows, int(data.n_rows * _MOST_WORK / max(_work(data), 1.0)))
    if not others or n_rows < _LEAST_ROWS:
        return recipe, None
    is_drawn = n_rows < data.n_rows
    some = _drawn(data, n_rows, recipe.seed) if is_drawn else data
    tried = [recipe, *(replace(recipe, settings=_with(recipe, other)) for other in others)]
    best = max(tried, key=lambda each: _mean_precision(each, some))
    return best, n_rows if is_drawn else None


def _drawn(data: Chunk, n_rows: int, seed: int) -> Chunk:
    drawn = np.random.default_rng(seed).permutation(data.n_rows)[:n_rows]
    return data.take(np.sort(drawn))


def _work(data: Chunk) -> float:
    return len(data.rows.indices) * max(1.0, len(data.labels) / max(1, data.n_rows))


def _with(recipe: Recipe, other: Mapping[str, Any]) -> Any:
    return replace(recipe.settings, **other)


def _mean_precision(recipe: Recipe, data: Chunk) -> float:
    order = np.random.default_rng(recipe.seed).permutation(data.n_rows)
    parts = np.array_split(order, _N_PARTS)
    evaluator = Evaluator(task="labels")
    for i, part in enumerate(parts):
        others = np.concatenate([each for j, each in enumerate(parts) if j != i])
        evaluator.add(fit(recipe, data.take(others)), data.take(part))
    found = evaluator.evaluation().scores
    return float(np.mean([value for name, value in found.items() if name.startswith("P@")]))
