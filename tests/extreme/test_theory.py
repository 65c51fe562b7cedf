"""What the extreme regression paper proves, in numbers.

Lemma 3.1 of what models predict (of any two vectors it is in tests/metrics), Theorem 4.1 and the
proof's steps on a small tree with random estimates, then Lemma 4.2 and Theorem 4.3 on fitted
models, whose regressors are read from their own arrays.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.extreme.test_regressor import data
from tests.references.extreme import beam, labels_below

from labeltrees import ExtremeRegressor, metrics

PAPERS = Path(__file__).parents[2] / "benchmarks" / "papers"
PAPER = {"n_trees": 1, "arity": 2, "max_leaf": 4, "inner_power": 1.0, "calibrate": False}
HALF = 2e-3  # what weights in half precision can change

# A binary tree over eight labels: nodes 0-6 are inner, 7-14 the labels.
PARENT = [-1, *(node // 2 for node in range(14))]
LABEL = [-1] * 7 + list(range(8))
DEPTH = [0, 1, 1, 2, 2, 2, 2] + [3] * 8


@pytest.fixture(scope="module")
def nodes():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(PAPERS))
        import extreme_nodes

        yield extreme_nodes


def test_lemma_3_1_holds_for_what_models_predict():
    X, Y = data(2, n_rows=200, graded=True)
    for tail in (None, "xreg"):
        model = ExtremeRegressor(n_trees=1, max_leaf=4, arity=4, tail=tail).fit(X, Y)
        found = metrics.label_matrix(*model.predict_top_scores(X, 20), classes=range(20))
        for k in (1, 3, 5):
            worst = max(
                metrics.ranking_error_at_k(Y, found, k), metrics.regression_error_at_k(Y, found, k)
            )
            xmad = metrics.xmad_at_k(Y, found, 2 * k)
            assert 0 < worst / 2 <= xmad <= metrics.xrmse_at_k(Y, found, 2 * k)


@st.composite
def visits(draw):
    """A row's relevances, the largest below every node, every edge's z, and estimates of z."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    y = rng.random(8) * (rng.random(8) < draw(st.sampled_from([0.3, 1.0])))
    true, edge = along_paths(y)
    noise = draw(st.sampled_from([0.01, 0.3, 3.0])) * rng.normal(size=15)
    odds = np.log(np.clip(edge, 1e-3, 1 - 1e-3) / (1 - np.clip(edge, 1e-3, 1 - 1e-3)))
    return y, true, edge, 1 / (1 + np.exp(-odds - noise))


def along_paths(y):
    """The largest relevance below every node, at the root 1, and what an edge has of it, z."""
    below = labels_below(PARENT, LABEL)
    largest = np.array([y[sorted(below[node])].max() for node in range(15)])
    largest[0] = 1
    up = largest[[0, *PARENT[1:]]]
    return largest, np.divide(largest, up, out=np.zeros(15), where=up > 0)


def products(edge):
    path = np.ones(15)
    for node in range(1, 15):
        path[node] = path[PARENT[node]] * edge[node]
    return path


@settings(max_examples=30, deadline=None)
@given(visits())
def test_theorem_4_1_bounds_the_divergence_of_every_label(nodes, visit):
    y, true, edge, estimate = visit
    assert products(edge)[7:] == pytest.approx(y)
    told = products(estimate)[7:]
    for label in range(8):
        total, node = 0.0, 7 + label
        while node > 0:
            s = true[PARENT[node]]
            total += s * nodes.divergence(edge[node], estimate[node]) if s > 0 else 0
            node = PARENT[node]
        assert nodes.divergence(y[label], told[label]) <= total + 1e-9


@settings(max_examples=30, deadline=None)
@given(visits())
def test_the_largest_error_is_bounded_by_the_divergences_of_visited_nodes(nodes, visit):
    """Inequalities 41 to 46: Pinsker's, and then Theorem 4.1 over the nodes that are visited."""
    y, true, edge, estimate = visit
    visited = [node for node in range(1, 15) if true[PARENT[node]] > 0]
    whole = sum(true[PARENT[n]] * nodes.divergence(edge[n], estimate[n]) for n in visited)
    error = np.abs(y - products(estimate)[7:])
    assert error.max() <= np.sqrt(whole / 2) + 1e-9
    for k in (1, 3):
        told = products(estimate)[None, 7:]
        assert metrics.xmad_at_k(y[None], told, 2 * k) <= error.max() + 1e-9
        assert metrics.ranking_error_at_k(y[None], told, k) <= 2 * error.max() + 1e-9


@settings(max_examples=30, deadline=None)
@given(visits(), st.integers(1, 3), st.integers(0, 2))
def test_a_beam_loses_at_most_twice_the_largest_error_of_each_level(visit, k, more):
    """The step to 65: of each level, where the beam is as wide as what is asked for."""
    y, true, _, estimate = visit
    told = products(estimate)
    met = beam(PARENT, LABEL, estimate.__getitem__, k + more)
    best = sorted(met, key=lambda label: -met[label])[:k]
    lost = np.sort(y)[::-1][:k].sum() - y[best].sum()
    depth = np.array(DEPTH)
    worst = [np.abs(true - told)[depth == level].max() for level in (1, 2, 3)]
    assert lost / k <= 2 * sum(worst) + 1e-9


