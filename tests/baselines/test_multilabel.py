"""The multi-label baselines: least squares, DiSMEC, ProXML, RankSVM, XLR, and what they share.

Worked examples -> agreement with tests/references -> invariants -> boundaries -> errors. What they
share with every estimator is in tests/contract.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.references import multilabel_baselines as reference

from labeltrees import (
    DismecRanker,
    LeastSquaresRegressor,
    ProxmlRanker,
    RankSvmRanker,
    XlrRanker,
    metrics,
)
from labeltrees.errors import TooLargeError
from labeltrees.models import dense
from labeltrees.models.baselines import linear_rankers, regressors
from labeltrees.models.baselines.multilabel import best_columns
from labeltrees.models.baselines.scores import ScoreCalibration

N_LABELS = 4
seeds = st.integers(0, 10_000)
costs = st.sampled_from([0.1, 1.0, 10.0])
few = settings(max_examples=5, deadline=None)


def problem(seed, n_rows=14, n_features=5, *, graded=False):
    """Sparse rows, the last feature in none of them, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.7)
    X[:, -1], X[0] = 0, 0
    Y = (X @ rng.normal(size=(n_features, N_LABELS)) + rng.normal(size=N_LABELS) > 0.5) * 1.0
    Y[1, 0] = 1
    if graded:
        Y *= rng.integers(1, 4, size=Y.shape)
    return X.astype(np.float32), Y


def affine(model, n_features):
    """The weights and intercepts that scores are made of."""
    rows = np.vstack([np.zeros(n_features), np.eye(n_features)])
    scores = model.predict_scores(rows)
    return scores[1:] - scores[0], scores[0]


# Worked examples.


def test_least_squares_by_hand():
    # x = 1, 1, 0, 0 and y = 1, 1, 0, 0: without its mean x is +-1/2, so w = 1 / (1 + 1 / cost).
    model = LeastSquaresRegressor(cost=1.0, calibrate=False).fit(
        [[3.0], [0.5], [0.0], [0.0]], np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    )
    expected = np.array([[0.75, 0.25], [0.25, 0.75]])
    assert model.predict_scores([[7.0], [0.0]]) == pytest.approx(expected)
    assert model.predict_proba([[7.0], [0.0]]) == pytest.approx(expected)


def test_a_pair_by_hand():
    pairs = linear_rankers.label_pairs(
        sparse.csr_array([[2.0, 0.0, 1.0]]), "row", None, np.random.default_rng(0)
    )
    loss, gradient = pairs.loss(np.array([[0.5, 0.0, 1.0]]))
    assert loss == 0.5**2 + 1.5**2  # of 0 before 1, and of 0 before 2
    assert gradient.toarray().tolist() == [[-4.0, 1.0, 3.0]]


# Agreement with the references.


@few
@given(seeds, costs, st.booleans())
def test_least_squares_are_the_reference_s(seed, cost, graded):
    X, Y = problem(seed, graded=graded)
    model = LeastSquaresRegressor(cost=cost, calibrate=False).fit(X, Y)
    unit = reference.unit_rows(X.astype(float))
    for label in range(N_LABELS):
        solution = reference.least_squares(unit, Y[:, label], cost)
        expected = unit @ solution[:-1] + solution[-1]
        assert model.predict_scores(X)[:, label] == pytest.approx(expected, abs=1e-4)
    assert np.array_equal(
        model.predict_relevance(X), np.clip(model.predict_scores(X), 0, model.model_.scale)
    )


@pytest.mark.parametrize("way", ["wide", "iterated"])
def test_every_way_to_solve_least_squares_gives_the_same(way, monkeypatch):
    X, Y = problem(3, n_rows=30, n_features=12)
    X, Y = (X, Y) if way == "iterated" else (X[:5], Y[:5])
    direct = LeastSquaresRegressor(calibrate=False)
    if way == "wide":  # more features than rows
        monkeypatch.setattr(regressors, "_dual", regressors._primal)
        expected = direct.fit(X, Y).predict_scores(X)
        monkeypatch.undo()
    else:
        expected = direct.fit(X, Y).predict_scores(X)
        monkeypatch.setattr(regressors, "_DIRECT", 0)
    assert direct.fit(X, Y).predict_scores(X) == pytest.approx(expected, abs=1e-5)


