"""LabelTree.kmeans: the tree of balanced spherical k-means, that of tests/reference.py."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.references import clustering as reference

from labeltrees.data.rows import as_rows
from labeltrees.errors import ArgumentError, DataError, TreeStructureError
from labeltrees.tree import LabelTree


def clusters(seed, n_clusters, n_labels, n_rows, n_features=30, noise=0.2):
    """Rows and labels; label l belongs to cluster l % n_clusters, one feature each."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_labels, size=n_rows)
    y[:n_labels] = np.arange(n_labels)
    X = noise * rng.normal(size=(n_rows, n_features))
    X[np.arange(n_rows), y % n_clusters] += 3
    return X.astype(np.float32), y


def labels_below(tree, node):
    if tree.label[node] >= 0:
        return {int(tree.label[node])}
    first = tree.first_child[node]
    children = range(first, first + tree.n_children[node])
    return set().union(*(labels_below(tree, child) for child in children))


# A worked example.


def test_four_labels_by_hand():
    # Centroids at 0, 10, 80 and 90 degrees: the halves are {0, 3} and {1, 2}.
    angles = np.deg2rad([0, 80, 90, 10])
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    for seed in range(10):
        tree = LabelTree.kmeans(X, [0, 1, 2, 3], seed=seed)
        assert {frozenset(labels_below(tree, node)) for node in (1, 2)} == {
            frozenset({0, 3}),
            frozenset({1, 2}),
        }


# Agreement with the reference.


@st.composite
def problems(draw):
    n_labels, n_features = draw(st.integers(1, 14)), draw(st.integers(1, 6))
    n_rows = draw(st.integers(1, 30))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    X[rng.random(X.shape) < 0.5] = 0
    y = rng.integers(n_labels, size=n_rows)
    weights = draw(st.sampled_from([np.ones(n_rows), rng.integers(3, size=n_rows) / 2]))
    return X, y, weights.astype(np.float32), n_labels


@settings(max_examples=300, deadline=None)
@given(problems(), st.integers(2, 5), st.integers(0, 2**64 - 1), st.booleans())
def test_the_tree_is_that_of_the_reference(problem, arity, seed, by_mass):
    X, y, weights, n_labels = problem
    mass = np.bincount(y, weights, minlength=n_labels) if by_mass else None
    centroids = reference.label_centroids(X, y, weights, n_labels)
    parent, label = reference.kmeans_tree(centroids, arity, seed, mass)
    tree = LabelTree.kmeans(
        X,
        y,
        n_labels=n_labels,
        weights=weights,
        arity=arity,
        balance="examples" if by_mass else "labels",
        seed=seed,
    )
    assert tree.parent.tolist() == parent
    assert tree.label.tolist() == label


# Invariants.


@settings(max_examples=100, deadline=None)
@given(problems(), st.integers(2, 9), st.sampled_from(["labels", "examples"]))
def test_every_label_has_one_leaf_and_no_node_too_many_children(problem, arity, balance):
    X, y, weights, n_labels = problem
    tree = LabelTree.kmeans(X, y, n_labels=n_labels, weights=weights, arity=arity, balance=balance)
    tree.validate()
    assert sorted(tree.label[tree.label >= 0]) == list(range(n_labels))
    assert tree.n_children.max() <= arity
    assert (tree.n_children != 1).all()


@given(st.integers(1, 300), st.integers(2, 9))
@settings(max_examples=60, deadline=None)
def test_depth_is_the_logarithm_rounded_up(n_labels, arity):
    X = np.random.default_rng(n_labels).normal(size=(n_labels, 4))
    tree = LabelTree.kmeans(X, np.arange(n_labels), arity=arity)
    assert tree.depth == next(depth for depth in range(12) if arity**depth >= n_labels)


@pytest.mark.parametrize("arity", [2, 8])
def test_separable_clusters_are_found(arity):
    X, y = clusters(1, n_clusters=8, n_labels=64, n_rows=1000)
    tree = LabelTree.kmeans(X, y, arity=arity, seed=3)
    found = [labels_below(tree, node) for node in np.flatnonzero(tree.n_leaves == 8)]
    assert sorted(map(min, found)) == list(range(8))
    assert all(len({label % 8 for label in labels}) == 1 for labels in found)


