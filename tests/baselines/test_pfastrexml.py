"""PfastreXML: separators, trees and scores against slow ones written from the papers.

Agreement with tests/references/pfastrexml.py -> invariants -> boundaries -> files.
What it shares with every estimator is in tests/contract.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.references import pfastrexml as reference

from labeltrees import PfastreXmlRanker, _core
from labeltrees.errors import ArgumentError, ModelFormatError
from labeltrees.models.baselines.rankers import PfastreXmlModel


def problem(seed, n_rows=60, n_features=6, n_labels=7):
    """Rows of length 1 with relevance that has no ties; rows of a label look alike."""
    rng = np.random.default_rng(seed)
    Y = rng.uniform(0.2, 1, (n_rows, n_labels)) * (rng.random((n_rows, n_labels)) < 0.3)
    Y[0, 0] = 1.0
    X = Y @ rng.normal(size=(n_labels, n_features)) + 0.3 * rng.normal(size=(n_rows, n_features))
    X[rng.random(X.shape) < 0.3] = 0
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    return X.astype(np.float32), Y.astype(np.float32)


def arrays(matrix):
    rows = sparse.csr_array(matrix, dtype=np.float32)
    return rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data


def forest_of(X, Y, *, n_trees=2, max_leaf=4, leaf_labels=100, cost=5.0, seed=0, n_workers=1):
    return _core.NdcgForest(
        *arrays(X), X.shape[1], *arrays(Y), Y.shape[1],
        _core.NdcgTreeOptions(
            n_trees=n_trees, max_leaf=max_leaf, leaf_labels=leaf_labels, cost=cost, tolerance=1e-9,
            max_passes=100_000, seed=seed, n_workers=n_workers,
        ),
    )  # fmt: skip


def of_leaves(forest, X, n_labels):
    """Return the relevance in the leaf of every row in every tree."""
    leaves = forest.leaves(*arrays(X), 1)
    starts = forest.label_starts()
    entries = (forest.relevances(), forest.labels(), starts)
    return sparse.csr_array(entries, shape=(len(starts) - 1, n_labels)).toarray()[leaves]


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.05, 1.0, 30.0]))
def test_separators_minimise_the_penalised_loss(seed, cost):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(30, 5)) * (rng.random((30, 5)) < 0.6)).astype(np.float32)
    signs = np.where(rng.random(30) < 0.4, 1, -1).astype(np.int32)
    costs = cost * rng.uniform(0.5, 2, 30)
    w, b = _core.solve_l1_logistic(*arrays(X), 5, signs, costs, 1e-9, 100_000)

    # At the minimum the loss's slope is -sign(w) where w is not 0, and at most 1 where it is.
    full, weights = np.hstack([X, np.ones((30, 1))]), np.append(w, b)
    slope = -full.T @ (costs * signs / (1 + np.exp(signs * (full @ weights))))
    assert (np.abs(slope) <= 1 + 1e-6).all()
    assert slope[weights != 0] == pytest.approx(-np.sign(weights[weights != 0]), abs=1e-6)


def test_separators_are_those_of_proximal_steps():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 4)).astype(np.float32)
    signs = np.where(X[:, 0] + rng.normal(size=40) > 0, 1, -1).astype(np.int32)
    w, b = _core.solve_l1_logistic(*arrays(X), 4, signs, np.full(40, 2.0), 1e-9, 100_000)
    expected = reference.separator(X.astype(float), signs, np.full(40, 2.0))
    assert [*w, b] == pytest.approx([*expected[0], expected[1]], abs=1e-6)
    none, bias = _core.solve_l1_logistic(*arrays(X), 4, signs, np.full(40, 1e-3), 1e-9, 100)
    assert not none.any()
    assert bias == 0


@settings(max_examples=3, deadline=None)
@given(st.integers(0, 10**4), st.sampled_from([2, 100]))
def test_trees_are_those_of_the_papers(seed, leaf_labels):
    X, Y = problem(seed, n_rows=24)
    forest = forest_of(X, Y, seed=seed, leaf_labels=leaf_labels)
    found = of_leaves(forest, X, Y.shape[1])
    for number in range(2):
        tree = reference.grown(
            X.astype(float), Y.astype(float), seed=seed, tree=number, max_leaf=4,
            leaf_labels=leaf_labels, cost=5.0,
        )  # fmt: skip
        assert len(tree) == 4  # it has been split
        expected = [reference.leaf_of(tree, x) for x in X.astype(float)]
        assert found[:, number] == pytest.approx(np.array(expected), abs=1e-6)


def test_scores_join_trees_and_tail():
    X, Y = problem(5)
    model = PfastreXmlRanker(
        n_trees=3, max_leaf=5, gamma=4, tail_weight=0.7, relevance=None, calibrate=False
    )
    model.fit(X, Y)
    scorer = model.model_.scorer
    value = of_leaves(scorer.forest, X, Y.shape[1]).mean(axis=1)
    means = [X[Y[:, label] > 0].mean(axis=0) for label in range(Y.shape[1])]
    trees = [[v] for v in value]  # a tree that is a leaf
    expected = [
        [reference.score(x, [tree], means[label], label, 0.7, 4) for label in range(Y.shape[1])]
        for x, tree in zip(X.astype(float), trees, strict=True)
    ]
    assert model.predict_scores(X) == pytest.approx(np.array(expected), abs=1e-5)
    trees_alone = model.set_params(tail_weight=1).fit(X, Y).predict_scores(X)
    assert trees_alone == pytest.approx(value, abs=1e-7)


def test_rare_labels_gain_by_propensities_and_tail():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(600) < 0.04, 1, 0)
    X = np.column_stack([np.ones(600), 1.2 * y + 0.7 * rng.normal(size=600), rng.normal(size=600)])
    lists = [["common", "rare"] if rare else ["common"] for rare in y]
    plain = PfastreXmlRanker(n_trees=10, relevance=None, tail_weight=1, calibrate=False)
    full = PfastreXmlRanker(n_trees=10, calibrate=False)
    asked = [[1, 1.2, 0]]
    of_plain, of_full = (m.fit(X, lists).predict_scores(asked)[0] for m in (plain, full))
    assert of_full[1] / of_full[0] > of_plain[1] / of_plain[0]


def test_the_model_does_not_depend_on_threads_and_does_on_the_seed():
    X, Y = problem(6)
    first, second, other = (
        PfastreXmlRanker(n_trees=5, max_leaf=3, n_jobs=n, random_state=seed).fit(X, Y).model_
        for n, seed in ((1, 0), (3, 0), (1, 1))
    )
    tensors, again = (m.to_tensors(keep_state=True)[0] for m in (first, second))
    assert all(np.array_equal(tensors[name], again[name]) for name in tensors)
    assert not np.array_equal(tensors["trees.biases"], other.scorer.forest.biases())


def test_training_rows_are_divided_down_to_the_leaves():
    X, Y = problem(7, n_rows=80)
    forest = forest_of(X, Y, n_trees=1, max_leaf=6, cost=1e4)
    _, sizes = np.unique(forest.leaves(*arrays(X), 1), return_counts=True)
    assert len(sizes) > 80 / 6
    assert sizes.max() <= 6
    assert forest_of(X, Y, n_trees=1, max_leaf=80).left().tolist() == [-1]


@pytest.mark.parametrize(
    ("X", "Y"),
    [
        ([[0.0, 0.0]] * 30, [[1.0]] * 30),  # nothing to separate by
        ([[1.0, 0.0]] * 30, [[1.0, 0.0], [0.0, 1.0]] * 15),  # rows alike, labels not
        ([[float(i), 1.0] for i in range(30)], [[1.0]] + [[0.0]] * 29),  # one row has the label
    ],
)
def test_rows_that_cannot_be_divided_are_a_leaf(X, Y):
    model = PfastreXmlRanker(n_trees=2, max_leaf=1, calibrate=False).fit(X, np.array(Y))
    assert np.isfinite(model.predict_scores(X)).all()
    assert model.predict_scores(X).max() > 0


@pytest.mark.parametrize(
    ("name", "value"), [("n_trees", 0), ("max_leaf", 0), ("cost", 0), ("tail_weight", 2),
                        ("gamma", -1), ("leaf_labels", 0)],
)  # fmt: skip
def test_parameters_out_of_range_are_refused(name, value):
    with pytest.raises(ArgumentError, match=rf"{name} must be .*, got {value}"):
        PfastreXmlRanker(**{name: value}).fit([[1.0]], [["a"]])


@pytest.fixture(scope="module")
def stored():
    X, Y = problem(8)
    model = PfastreXmlRanker(n_trees=2, max_leaf=3, cost=10).fit(X, Y).model_
    return model.to_tensors(keep_state=True)


def with_entry(array, value):
    changed = array.copy()
    changed[-1] = value
    return changed


@pytest.mark.parametrize(
    ("name", "value"),
    [("trees.left", 0), ("trees.left", 10**6), ("trees.roots", 10**6), ("trees.roots", -1),
     ("trees.features", 6), ("trees.labels", 7), ("trees.weights", np.inf),
     ("trees.biases", np.nan), ("trees.relevances", 2), ("trees.label_starts", 1),
     ("trees.weight_starts", -1), ("means.values", np.nan), ("used", 6)],
)  # fmt: skip
def test_a_forged_file_is_refused(stored, name, value):
    tensors, facts = stored
    with pytest.raises(ModelFormatError):
        PfastreXmlModel.from_tensors(tensors | {name: with_entry(tensors[name], value)}, facts)