@few
@given(seeds, costs)
def test_dismec_reaches_the_least_objective(seed, cost):
    X, Y = problem(seed)
    model = DismecRanker(cost=cost, min_weight=0, max_epochs=2000, tolerance=0, calibrate=False)
    W, b = affine(model.fit(X, Y), X.shape[1])
    unit = reference.unit_rows(X.astype(float))
    for label in range(N_LABELS):
        y = Y[:, label]
        found = reference.dismec_objective(unit, y, W[:, label], b[label], cost)
        assert found == pytest.approx(reference.dismec(unit, y, cost), rel=1e-3, abs=1e-4)


@few
@given(seeds, costs)
def test_proxml_reaches_the_least_objective(seed, cost):
    X, Y = problem(seed)
    model = ProxmlRanker(cost=cost, max_epochs=5000, tolerance=1e-5, calibrate=False)
    W, b = affine(model.fit(X, Y), X.shape[1])
    unit = reference.unit_rows(X.astype(float))
    for label in range(N_LABELS):
        y = Y[:, label]
        found = reference.proxml_objective(unit, y, W[:, label], b[label], cost)
        assert found == pytest.approx(reference.proxml(unit, y, cost), rel=1e-3, abs=1e-4)


@settings(max_examples=3, deadline=None)
@given(seeds, st.sampled_from(["row", "label"]))
def test_rank_svm_reaches_the_least_objective(seed, per):
    X, Y = problem(seed, n_rows=7, n_features=3, graded=True)
    model = RankSvmRanker(per=per, max_iterations=1000, calibrate=False).fit(X, Y)
    W, b = affine(model, X.shape[1])
    unit = reference.unit_rows(X.astype(float))
    found = reference.rank_svm_objective(unit, Y, W, b, 0.1, per)
    assert found == pytest.approx(reference.rank_svm(unit, Y, 0.1, per), rel=1e-4)


def test_xlr_with_as_many_factors_as_labels_reaches_the_least_objective():
    # Over all factors of W the least |U|^2 + |V|^2 is twice its nuclear norm: a convex problem.
    X, Y = problem(5, graded=True)
    unit = reference.unit_rows(X.astype(float))
    found = []
    for seed in (0, 1):
        model = XlrRanker(
            n_factors=N_LABELS, n_zeros=None, n_rounds=60, calibrate=False, random_state=seed
        )
        W, b = affine(model.fit(X, Y), X.shape[1])
        assert (b == 0).all()
        found.append(reference.least_xlr_objective(unit, Y, W, 0.1))
    assert found[0] == pytest.approx(found[1], rel=1e-3)
    rng = np.random.default_rng(0)
    for _ in range(20):  # nothing near is better
        near = W + 0.05 * rng.normal(size=W.shape)
        assert reference.least_xlr_objective(unit, Y, near, 0.1) > found[1]


def test_xlr_is_of_low_rank():
    X, Y = problem(6, n_rows=30)
    W, _ = affine(XlrRanker(n_factors=2, n_rounds=2, calibrate=False).fit(X, Y), X.shape[1])
    assert np.linalg.matrix_rank(W, tol=1e-5) == 2


# Invariants.


@few
@given(seeds, st.integers(1, 6), st.integers(1, 40))
def test_the_best_columns_are_those_of_sorting(seed, n_values, n_columns):
    rng = np.random.default_rng(seed)
    scores = rng.integers(n_values, size=(3, n_columns)).astype(float)  # many ties
    for k in {1, min(3, n_columns), n_columns}:
        expected = [reference.best(row, k) for row in scores.tolist()]
        assert best_columns(scores, k).tolist() == expected


@pytest.mark.parametrize("kind", [DismecRanker, ProxmlRanker])
def test_threads_and_other_labels_change_nothing(kind):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 6)), (rng.random((40, 150)) < 0.2) * 1.0  # three panels
    alone = kind(calibrate=False).fit(X, Y).predict_scores(X)
    together = kind(calibrate=False, n_jobs=3).fit(X, Y).predict_scores(X)
    assert np.array_equal(alone, together)
    # How many passes there are depends on the labels that are learned together.
    fixed = kind(calibrate=False, tolerance=0, max_epochs=20)
    whole = fixed.fit(X, Y).predict_scores(X)
    assert np.array_equal(fixed.fit(X, Y[:, 140:]).predict_scores(X), whole[:, 140:])


def test_dismec_drops_small_weights_and_nothing_else():
    X, Y = problem(1, n_rows=40)
    whole = DismecRanker(min_weight=0, calibrate=False).fit(X, Y).model_.scorer.weights
    cut = DismecRanker(min_weight=1.0, calibrate=False).fit(X, Y).model_.scorer.weights
    assert np.array_equal(
        cut.toarray(), np.where(np.abs(whole.toarray()) > 1.0, whole.toarray(), 0)
    )
    assert 0 < cut.nnz < whole.nnz


