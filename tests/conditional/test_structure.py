"""The structures of a conditional tree: from all the data, or given by the user."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.base import clone
from tests.references.conditional import ReferenceConditionalTree

import labeltrees
from labeltrees import ConditionalTreeClassifier
from labeltrees.errors import ArgumentError, LabelTypeError, ModelFormatError, TreeStructureError
from labeltrees.tree import LabelTree

NESTED = [["cat", ("dog", "fox")], ["car", "van"]]


def stream(seed, n_rows=300, n_features=8, names=("car", "cat", "dog", "fox", "van")):
    rng = np.random.default_rng(seed)
    y = rng.integers(len(names), size=n_rows)
    X = np.eye(n_features)[y % n_features] + 0.3 * rng.normal(size=(n_rows, n_features))
    return X.astype(np.float32), np.array(names, dtype=object)[y]


def learned_by_reference(model, tree, X, y):
    """The reference's regressors on a fixed tree over ``classes_``, rows in their order."""
    reference = ReferenceConditionalTree(X.shape[1])
    nodes = [reference.new_node(None, None) for _ in range(tree.n_nodes)]
    for i, node in enumerate(nodes):
        if tree.label[i] >= 0:
            node.label = model.classes_[tree.label[i]]
            reference.leaf_of[node.label] = node
        else:
            node.left, node.right = nodes[tree.first_child[i]], nodes[tree.first_child[i] + 1]
            node.left.parent = node.right.parent = node
    reference.root = nodes[0]
    for x, label in zip(X, y, strict=True):
        reference.observe(x, label)
    return reference


@pytest.mark.parametrize("structure", ["huffman", "kmeans", NESTED, LabelTree.balanced(5)])
def test_a_fixed_tree_learns_like_the_reference_on_it(structure):
    X, y = stream(0, n_rows=60)
    model = ConditionalTreeClassifier(
        structure=structure, n_trees=1, refine=0, n_passes=1, shuffle=False, scale=None
    ).fit(X, y)
    reference = learned_by_reference(model, model.tree_, X, y)
    for row, p in zip(X[:10], model.predict_proba(X[:10]), strict=True):
        expected = reference.distribution(row)
        assert p == pytest.approx([expected[name] for name in model.classes_], rel=2e-4)
    assert p.sum() == pytest.approx(1)


def test_huffman_trees_are_those_of_the_label_weights():
    X, y = stream(1)
    weights = np.where(y == "fox", 5.0, np.arange(len(y)) % 2)
    mass = [weights[y == name].sum() for name in ("car", "cat", "dog", "fox", "van")]
    model = ConditionalTreeClassifier(structure="huffman").fit(X, y, sample_weight=weights)
    assert model.tree_ == LabelTree.huffman(mass)
    assert model.tree_.leaf_depth(3) == 1


@pytest.mark.parametrize("balance", ["labels", "examples"])
def test_kmeans_trees_are_those_of_the_rows(balance):
    X, y = stream(2)
    model = ConditionalTreeClassifier(structure="kmeans", balance=balance, random_state=7)
    ids = np.searchsorted(["car", "cat", "dog", "fox", "van"], y.astype(str))
    assert model.fit(X, y).tree_ == LabelTree.kmeans(X, ids, balance=balance, seed=7)


def test_a_given_tree_keeps_its_shape_and_the_users_labels():
    X, y = stream(3)
    model = ConditionalTreeClassifier(structure=NESTED).fit(X, y)
    assert model.classes_.tolist() == ["car", "cat", "dog", "fox", "van"]
    assert model.tree_ == LabelTree.from_nested([[1, [2, 3]], [0, 4]])
    assert (model.predict(X) == y).mean() > 0.8
    again = ConditionalTreeClassifier(structure=model.tree_).fit(X, y)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def test_labels_of_a_given_tree_without_examples_have_probabilities():
    X, y = stream(4)
    model = ConditionalTreeClassifier(structure=[NESTED, "bus"]).fit(X, y)
    assert model.classes_.tolist() == ["bus", "car", "cat", "dog", "fox", "van"]
    assert (model.predict_label_proba(X, ["bus"] * len(X)) > 0).all()


