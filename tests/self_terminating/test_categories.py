"""Categorical predicates and the scalar form of self-terminating trees.

Worked example -> agreement with tests/references/self_terminating.py -> what nobody has seen ->
files -> errors.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.references.self_terminating import ReferenceSelfTerminatingTree

import labeltrees
from labeltrees import SelfTerminatingTreeClassifier
from labeltrees.errors import ArgumentError, DataError
from labeltrees.models.self_terminating.branch import solve_binary_branch, solve_branch

ABSTRACT = {"criterion": "entropy", "weight_power": 0, "min_gain": 0, "split_terminated": False}


def towns():
    """Three towns, each with a label of its own, which no threshold tells apart at once."""
    town = np.repeat([0.0, 2.0, 7.0], 20)
    return town[:, None], np.repeat(["rain", "sun", "rain"], 20)


def test_a_category_has_a_branch_for_each_of_its_values():
    X, y = towns()
    tree = SelfTerminatingTreeClassifier(penalty=2.0, categorical=[0], **ABSTRACT).fit(X, y)
    root = np.array([40.5, 20.5]) / 61
    for value, q in ((0, [1, 0]), (2, [0, 1]), (7, [1, 0])):
        expected = solve_branch(q, root, 2.0 / 20).p
        assert tree.predict_proba([[value]])[0] == pytest.approx(expected)
    core = tree.model_.core
    gains = [20 * solve_branch(q, root, 2.0 / 20).gain for q in ([1, 0], [0, 1], [1, 0])]
    assert core.gain()[0] == pytest.approx(sum(gains))
    assert tree.feature_importances_.tolist() == [1.0]
    assert tree.model_._is_continued().sum() == (core.left() >= 0).sum() - 1


def test_what_a_node_has_not_seen_keeps_its_distribution():
    X, y = towns()
    tree = SelfTerminatingTreeClassifier(penalty=2.0, categorical=[0], **ABSTRACT).fit(X, y)
    root = (np.array([40.5, 20.5]) / 61).tolist()
    for value in (1, 3, 6, 8, 1000, np.nan):
        assert tree.predict_proba([[value]])[0].tolist() == root
    # Missing values that were seen are a value like others.
    X[:20] = np.nan
    tree.fit(X, y)
    assert tree.predict_proba([[np.nan]])[0, 0] > 0.9
    assert tree.predict_proba([[0.0]])[0].tolist() == root


@st.composite
def problems(draw):
    n = draw(st.integers(2, 14))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    X = rng.integers(5, size=(n, 3)).astype(np.float32)
    X[:, 2] *= rng.random(n) < 0.3  # sparse
    X[rng.random((n, 3)) < draw(st.sampled_from([0, 0.2]))] = np.nan
    y = np.append([0, 1], rng.integers(draw(st.integers(2, 4)), size=n - 2))
    y = np.unique(y, return_inverse=True)[1]  # no label is left out
    weights = rng.uniform(0.2, 2, size=n).astype(np.float32)
    options = {
        "penalty": draw(st.sampled_from([0.0, 0.3, 1.0])),
        "weight_power": draw(st.sampled_from([0.0, 0.5])),
        "min_gain": draw(st.sampled_from([0.0, 0.5])),
        "split_terminated": draw(st.booleans()),
        "categorical": draw(st.sampled_from([(0,), (2,), (0, 1), (0, 1, 2)])),
    }
    return X, y, weights, options


@settings(max_examples=30, deadline=None)
@given(problems())
def test_trees_with_categories_agree_with_the_reference(problem):
    X, y, weights, options = problem
    masses = np.eye(y.max() + 1)[y] * weights.astype(float)[:, None]
    reference = ReferenceSelfTerminatingTree(X, masses, **options)
    model = SelfTerminatingTreeClassifier(criterion="entropy", **options)
    model.set_params(categorical=list(options["categorical"])).fit(X, y, sample_weight=weights)
    assert model.predict_proba(X) == pytest.approx(reference.p, abs=1e-6)
    core = model.model_.core
    reached = (core.left() < 0) & (core.weight() > 0)
    assert reached.sum() == reference.n_leaves
    again = SelfTerminatingTreeClassifier(**model.get_params()).set_params(n_jobs=2)
    again.fit(sparse.csr_array(np.nan_to_num(X)), y, sample_weight=weights)
    dense = SelfTerminatingTreeClassifier(**model.get_params())
    dense.fit(np.nan_to_num(X), y, sample_weight=weights)
    assert np.array_equal(again.predict_proba(X), dense.predict_proba(X))


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_the_penalty_of_trees_with_categories_can_be_chosen(criterion, tmp_path):
    rng = np.random.default_rng(0)
    town, height = rng.integers(30, size=400), rng.normal(size=400)
    y = (rng.permutation(30)[town] % 3) + 3 * (height > 0)
    X = np.c_[town, height]
    auto = {"criterion": criterion, "min_gain": "auto"}
    tree = SelfTerminatingTreeClassifier(categorical=[0], **auto).fit(X[:300], y[:300])
    assert tree.score(X[300:], y[300:]) > 0.85
    assert tree.feature_importances_.sum() == pytest.approx(1)
    tree.save(tmp_path / "tree.safetensors")
    again = labeltrees.load(tmp_path / "tree.safetensors")
    assert again.categorical == [0]
    assert np.array_equal(again.predict_proba(X), tree.predict_proba(X))
    assert np.array_equal(again.feature_importances_, tree.feature_importances_)


@settings(max_examples=30, deadline=None)
@given(problems())
def test_scalar_trees_agree_with_the_reference(problem):
    X, y, weights, options = problem
    y = np.minimum(y, 1)
    options = options | {"categorical": options["categorical"][:1]}
    masses = np.eye(2)[y] * weights.astype(float)[:, None]
    reference = ReferenceSelfTerminatingTree(X, masses, form="scalar", **options)
    options["categorical"] = list(options["categorical"])
    model = SelfTerminatingTreeClassifier(criterion="entropy", form="scalar", **options)
    model.fit(X, y, sample_weight=weights)
    assert model.predict_proba(X) == pytest.approx(reference.p, abs=1e-6)


def test_a_scalar_branch_is_soft_thresholding():
    X, y = [[0.0]] * 20 + [[1.0]] * 20, [0] * 18 + [1] * 20 + [0] * 2
    tree = SelfTerminatingTreeClassifier(penalty=2.0, form="scalar", **ABSTRACT).fit(X, y)
    p = tree.predict_proba([[0.0], [1.0]])[:, 1]
    assert p == pytest.approx([solve_binary_branch(q, 0.5, 0.1)[0] for q in (0.1, 0.9)])
    assert p == pytest.approx([0.2, 0.8])
    assert tree.penalty_ == 2.0
    auto = SelfTerminatingTreeClassifier(form="scalar").fit(X, y)
    assert auto.penalty_ == SelfTerminatingTreeClassifier().fit(X, y).penalty_ / 2


@pytest.mark.parametrize(
    ("options", "values", "error", "said"),
    [
        ({"categorical": "0"}, [0, 1], ArgumentError, "categorical must be None, or a list"),
        ({"categorical": [0, 0]}, [0, 1], ArgumentError, "different feature numbers"),
        ({"categorical": [-1]}, [0, 1], ArgumentError, "different feature numbers"),
        ({"categorical": [1]}, [0, 1], ArgumentError, "features below 1"),
        ({"categorical": [0], "norm": "linf"}, [0, 1], ArgumentError, "norm must be 'l1'"),
        ({"categorical": [0]}, [0, 0.5], DataError, r"feature 0 .* got 0.5"),
        ({"categorical": [0]}, [0, -1], DataError, r"feature 0 .* got -1"),
        ({"categorical": [0]}, [0, 2**23], DataError, r"feature 0 .* got 8.38861e\+06"),
        ({"categorical": [0], "max_bins": 3}, [0, 1, 2, 3], DataError, "has 3 values other than 0"),
        ({"form": "scalar"}, [0, 1, 2], ArgumentError, "form must be 'vector' for 3 labels"),
        ({"form": "both"}, [0, 1], ArgumentError, "form must be"),
    ],
)
def test_bad_input_is_refused(options, values, error, said):
    X, y = np.array(values, dtype=float)[:, None], np.arange(len(values))
    with pytest.raises(error, match=said):
        SelfTerminatingTreeClassifier(penalty=1.0, **options).fit(X, y)
