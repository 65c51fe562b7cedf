"""LOMtree built as in Theorem 1: the heaviest leaf is split, again and again.

Agreement with tests/references/lom.py -> the theorem -> `partial_fit` after it -> boundaries ->
errors.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.lom.test_classifier import assert_same, check_tree, problems, shape, stream
from tests.references.lom import ReferenceHeaviestTree

import labeltrees
from labeltrees import LOMTreeClassifier
from labeltrees.errors import ArgumentError, DivergedError


@settings(max_examples=60, deadline=None)
@given(
    problems(),
    st.sampled_from(["hinge", "squared", "absolute"]),
    st.integers(0, 6),
    st.integers(1, 3),
)
def test_the_tree_is_the_references(problem, loss, limit, n_passes):
    X, y = problem
    options = {"loss": loss, "learning_rate": 0.2, "max_splits": limit}
    reference = ReferenceHeaviestTree(**options).fit(X, y, n_passes)
    model = LOMTreeClassifier(
        **options, growth="heaviest", n_passes=n_passes, shuffle=False, scale=None
    ).fit(X, y)
    assert model.model_.core.n_splits == reference.t
    assert_same(shape(model.model_), reference.shape())
    for x in X[:3]:
        for label in set(y):
            expected = reference.probability(x, label)
            assert model.predict_label_proba([x], [label])[0] == pytest.approx(expected)
    check_tree(model.model_, limit)


def test_the_heaviest_leaf_with_two_labels_is_split_next():
    X, y = stream(0, n_labels=8)
    model = LOMTreeClassifier(growth="heaviest", max_splits=7).fit(X, y)
    nodes = model.model_.core.nodes()
    made = np.flatnonzero(nodes["left"] >= 0)[np.argsort(nodes["split_number"][nodes["left"] >= 0])]
    open_leaves = {model.model_.core.root}
    for node in made:
        mixed = [leaf for leaf in open_leaves if nodes["n_labels"][leaf] > 1]
        assert nodes["weight"][node] == max(nodes["weight"][mixed])
        open_leaves.remove(node)
        open_leaves |= {int(nodes["left"][node]), int(nodes["right"][node])}


@pytest.mark.parametrize("noise", [0.2, 0.8])
def test_theorem_1_and_the_two_steps_of_its_proof(noise):
    X, y = stream(1, n_rows=800, n_labels=8, noise=noise)
    model = LOMTreeClassifier(growth="heaviest", max_splits=7, n_passes=3).fit(X, y)
    found = model.diagnose(X, y)
    J, beta, G = found.objective, found.balance, found.entropy
    weight = model.model_.core.nodes()["weight"][found.node] / len(y)
    t = np.arange(len(J))
    # The heaviest leaf has a share of the entropy: t + 1 leaves have at most ln k each.
    assert (weight >= G[:-1] / ((t + 1) * math.log(8)) - 1e-9).all()
    # Entropy is strongly concave: a split lowers it by J^2, as much as the leaf weighs.
    assert (-np.diff(G) >= weight * J**2 / (8 * beta * (1 - beta)) - 1e-9).all()
    # (1 / alpha)^(4 (1 - gamma)^2 ln k / gamma^2) splits suffice for G_t <= alpha. That is relative
    # to the entropy at the start, which may be above 1: the paper does not say so.
    gamma = min((J / 2).min(), np.minimum(beta, 1 - beta).min())
    assert gamma > 0.05
    alpha = (t + 1.0) ** (-(gamma**2) / (4 * (1 - gamma) ** 2 * math.log(8)))
    assert (G[1:] <= alpha * G[0] + 1e-9).all()
    assert G[-1] < 0.6 * G[0]


def test_partial_fit_goes_on_from_there_and_files_keep_it(tmp_path):
    X, y = stream(3)
    model = LOMTreeClassifier(growth="heaviest").fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 0.7
    before = model.score(X[400:], y[400:])
    assert (
        LOMTreeClassifier(n_passes=1).fit(X[:400], y[:400]).score(X[400:], y[400:]) < before + 0.1
    )
    model.save(tmp_path / "tree.safetensors")
    again = labeltrees.load(tmp_path / "tree.safetensors")
    for each in (model, again):
        each.partial_fit(X[400:], y[400:])
    assert np.array_equal(model.predict_proba(X), again.predict_proba(X))
    check_tree(model.model_)


def test_rows_of_weight_zero_are_as_if_they_were_not_there():
    X, y = stream(4)
    weights = np.ones(len(y))
    weights[::4] = 0
    options = {"growth": "heaviest"}
    model = LOMTreeClassifier(**options).fit(X, y, sample_weight=weights)
    twin = LOMTreeClassifier(**options).fit(X[weights > 0], y[weights > 0])
    assert np.array_equal(model.predict_proba(X), twin.predict_proba(X))


def test_one_label_is_one_leaf_and_rows_that_are_alike_are_not_split_for_ever():
    one = LOMTreeClassifier(growth="heaviest").fit([[1.0]] * 3, ["a"] * 3)
    assert one.model_.core.n_splits == 0
    assert one.predict_proba([[1.0]]).tolist() == [[1.0]]
    alike = LOMTreeClassifier(growth="heaviest", max_splits=50).fit([[1.0]] * 4, list("abab"))
    assert alike.model_.core.n_splits == 0
    assert alike.predict_proba([[1.0]])[0] == pytest.approx([0.5, 0.5])


def test_bad_settings_are_refused():
    with pytest.raises(ArgumentError, match="growth must be"):
        LOMTreeClassifier(growth="best").fit([[1.0]], ["a"])
    with pytest.raises(ArgumentError, match="growth='heaviest' needs fit"):
        LOMTreeClassifier(growth="heaviest").partial_fit([[1.0]], ["a"])
    with pytest.raises(DivergedError, match="learning_rate"):
        LOMTreeClassifier(
            growth="heaviest", loss="squared", optimizer="sgd", learning_rate=1e6,
            normalize=False, n_passes=50,
        ).fit([[1e6], [-1e6]] * 20, ["a", "b"] * 20)  # fmt: skip
