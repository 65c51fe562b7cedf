"""The filter tree: a tournament that teaches only matches between winners.

By hand -> agreement with a plain reference -> growth.
What it shares with every estimator is in tests/contract.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labeltrees import FilterTreeClassifier


class ReferenceFilterTree:
    """Over the tree of a model; float64, SGD, rows as they are."""

    def __init__(self, tree, rate, loss):
        self.tree, self.rate, self.loss = tree, rate, loss
        self.weights = {}

    def margin(self, node, x):
        return float(np.dot(self.weights.get(node, np.zeros(len(x))), x))

    def p_right(self, node, x):
        m = self.margin(node, x)
        p = 1 / (1 + np.exp(-m)) if self.loss == "logistic" else min(max(m, 0.0), 1.0)
        return min(max(p, 1e-6), 1 - 1e-6)

    def path(self, label):
        """(node, goes right) from the leaf up."""
        parent, at = self.tree.parent, int(np.flatnonzero(self.tree.label == label)[0])
        turns = []
        while parent[at] >= 0:
            above = int(parent[at])
            siblings = np.flatnonzero(parent == above)
            turns.append((above, at == siblings[1]))
            at = above
        return turns

    def learn(self, x, label):
        for node, right in self.path(label):
            m = self.margin(node, x)
            guess = 1 / (1 + np.exp(-m)) if self.loss == "logistic" else m
            step = self.rate * (guess - right) * x
            self.weights[node] = self.weights.get(node, np.zeros(len(x))) - step
            if (self.p_right(node, x) > 0.5) != right:
                return

    def distribution(self, x, n_labels):
        w = np.ones(n_labels)
        for label in range(n_labels):
            for node, right in self.path(label):
                p = self.p_right(node, x) if right else 1 - self.p_right(node, x)
                w[label] *= min(1.0, p / (1 - p))
        return w / w.sum()


def test_a_label_that_loses_a_match_does_not_reach_the_final():
    model = FilterTreeClassifier(
        loss="squared", optimizer="sgd", learning_rate=0.25, normalize=False, bias=0.0
    )
    model.partial_fit([[0.0]], ["a"], classes=["a", "b", "c", "d"])
    # b: its first match ends at .25 for it: a wins, and the final is not taught.
    model.partial_fit([[1.0]], ["b"])
    assert model.predict_label_proba([[1.0]] * 4, list("abcd")) == pytest.approx(
        [3 / 4 - 1e-6, 1 / 4, 0, 0], abs=1e-4
    )
    assert model.predict([[1.0]]).tolist() == ["a"]


numbers = st.sampled_from([-1.0, 0.0, 0.3, 0.7])


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(numbers, numbers, st.integers(0, 4)), min_size=1, max_size=30),
    st.sampled_from(["logistic", "squared"]),
    st.sampled_from(["balanced", "random"]),
)
def test_learns_and_answers_like_the_reference(examples, loss, structure):
    X = np.array([[a + 0.11, b - 0.07] for a, b, _ in examples], dtype=np.float32)
    y = [label for _, _, label in examples]
    model = FilterTreeClassifier(
        structure=structure, loss=loss, optimizer="sgd", learning_rate=0.3,
        normalize=False, bias=0.0,
    ).partial_fit(X, y, classes=[0, 1, 2, 3, 4])  # fmt: skip
    reference = ReferenceFilterTree(model.tree_, 0.3, loss)
    for x, label in zip(X.astype(np.float64), y, strict=True):
        reference.learn(x, label)
    for x in X[:3]:
        expected = reference.distribution(x.astype(np.float64), 5)
        assert model.predict_proba([x])[0] == pytest.approx(expected, rel=1e-3, abs=1e-6)


def test_the_tree_stays_balanced_as_labels_arrive():
    rng = np.random.default_rng(0)
    model = FilterTreeClassifier()
    for label in range(64):
        model.partial_fit(rng.normal(size=(2, 4)), [label, rng.integers(label + 1)])
    assert model.tree_.depth == 6
    assert model.tree_.n_labels == 64
