"""Every method agrees with its reference where data is made to break it.

Ties everywhere, equal rows, one feature, many equal columns, one label, two labels, probabilities
that are 0 and 1 exactly.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.references.baselines import ReferenceOneAgainstAll, table_probability
from tests.references.conditional import ReferenceConditionalTree, ReferencePecocTree
from tests.references.extreme import ReferenceTree, of_house
from tests.references.gini import ReferenceGiniTree
from tests.references.lom import ReferenceLomTree
from tests.references.self_terminating import ReferenceSelfTerminatingTree

from labeltrees import (
    ConditionalTreeClassifier,
    ExtremeRegressor,
    FilterTreeClassifier,
    FrequencyTableClassifier,
    LOMTreeClassifier,
    OneAgainstAllClassifier,
    SelfTerminatingTreeClassifier,
)

N = 24
TURNS = np.arange(N)
BITS = (TURNS[:, None] >> np.arange(3)) & 1
DATA = {
    "all ties": (np.tile([[1.0, -1.0, 1.0]], (N, 1)), TURNS % 4),
    "all equal rows, one label each": (np.ones((N, 2)), TURNS),
    "rows of nothing": (np.zeros((N, 2)), TURNS % 3),
    "one feature": (TURNS[:, None] % 5 - 2.0, TURNS % 3),
    "one feature of two signs": (np.where(TURNS % 2, 1.0, -1.0)[:, None], TURNS % 4),
    "many equal columns": (np.repeat(TURNS[:, None] % 3 - 1.0, 30, axis=1), TURNS % 3),
    "columns and their opposites": (np.hstack([BITS, -BITS]), TURNS % 8),
    "one label": (BITS + 0.0, np.zeros(N, dtype=int)),
    "two labels, one of them once": (BITS + 0.0, (TURNS == 5).astype(int)),
    "two labels that rows tell apart": (BITS + 0.0, BITS[:, 1]),
}
of_data = pytest.mark.parametrize("name", DATA)
of_losses = pytest.mark.parametrize("loss", ["logistic", "squared"])


def problem(name):
    X, y = DATA[name]
    return X.astype(np.float32), y


def options(loss):
    """With a step of 1 and squared loss, margins become 0 and 1 exactly."""
    sgd = loss == "squared"
    return {"loss": loss, "optimizer": "sgd" if sgd else "adagrad", "learning_rate": 1.0, "bias": 0}


def check(reference, model, X, y, rel=1e-3):
    """Compare what both predict for every row, and say of some at the end."""
    seen = model.progressive_fit(X, y)
    for i, label in enumerate(y.tolist()):
        p = reference.observe(X[i], label)
        assert seen.p_label[i] == pytest.approx(p or 0.0, rel=rel, abs=2e-6)
    for row, p in zip(X[:5], model.predict_proba(X[:5]), strict=True):
        expected = reference.distribution(row)
        assert p == pytest.approx([expected[k] for k in model.classes_], rel=rel, abs=2e-6)


@of_data
@of_losses
@pytest.mark.parametrize("mixing", [False, True])
def test_conditional_trees(name, loss, mixing):
    X, y = problem(name)
    given = options(loss) | {"mixing": mixing}
    tree = ConditionalTreeClassifier(**given, refine=0, scale=None)
    check(ReferenceConditionalTree(X.shape[1], **given), tree, X, y)


@of_data
@of_losses
def test_pecoc_trees(name, loss):
    X, y = problem(name)
    given = options(loss)
    model = ConditionalTreeClassifier(**given, arity=4, n_passes=1, shuffle=False, scale=None).fit(
        X, y
    )
    reference = ReferencePecocTree(model.tree_, X.shape[1], **given)
    for row, label in zip(X, y.tolist(), strict=True):
        reference.observe(row, label)
    for row, p in zip(X[:5], model.predict_proba(X[:5]), strict=True):
        expected = reference.distribution(row)
        assert p == pytest.approx([expected[k] for k in range(len(p))], rel=1e-3, abs=2e-6)


@of_data
@of_losses
def test_one_against_all(name, loss):
    X, y = problem(name)
    given = options(loss)
    model = OneAgainstAllClassifier(**given, scale=None)
    check(ReferenceOneAgainstAll(X.shape[1], **given), model, X, y)


@of_data
@pytest.mark.parametrize("loss", ["hinge", "squared", "absolute", "logistic"])
def test_lomtrees(name, loss):
    X, y = problem(name)
    given = {"loss": loss, "optimizer": "sgd", "learning_rate": 0.5, "max_splits": 4}
    reference, model = ReferenceLomTree(**given), LOMTreeClassifier(**given, scale=None)
    for row, label in zip(X, y.tolist(), strict=True):
        model.partial_fit([row], [label])
        reference.observe(row, label)
    for row in X[:4]:
        expected = [reference.probability(row, label) for label in model.classes_.tolist()]
        assert model.predict_proba([row])[0] == pytest.approx(expected, rel=1e-5)


@of_data
@pytest.mark.parametrize("criterion", ["entropy", "gini"])
@pytest.mark.parametrize("penalty", [0.0, 0.4])
def test_self_terminating_trees(name, criterion, penalty):
    X, y = problem(name)
    weights = np.random.default_rng(0).uniform(0.5, 2, N).astype(np.float32)
    given = {"penalty": penalty, "weight_power": 0, "min_gain": 0, "split_terminated": False}
    kind = ReferenceSelfTerminatingTree if criterion == "entropy" else ReferenceGiniTree
    reference = kind(X, np.eye(y.max() + 1)[y] * weights.astype(float)[:, None], **given)
    tree = SelfTerminatingTreeClassifier(criterion=criterion, **given)
    tree.fit(X, y, sample_weight=weights)
    assert tree.predict_proba(X) == pytest.approx(reference.p, abs=1e-9)
    assert tree.get_n_leaves() == reference.n_leaves


@of_data
def test_frequency_tables(name):
    X, y = problem(name)
    model = FrequencyTableClassifier().fit(X, y)
    examples = [(row, label, 1.0) for row, label in zip(X, y.tolist(), strict=True)]
    back_off = model.get_params()["back_off"]
    for row in X[:4]:
        expected = [table_probability(examples, row, k, back_off) for k in model.classes_.tolist()]
        assert model.predict_proba([row])[0] == pytest.approx(expected)


@of_data
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_extreme_regression(name, loss):
    X, y = problem(name)
    Y = np.eye(y.max() + 1)[y]
    model = ExtremeRegressor(
        n_trees=1, arity=2, max_leaf=2, loss=loss, tolerance=0.0, max_epochs=400, min_weight=0.0,
        calibrate=False,
    ).fit(X, Y)  # fmt: skip
    tree = model.model_.trees[0].tree
    reference = ReferenceTree(
        tree.parents(), tree.labels(), X.astype(float), Y, of_house(3.0, 0.4, loss),
        hinge=loss == "hinge", inner_power=0.75,
    )  # fmt: skip
    expected = reference.probabilities(X.astype(float), Y.shape[1])
    assert model.predict_proba(X) == pytest.approx(expected, abs=5e-3)


@of_data
def test_ties_go_to_the_first_whatever_the_number_asked_for(name):
    X, y = problem(name)
    for estimator in (OneAgainstAllClassifier(), ConditionalTreeClassifier(), LOMTreeClassifier()):
        model = estimator.fit(X, y)
        p = model.predict_proba(X)
        for k in (1, len(model.classes_)):
            values = model.predict_top_k(X, k).probabilities
            assert np.array_equal(values, -np.sort(-p, axis=1)[:, :k])


# 10,000 equal columns.


def test_a_tree_splits_on_the_first_of_ten_thousand_equal_columns():
    y = TURNS % 3
    X = np.repeat((TURNS[:, None] % 6).astype(np.float32), 10_000, axis=1)
    given = {"penalty": 0.0, "weight_power": 0, "min_gain": 0}
    wide = SelfTerminatingTreeClassifier(**given).fit(X, y)
    narrow = SelfTerminatingTreeClassifier(**given).fit(X[:, :1], y)
    assert np.array_equal(wide.predict_proba(X), narrow.predict_proba(X[:, :1]))
    assert np.flatnonzero(wide.feature_importances_).tolist() == [0]


@pytest.mark.parametrize(
    "estimator",
    [ConditionalTreeClassifier(mixing=False), ConditionalTreeClassifier(arity=4),
     OneAgainstAllClassifier(), FilterTreeClassifier()],
    ids=["conditional", "PECOC", "one against all", "filter"],
)  # fmt: skip
def test_ten_thousand_equal_columns_are_one(estimator):
    # Rows of length 1: each of the columns has a hundredth, and steps of SGD are as long together.
    y = TURNS % 3
    one = np.where(y == 1, 1.0, -1.0)[:, None].astype(np.float32)
    given = {"optimizer": "sgd", "learning_rate": 0.5, "bias": 0.0, "n_passes": 1}
    answers = [
        estimator.set_params(**given).fit(X, y).predict_proba(X[:3])
        for X in (one, np.repeat(one, 10_000, axis=1))
    ]
    assert answers[1] == pytest.approx(answers[0], rel=1e-3)
