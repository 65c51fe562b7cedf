"""ConditionalTreeClassifier: agrees with the paper's algorithm, and keeps its bounds.

Worked example -> agreement with tests/reference.py -> invariants -> boundaries -> errors.
What it shares with every estimator is in tests/contract.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.references.conditional import ReferenceConditionalTree

from labeltrees import ConditionalTreeClassifier, _core
from labeltrees.errors import (
    ArgumentError,
    DivergedError,
)


def stream(seed, n_rows=400, n_features=12, n_labels=9):
    """Rows whose strongest features tell their label, with noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_labels, size=n_rows)
    centres = rng.normal(size=(n_labels, n_features))
    X = centres[y] + 0.7 * rng.normal(size=(n_rows, n_features))
    X[rng.random(X.shape) < 0.4] = 0
    return X.astype(np.float32), y


# A worked example.


def test_two_labels_one_feature_by_hand():
    model = ConditionalTreeClassifier(
        loss="squared", optimizer="sgd", learning_rate=0.5, normalize=False, bias=0.0
    )
    model.partial_fit([[2.0]], ["a"])
    assert model.predict_label_proba([[2.0]], ["a"])[0] == 1  # one label: no regressor at all
    model.partial_fit([[1.0]], ["b"])  # w = 0 + .5 * (1 - 0) * 1 = .5, b is to the right
    assert model.predict_label_proba([[1.0], [0.5]], ["b", "b"]).tolist() == [0.5, 0.25]
    model.partial_fit([[1.0]], ["a"])  # w = .5 - .5 * (.5 - 0) * 1 = .25
    assert model.predict_proba([[2.0]]).tolist() == [[0.5, 0.5]]
    assert model.classes_.tolist() == ["a", "b"]


# Agreement with the reference.

numbers = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.0, 0.25, 1.0, 3.0])


@st.composite
def problems(draw):
    n_features = draw(st.integers(1, 5))
    row = st.lists(numbers, min_size=n_features, max_size=n_features)
    rows = draw(st.lists(row, min_size=1, max_size=40))
    n = len(rows)
    labels = draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    weights = draw(st.none() | st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=n, max_size=n))
    options = draw(
        st.fixed_dictionaries(
            {
                "loss": st.sampled_from(["logistic", "squared"]),
                "optimizer": st.sampled_from(["adagrad", "sgd"]),
                "learning_rate": st.sampled_from([0.05, 0.3]),
                "normalize": st.just(True),
                "bias": st.sampled_from([0.0, 0.25, 1.0]),
                "mixing": st.booleans(),
                "sharpness": st.sampled_from([1.0, 1.2]),
                "balance": st.sampled_from(["labels", "examples"]),
                "alpha": st.sampled_from([0.0, 0.1, 0.37, 0.6, 0.9, 1.0]),
            }
        )
    )
    return np.array(rows, dtype=np.float32), labels, weights, options


