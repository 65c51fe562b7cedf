"""The lockstep solver: the regressors of all siblings at once, by dual coordinate descent.

Agreement with an optimiser and with scikit-learn -> invariants -> what stopping early means.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from tests.references.extreme import objective, solve

from labeltrees import _core

LOSSES = {"logistic": _core.NodeLoss.logistic, "hinge": _core.NodeLoss.hinge}


def solve_node(X, z, s, cost, loss="logistic", max_epochs=1000, tolerance=1e-7):
    rows = sparse.csr_matrix(X, dtype=np.float32)
    rows.sort_indices()
    starts = rows.indptr.astype(np.int64)
    return _core.solve_node(
        starts, rows.indices.astype(np.int32), rows.data, X.shape[1],
        np.ascontiguousarray(z, dtype=np.float32), s.astype(np.float32), LOSSES[loss], cost,
        max_epochs, tolerance,
    )  # fmt: skip


def problem(seed, n_rows=60, n_features=8, n_children=5, binary=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.5)
    z = rng.random((n_rows, n_children)) * (rng.random((n_rows, n_children)) < 0.5)
    return X, (z > 0).astype(float) if binary else z, rng.uniform(0.2, 1, n_rows)


@settings(max_examples=12, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from([0.1, 1.0, 10.0]),
    st.sampled_from(["logistic", "hinge"]),
    st.sampled_from([1, 5, 16, 70]),
)
def test_objectives_are_those_of_an_optimiser(seed, cost, loss, n_children):
    X, z, s = problem(seed, n_rows=30, n_children=n_children)
    weights, _, _ = solve_node(X, z, s, cost, loss)
    for c in range(min(n_children, 3)):
        best = objective(solve(X, z[:, c], s, cost, loss), X, z[:, c], s, cost, loss)
        got = objective(weights[:, c].astype(float), X, z[:, c], s, cost, loss)
        assert got == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize("cost", [0.3, 3.0, 30.0])
def test_objectives_are_those_of_scikit_learn(cost):
    X, z, _ = problem(3, n_rows=200, n_children=4, binary=True)
    s = np.ones(len(X))
    logistic, _, _ = solve_node(X, z, s, cost)
    hinge, _, _ = solve_node(X, z, s, cost, "hinge", max_epochs=20_000)
    for c in range(4):
        peer = LogisticRegression(C=cost, solver="liblinear", intercept_scaling=1, tol=1e-8)
        peer.fit(X, z[:, c])
        theta = np.append(peer.coef_[0], peer.intercept_)
        expected = objective(theta, X, z[:, c], s, cost)
        got = objective(logistic[:, c].astype(float), X, z[:, c], s, cost)
        assert got == pytest.approx(expected, rel=1e-3)
        svm = LinearSVC(C=cost, tol=1e-8, max_iter=100_000).fit(X, z[:, c])
        theta = np.append(svm.coef_[0], svm.intercept_)
        expected = objective(theta, X, z[:, c], s, cost, "hinge")
        got = objective(hinge[:, c].astype(float), X, z[:, c], s, cost, "hinge")
        assert got == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_siblings_do_not_change_each_other(loss):
    X, z, s = problem(1, n_children=70)
    together, _, _ = solve_node(X, z, s, 3.0, loss, max_epochs=7, tolerance=0)
    for c in (0, 15, 16, 40, 69):
        alone, _, _ = solve_node(X, z[:, [c]], s, 3.0, loss, max_epochs=7, tolerance=0)
        assert np.array_equal(together[:, c], alone[:, 0])


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("tolerance", [1e-1, 1e-2, 1e-3])
def test_the_gap_bounds_what_is_left_to_gain(loss, tolerance):
    X, z, s = problem(2, n_rows=200, n_children=16)
    cost = 5.0
    weights, epochs, gap = solve_node(X, z, s, cost, loss, tolerance=tolerance)
    assert 1 <= epochs < 1000
    got = sum(objective(weights[:, c].astype(float), X, z[:, c], s, cost, loss) for c in range(16))
    best = sum(
        objective(solve(X, z[:, c], s, cost, loss), X, z[:, c], s, cost, loss) for c in range(16)
    )
    at_zero = 16 * cost * s.sum() * (np.log(2) if loss == "logistic" else 1)
    assert gap <= tolerance * at_zero
    assert got - best <= gap + 1e-3 * best


def test_a_row_of_nothing_moves_the_bias_alone():
    weights, _, _ = solve_node(np.zeros((10, 3)), np.full((10, 1), 0.8), np.ones(10), 100.0)
    assert weights[:3].tolist() == [[0], [0], [0]]
    assert 1 / (1 + np.exp(-weights[3, 0])) == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("cost", [1e2, 1e4, 1e6, 1e9])
def test_a_large_cost_is_learned_as_well_as_a_small_one(loss, cost):
    # Rows of each child have a feature of their own: the more an error costs, the surer they are.
    own = np.tile(np.eye(4), (10, 1))
    weights, _, _ = solve_node(own, own, np.ones(40), cost, loss, max_epochs=12, tolerance=1e-3)
    margins = own @ weights[:4] + weights[4]
    assert margins[own == 1].min() > 0.8
    assert margins[own == 0].max() < -0.8