def test_scaling_rows_moving_features_and_sparseness_change_nothing():
    X, y = clusters(2, 4, 21, 300)
    tree = LabelTree.kmeans(X, y)
    scaled = X * np.exp2(np.arange(300) % 9 - 4)[:, None].astype(np.float32)
    assert LabelTree.kmeans(scaled, y) == tree
    wide = sparse.csr_array(X)
    wide = sparse.csr_array(
        (wide.data, wide.indices * 70_000_000, wide.indptr), shape=(300, 2**31 - 1)
    )
    assert LabelTree.kmeans(wide, y) == tree
    assert LabelTree.kmeans(as_rows(X), y) == tree


def test_the_seed_decides_and_nothing_else():
    X, y = np.random.default_rng(3).normal(size=(200, 5)), np.arange(200) % 50
    assert LabelTree.kmeans(X, y, seed=4) == LabelTree.kmeans(X, y, seed=4)
    assert LabelTree.kmeans(X, y, seed=4) != LabelTree.kmeans(X, y, seed=5)


def test_balancing_examples_makes_frequent_labels_shallow():
    y = np.repeat(np.arange(8), [200, 5, 5, 5, 5, 5, 5, 5])
    X = np.random.default_rng(4).normal(size=(len(y), 3))
    by_labels = LabelTree.kmeans(X, y)
    by_examples = LabelTree.kmeans(X, y, balance="examples")
    assert by_labels.depth == 3
    assert by_examples.leaf_depth(0) < 3
    assert np.mean([by_examples.leaf_depth(i) for i in y]) < 3


# Boundaries.


def test_one_label_is_a_leaf():
    assert LabelTree.kmeans([[1.0], [2.0]], [0, 0]) == LabelTree.balanced(1)


def test_identical_and_empty_centroids_are_shared_out_evenly():
    for X in (np.ones((9, 2)), np.zeros((9, 2))):
        tree = LabelTree.kmeans(X, np.arange(9))
        assert tree.depth == 4
        assert tree.n_labels == 9


def test_labels_without_rows_get_a_leaf():
    tree = LabelTree.kmeans([[1.0, 0], [0, 1]], [4, 2], n_labels=7)
    assert sorted(tree.label[tree.label >= 0]) == list(range(7))


def test_a_row_of_weight_zero_is_as_if_it_were_not_there():
    X, y = clusters(5, 3, 12, 100)
    weights = np.ones(100)
    weights[50:] = 0
    other = np.where(weights > 0, y, -1)
    tree = LabelTree.kmeans(X[:50], y[:50], n_labels=12)
    assert LabelTree.kmeans(X, other, n_labels=12, weights=weights) == tree


def test_no_labels_make_the_empty_tree():
    assert LabelTree.kmeans([[1.0]], [0], weights=[0]).n_nodes == 0


# Errors.


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"arity": 1}, ArgumentError, r"arity must be an integer in \[2"),
        ({"seed": -1}, ArgumentError, "seed must"),
        ({"n_labels": 2}, ArgumentError, r"each label must be in \[0, n_labels=2\), got 2"),
        ({"n_labels": -1}, ArgumentError, "n_labels must"),
        ({"balance": "rows"}, ArgumentError, "balance must be 'labels' or 'examples'"),
        ({"weights": [1, -1, 1]}, ArgumentError, r"^weights\[1\] must be in \[0, 1e\+09\]"),
        ({"labels": [0, 1]}, ArgumentError, "labels has 2 entries for the 3 rows of X"),
        ({"labels": [0, 1, -1]}, ArgumentError, r"each label must be in .* got -1"),
        ({"labels": [0.0, 1.0, 2.0]}, TreeStructureError, "the type of labels"),
        ({"X": [[np.nan], [1], [2]]}, DataError, "row 0 of X has NaN"),
    ],
)
def test_bad_arguments_are_refused_by_name(options, error, message):
    arguments = {"X": [[1.0], [2.0], [3.0]], "labels": [0, 1, 2]} | options
    with pytest.raises(error, match=message):
        LabelTree.kmeans(arguments.pop("X"), arguments.pop("labels"), **arguments)