def long_problem(seed):
    """Rows enough for counts that fade, features trusted to every degree, and a deep tree."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(60, 120))
    X = rng.choice([-1.0, 0.0, 0.0, 0.5, 1.0, 3.0], size=(n, int(rng.integers(2, 5))))
    X[:, 0] = rng.choice([0.0, 1.0, 1.0, 1.0, 1.0], size=n)
    skewed = np.minimum(rng.geometric(rng.choice([0.15, 0.3]), size=n), 14)
    weights = None if rng.random() < 0.5 else rng.choice([0.5, 1.0, 2.0], size=n).tolist()
    options = {
        "optimizer": rng.choice(["adagrad", "sgd"]),
        "learning_rate": rng.choice([0.05, 0.3]),
        "normalize": True,
        "bias": rng.choice([0.0, 0.25]),
        "mixing": rng.random() < 0.8,
        "balance": rng.choice(["labels", "examples"]),
        "alpha": rng.choice([0.0, 0.1, 0.37, 0.6, 1.0]),
    }
    options = {name: np.asarray(value).item() for name, value in options.items()}
    return X.astype(np.float32), skewed.tolist(), weights, options


@settings(max_examples=200, deadline=None)
@given(problems())
def test_learning_agrees_with_the_reference_step_by_step(problem):
    check_every_step(*problem)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_long_streams_agree_with_the_reference_step_by_step(seed):
    check_every_step(*long_problem(seed))


def check_every_step(X, y, weights, options):
    reference = ReferenceConditionalTree(X.shape[1], **options)
    model = ConditionalTreeClassifier(**options, refine=0, scale=None)
    seen = model.progressive_fit(X, y, sample_weight=weights)
    for i, label in enumerate(y):
        p = reference.observe(X[i], label, 1.0 if weights is None else weights[i])
        assert bool(seen.is_new[i]) == (p is None)
        assert seen.p_label[i] == pytest.approx(p or 0.0, rel=2e-4, abs=1e-9)
    assert model.tree_.parent.tolist() == reference.parents()
    for row, distribution in zip(X[:5], model.predict_proba(X[:5]), strict=True):
        expected = reference.distribution(row)
        assert distribution == pytest.approx(
            [expected[label] for label in model.classes_], rel=2e-4, abs=1e-9
        )


def observe_all(reference, X, y, weights):
    for i, label in enumerate(y):
        reference.observe(X[i], label, 1.0 if weights is None else weights[i])
    return reference


@settings(max_examples=80, deadline=None)
@given(problems(), st.sampled_from(["adagrad", "sgd"]))
def test_squared_loss_is_the_paper_s_algorithm_with_its_leaf_regressor(problem, optimizer):
    X, y, weights, options = problem
    options |= {"loss": "squared", "optimizer": optimizer}
    paper = ReferenceConditionalTree(X.shape[1], leaf_regressor=True, **options)
    observe_all(paper, X, y, weights)
    model = ConditionalTreeClassifier(**options, scale=None)
    model.partial_fit(X, y, sample_weight=weights)
    assert model.tree_.parent.tolist() == paper.parents()
    for row, distribution in zip(X[:5], model.predict_proba(X[:5]), strict=True):
        expected = [paper.distribution(row)[label] for label in model.classes_]
        assert distribution == pytest.approx(expected, rel=2e-4, abs=1e-9)


def test_under_logistic_loss_a_leaf_regressor_would_change_something():
    X, y = np.eye(3, dtype=np.float32), ["a", "a", "b"]
    without, with_it = (
        observe_all(ReferenceConditionalTree(3, mixing=False, leaf_regressor=each), X, y, None)
        for each in (False, True)
    )
    assert with_it.distribution(X[0])["a"] > without.distribution(X[0])["a"] + 0.1


# Invariants.


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 30))
def test_top_k_equals_sorting_all_marginals(seed, n_labels, k):
    X, y = stream(seed, n_rows=80, n_features=6, n_labels=n_labels)
    model = ConditionalTreeClassifier(alpha=0.3).partial_fit(X, y)
    k = min(k, len(model.classes_))
    full = model.predict_proba(X[:10])
    assert np.array_equal(model.predict_top_k(X[:10], k).probabilities, -np.sort(-full)[:, :k])


@pytest.mark.parametrize("balance", ["labels", "examples"])
@pytest.mark.parametrize("alpha", [0.05, 0.2, 0.5, 0.8, 1.0])
def test_the_tree_is_never_deeper_than_theorem_7_allows(alpha, balance):
    rng = np.random.default_rng(6)
    y = rng.zipf(1.3, size=3000) % 700
    X = sparse.csr_array(sparse.random(3000, 50, 0.1, random_state=rng, dtype=np.float32))
    model = ConditionalTreeClassifier(alpha=alpha, balance=balance, learning_rate=5.0, refine=0)
    for start in range(0, 3000, 500):
        model.partial_fit(X[start : start + 500], y[start : start + 500])
        assert model.tree_.depth <= _core.depth_bound(model.tree_.n_labels, alpha)


def test_several_passes_fit_better_than_one():
    X, y = stream(7)
    plain = {"structure": "online", "n_trees": 1, "refine": 0}
    once = ConditionalTreeClassifier(**plain, n_passes=1).fit(X, y)
    often = ConditionalTreeClassifier(**plain, n_passes=10).fit(X, y)
    assert (
        np.log(often.predict_label_proba(X, y)).mean()
        > np.log(once.predict_label_proba(X, y)).mean() + 0.05
    )


# Boundaries.


def test_labels_announced_but_not_seen_keep_their_column_at_zero():
    model = ConditionalTreeClassifier().partial_fit([[1.0], [2.0]], [5, 3], classes=[3, 4, 5])
    assert model.classes_.tolist() == [3, 4, 5]
    assert model.predict_proba([[1.0]])[0, 1] == 0
    with pytest.raises(ArgumentError, match=r"k must be an integer in \[1, n_labels=2\], got 3"):
        model.predict_top_k([[1.0]], 3)


def test_feature_indices_past_2_to_24_are_kept_apart():
    near = 2**24
    X = sparse.csr_array(([1.0] * 4, [near, near + 1, near + 2, 2**31 - 2], range(5)))
    X = sparse.csr_array((X.data, X.indices, X.indptr), shape=(4, 2**31 - 1))
    y = ["a", "b", "c", "d"]
    model = ConditionalTreeClassifier(n_passes=20).fit(X, y)
    assert model.predict(X).tolist() == y


def test_huge_values_are_learned_from_when_rows_are_normalised():
    model = ConditionalTreeClassifier().fit([[1e38, 0], [0, 1e38]] * 20, [0, 1] * 20)
    assert model.predict([[1e38, 0], [0, 1e-38]]).tolist() == [0, 1]


# Errors.


def test_diverging_weights_are_reported_with_the_way_out():
    model = ConditionalTreeClassifier(
        loss="squared", optimizer="sgd", learning_rate=1e5, normalize=False
    )
    with pytest.raises(DivergedError, match=r"learning_rate=100000 is too large"):
        model.fit([[1e10], [2e10]] * 20, [0, 1] * 20)
    assert not hasattr(model, "classes_")
