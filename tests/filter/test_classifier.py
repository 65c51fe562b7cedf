"""The filter tree: a tournament that teaches only matches between winners.

By hand -> agreement with a plain reference -> queries -> growth -> files -> bad input.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import labeltrees
from labeltrees import FilterTreeClassifier
from labeltrees.errors import ArgumentError, DataError, FrozenModelError, TooLargeError


def expected_failures(estimator):
    return dict.fromkeys(
        (
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ),
        "a weight scales one gradient step; it does not repeat the step",
    )


@parametrize_with_checks([FilterTreeClassifier()], expected_failed_checks=expected_failures)
@pytest.mark.filterwarnings("ignore:.*:sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


def stream(seed, n_rows=500, n_features=8, n_labels=11):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_labels, size=n_rows)
    centres = rng.normal(size=(n_labels, n_features))
    return (centres[y] + 0.4 * rng.normal(size=(n_rows, n_features))).astype(np.float32), y


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


def test_every_query_tells_the_same_probability():
    X, y = stream(1)
    model = FilterTreeClassifier().partial_fit(X, y)
    full = model.predict_proba(X[:60])
    columns = {label: column for column, label in enumerate(model.classes_)}
    assert full.sum(axis=1) == pytest.approx(np.ones(60), abs=1e-12)
    labels, p = model.predict_top_k(X[:60], len(columns))
    assert np.array_equal(p, -np.sort(-full, axis=1))
    assert np.array_equal(model.predict(X[:60]), labels[:, 0])
    assert np.array_equal(model.predict_label_proba(X[:60], labels[:, 2]), p[:, 2])
    above = model.predict_above(X[:60], 0.1).toarray()
    assert np.array_equal(above, np.where(full >= 0.1, full, 0))
    best = model.top_rows(X[:60], [3], 4)
    assert best.rows[0].tolist() == np.argsort(-full[:, columns[3]], kind="stable")[:4].tolist()
    drawn = model.sample(np.repeat(X[:1], 20_000, axis=0), random_state=0)
    shares = [(drawn == label).mean() for label in model.classes_]
    assert shares == pytest.approx(full[0], abs=0.015)
    reason = model.explain(X[0], int(y[0]))
    assert reason.p_label == full[0, columns[int(y[0])]]
    assert not hasattr(model, "beam_top_k")  # a tournament has no paths to give up


def test_the_tree_stays_balanced_as_labels_arrive():
    rng = np.random.default_rng(0)
    model = FilterTreeClassifier()
    for label in range(64):
        model.partial_fit(rng.normal(size=(2, 4)), [label, rng.integers(label + 1)])
    assert model.tree_.depth == 6
    assert model.tree_.n_labels == 64


def test_what_progressive_fit_foresees_is_what_the_model_said_before():
    X, y = stream(2, n_rows=90)
    model, twin = (FilterTreeClassifier().partial_fit(X[:60], y[:60]) for _ in range(2))
    for i in range(60, 90):
        p_label = model.predict_label_proba(X[i : i + 1], y[i : i + 1])
        top = model.predict_top_k(X[i : i + 1], 1)
        seen = twin.progressive_fit(X[i : i + 1], y[i : i + 1])
        assert seen.p_label == p_label
        assert (seen.top, seen.p_top) == (top.labels[0], top.probabilities[0])
        model.partial_fit(X[i : i + 1], y[i : i + 1])


@pytest.mark.parametrize("keep_state", [True, False])
def test_models_are_saved_and_go_on(tmp_path, keep_state):
    X, y = stream(3)
    model = FilterTreeClassifier().fit(X[:400], y[:400])
    model.save(tmp_path / "m", keep_state=keep_state)
    again = labeltrees.load(tmp_path / "m")
    assert type(again.model_) is type(model.model_)
    assert again.get_params() == model.get_params() == clone(model).get_params()
    assert np.abs(again.predict_proba(X) - model.predict_proba(X)).max() < 3e-3
    if not keep_state:
        with pytest.raises(FrozenModelError):
            again.partial_fit(X, y)
        return
    for learner in (again, model, twin := pickle.loads(pickle.dumps(model))):
        learner.partial_fit(X[400:], y[400:])
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(twin.predict_proba(X), model.predict_proba(X))


def test_one_label_has_probability_one_and_an_unseen_one_zero():
    model = FilterTreeClassifier().fit([[1.0], [2.0]], ["only", "only"])
    assert model.predict_proba([[5.0]]).tolist() == [[1.0]]
    assert model.predict_label_proba([[5.0]], ["other"]).tolist() == [0]


BAD = {
    "NaN": (lambda m: m.partial_fit([[np.nan, 1.0]], ["a"]), DataError, "NaN"),
    "width": (lambda m: m.predict([[1.0]]), DataError, "1 features.*2 features"),
    "k > n": (lambda m: m.predict_top_k([[1.0, 0.0]], 3), ArgumentError, r"n_labels=2\], got 3"),
    "no memory": (
        lambda m: m.predict_proba([[1.0, 0.0]], max_bytes=15), TooLargeError, "max_bytes=15",
    ),
    "threshold": (lambda m: m.predict_above([[1.0, 0.0]], 2), ArgumentError, r"\(0, 1\], got 2"),
    "much above": (
        lambda m: m.predict_above([[1.0, 0.0]], 0.001, max_bytes=12), TooLargeError, "threshold",
    ),
    "rows label": (lambda m: m.top_rows([[1.0, 0.0]], ["z"], 1), ArgumentError, r"labels\[0\]"),
    "explain label": (lambda m: m.explain([1.0, 0.0], "z"), ArgumentError, "labels learned"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_calls_are_refused_and_change_nothing(case):
    call, error, message = BAD[case]
    model = FilterTreeClassifier().partial_fit([[1.0, 0.0], [0.0, 1.0]] * 5, ["a", "b"] * 5)
    before = pickle.dumps(model.model_)
    with pytest.raises(error, match=message):
        call(model)
    assert pickle.dumps(model.model_) == before


@pytest.mark.parametrize(
    ("params", "name"),
    [
        ({"structure": "kmeans"}, "structure"),
        ({"loss": "hinge"}, "loss"),
        ({"learning_rate": 0}, "learning_rate"),
        ({"n_passes": 0}, "n_passes"),
    ],
)
def test_bad_parameters_are_refused_by_name(params, name):
    model = FilterTreeClassifier(**params)
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(ArgumentError, match=name):
            learn([[1.0], [2.0]], ["a", "b"])
