"""What paper 4 proves, in numbers: Lemma 3.1, Theorem 4.1, and the steps and rate of Theorem 4.3.

Lemma 3.1 on any two vectors is in tests/metrics; here it is of models' predictions.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.extreme.test_regressor import data
from tests.references.extreme import beam, labels_below

from labeltrees import ExtremeRegressor, metrics

# A binary tree over eight labels: nodes 0-6 are inner, 7-14 the labels.
PARENT = [-1, *(node // 2 for node in range(14))]
LABEL = [-1] * 7 + list(range(8))
DEPTH = [0, 1, 1, 2, 2, 2, 2] + [3] * 8


def divergence(y, q):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(y > 0, y * np.log(y / q), 0) + np.where(
            y < 1, (1 - y) * np.log((1 - y) / (1 - q)), 0
        )


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
def test_theorem_4_1_bounds_the_divergence_of_every_label(visit):
    y, true, edge, estimate = visit
    assert products(edge)[7:] == pytest.approx(y)
    told = products(estimate)[7:]
    for label in range(8):
        total, node = 0.0, 7 + label
        while node > 0:
            s = true[PARENT[node]]
            total += s * divergence(edge[node], estimate[node]) if s > 0 else 0
            node = PARENT[node]
        assert divergence(y[label], told[label]) <= total + 1e-9


@settings(max_examples=30, deadline=None)
@given(visits())
def test_the_largest_error_is_bounded_by_the_divergences_of_visited_nodes(visit):
    """Inequalities 41 to 46: Pinsker's, and then Theorem 4.1 over the nodes that are visited."""
    y, true, edge, estimate = visit
    visited = [node for node in range(1, 15) if true[PARENT[node]] > 0]
    whole = sum(true[PARENT[n]] * divergence(edge[n], estimate[n]) for n in visited)
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


def longest_regressor(model):
    """W: the largest length of a regressor's weights."""
    tree = model.model_.trees[0]
    _, _, parents, starts, columns, values, biases, _ = tree.arrays
    square = biases.astype(float) ** 2
    node = np.repeat(tree.tree.first_children()[parents], np.diff(starts.astype(np.int64)))
    weight = np.asarray(values).view(np.float16).astype(float)
    np.add.at(square, node + columns, weight**2)
    return np.sqrt(square.max())


def test_errors_fall_with_the_number_of_rows_and_stay_below_the_bound_of_theorem_4_3():
    rng = np.random.default_rng(1)
    chance = np.where(rng.random((5, 8)) < 0.4, rng.uniform(0.2, 0.9, (5, 8)), 0)
    xmad, regret = [], []
    for n_rows in (80, 640, 5120):
        model = learned_from(n_rows, chance)
        points = np.eye(5)
        found = metrics.label_matrix(*model.predict_top_scores(points, 2), classes=range(8))
        xmad.append(metrics.xmad_at_k(chance, model.predict_relevance(points), 2))
        regret.append(metrics.ranking_error_at_k(chance, found, 2))
        W, p = longest_regressor(model), model.model_.trees[0].arrays[-1].min()
        spread = np.sqrt(1 + np.sqrt(5 * np.log(3 * 8 / 0.05)))
        bound = np.log2(8) ** 2 * np.sqrt(W / np.sqrt(n_rows * p)) * spread
        assert max(xmad[-1], regret[-1]) <= bound
    assert xmad[0] > 2 * xmad[1] > 2 * xmad[2]
    assert xmad[2] < 0.05
    assert regret[2] <= 0.02


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
