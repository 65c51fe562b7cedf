"""A model of all rows, measured on rows that it had not learned from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from labeltrees.autotrain import _held_out as held_out
from labeltrees.autotrain._fitting import Features, fit
from labeltrees.autotrain._held_out import MostFrequent, best_variant, fit_measured, splits
from labeltrees.autotrain._options import Recipe
from labeltrees.data.chunk import Chunk
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.readers import DataProfile
from labeltrees.data.rows import as_rows
from labeltrees.evaluation import Evaluator
from labeltrees.models.conditional.settings import ConditionalSettings
from labeltrees.models.extreme.settings import ExtremeSettings
from labeltrees.models.lom.model import LomSettings
from labeltrees.models.registry import methods

if TYPE_CHECKING:
    from labeltrees.models.method import Method

CONDITIONAL = Recipe(methods()["conditional"], ConditionalSettings())
EXTREME = Recipe(methods()["xreg"], ExtremeSettings())


def clouds(n_rows: int, n_labels: int, *, per_row: int = 1, noise: float = 0.3) -> Chunk:
    random = np.random.default_rng(0)
    centres = random.normal(size=(n_labels, 12))
    labels = np.array([random.permutation(n_labels)[:per_row] for _ in range(n_rows)])
    X = centres[labels].sum(axis=1) + noise * random.normal(size=(n_rows, 12))
    starts = per_row * np.arange(n_rows + 1)
    return Chunk(as_rows(X), RaggedLabels(labels.ravel().astype(np.int64), starts), None, 1)


@pytest.mark.parametrize("n_rows", [10, 999, 1000, 3000, 250_000])
def test_every_row_is_learned_from_or_held_out(n_rows: int) -> None:
    parts = splits(n_rows, seed=3)
    held_rows = np.concatenate([held for _, held in parts])
    assert len(np.unique(held_rows)) == len(held_rows)
    if n_rows < 1000:
        assert len(held_rows) == n_rows
    for learned, held in parts:
        assert len(learned) + len(held) == n_rows
        assert not np.intersect1d(learned, held).size
    assert len(parts[0][1]) <= 10_000


def test_the_model_is_measured_beside_its_rivals_and_then_learns_all() -> None:
    data = clouds(1500, 8)
    recipe = CONDITIONAL
    done = fit_measured(data, DataProfile.of([data]), recipe, features=Features())
    assert done.measured is not None
    assert done.measured.n_rows == 150
    table = done.measured.table
    assert table["the model"]["accuracy"] > 0.95
    assert table["the model"]["log loss"] < 0.3
    assert table["one-against-all"]["accuracy"] > 0.9
    assert table["most frequent labels"]["accuracy"] < 0.3
    assert done.from_all
    whole = fit(recipe, data)
    p = whole.label_probabilities(data.rows, data.labels)
    assert np.array_equal(done.model.label_probabilities(data.rows, data.labels), p)


def test_of_few_rows_each_is_held_out_once() -> None:
    data = clouds(120, 3)
    done = fit_measured(
        data,
        DataProfile.of([data]),
        CONDITIONAL,
        features=Features(),
    )
    assert done.measured is not None
    assert (done.measured.n_rows, done.measured.n_parts) == (120, 5)


def test_of_hardly_any_rows_nothing_is_measured_and_all_are_learned() -> None:
    data = clouds(9, 3)
    done = fit_measured(
        data,
        DataProfile.of([data]),
        CONDITIONAL,
        features=Features(),
    )
    assert done.measured is None
    assert done.from_all


def test_several_labels_are_measured_by_precision() -> None:
    data = clouds(1500, 20, per_row=2, noise=0.1)
    done = fit_measured(
        data,
        DataProfile.of([data]),
        Recipe(methods()["xreg"], ExtremeSettings()),
        features=Features(),
    )
    assert done.measured is not None
    table = done.measured.table
    assert table["the model"]["P@1"] > table["most frequent labels"]["P@1"] + 0.3
    assert "one-against-all" in table


def test_other_methods_learn_from_gathered_rows_as_well() -> None:
    data = clouds(600, 5)
    model = fit(Recipe(methods()["lomtree"], LomSettings()), data)
    assert np.mean(model.top_labels(data.rows, 1).labels[:, 0] == data.labels) > 0.6


def test_features_of_texts_are_fitted_to_learned_rows_alone() -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = [f"{word} morning" for word in ("good", "bad") * 600] + ["unheard of"]
    labels = np.array([0, 1] * 600 + [0])
    rows = as_rows(np.zeros((1201, 1)))
    data = Chunk(rows, RaggedLabels.of_single(labels), None, 1, texts=texts)
    fitted, learned = Features(TfidfVectorizer()).fit(data.take(np.arange(1200)))
    assert fitted.names == ["bad", "good", "morning"]
    assert learned.rows.shape == (1200, 3)
    assert fitted.apply(data).rows.shape == (1201, 3)


def test_who_knows_only_frequencies_predicts_the_most_frequent_first() -> None:
    data = clouds(100, 4)
    rival = MostFrequent(data)
    counts = np.bincount(data.labels)
    assert rival.top_labels(data.rows, 1).labels[0, 0] == np.argmax(counts)
    p = rival.label_probabilities(data.rows, data.labels)
    assert p == pytest.approx(counts[data.labels] / 100)
    evaluator = Evaluator()
    evaluator.add(rival, data)
    scores = evaluator.evaluation().scores
    assert scores["accuracy"] == pytest.approx(counts.max() / 100)
    assert scores["log loss"] == pytest.approx(-np.log(p).mean())


def xreg_with(variant: dict[str, Any]) -> Method:
    """Return extreme regression with one variant to compare."""
    return replace(methods()["xreg"], variants=(variant,))


def test_a_variant_is_taken_only_if_it_is_better_and_may_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = clouds(1200, 30, per_row=2, noise=1.0)
    better = {"max_epochs": 12, "cost": None}
    recipe = Recipe(xreg_with(better), ExtremeSettings(n_trees=1, max_epochs=1, cost=1e-6))
    profile = DataProfile.of([data])
    chosen = fit_measured(data, profile, recipe, features=Features(), vary=True)
    assert chosen.recipe.settings == ExtremeSettings(n_trees=1)
    assert chosen.model.settings == ExtremeSettings(n_trees=1)
    assert fit_measured(data, profile, recipe, features=Features()).recipe is recipe
    worse = Recipe(xreg_with({"max_epochs": 1, "cost": 1e-6}), ExtremeSettings(n_trees=1))
    assert best_variant(worse, data, profile) == (worse, None)
    few = data.take(np.arange(999))
    assert best_variant(recipe, few, profile) == (recipe, None)  # too few rows to tell
    monkeypatch.setattr(held_out, "_MOST_VARIANT_WORK", 1)
    assert best_variant(recipe, data, profile) == (recipe, None)


def test_of_many_rows_variants_are_compared_on_some(monkeypatch: pytest.MonkeyPatch) -> None:
    data = clouds(4000, 30, per_row=2, noise=1.0)
    profile = DataProfile.of([data])
    better = {"max_epochs": 12, "cost": None}
    recipe = Recipe(xreg_with(better), ExtremeSettings(n_trees=1, max_epochs=1, cost=1e-6))
    work = held_out._work(data)
    monkeypatch.setattr(held_out, "_MOST_VARIANT_WORK", work / 3)
    asked: list[int] = []

    def noted(recipe: Recipe, some: Chunk) -> float:
        asked.append(some.n_rows)
        return float(recipe.settings.max_epochs)

    monkeypatch.setattr(held_out, "_mean_precision", noted)
    chosen, n_drawn = best_variant(recipe, data, profile)
    assert n_drawn == 1333
    assert asked == [n_drawn, n_drawn]
    assert chosen.settings == ExtremeSettings(n_trees=1)
    assert best_variant(recipe, data, replace(profile, graded=True)) == (recipe, None)
    monkeypatch.setattr(held_out, "_MOST_VARIANT_WORK", work / 5)  # fewer than can tell
    assert best_variant(recipe, data, profile) == (recipe, None)
    monkeypatch.setattr(held_out, "_MOST_VARIANT_WORK", work)
    assert best_variant(recipe, data, profile)[1] is None
    assert asked[2:] == [4000, 4000]