@pytest.mark.parametrize("balance", ["labels", "examples"])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_labels_not_in_a_given_tree_are_added(balance, alpha):
    X, y = stream(5)
    options = {"balance": balance, "alpha": alpha}
    model = ConditionalTreeClassifier(structure=["cat", ["dog", "owl"]], **options).fit(X, y)
    assert model.tree_.n_labels == 6
    assert (model.predict(X) == y).mean() > 0.7
    model.partial_fit(X[:2], ["emu", "bee"])
    assert model.tree_.n_labels == 8
    model.tree_.validate()


def test_a_stream_may_start_on_a_given_tree():
    X, y = stream(6)
    model = ConditionalTreeClassifier(structure=NESTED)
    for start in range(0, 300, 50):
        model.partial_fit(X[start : start + 50], y[start : start + 50])
    assert model.classes_.tolist() == ["car", "cat", "dog", "fox", "van"]
    assert model.tree_.depth == 3
    tree = LabelTree.balanced(5)
    by_position = ConditionalTreeClassifier(structure=tree)
    by_position.partial_fit(X, y, classes=["van", "fox", "dog", "cat", "car"])
    assert by_position.classes_.tolist() == ["car", "cat", "dog", "fox", "van"]
    assert by_position.tree_ == tree


@pytest.mark.parametrize("structure", ["huffman", "kmeans"])
def test_a_stream_may_go_on_after_fit(structure):
    X, y = stream(7)
    model = ConditionalTreeClassifier(structure=structure).fit(X, y)
    model.partial_fit(X[:3], ["emu", "bee", "emu"])
    assert model.tree_.n_labels == 7


@pytest.mark.parametrize(
    "structure", ["huffman", "kmeans", NESTED, LabelTree.balanced(5), ("car", np.str_("cat"))]
)
def test_every_structure_is_saved_and_cloned(structure, tmp_path):
    X, y = stream(8)
    model = ConditionalTreeClassifier(structure=structure).fit(X, y)
    model.save(tmp_path / "m")
    again = labeltrees.load(tmp_path / "m")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.tree_ == model.tree_
    refitted = clone(again).fit(X, y)
    assert np.array_equal(refitted.predict_proba(X), model.predict_proba(X))


def test_a_very_deep_structure_is_saved(tmp_path):
    lists = ["a0", "a1"]
    for i in range(2, 3000):
        lists = [f"a{i}", lists]
    model = ConditionalTreeClassifier(structure=lists).partial_fit([[1.0]], ["a0"])
    model.save(tmp_path / "m")
    assert labeltrees.load(tmp_path / "m").tree_.depth == 2999


# Errors.


@pytest.mark.parametrize("structure", ["huffman", "kmeans"])
def test_a_stream_cannot_start_on_a_tree_from_all_the_data(structure):
    model = ConditionalTreeClassifier(structure=structure)
    with pytest.raises(ArgumentError, match=f"structure='{structure}' needs fit"):
        model.partial_fit([[1.0]], ["a"])
    assert not hasattr(model, "model_")


@pytest.mark.parametrize(
    ("structure", "error", "message"),
    [
        ("given", ArgumentError, "structure must be"),
        (3, ArgumentError, "structure must be 'auto', 'online', 'random'"),
        (None, ArgumentError, "structure must be 'auto', 'online'"),
        ([["cat"], []], TreeStructureError, "empty list"),
        ([["cat", "cat"], "dog"], TreeStructureError, "two leaves"),
        (["cat", 3], LabelTypeError, "all strings or all integers"),
        ([1, 2], LabelTypeError, "labels of this model are str, got int"),
        (LabelTree.balanced(9), ArgumentError, "the leaf 8, but the classes are 0 to 4"),
    ],
)
def test_bad_structures_are_refused(structure, error, message):
    X, y = stream(9)
    model = ConditionalTreeClassifier(structure=structure)
    with pytest.raises(error, match=message):
        model.fit(X, y)
    assert not hasattr(model, "model_")