# Fitted models.


@pytest.fixture(scope="module", params=[False, True], ids=["binary", "graded"])
def fitted(request):
    rng = np.random.default_rng(0)
    X = rng.random((400, 12)).astype(np.float32)
    scores = X @ rng.normal(size=(12, 20)) + rng.normal(size=(400, 20)) / 4
    Y = (scores > np.quantile(scores, 0.88, axis=0)).astype(float)  # every label has rows
    if request.param:
        Y *= rng.integers(1, 6, size=Y.shape)
    model = ExtremeRegressor(cost=10.0, cost_power=1.0, min_weight=0.0, **PAPER)
    model.fit(X[:300], Y[:300])
    return model, X, Y / Y[:300].max()


def test_answers_of_nodes_multiply_to_the_models_relevance(nodes, fitted):
    model, X, _ = fitted
    tree = model.model_.trees[0]
    z_hat, parent = nodes.answers(tree, X), tree.tree.parents()
    for label in range(20):
        node, product = tree.tree.leaf_of(label), np.ones(len(X))
        while node > 0:
            product *= z_hat[:, node]
            node = parent[node]
        found = model.predict_relevance(X)[:, label] / model.model_.scale
        assert product == pytest.approx(found, abs=HALF)


def test_no_error_of_a_row_exceeds_that_of_its_nodes(nodes, fitted):
    """Equations 41 to 46: max_l |y - y-hat| <= sqrt(1/2 sum_n s_n KL(z_n || z-hat_n))."""
    model, X, Y = fitted
    guess = model.predict_relevance(X) / model.model_.scale
    largest = np.abs(Y - guess).max(axis=1)
    bound = nodes.path_bound(model.model_.trees[0], X, Y, np.arange(20))
    assert (largest <= bound + HALF).all()
    assert largest.mean() > 0.05  # there is something to bound


def test_what_training_minimises_bounds_xmad(nodes, fitted):
    """Lemma 4.2, and tighter for smaller k."""
    model, X, Y = fitted
    guess = model.predict_relevance(X) / model.model_.scale
    bound = nodes.path_bound(model.model_.trees[0], X, Y, np.arange(20)).mean()
    errors = [metrics.xmad_at_k(Y, guess, k) for k in (1, 2, 5, 20)]
    assert bound + HALF >= errors[0]
    assert errors == sorted(errors, reverse=True)


def test_theorem_4_3_falls_with_the_fourth_root_of_the_rows(nodes):
    facts = {"n_labels": 1000, "norm": 3.0, "reach": 0.01}
    bound = nodes.generalisation_bound(n_rows=10**6, **facts)
    assert nodes.generalisation_bound(n_rows=16 * 10**6, **facts) == pytest.approx(bound / 2)
    # By hand: log2(2)^2 sqrt(1 / sqrt(4 / 4)) sqrt(1 + sqrt(5 log 6)) for one row in four.
    simple = nodes.generalisation_bound(n_rows=4, n_labels=2, norm=1.0, reach=0.25, delta=1.0)
    assert simple == pytest.approx(np.sqrt(1 + np.sqrt(5 * np.log(6))))


# The rate: rows are one of five points, so that regressors can be right, and each label is relevant
# with a probability of its own.


def learned_from(n_rows, chance):
    rng = np.random.default_rng(n_rows)
    point = rng.integers(len(chance), size=n_rows)
    Y = (rng.random((n_rows, chance.shape[1])) < chance[point]).astype(float)
    Y[: chance.shape[1]] = np.maximum(Y[: chance.shape[1]], np.eye(chance.shape[1]))
    model = ExtremeRegressor(
        n_trees=1, arity=2, max_leaf=2, cost=10, cost_power=0, inner_power=1, calibrate=False,
        min_weight=0, max_epochs=200, tolerance=1e-6, beam_width=2,
    )  # fmt: skip
    return model.fit(np.eye(len(chance))[point], Y)


def test_errors_fall_with_the_number_of_rows_and_stay_below_the_bound_of_theorem_4_3(nodes):
    rng = np.random.default_rng(1)
    chance = np.where(rng.random((5, 8)) < 0.4, rng.uniform(0.2, 0.9, (5, 8)), 0)
    xmad, regret = [], []
    for n_rows in (80, 640, 5120):
        model = learned_from(n_rows, chance)
        points = np.eye(5)
        found = metrics.label_matrix(*model.predict_top_scores(points, 2), classes=range(8))
        xmad.append(metrics.xmad_at_k(chance, model.predict_relevance(points), 2))
        regret.append(metrics.ranking_error_at_k(chance, found, 2))
        tree = model.model_.trees[0]
        W, biases = nodes.regressors(tree, 5)
        bound = nodes.generalisation_bound(
            n_rows=n_rows,
            n_labels=8,
            norm=np.sqrt(W.multiply(W).sum(axis=0) + biases**2).max(),
            reach=tree.arrays[-1].min(),
        )
        assert max(xmad[-1], regret[-1]) <= bound
    assert xmad[0] > 2 * xmad[1] > 2 * xmad[2]
    assert xmad[2] < 0.05
    assert regret[2] <= 0.02
