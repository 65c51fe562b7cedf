"""PECOC: the code, its decoding, and trees of it, as tests/reference.py has them from the paper."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.references.conditional import (
    ReferencePecocTree,
    hadamard_code,
    pecoc,
    project_on_simplex,
)

from labeltrees import ConditionalTreeClassifier, _core
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.rows import as_rows
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ArgumentError, DivergedError, ModelFormatError
from labeltrees.models.conditional.model import ConditionalTreeModel
from labeltrees.models.conditional.pecoc import PecocTreeModel
from labeltrees.models.conditional.settings import ConditionalSettings
from labeltrees.tree import LabelTree

SIZES = st.sampled_from([2, 4, 8, 16, 64])
NO_WEIGHTS = np.empty(0, dtype=np.float32)


def stream(seed, n_rows=400, n_features=12, n_labels=9):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_labels, size=n_rows)
    y[:n_labels] = np.arange(n_labels)
    centres = rng.normal(size=(n_labels, n_features))
    X = centres[y] + 0.7 * rng.normal(size=(n_rows, n_features))
    X[rng.random(X.shape) < 0.4] = 0
    return X.astype(np.float32), y


# The code.


def test_the_targets_are_the_columns_of_the_code():
    for n in (2, 3, 4, 5, 8, 13):
        size = 1 << (n - 1).bit_length()
        code = hadamard_code(size)
        for outcome in range(n):
            targets = _core.pecoc_targets(outcome, n)
            assert targets.tolist() == code[1:, size - 1 - outcome].tolist()


def test_two_outcomes_ask_whether_it_is_the_second():
    assert [_core.pecoc_targets(outcome, 2).tolist() for outcome in (0, 1)] == [[0], [1]]


@given(SIZES, st.integers(0, 10**6))
def test_the_transform_is_equation_4(size, seed):
    answers = np.random.default_rng(seed).random(size)
    assert _core.pecoc_decode(answers) == pytest.approx(pecoc(answers), abs=1e-12)


@given(SIZES, st.integers(0, 10**6))
def test_perfect_regressors_give_the_exact_distribution(size, seed):
    truth = np.random.default_rng(seed).dirichlet(np.full(size, 0.3))
    answers = hadamard_code(size) @ truth  # row i: P(the outcome is in its subset)
    assert _core.pecoc_decode(answers) == pytest.approx(truth, abs=1e-12)


@given(
    st.lists(st.floats(-2, 2), min_size=1, max_size=20),
    st.sampled_from([0.0, 1e-6, 0.01, 0.05]),
)
def test_the_projection_is_that_of_the_reference(values, floor):
    got = _core.project_on_simplex(np.array(values), floor)
    assert got == pytest.approx(project_on_simplex(values, floor), abs=1e-9)
    assert got.sum() == pytest.approx(1)
    assert (got >= floor).all()


@given(st.integers(1, 20), st.integers(0, 10**6))
def test_no_truth_is_farther_after_the_projection(n, seed):
    rng = np.random.default_rng(seed)
    truth, values = rng.dirichlet(np.ones(n)), rng.normal(0, 0.5, size=n)
    got = _core.project_on_simplex(values, 0.0)
    assert np.linalg.norm(got - truth) <= np.linalg.norm(values - truth) + 1e-12


# Trees: agreement with the reference.

numbers = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.0, 0.25, 1.0, 3.0])


@st.composite
def problems(draw):
    n_features, n_labels = draw(st.integers(1, 4)), draw(st.integers(1, 11))
    row = st.lists(numbers, min_size=n_features, max_size=n_features)
    rows = draw(st.lists(row, min_size=1, max_size=25))
    n = len(rows)
    label = st.integers(0, n_labels - 1)
    labels = draw(st.lists(label, min_size=n, max_size=n))
    weights = draw(st.none() | st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=n, max_size=n))
    tree = draw(
        st.builds(LabelTree.random, st.just(n_labels), arity=st.integers(2, 16))
        | st.builds(
            LabelTree.huffman,
            st.lists(st.integers(0, 9), min_size=n_labels, max_size=n_labels),
            arity=st.sampled_from([2, 4, 8]),
        )
    )
    options = draw(
        st.fixed_dictionaries(
            {
                "loss": st.sampled_from(["logistic", "squared"]),
                "optimizer": st.sampled_from(["adagrad", "sgd"]),
                "learning_rate": st.sampled_from([0.05, 0.3]),
                "bias": st.sampled_from([0.0, 0.25]),
            }
        )
    )
    return np.array(rows, dtype=np.float32), np.array(labels), weights, tree, options


@settings(max_examples=100, deadline=None)
@given(problems())
def test_learning_agrees_with_the_reference_step_by_step(problem):
    X, y, weights, tree, options = problem
    reference = ReferencePecocTree(tree, X.shape[1], **options)
    vocabulary = LabelVocabulary(np.arange(tree.n_labels))
    chosen = ConditionalSettings(**options, scale=None)
    model = PecocTreeModel.on_tree(chosen, X.shape[1], vocabulary, tree)
    given_weights = NO_WEIGHTS if weights is None else np.array(weights, dtype=np.float32)
    seen = model.update(as_rows(X), RaggedLabels.of_single(y), given_weights, k=1)
    for i, label in enumerate(y):
        p = reference.observe(X[i], label, 1.0 if weights is None else weights[i])
        assert seen.p_label[i] == pytest.approx(p, rel=5e-4, abs=1e-6)
    for row, p in zip(X[:3], model.probabilities(as_rows(X[:3])), strict=True):
        assert p == pytest.approx(reference.distribution(row), rel=5e-4, abs=1e-6)


@settings(max_examples=100, deadline=None)
@given(problems())
def test_two_children_give_exactly_the_conditional_tree(problem):
    X, y, weights, _, options = problem
    n_labels = int(y.max()) + 1
    tree = LabelTree.random(n_labels, seed=5)
    learning = ConditionalSettings(**options, mixing=False)
    given_weights = NO_WEIGHTS if weights is None else np.array(weights, dtype=np.float32)
    answers = []
    for kind in (PecocTreeModel, ConditionalTreeModel):
        vocabulary = LabelVocabulary(np.arange(n_labels))
        model = kind.on_tree(learning, X.shape[1], vocabulary, tree)
        seen = model.update(as_rows(X), RaggedLabels.of_single(y), given_weights, k=1)
        answers.append((*seen, model.probabilities(as_rows(X))))
    if learning.optimizer == "sgd":
        for one, other in zip(*answers, strict=True):
            assert np.array_equal(one, other)
    else:  # the conditional tree keeps AdaGrad's sums in 16 bits
        for i in (0, -1):
            assert answers[0][i] == pytest.approx(answers[1][i], rel=0.02, abs=1e-5)


# The estimator.

STRUCTURES = ["online", "random", "balanced", "huffman", "kmeans"]


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("arity", [4, 8, 64])
@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_every_query_tells_the_same_probability(structure, arity, loss):
    X, y = stream(1, n_labels=40)
    model = ConditionalTreeClassifier(
        structure=structure, arity=arity, loss=loss, learning_rate=0.5, n_passes=2
    ).fit(X, y)
    assert isinstance(model.model_, PecocTreeModel)
    assert 2 < model.tree_.n_children.max() <= arity
    full = model.predict_proba(X)
    assert full.sum(axis=1) == pytest.approx(np.ones(len(X)), abs=1e-12)
    assert np.array_equal(model.predict_label_proba(X, y), full[np.arange(len(X)), y])
    labels, p = model.predict_top_k(X, 40)
    assert np.array_equal(p, -np.sort(-full, axis=1))
    assert np.array_equal(np.take_along_axis(full, labels, axis=1), p)
    assert np.array_equal(model.predict(X), labels[:, 0])


@pytest.mark.parametrize("arity", [4, 16])
def test_it_learns(arity):
    X, y = stream(2, n_rows=2000)
    model = ConditionalTreeClassifier(arity=arity).fit(X[:1500], y[:1500])
    assert (model.predict(X[1500:]) == y[1500:]).mean() > 0.65  # one label in nine by chance


def test_arity_at_least_the_number_of_labels_is_one_node():
    X, y = stream(3)
    model = ConditionalTreeClassifier(structure="random", arity=16).fit(X, y)
    assert model.tree_.n_nodes == 10
    assert model.model_.describe()["regressors"] == 15
    assert model.model_.describe()["most_children"] == 9


def test_the_online_structure_is_that_of_the_first_pass_with_levels_joined():
    X, y = stream(4, n_labels=30)
    binary = ConditionalTreeClassifier(scale=None).partial_fit(X, y, classes=np.arange(30))
    model = ConditionalTreeClassifier(arity=8, scale=None).fit(X, y)
    assert model.tree_ == binary.tree_.collapsed(3)


def test_a_given_tree_with_many_children_needs_no_arity():
    X, y = stream(5, n_labels=6)
    lists = [[0, 1, 2], [3], [4, [5]]]
    model = ConditionalTreeClassifier(structure=lists).fit(X, y)
    assert model.tree_ == LabelTree.from_nested(lists)
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(len(X)))
    assert (model.predict(X) == y).mean() > 0.7


def test_a_row_of_weight_zero_is_not_learned():
    X, y = stream(8)
    weights = np.ones(len(X))
    weights[::3] = 0
    options = {"arity": 4, "shuffle": False, "structure": "kmeans"}
    weighted = ConditionalTreeClassifier(**options).fit(X, y, sample_weight=weights)
    without = ConditionalTreeClassifier(**options).fit(X[weights > 0], y[weights > 0])
    assert np.array_equal(weighted.predict_proba(X), without.predict_proba(X))


@pytest.mark.parametrize(
    "forgery",
    [
        {"tree.label": np.array([-1, 70, 1], "i4"), "tree.parent": np.array([-1, 0, 0], "i4")},
        {"tree.parent": np.array([0], "i4")},
        {"table.keys": np.zeros(1, "u8")},
        {"table.weights": np.zeros((1, 7), "f4")},
        {"mass": np.zeros(2)},
        {"mass": np.zeros(2, "f4")},
    ],
)
def test_forged_tensors_are_refused(forgery):
    X, y = stream(10)
    model = ConditionalTreeClassifier(arity=4).fit(X, y)
    tensors, facts = model.model_.to_tensors(keep_state=True)
    with pytest.raises(ModelFormatError):
        PecocTreeModel.from_tensors(tensors | forgery, facts)


# Boundaries.


def test_two_labels_are_the_binary_tree():
    X, y = stream(11, n_labels=2)
    options = {"optimizer": "sgd", "mixing": False}
    wide = ConditionalTreeClassifier(arity=8, structure="balanced", **options).fit(X, y)
    binary = ConditionalTreeClassifier(structure=LabelTree.balanced(2), **options).fit(X, y)
    assert np.array_equal(wide.predict_proba(X), binary.predict_proba(X))


# Errors.


def test_a_stream_must_name_its_labels():
    with pytest.raises(ArgumentError, match="arity=4 needs all labels"):
        ConditionalTreeClassifier(arity=4).partial_fit([[1.0]], ["a"])


def test_a_label_outside_the_tree_is_refused_and_changes_nothing():
    X, y = stream(13)
    model = ConditionalTreeClassifier(arity=4).fit(X, y)
    before = pickle.dumps(model.model_)
    with pytest.raises(ArgumentError, match="label 77 is not in the tree"):
        model.partial_fit(X[:2], [1, 77])
    assert pickle.dumps(model.model_) == before
    model.partial_fit(X[:2], [1, 77], sample_weight=[1, 0])


def test_a_label_announced_too_late_is_refused_when_it_comes():
    X, y = stream(14)
    model = ConditionalTreeClassifier(arity=4).fit(X, y)
    model.partial_fit(X[:2], y[:2], classes=[77])
    assert model.predict_proba(X[:1])[0, 9] == 0
    with pytest.raises(ArgumentError, match="label 77 is not in the tree"):
        model.partial_fit(X[:2], [1, 77])


def test_diverging_weights_are_reported():
    model = ConditionalTreeClassifier(
        loss="squared", optimizer="sgd", learning_rate=1e5, normalize=False, arity=4
    )
    with pytest.raises(DivergedError, match="learning_rate=100000 is too large"):
        model.fit([[1e10], [2e10], [3e10]] * 20, [0, 1, 2] * 20)