def test_proxml_has_fewer_weights_where_errors_cost_less():
    X, Y = problem(2, n_rows=60, n_features=8)
    counts = [
        ProxmlRanker(cost=cost, calibrate=False).fit(X, Y).model_.scorer.weights.nnz
        for cost in (0.01, 0.05, 5)
    ]
    assert 0 == counts[0] < counts[1] < counts[2]


def test_the_best_rows_do_not_depend_on_the_pieces_asked(monkeypatch):
    X, Y = problem(4, n_rows=50)
    model = LeastSquaresRegressor(calibrate=False).fit(X, Y)
    rows, p = model.top_rows(X, k=7)
    named = model.top_row_scores(X, [2, 0], 7)
    assert np.array_equal(named.rows, rows[[2, 0]])
    scores = model.predict_scores(X)
    for label in range(N_LABELS):
        assert rows[label].tolist() == reference.best(scores[:, label].tolist(), 7)
    monkeypatch.setattr(dense, "PIECE_BYTES", 100)
    again = model.top_rows(X, k=7)
    assert np.array_equal(again.rows, rows)
    assert np.array_equal(again.probabilities, p)
    assert np.array_equal(model.predict_scores(X), scores)


def test_probabilities_are_calibrated_on_rows_not_learned():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 30))
    Y = rng.random((1200, 5)) < 1 / (1 + np.exp(1 - 2 * X[:, :5]))
    for kind in (LeastSquaresRegressor(), DismecRanker(cost=10.0)):
        model = kind.fit(X[:600], Y[:600] * 1.0)
        p = model.predict_proba(X[600:])
        worst = metrics.label_log_loss(Y[600:], np.full(p.shape, Y[:600].mean()))
        assert metrics.label_log_loss(Y[600:], p) < 0.9 * worst
        assert p.mean() == pytest.approx(Y[600:].mean(), abs=0.03)


def test_a_map_to_probabilities_keeps_the_order_also_where_scores_mislead():
    scores, truth = np.array([[0.0, 1.0, 2.0]] * 9), np.array([[True, True, False]] * 9)
    calibration = ScoreCalibration().fitted([(scores, truth)])
    assert (np.diff(calibration.apply(scores, None, np.sin), axis=1) > 0).all()
    assert ScoreCalibration().fitted([(scores[:1], truth[:1])]).slope is None  # too few


def test_propensities_put_rare_labels_before_frequent_ones():
    X, Y = problem(7, n_rows=60)
    Y[:, 3] = 0
    Y[5:8, 3] = 1
    plain = LeastSquaresRegressor().fit(X, Y)
    weighted = LeastSquaresRegressor(relevance="propensity").fit(X, Y)
    place = [(m.predict_top_k(X, N_LABELS).labels == 3).argmax(axis=1).mean()
             for m in (plain, weighted)]  # fmt: skip
    assert place[1] < place[0]
    assert weighted.predict_proba(X)[:, 3].mean() < 0.3  # yet they are no likelier


# Boundaries and errors.


def test_a_label_that_no_row_has_is_ranked_below_the_others():
    X, Y = problem(8, n_rows=40)
    Y[::3], Y[:, 2] = 1, 0
    for model in (LeastSquaresRegressor(), DismecRanker(), ProxmlRanker(), RankSvmRanker()):
        scores = model.fit(X, Y).predict_scores(X)
        assert scores.shape == Y.shape
        assert scores.mean(axis=0).argmin() == 2


def test_too_much_is_refused_before_it_is_begun(monkeypatch):
    X, Y = problem(9)
    monkeypatch.setattr(linear_rankers, "MAX_PAIRS", 20)
    with pytest.raises(
        TooLargeError, match=r"at most 20 are allowed\. Choose a smaller n_zeros \(now None\)"
    ):
        RankSvmRanker().fit(X, Y)
    assert RankSvmRanker(n_zeros=1, per="label").get_params()["n_zeros"] == 1
    wide = sparse.csr_array((np.ones(2**15), np.arange(2**15), [0, 2**15]), shape=(1, 2**15))
    labels = sparse.csr_array(([1.0], ([0], [0])), shape=(1, 2**15))
    with pytest.raises(TooLargeError, match="Use DismecRanker"):
        LeastSquaresRegressor().fit(wide, labels)
