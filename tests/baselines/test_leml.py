"""LEML: both factors against exact minimisation, and what low rank means.

Worked example -> agreement with tests/references/leml.py -> invariants -> boundaries -> a file.
What it shares with every estimator is in tests/contract.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.references import leml as reference

from labeltrees import LemlRegressor
from labeltrees.errors import ArgumentError, ModelFormatError
from labeltrees.models.baselines.regressors import LemlModel, alternate


def problem(seed, n_rows=25, n_features=6, n_labels=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.6)
    Y = rng.random((n_rows, n_labels)) * (rng.random((n_rows, n_labels)) < 0.4)
    return X, Y


def unit(X):
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)


def test_one_feature_and_one_label_by_hand():
    # Rows of 1 with relevance 1, n = 8: w h minimises 8/2 (1 - w h)^2 + 1/2 (w^2 + h^2), so
    # w = h and w^2 = 1 - 1/8.
    model = LemlRegressor(rank=1, penalty=1.0, n_rounds=200, calibrate=False)
    scores = model.fit([[2.0]] * 8, [["a"]] * 8).predict_scores([[5.0], [-5.0], [0.0]])
    assert scores.ravel() == pytest.approx([7 / 8, -7 / 8, 0], abs=1e-5)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from([0.1, 1.0, 10.0]))
def test_factors_are_those_of_exact_minimisation(seed, rank, penalty):
    X, Y = problem(seed)
    W = np.random.default_rng(seed).normal(size=(X.shape[1], rank))
    W_ref, H_ref = reference.alternate(X, Y, W, penalty, 2)
    W_fast, H_fast = alternate(
        sparse.csr_array(X), sparse.csr_array(Y), W, penalty, n_rounds=2, max_steps=300
    )
    assert pytest.approx(W_ref @ H_ref.T, abs=1e-4) == W_fast @ H_fast.T


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6))
def test_each_round_lowers_the_objective_also_with_few_steps(seed):
    X, Y = problem(seed)
    W = np.random.default_rng(seed).normal(size=(X.shape[1], 3))
    values = [
        reference.objective(
            X, Y, *alternate(sparse.csr_array(X), sparse.csr_array(Y), W, 0.5,
                             n_rounds=n, max_steps=2), 0.5,
        )
        for n in (1, 2, 5, 20)
    ]  # fmt: skip
    assert all(b <= a * (1 + 1e-12) for a, b in pairwise(values))


def test_scores_have_the_rank_and_are_those_of_the_factors():
    X, Y = problem(3, n_rows=40)
    model = LemlRegressor(rank=2, penalty=0.1, calibrate=False).fit(X, Y)
    scores = model.predict_scores(X)
    assert np.linalg.matrix_rank(scores, tol=1e-4) == 2
    scorer = model.model_.scorer
    expected = unit(X) @ scorer.rows_to_rank @ scorer.rank_to_labels * Y.max()
    assert scores == pytest.approx(expected, abs=1e-5)


def test_one_seed_gives_one_model_and_more_rank_fits_better():
    X, Y = problem(4, n_rows=60)
    errors = []
    for rank in (1, 3, 5, 500):  # 500 is more than there are labels
        fits = [LemlRegressor(rank=rank, penalty=1e-3, calibrate=False).fit(X, Y) for _ in "ab"]
        first, second = (fit.predict_scores(X) for fit in fits)
        assert np.array_equal(first, second)
        errors.append(((first - Y) ** 2).sum())
    assert errors[0] > errors[1] > errors[2] == pytest.approx(errors[3])


def test_rows_without_features_have_scores_of_zero():
    X, Y = problem(5)
    model = LemlRegressor(rank=2, calibrate=False)
    assert not model.fit(np.zeros_like(X), Y).predict_scores(X).any()


@pytest.mark.parametrize("name", ["rank", "penalty", "n_rounds", "max_steps"])
def test_parameters_out_of_range_are_refused(name):
    with pytest.raises(ArgumentError, match=rf"{name} must be .*, got 0"):
        LemlRegressor(**{name: 0}).fit([[1.0]], [["a"]])


def test_a_file_whose_factors_do_not_fit_is_refused():
    X, Y = problem(6)
    tensors, facts = LemlRegressor(rank=2).fit(X, Y).model_.to_tensors(keep_state=True)
    wrong = {
        "rows_to_rank": tensors["rows_to_rank"][:, :1].copy(),
        "rank_to_labels": tensors["rank_to_labels"][:, :-1].copy(),
        "features": tensors["features"][::-1].copy(),
    }
    for name, value in wrong.items():
        with pytest.raises(ModelFormatError):
            LemlModel.from_tensors(tensors | {name: value}, facts)
    nan = tensors["rows_to_rank"] * np.float32("nan")
    with pytest.raises(ModelFormatError, match="a weight is not in"):
        LemlModel.from_tensors(tensors | {"rows_to_rank": nan}, facts)
