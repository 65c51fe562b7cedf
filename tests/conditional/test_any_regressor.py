"""Algorithms 1 and 3 of the conditional tree's paper with any regressor at the nodes.

By hand -> agreement with the reference and with the compiled tree -> Theorem 7 -> scikit-learn's
regressors -> boundaries -> errors.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, SGDRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor
from tests.references.conditional import ReferenceConditionalTree

from labeltrees import ConditionalTreeClassifier, LabelTree, _core
from labeltrees.errors import ArgumentError, DataError
from labeltrees.estimators.any_regressor import RegressorTreeClassifier


class Mean:
    """Predicts the mean of what it has learned, whatever the row."""

    def __init__(self):
        self.total = self.n = 0.0

    def learn(self, X, targets, weights):
        assert X.shape[0] == len(targets) == len(weights)
        self.total += float(targets @ weights)
        self.n += float(weights.sum())

    def predict(self, X):
        return np.full(X.shape[0], self.total / self.n)


class Steps:
    """Squared loss by plain gradient steps in float32, from zero weights."""

    rate = np.float32(0.3)
    w = None

    def learn(self, X, targets, weights):
        x = X[0].astype(np.float32)
        self.w = np.zeros(len(x), np.float32) if self.w is None else self.w
        margin = np.float32(self.w @ x)
        self.w = self.w - self.rate * np.float32(weights[0]) * (margin - np.float32(targets[0])) * x

    def predict(self, X):
        return X.astype(np.float32) @ self.w


def stream(seed, n_rows, n_labels):
    rng = np.random.default_rng(seed)
    y = np.minimum(rng.geometric(2 / n_labels, size=n_rows), n_labels) - 1
    X = rng.normal(size=(n_labels, 5))[y] + 0.5 * rng.normal(size=(n_rows, 5))
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32), y


def test_algorithm_1_by_hand():
    tree = LabelTree.from_nested([0, [1, 2]])
    y = ["a"] * 2 + ["b"] * 3 + ["c"] * 5
    model = RegressorTreeClassifier(Mean, structure=tree).fit(np.zeros((10, 1)), y)
    assert model.predict_proba([[7.0]])[0] == pytest.approx([0.2, 0.3, 0.5])
    assert model.predict_label_proba([[7.0]] * 2, ["b", "z"]) == pytest.approx([0.3, 0])
    weights = [1] * 5 + [0] * 4 + [5]
    weighted = RegressorTreeClassifier(Mean, structure=tree).fit(np.zeros((10, 1)), y, weights)
    assert weighted.predict_proba([[7.0]])[0] == pytest.approx([0.2, 0.3, 0.5])


def test_algorithm_3_by_hand():
    model = RegressorTreeClassifier(Mean, alpha=1.0)
    p = model.progressive_fit([[1.0]] * 6, ["a", "a", "b", "a", "c", "b"])
    # a's leaf has learned (x, 0) twice when b splits it: its copy goes left, the node learns 1, so
    # f = 1/3; then a: 1/4. c finds L = R = 1 and goes left: f = 1/5 at the root, then b comes.
    assert p == pytest.approx([0, 1, 0, 2 / 3, 0, 1 / 5])
    assert model.tree_.to_edges()[0] == [(0, 1), (0, 2), (1, 3), (1, 4)]


@pytest.mark.parametrize("alpha", [0.2, 0.6, 1.0])
def test_algorithm_3_agrees_with_the_reference_and_the_compiled_tree(alpha):
    X, y = stream(3, 150, 12)
    options = {"alpha": alpha, "balance": "labels", "loss": "squared", "optimizer": "sgd",
               "learning_rate": 0.3, "normalize": False, "bias": 0.0}  # fmt: skip
    model = RegressorTreeClassifier(Steps, alpha=alpha)
    p = model.progressive_fit(X, y)
    reference = ReferenceConditionalTree(5, leaf_regressor=True, **options)
    for x, label in zip(X, y, strict=True):
        reference.observe(x, int(label))
    compiled = ConditionalTreeClassifier(**options, scale=None)
    seen = compiled.progressive_fit(X, y)
    assert model.model_.parent == reference.parents() == compiled.model_.tree.parent.tolist()
    assert p == pytest.approx(seen.p_label, abs=1e-3)  # compiled weights have 16 bits
    expected = compiled.predict_proba(X)
    assert model.predict_proba(X) == pytest.approx(expected, abs=1e-3)
    by_label = model.predict_label_proba(X, y)
    columns = np.searchsorted(model.classes_, y)
    assert by_label == pytest.approx(model.predict_proba(X)[np.arange(len(y)), columns])


class Contrary:
    """Says that everything belongs on the side where the last row went."""

    side = 0.0

    def learn(self, X, targets, weights):
        self.side = targets[-1]

    def predict(self, X):
        return np.full(X.shape[0], 100 * self.side - 50)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_theorem_7_holds_for_any_regressor(alpha):
    model = RegressorTreeClassifier(Contrary, alpha=alpha)
    model.partial_fit(np.ones((80, 1)), np.arange(80))
    assert model.tree_.depth <= _core.depth_bound(80, alpha) + 1e-9


@pytest.mark.parametrize(
    ("regressor", "structure"),
    [
        (DecisionTreeRegressor(min_samples_leaf=3, random_state=0), "balanced"),
        (KNeighborsRegressor(5, algorithm="brute"), "shuffled"),
        (LogisticRegression(C=100), LabelTree.balanced(6)),
        (SGDRegressor(alpha=0, learning_rate="constant", eta0=0.3), "online"),
    ],
)
# OpenBLAS on several threads may leave the flag of an invalid operation where all is finite.
@pytest.mark.filterwarnings("ignore:invalid value encountered in matmul:RuntimeWarning")
def test_scikit_learns_regressors_stand_at_the_nodes(regressor, structure):
    X, y = stream(1, 80 if structure == "online" else 300, 6)
    names = np.array(["f", "e", "d", "c", "b", "a"])[y]
    model = RegressorTreeClassifier(regressor, structure=structure).fit(X, names)
    p = model.predict_proba(X)
    assert p.sum(axis=1) == pytest.approx(np.ones(len(y)))
    assert p.min() >= 0
    assert model.score(X, names) > 0.6
    assert model.classes_.tolist() == sorted(set(names))
    assert model.predict(sparse.csr_array(X)).tolist() == model.predict(X).tolist()
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X), p)
    if structure != "online":
        twin = clone(model).fit(sparse.csr_array(X), names)
        assert (twin.predict(X) == model.predict(X)).mean() > 0.95


def test_one_label_and_labels_that_come_later():
    one = RegressorTreeClassifier(Mean, structure="balanced").fit([[1.0]], ["a"])
    assert one.predict_proba([[1.0]]).tolist() == [[1.0]]
    model = RegressorTreeClassifier(Mean).partial_fit([[1.0]] * 3, [5, 5, 9])
    assert model.partial_fit([[1.0]], [7]).classes_.tolist() == [5, 7, 9]
    assert model.progressive_fit([[1.0]] * 2, [7, 8], sample_weight=[0, 1]).tolist() == [0, 0]
    assert model.classes_.tolist() == [5, 7, 8, 9]


@pytest.mark.parametrize(
    ("model", "error", "said"),
    [
        (RegressorTreeClassifier(3), ArgumentError, "regressor must be a scikit-learn estimator"),
        (RegressorTreeClassifier(dict), ArgumentError, "what learns and predicts"),
        (RegressorTreeClassifier(DecisionTreeRegressor()), ArgumentError, "with partial_fit"),
        (RegressorTreeClassifier(Mean, structure="best"), ArgumentError, "structure must be"),
        (RegressorTreeClassifier(Mean, alpha=2), ArgumentError, r"alpha must be in \[0, 1\]"),
        (
            RegressorTreeClassifier(Mean, structure=LabelTree.balanced(3)),
            ArgumentError,
            "the leaves 0 to 1",
        ),
        (
            RegressorTreeClassifier(Mean, structure=LabelTree.balanced(3, arity=3)),
            ArgumentError,
            "a binary LabelTree",
        ),
    ],
)
def test_bad_settings_are_refused(model, error, said):
    with pytest.raises(error, match=said):
        model.fit([[0.0], [1.0]], ["a", "b"])
    assert not hasattr(model, "model_")


def test_bad_rows_are_refused():
    model = RegressorTreeClassifier(Mean, structure="balanced")
    with pytest.raises(DataError, match="3 labels for the 2 rows"):
        model.fit([[0.0], [1.0]], ["a", "b", "c"])
    with pytest.raises(DataError, match="No row of X has a weight above 0"):
        model.fit([[0.0], [1.0]], ["a", "b"], [0, 0])
    with pytest.raises(ArgumentError, match="'online' for partial_fit"):
        model.partial_fit([[0.0], [1.0]], ["a", "b"])
    model.fit([[0.0], [1.0]], ["a", "b"])
    with pytest.raises(DataError, match="1 labels for the 2 rows"):
        model.predict_label_proba([[0.0], [1.0]], ["a"])
    with pytest.raises(ValueError, match="2 features"):
        model.predict([[0.0, 1.0]])
