"""A model of all rows, measured on rows that it had not learned from."""

from __future__ import annotations

import time
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.autotrain.fitting import fit
from labeltrees.autotrain.holding_out import splits
from labeltrees.autotrain.rivals import MostFrequent, one_against_all
from labeltrees.autotrain.variants import best_variant
from labeltrees.evaluation import Evaluator
from labeltrees.evaluation.truth import task_of_profile
from labeltrees.models.extreme.spilling import check_space

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from numpy.typing import NDArray

    from labeltrees.autotrain.features import Features
    from labeltrees.autotrain.options import Recipe
    from labeltrees.data.chunk import Chunk
    from labeltrees.data.readers import DataProfile
    from labeltrees.evaluation.measuring import Predictor
    from labeltrees.evaluation.truth import Task
    from labeltrees.models.model import FittedModel

    Stage = Callable[[str], AbstractContextManager[Any]]

__all__ = ["MOST_ROWS_TWICE", "Measured", "Outcome", "train_on_all"]

MOST_ROWS_TWICE = 100_000
"""Up to so many rows a model learns again from all of them after it has been measured."""
_LEAST_ROWS = 10


@dataclass(frozen=True)
class Measured:
    """What was measured on held-out rows."""

    n_rows: int
    """How many rows were held out, in all parts."""
    n_parts: int
    """1, or into how many parts all rows were split, each held out once."""
    table: dict[str, dict[str, float]]
    """The scores of the model and its rivals, by name."""


@dataclass(frozen=True)
class Outcome:
    """A trained model and what there is to say of it."""

    model: FittedModel
    features: Features
    measured: Measured | None
    """None if there were too few rows to measure by."""
    from_all: bool
    """Whether the model has learned from the held-out rows as well."""
    recipe: Recipe
    """How it was made: as was asked for, or a variant of it."""
    n_compared: int | None = None
    """On how many rows variants were compared, if on some of many."""
    seconds: dict[str, float] = field(default_factory=dict)


def train_on_all(
    data: Chunk,
    profile: DataProfile,
    recipe: Recipe,
    *,
    features: Features,
    name: str = "the model",
    jobs: int | None = None,
    vary: bool = False,
    folder: Path | None = None,
    stage: Stage = nullcontext,
) -> Outcome:
    """Return the model of a recipe, measured on held-out rows and then taught all.

    Parameters
    ----------
    data : Chunk
    profile : DataProfile
        Of the data.
    recipe : Recipe
    features : Features
        How features are made of texts, not fitted yet.
    name : str
        What the model is called in the table.
    jobs : int or None
        Threads for its rivals.
    vary : bool
        Whether a variant of the recipe may be taken that is better on the rows to learn from.
    folder : path or None
        Where more rows than memory holds are kept in files, those of ``data`` already. The model
        is the same, and so are the scores; only of methods that train from files.
    stage : function of a text, returns a context
        Told what is being done.
    """
    clock = _Clock(stage)
    if folder is not None:
        check_space(folder, len(data.rows.indices), n_copies=1)
    parts = splits(data.n_rows, recipe.seed) if data.n_rows >= _LEAST_ROWS else []
    measured = _Table(task_of_profile(profile), len(parts))
    model, fitted = None, features
    n_compared = None
    for learned_rows, held_rows in parts:
        learned, held = _taken(data, learned_rows, folder), data.take(held_rows)
        with clock("making features"):
            fitted, learned = features.fit(learned)
            held = fitted.apply(held)
        if vary:
            with clock("comparing settings"):
                (recipe, n_compared), vary = best_variant(recipe, learned, profile), False
        with clock("learning"):
            model = fit(recipe, learned, folder)
        with clock("measuring"):
            measured.add(name, model, held)
        rival = one_against_all(learned, profile, seed=recipe.seed, jobs=jobs)
        if rival is not None and _is_other(rival, recipe, folder):
            with clock("learning one-against-all, to compare"):
                measured.add("one-against-all", fit(rival, learned, folder), held)
        measured.add("most frequent labels", MostFrequent(learned), held)
    from_all = model is None or data.n_rows <= MOST_ROWS_TWICE
    if from_all:
        model = None  # its memory is that of the next one
        with clock("making features"):
            fitted, whole = features.fit(data)
        with clock("learning from all rows"):
            model = fit(recipe, whole, folder)
    assert model is not None
    return Outcome(model, fitted, measured.scores(), from_all, recipe, n_compared, clock.seconds)


def _taken(data: Chunk, rows: NDArray[np.int64], folder: Path | None) -> Chunk:
    """Return rows to learn from; of very many in their order: files are read from their start."""
    if data.n_rows > MOST_ROWS_TWICE:
        rows = np.sort(rows)
    if folder is None:
        return data.take(rows)
    from labeltrees.models.extreme.spilling import taken_in_files

    return taken_in_files(data, rows, folder)


class _Table:
    """The evaluations of a model and its rivals, on the same held-out parts of the rows."""

    def __init__(self, task: Task, n_parts: int) -> None:
        self.task, self.n_parts = task, n_parts
        self._evaluators: dict[str, Evaluator] = {}
        self._n_added: dict[str, int] = {}

    def add(self, name: str, model: Predictor, held: Chunk) -> None:
        """Let a model predict for the rows of a part."""
        self._evaluators.setdefault(name, Evaluator(task=self.task)).add(model, held)
        self._n_added[name] = self._n_added.get(name, 0) + 1

    def scores(self) -> Measured | None:
        """Return the scores of those who predicted for all parts, None if there are no parts."""
        if not self.n_parts:
            return None
        found = {
            name: evaluator.evaluation()
            for name, evaluator in self._evaluators.items()
            if self._n_added[name] == self.n_parts  # a rival may be affordable for some parts only
        }
        n_rows = next(iter(found.values())).n_rows
        table = {name: evaluation.headline for name, evaluation in found.items()}
        return Measured(n_rows, self.n_parts, table)


def _is_other(rival: Recipe, recipe: Recipe, folder: Path | None) -> bool:
    """Whether a rival is another model, which can learn from where the rows are."""
    if rival.method is not recipe.method:
        return folder is None
    return bool(rival.settings != recipe.settings)


class _Clock:
    """Seconds by what was done meanwhile."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, what: str) -> Iterator[None]:
        started = time.perf_counter()
        with self.stage(what):
            yield
        spent = time.perf_counter() - started
        self.seconds[what] = self.seconds.get(what, 0.0) + spent
