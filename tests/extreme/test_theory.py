"""What the extreme regression paper proves of its trees, on fitted models.

Theorem 4.1 is in test_regressor.py, Lemma 3.1 in tests/metrics. Here: Lemma 4.2 and the chain of
inequalities that proves Theorem 4.3, with the regressors read from the model's own arrays.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from labeltrees import ExtremeRegressor
from labeltrees.metrics import xmad_at_k

PAPERS = Path(__file__).parents[2] / "benchmarks" / "papers"
PAPER = {"n_trees": 1, "arity": 2, "max_leaf": 4, "inner_power": 1.0, "calibrate": False}
HALF = 2e-3  # what weights in half precision can change


@pytest.fixture
def nodes(monkeypatch):
    monkeypatch.syspath_prepend(str(PAPERS))
    import extreme_nodes

    return extreme_nodes


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
    errors = [xmad_at_k(Y, guess, k) for k in (1, 2, 5, 20)]
    assert bound + HALF >= errors[0]
    assert errors == sorted(errors, reverse=True)


def test_theorem_4_3_falls_with_the_fourth_root_of_the_rows(nodes):
    facts = {"n_labels": 1000, "norm": 3.0, "reach": 0.01}
    bound = nodes.generalisation_bound(n_rows=10**6, **facts)
    assert nodes.generalisation_bound(n_rows=16 * 10**6, **facts) == pytest.approx(bound / 2)
    # By hand: log2(2)^2 sqrt(1 / sqrt(4 / 4)) sqrt(1 + sqrt(5 log 6)) for one row in four.
    simple = nodes.generalisation_bound(n_rows=4, n_labels=2, norm=1.0, reach=0.25, delta=1.0)
    assert simple == pytest.approx(np.sqrt(1 + np.sqrt(5 * np.log(6))))