def test_a_label_tree_without_classes_is_refused_on_a_stream():
    with pytest.raises(ArgumentError, match="needs classes= in the first partial_fit"):
        ConditionalTreeClassifier(structure=LabelTree.balanced(2)).partial_fit([[1.0]], ["a"])


@pytest.mark.parametrize(
    "value", [{}, {"tree": 3}, {"parent": [-1, 5], "leaves": [None, "a"]}, {"parent": 1}]
)
def test_a_forged_structure_is_refused(value):
    from labeltrees.models.conditional.structure import structure_from_json

    with pytest.raises(ModelFormatError):
        structure_from_json(value)


# The Rtree of the LOMtree's paper: a balanced random tree of logarithmic depth, greedy descent.

RTREE = {"structure": "shuffled", "mixing": False, "refine": 0, "scale": None}


def clusters(n_labels, n_rows, seed=0):
    rng = np.random.default_rng(seed)
    y = np.r_[np.arange(n_labels), rng.integers(n_labels, size=n_rows - n_labels)]
    return rng.normal(size=(n_labels, 6))[y] + 0.7 * rng.normal(size=(n_rows, 6)), y


@pytest.mark.parametrize("n_labels", [1, 2, 3, 7, 8, 9, 100])
def test_a_shuffled_tree_is_balanced_and_its_seed_decides_the_order(n_labels):
    X, y = clusters(n_labels, n_labels + 20)
    one, same, other = (
        ConditionalTreeClassifier(**RTREE, random_state=seed).fit(X, y).tree_ for seed in (0, 0, 1)
    )
    assert one.depth == math.ceil(math.log2(n_labels))
    assert sorted(one.label[one.label >= 0]) == list(range(n_labels))
    assert one == same
    assert n_labels < 7 or one != other


def test_the_shuffled_tree_of_a_stream_needs_its_labels_first_and_takes_more_later():
    X, y = clusters(16, 100)
    with pytest.raises(ArgumentError, match=r"shuffled.*needs all labels"):
        ConditionalTreeClassifier(**RTREE).partial_fit(X, y)
    model = ConditionalTreeClassifier(**RTREE).partial_fit(X, y, classes=np.arange(16))
    assert model.tree_.depth == 4
    model.partial_fit(X[:16], np.arange(16, 32))
    assert model.tree_.depth == 5  # each beside a leaf of its own


def greedy_by_hand(tree, p):
    """Go from the root to the child under which there is more probability, left if as much."""
    node = 0
    while tree.label[node] < 0:
        left = tree.first_child[node]
        masses = [sum(p[each] for each in below(tree, child)) for child in (left, left + 1)]
        node = left + int(masses[1] > masses[0])
    return tree.label[node]


def below(tree, node):
    if tree.label[node] >= 0:
        return [tree.label[node]]
    left = tree.first_child[node]
    return below(tree, left) + below(tree, left + 1)


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_greedy_descent_takes_the_likelier_turn_at_every_node(loss):
    X, y = clusters(11, 300)
    model = ConditionalTreeClassifier(**RTREE, loss=loss, optimizer="sgd", learning_rate=0.5)
    model.fit(X, y)
    p, greedy = model.predict_proba(X), model.predict_greedy(X)
    expected = [model.classes_[greedy_by_hand(model.tree_, row)] for row in p]
    assert greedy.tolist() == expected
    assert (greedy != model.predict(X)).any()  # the likeliest label is often another


def test_greedy_descent_is_for_single_trees_without_experts():
    X, y = clusters(5, 60)
    for settings in ({}, {"arity": 4}, {"n_trees": 2, "structure": "random", "refine": 0}):
        assert not hasattr(ConditionalTreeClassifier(**settings).fit(X, y), "predict_greedy")
