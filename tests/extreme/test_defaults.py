"""What an extreme regressor does by itself: warm starts, its default cost and beam width."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from tests.extreme.test_regressor import data

from labeltrees import ExtremeRegressor
from labeltrees.errors import ArgumentError
from labeltrees.models.extreme.settings import ExtremeSettings


@pytest.mark.parametrize("n_rows", [300, 6000])
@pytest.mark.parametrize("calibrate", [True, False])
def test_a_warm_start_gives_the_model_of_growing_all_trees_at_once(n_rows, calibrate):
    X, Y = data(21, n_rows=n_rows, n_labels=30)
    given = {"max_leaf": 6, "arity": 4, "random_state": 3, "calibrate": calibrate}
    model = ExtremeRegressor(n_trees=1, warm_start=True, **given).fit(X, Y)
    first = model.model_.trees[0]
    for n_trees in (3, 3, 4):
        model.set_params(n_trees=n_trees).fit(X, Y)
        whole = ExtremeRegressor(n_trees=n_trees, **given).fit(X, Y)
        assert model.model_.trees[0] is first
        assert model.model_.calibration == whole.model_.calibration
        assert np.array_equal(model.predict_proba(X[:50]), whole.predict_proba(X[:50]))


def test_a_warm_start_may_change_how_trees_are_asked():
    X, Y = data(22)
    model = ExtremeRegressor(n_trees=2, warm_start=True).fit(X, Y)
    model.set_params(n_trees=3, inner_power=1.0, tail="xreg", n_jobs=2).fit(X, Y)
    whole = ExtremeRegressor(n_trees=3, inner_power=1.0, tail="xreg").fit(X, Y)
    assert np.array_equal(model.predict_top_scores(X, 5)[1], whole.predict_top_scores(X, 5)[1])


def test_a_warm_start_from_something_else_is_refused_and_changes_nothing():
    X, Y = data(23)
    model = ExtremeRegressor(n_trees=2, warm_start=True).fit(X, Y)
    before = model.predict_proba(X)
    Y_other = np.where(Y > 0, 0, 1)
    wrong = [
        ({"n_trees": 1}, X, Y, "n_trees"),
        ({"cost": 1.0}, X, Y, "parameters"),
        ({"random_state": 1}, X, Y, "parameters"),
        ({"max_memory": 2**30}, X, Y, "max_memory"),
        ({}, X[:-1], Y[:-1], "rows"),
        ({}, X + 1, Y, "rows"),
        ({}, X, Y_other, "rows"),
    ]
    for params, X_new, Y_new, match in wrong:
        kept = model.get_params()
        with pytest.raises(ArgumentError, match=match):
            model.set_params(**params).fit(X_new, Y_new)
        model.set_params(**kept)
        assert np.array_equal(model.predict_proba(X), before)
    for stranger in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        with pytest.raises(ArgumentError, match="copied"):
            stranger.fit(X, Y)
        stranger.set_params(warm_start=False).fit(X, Y)
        assert np.array_equal(stranger.predict_proba(X), before)


def test_the_default_cost_falls_with_many_rows():
    assert ExtremeSettings().cost_of(10) == ExtremeSettings().cost_of(100_000) == 3
    assert ExtremeSettings().cost_of(200_000) == pytest.approx(3 * 0.5**0.3)
    X, Y = data(24)
    chosen, given = ExtremeRegressor().fit(X, Y), ExtremeRegressor(cost=3).fit(X, Y)
    assert np.array_equal(chosen.predict_proba(X), given.predict_proba(X))


def test_three_trees_are_asked_with_narrower_beams():
    X, Y = data(25)
    assert ExtremeRegressor(n_trees=2).fit(X, Y).model_.settings.width == 10
    assert ExtremeRegressor(n_trees=3).fit(X, Y).model_.settings.width == 6
    assert ExtremeRegressor(n_trees=3, beam_width=7).fit(X, Y).model_.settings.width == 7
