"""Fit a model to all rows, and measure it and simpler models on held-out rows."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labeltrees.autotrain._fitting import fit
from labeltrees.autotrain._options import Recipe
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.evaluation import Evaluator
from labeltrees.evaluation._truth import task_of_profile
from labeltrees.models.extreme.spilling import check_space
from labeltrees.models.model import TopLabels
from labeltrees.models.registry import methods

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from numpy.typing import ArrayLike

    from labeltrees.autotrain._fitting import Features
    from labeltrees.data.chunk import Chunk
    from labeltrees.data.readers import DataProfile
    from labeltrees.data.rows import Rows
    from labeltrees.evaluation._measuring import Predictor
    from labeltrees.evaluation._truth import Task
    from labeltrees.models.model import FittedModel

    Stage = Callable[[str], AbstractContextManager[Any]]

MOST_ROWS_TWICE = 100_000
"""Maximum number of rows for which a measured model is trained again on all of them."""
_LEAST_ROWS = 10
"""Minimum number of rows to measure by."""
FEW_ROWS = 1000
"""Below this number of rows, five-fold cross-validation is used."""
_N_HELD_OUT_PARTS = 5
_HELD_OUT_SHARE = 0.1
_MOST_HELD = 10_000
_N_VARIANT_PARTS = 3
"""Number of parts of the training rows in which variants are compared."""
_LEAST_VARIANT_ROWS = 1000
_MOST_VARIANT_WORK = 2e6
"""Maximum number of stored values times labels per row in a comparison, which takes seconds."""
_MOST_SIMPLE_WORK = 5e8
"""Maximum number of labels times stored values for one-against-all, which takes about a second."""
_MOST_SIMPLE_LABELS = 256
"""Maximum number of labels of one-against-all where rows have several."""

Split = tuple[NDArray[np.int64], NDArray[np.int64]]
"""The indices of training rows and of held-out rows."""


@dataclass(frozen=True)
class Measured:
    """The scores on held-out rows."""

    n_rows: int
    """The number of held-out rows in all parts."""
    n_parts: int
    """The number of parts, each of which was held out once; 1 for a single split."""
    table: dict[str, dict[str, float]]
    """The scores of the model and of simpler models, by their names."""


@dataclass(frozen=True)
class MeasuredFit:
    """A trained model with its scores."""

    model: FittedModel
    features: Features
    measured: Measured | None
    """The scores, or None for fewer than ten rows."""
    from_all: bool
    """Whether the model was trained on the held-out rows as well."""
    recipe: Recipe
    """The recipe that was passed, or the variant of it that was better."""
    n_compared: int | None = None
    """The number of rows on which variants were compared, or None for all of them."""


def fit_measured(
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
) -> MeasuredFit:
    """Return the model of a recipe, measured on held-out rows and then fitted to all rows.

    Parameters
    ----------
    data : Chunk
    profile : DataProfile
        The profile of the data.
    recipe : Recipe
    features : Features
        The transformer of texts, not fitted yet.
    name : str
        The name of the model in the table.
    jobs : int or None
        The number of threads for simpler models.
    vary : bool
        Whether to use a variant of the recipe if it is better on the training rows.
    folder : path or None
        The folder for rows that do not fit into memory, in which ``data`` is already. The model
        and the scores are the same. It is only for methods that train from files.
    stage : function of a text, returns a context
        The context in which each stage of the work is done, for progress.
    """
    if folder is not None:
        check_space(folder, len(data.rows.indices), n_copies=1)
    parts = splits(data.n_rows, recipe.seed) if data.n_rows >= _LEAST_ROWS else []
    measured = _Table(task_of_profile(profile), len(parts))
    model, fitted = None, features
    n_compared = None
    for learned_rows, held_rows in parts:
        learned, held = _taken(data, learned_rows, folder), data.take(held_rows)
        with stage("making features"):
            fitted, learned = features.fit(learned)
            held = fitted.apply(held)
        if vary:
            with stage("comparing settings"):
                (recipe, n_compared), vary = best_variant(recipe, learned, profile), False
        with stage("learning"):
            model = fit(recipe, learned, folder)
        with stage("measuring"):
            measured.add(name, model, held)
        simple = one_against_all(learned, profile, seed=recipe.seed, jobs=jobs)
        if simple is not None and _is_other(simple, recipe, folder):
            with stage("learning one-against-all, to compare"):
                measured.add("one-against-all", fit(simple, learned, folder), held)
        measured.add("most frequent labels", MostFrequent(learned), held)
    from_all = model is None or data.n_rows <= MOST_ROWS_TWICE
    if from_all:
        model = None  # frees its memory for the next one
        with stage("making features"):
            fitted, whole = features.fit(data)
        with stage("learning from all rows"):
            model = fit(recipe, whole, folder)
    assert model is not None
    return MeasuredFit(model, fitted, measured.scores(), from_all, recipe, n_compared)


def _taken(data: Chunk, rows: NDArray[np.int64], folder: Path | None) -> Chunk:
    """Return training rows. Many rows keep their order, because files are read from their start."""
    if data.n_rows > MOST_ROWS_TWICE:
        rows = np.sort(rows)
    if folder is None:
        return data.take(rows)
    from labeltrees.models.extreme.spilling import taken_in_files

    return taken_in_files(data, rows, folder)


class _Table:
    """The evaluations of several models on the same held-out rows."""

    def __init__(self, task: Task, n_parts: int) -> None:
        self.task, self.n_parts = task, n_parts
        self._evaluators: dict[str, Evaluator] = {}
        self._n_added: dict[str, int] = {}

    def add(self, name: str, model: Predictor, held: Chunk) -> None:
        """Let a model predict for the rows of a part."""
        self._evaluators.setdefault(name, Evaluator(task=self.task)).add(model, held)
        self._n_added[name] = self._n_added.get(name, 0) + 1

    def scores(self) -> Measured | None:
        """Return the scores of models that predicted for all parts, or None without parts."""
        if not self.n_parts:
            return None
        found = {
            name: evaluator.evaluation()
            for name, evaluator in self._evaluators.items()
            if self._n_added[name] == self.n_parts  # one-against-all may be too slow for some
        }
        n_rows = next(iter(found.values())).n_rows
        table = {name: evaluation.headline for name, evaluation in found.items()}
        return Measured(n_rows, self.n_parts, table)


def _is_other(simple: Recipe, recipe: Recipe, folder: Path | None) -> bool:
    """Return whether a simpler model differs, and can train on rows in a folder."""
    if simple.method is not recipe.method:
        return folder is None
    return bool(simple.settings != recipe.settings)


def splits(n_rows: int, seed: int = 0) -> list[Split]:
    """Return one split of the rows, or five if there are few rows.

    >>> [len(held) for _, held in splits(50_000)], [len(held) for _, held in splits(12)]
    ([5000], [3, 3, 2, 2, 2])
    """
    order = np.random.default_rng(seed).permutation(n_rows)
    if n_rows < FEW_ROWS:
        parts = np.array_split(order, min(_N_HELD_OUT_PARTS, n_rows))
        return [
            (np.concatenate([part for j, part in enumerate(parts) if j != i] or [order[:0]]), held)
            for i, held in enumerate(parts)
        ]
    n_held = min(int(_HELD_OUT_SHARE * n_rows), _MOST_HELD)
    return [(order[n_held:], order[:n_held])]


def best_variant(recipe: Recipe, data: Chunk, profile: DataProfile) -> tuple[Recipe, int | None]:
    """Return the recipe, or the variant of it that is best in three parts of the data.

    If there are very many rows, variants are compared on a random sample that takes some seconds.

    Parameters
    ----------
    recipe : Recipe
    data : Chunk
        The training rows with their features. Each part is held out once.
    profile : DataProfile

    Returns
    -------
    recipe : Recipe
        The best by the mean of P@1, P@3 and P@5. Without variants, or with few rows, it is the
        recipe that was passed.
    n_drawn : int or None
        The number of rows in the sample, or None if all rows were used.
    """
    others = recipe.method.variants if profile.several_labels and not profile.graded else ()
    n_rows = min(data.n_rows, int(data.n_rows * _MOST_VARIANT_WORK / max(_work(data), 1.0)))
    if not others or n_rows < _LEAST_VARIANT_ROWS:
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
    parts = np.array_split(order, _N_VARIANT_PARTS)
    evaluator = Evaluator(task="labels")
    for i, part in enumerate(parts):
        others = np.concatenate([each for j, each in enumerate(parts) if j != i])
        evaluator.add(fit(recipe, data.take(others)), data.take(part))
    found = evaluator.evaluation().scores
    return float(np.mean([value for name, value in found.items() if name.startswith("P@")]))


class MostFrequent:
    """Predict the frequencies of the labels for every row.

    The probability of a label is its share of the rows that have it, or the mean of its
    probabilities where rows have distributions.

    >>> import numpy as np
    >>> from labeltrees.data.chunk import Chunk
    >>> from labeltrees.data.labels import RaggedLabels
    >>> from labeltrees.data.rows import as_rows
    >>> rows, labels = as_rows(np.zeros((3, 1))), np.array(["a", "b", "b"], dtype=object)
    >>> learned = Chunk(rows, RaggedLabels.of_single(labels), None, 1)
    >>> MostFrequent(learned).top_labels(rows, 1)[0].tolist()
    [['b'], ['b'], ['b']]
    """

    def __init__(self, learned: Chunk) -> None:
        names, ids = np.unique(learned.labels, return_inverse=True)
        given = learned.relevance if learned.is_distribution else None
        counts = np.bincount(ids, given, minlength=len(names)).astype(np.float64)
        n_rows = counts.sum() if learned.is_distribution else learned.n_rows
        self.vocabulary = LabelVocabulary(names)
        self.p = np.minimum(counts / n_rows, 1.0)
        self._order = np.argsort(-counts, kind="stable")

    def has_learned(self, ids: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which label ids belong to labels of the rows."""
        return ids >= 0

    def top_labels(self, rows: Rows, k: int) -> TopLabels:
        """Return the k most frequent labels, for every row the same."""
        first = np.tile(self._order[:k], (rows.n_rows, 1))
        return TopLabels(self.vocabulary.labels[first], self.p[first])

    def label_probabilities(self, rows: Rows, labels: ArrayLike) -> NDArray[np.float64]:  # noqa: ARG002 - of all rows alike
        """Return how frequent each label is; 0 for labels of no row."""
        ids = self.vocabulary.ids(labels)
        return np.where(ids < 0, 0.0, self.p[ids])

    def probabilities(self, rows: Rows) -> NDArray[np.float64]:
        """Return how frequent every label is, (n_rows, n_labels)."""
        return np.tile(self.p, (rows.n_rows, 1))


def one_against_all(
    data: Chunk, profile: DataProfile, *, seed: int, jobs: int | None
) -> Recipe | None:
    """Return the recipe of a regressor for each label, or None if that takes long.

    For rows with several labels it is logistic regression of each label against the rest, which is
    a tree whose root has all labels as children.
    """
    if profile.n_labels * len(data.rows.indices) > _MOST_SIMPLE_WORK:
        return None
    if profile.several_labels and not profile.distributions:
        from labeltrees.models.extreme.settings import ExtremeSettings

        if profile.n_labels > _MOST_SIMPLE_LABELS or profile.graded:
            return None
        settings = ExtremeSettings(
            n_trees=1, max_leaf=_MOST_SIMPLE_LABELS, random_state=seed, n_jobs=jobs
        )
        return Recipe(methods()["xreg"], settings)
    from labeltrees.models.baselines.classifiers import OneAgainstAllSettings

    own = OneAgainstAllSettings(scale=None if profile.is_text else "auto", random_state=seed)
    return Recipe(methods()["one-against-all"], own, seed=seed)
