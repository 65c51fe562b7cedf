"""AdacondClassifier: boosts any base learner, keeps its bound, refuses bad targets.

Worked example -> agreement with tests/references/boosting.py -> invariants of fitting and of
answers -> files -> boundaries -> errors. What it shares with every estimator is in tests/contract.
"""

from __future__ import annotations

import pickle
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from tests.references import boosting as reference

import labeltrees
from labeltrees import (
    AdacondClassifier,
    ConditionalTreeClassifier,
    FrequencyTableClassifier,
    OneAgainstAllClassifier,
    SelfTerminatingTreeClassifier,
    metrics,
    store,
)
from labeltrees.errors import (
    ArgumentError,
    DataError,
    ModelFormatError,
)
from labeltrees.models.conditional.model import ConditionalTreeModel

STUMP = SelfTerminatingTreeClassifier(penalty=0.5, min_gain=0)
TREE = ConditionalTreeClassifier(structure="online", n_trees=1, refine=0)
OWN = {
    "self-terminating tree": STUMP,
    "conditional tree": TREE,
    "PECOC": ConditionalTreeClassifier(arity=4),
    "one against all": OneAgainstAllClassifier(n_passes=1),
    "frequency table": FrequencyTableClassifier(),
}
BASES = OWN | {"logistic regression": LogisticRegression(), "naive Bayes": GaussianNB()}


def problem(seed, n_rows=120, n_features=4, n_labels=5):
    """Rows, their true distributions, and a label drawn from each."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    P = np.exp(1.5 * X @ rng.normal(size=(n_features, n_labels)))
    P /= P.sum(axis=1, keepdims=True)
    y = np.array([rng.choice(n_labels, p=p) for p in P])
    y[:n_labels] = np.arange(n_labels)
    return X, P, y


# A worked example: the paper's argument that means cannot be boosted.


class Offset(ClassifierMixin, BaseEstimator):
    """Misses every distribution by the same amount in total variation, whatever the weights."""

    accepts_distributions = True

    def __init__(self, offset=0.25):
        self.offset = offset

    def fit(self, X, P, sample_weight=None):
        self.classes_ = np.arange(P.shape[1])
        self.p_ = P[0]
        return self

    def predict_proba(self, X):
        move = np.zeros(len(self.p_))
        move[:2] = -self.offset, self.offset
        return np.tile(self.p_ + move, (len(X), 1))


def test_no_boosting_lowers_the_error_of_a_learner_that_is_wrong_everywhere():
    X, P = np.zeros((8, 1)), np.tile([0.5, 0.25, 0.25], (8, 1))
    with pytest.warns(UserWarning, match="error >= eta: round 1 has error 0.25, and eta is 0.25"):
        stopped = AdacondClassifier(Offset(), eta=0.25, n_rounds=9).fit(X, P)
    assert stopped.stop_reason_.startswith("error >= eta")
    assert stopped.predict_proba(X[:1]).tolist() == [[0.25, 0.5, 0.25]]
    boosted = AdacondClassifier(Offset(), eta=0.3, n_rounds=9).fit(X, P)
    assert boosted.stop_reason_.startswith("n_rounds")
    assert metrics.total_variation(P, boosted.predict_proba(X)) == pytest.approx(0.25)
    assert boosted.train_exceed_.tolist() == [0.0] * 9


# Agreement with the reference.


@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("name", BASES)
def test_boosting_any_base_agrees_with_the_reference(name, soft):
    X, P, y = problem(1)
    base, targets, eta = BASES[name], P if soft else np.eye(5)[y], 0.6 if soft else 0.85

    def fit(number, weights):
        learner = clone(base)
        if number and getattr(learner, "random_state", None) is not None:
            learner.set_params(random_state=learner.random_state + number)
        weights = weights * len(X)
        if soft and isinstance(base, SelfTerminatingTreeClassifier):
            return learner.fit(X, P, sample_weight=weights).predict_proba(X)
        if soft:
            rows, labels = np.repeat(np.arange(len(X)), 5), np.tile(np.arange(5), len(X))
            learner.fit(X[rows], labels, sample_weight=weights[rows] * P[rows, labels])
            return learner.predict_proba(X)
        return learner.fit(X, y, sample_weight=weights).predict_proba(X)

    kept, betas, errors, reason = reference.adacond(fit, targets, eta, 4)
    model = AdacondClassifier(base, eta=eta, n_rounds=4).fit(X, P if soft else y)
    assert model.stop_reason_.startswith(reason)
    # Learners of float32 weights turn the last digits of a weight into a little more.
    assert model.round_errors_ == pytest.approx(np.array(errors), abs=1e-4)
    assert model.predict_proba(X) == pytest.approx(reference.mixture(kept, betas), abs=1e-3)
    assert (model.train_exceed_ <= model.bound_ + 1e-9).all()


# Invariants of fitting.


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.sampled_from(sorted(OWN)), st.booleans(), st.floats(0.3, 0.95))
def test_the_bound_holds_for_real_learners(seed, name, soft, eta):
    X, P, y = problem(seed, n_rows=60)
    model = AdacondClassifier(OWN[name], eta=eta, n_rounds=5)
    with warnings.catch_warnings(action="ignore"):  # some bases are too weak for some eta
        model.fit(X, P if soft else y)
    assert (model.train_exceed_ <= model.bound_ + 1e-9).all()
    assert len(model.bound_) == len(model.betas_) == len(model.round_errors_)
    targets = P if soft else np.eye(5)[y]
    stages = list(model.staged_predict_proba(X))
    for stage, exceed in zip(stages, model.train_exceed_, strict=True):
        assert stage.sum(axis=1) == pytest.approx(np.ones(60))
        errors = metrics.total_variation_by_row(targets, stage / stage.sum(axis=1, keepdims=True))
        assert metrics.fraction_above(errors, model.eta_) == pytest.approx(exceed, abs=1e-12)
    assert np.array_equal(stages[-1], model.predict_proba(X))


def test_labels_one_hot_rows_and_sparse_rows_are_the_same_targets():
    X, P, y = problem(2)
    for base, eta in ((STUMP, 0.85), (TREE, 0.85)):
        by_label = AdacondClassifier(base, eta=eta, n_rounds=3).fit(X, y)
        dense = AdacondClassifier(base, eta=eta, n_rounds=3).fit(X, np.eye(5)[y])
        thin = AdacondClassifier(base, eta=eta, n_rounds=3).fit(
            sparse.csr_array(X), sparse.csr_array(np.eye(5)[y]), classes=list("abcde")
        )
        assert dense.predict_proba(X) == pytest.approx(by_label.predict_proba(X), abs=1e-6)
        assert thin.predict_proba(X) == pytest.approx(by_label.predict_proba(X), abs=1e-6)
        assert thin.classes_.tolist() == list("abcde")
    few = np.where(P > 0.15, P, 0)
    few /= few.sum(axis=1, keepdims=True)
    wide = np.hstack([few, np.zeros((len(X), 20))])  # now the entries are asked one by one
    narrow = AdacondClassifier(TREE, eta=0.5, n_rounds=3).fit(X, few)
    padded = AdacondClassifier(TREE, eta=0.5, n_rounds=3).fit(X, sparse.csr_array(wide))
    assert padded.round_errors_ == pytest.approx(narrow.round_errors_, abs=1e-9)
    assert padded.predict_proba(X)[:, 5:].max() == 0


def test_one_label_a_row_never_forms_a_distribution(monkeypatch):
    X, _, y = problem(3, n_rows=400, n_labels=300)
    X = np.hstack([X, np.eye(300)[y]])  # easy enough for three rounds

    def refuse(*args, **more):
        raise AssertionError("a whole distribution was asked for")

    monkeypatch.setattr(ConditionalTreeModel, "probabilities", refuse)
    model = AdacondClassifier(TREE, eta=0.9, n_rounds=3).fit(X, y)
    assert len(model.bound_) == 3
    p = model.predict_label_proba(X, y)
    assert metrics.fraction_above(1 - p, 0.9) == pytest.approx(model.train_exceed_[-1])
    model.predict_top_k(X, 3)
    model.predict_above(X, 0.1)
    model.sample(X, 0)


def test_a_weight_is_the_share_of_a_row_in_the_first_round():
    X, P, _ = problem(4)
    weights = np.arange(len(X)) % 3
    repeated = np.repeat(np.arange(len(X)), weights)
    model = AdacondClassifier(STUMP, eta=0.4, n_rounds=4)
    weighted = clone(model).fit(X, P, sample_weight=weights)
    again = clone(model).fit(X[repeated], P[repeated])
    assert weighted.round_errors_ == pytest.approx(again.round_errors_, abs=1e-6)
    assert weighted.train_exceed_ == pytest.approx(again.train_exceed_, abs=1e-12)
    assert weighted.predict_proba(X) == pytest.approx(again.predict_proba(X), abs=1e-5)


def test_a_norm_of_ones_own_is_used():
    X, P, _ = problem(5)
    half_l1 = lambda c, p: np.abs(c - p).sum(axis=1) / 2  # noqa: E731
    own = AdacondClassifier(STUMP, eta=0.4, n_rounds=4, norm=half_l1).fit(X, P)
    built_in = AdacondClassifier(STUMP, eta=0.4, n_rounds=4).fit(X, P)
    assert own.predict_proba(X) == pytest.approx(built_in.predict_proba(X), abs=1e-9)
    largest = AdacondClassifier(
        STUMP, eta=0.3, n_rounds=4, norm=lambda c, p: np.abs(c - p).max(axis=1)
    ).fit(X, P)
    errors = np.abs(largest.predict_proba(X) - P).max(axis=1)
    assert largest.train_exceed_[-1] == pytest.approx((errors > 0.3).mean())
    assert (largest.train_exceed_ <= largest.bound_).all()


def test_eta_by_name():
    X, P, _ = problem(6)
    auto = AdacondClassifier(STUMP, n_rounds=1).fit(X, P)
    eps = auto.round_errors_[0]
    assert auto.eta_ == pytest.approx(eps + max(0.05 * eps, 1 / np.sqrt(len(X))))
    median = AdacondClassifier(STUMP, eta="median", n_rounds=1).fit(X, P)
    assert median.eta_ > eps


def test_missing_values_are_for_bases_that_know_them():
    X, P, _ = problem(7)
    X[::7, 0] = np.nan
    AdacondClassifier(STUMP, eta=0.5, n_rounds=2).fit(X, P).predict(X)
    with pytest.raises(DataError, match="row 0 of X has NaN"):
        AdacondClassifier(TREE, eta=0.5).fit(X, P)


# Invariants of answers.


@pytest.mark.parametrize("name", BASES)
def test_every_query_tells_the_same_probability(name):
    X, _, y = problem(8)
    names = np.array([f"é{label}" for label in y], dtype=object)
    model = AdacondClassifier(BASES[name], eta=0.9, n_rounds=3).fit(X, names)
    full = model.predict_proba(X)
    column = {label: i for i, label in enumerate(model.classes_)}
    own = full[np.arange(len(X)), [column[label] for label in names]]
    assert model.predict_label_proba(X, names) == pytest.approx(own, abs=1e-15)
    assert model.predict_label_proba(X[:2], ["new", "ones"]).tolist() == [0, 0]
    labels, p = model.predict_top_k(X, 5)
    assert np.array_equal(p, -np.sort(-full, axis=1))
    assert np.array_equal(model.predict(X), labels[:, 0])
    above = model.predict_above(X, 0.2).toarray()
    assert above == pytest.approx(np.where(full >= 0.2, full, 0), abs=1e-15)
    rows, p_rows = model.top_rows(X, ["é1", "é3", "é1"], 4)
    for i, label in enumerate(("é1", "é3", "é1")):
        assert p_rows[i] == pytest.approx(-np.sort(-full[:, column[label]])[:4], abs=1e-15)
        assert full[rows[i], column[label]] == pytest.approx(p_rows[i], abs=1e-15)


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.integers(1, 30), st.integers(2, 6))
def test_the_top_of_many_labels_is_that_of_all_sorted(seed, k, n_rounds):
    X, _, y = problem(seed, n_rows=600, n_labels=400)
    model = AdacondClassifier(TREE, eta=0.98, n_rounds=n_rounds)
    with warnings.catch_warnings(action="ignore"):
        model.fit(X, y)
    X = X[:20]
    full = model.predict_proba(X)
    labels, p = model.predict_top_k(X, k)
    assert p == pytest.approx(-np.sort(-full, axis=1)[:, :k], abs=1e-15)
    assert np.take_along_axis(full, labels, axis=1) == pytest.approx(p, abs=1e-15)
    assert all(len(set(row)) == k for row in labels.tolist())
    above = model.predict_above(X, 0.02).toarray()
    assert above == pytest.approx(np.where(full >= 0.02, full, 0), abs=1e-12)


def test_a_label_that_a_member_never_saw_has_probability_zero_there():
    X, _, y = problem(10)
    model = AdacondClassifier(TREE, eta=0.9, n_rounds=2).fit(X, y)
    small = clone(TREE).fit(X[y < 3], y[y < 3])
    model.model_.members[1] = small.model_
    model.model_.__post_init__()
    first = model.model_.stage(1).probabilities
    full = model.predict_proba(X)
    assert full.sum(axis=1) == pytest.approx(np.ones(len(X)))
    weight = model.model_.weights[0]
    rows = model._check_rows(X)
    assert full[:, 3:] == pytest.approx(weight * first(rows)[:, 3:])
    p = model.predict_top_k(X, 5).probabilities
    assert p == pytest.approx(-np.sort(-full, axis=1))
    assert model.predict_label_proba(X, y) == pytest.approx(full[np.arange(len(X)), y])
    assert set(model.sample(np.repeat(X, 20, axis=0), 0)) == set(range(5))


def test_plot_draws_the_bound_and_the_fraction(monkeypatch):
    X, P, _ = problem(11)
    model = AdacondClassifier(STUMP, eta=0.5, n_rounds=4).fit(X, P)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        model.plot()
    monkeypatch.undo()
    pytest.importorskip("matplotlib").use("agg")
    bound, exceed = model.plot().lines
    assert np.array_equal(bound.get_ydata(), model.bound_)
    assert np.array_equal(exceed.get_ydata(), model.train_exceed_)


# Files.


@pytest.mark.parametrize("keep_state", [True, False])
@pytest.mark.parametrize("name", OWN)
def test_saving_and_loading_gives_the_same_model(tmp_path, name, keep_state):
    X, _, y = problem(12)
    names = np.array([f"é{label}" for label in y], dtype=object)
    model = AdacondClassifier(OWN[name], eta=0.9, n_rounds=3).fit(X, names)
    model.save(tmp_path / "m", keep_state=keep_state)
    again = labeltrees.load(tmp_path / "m")
    # Members saved without state have weights in float16.
    tolerance = 0 if keep_state else 5e-3
    assert again.predict_proba(X) == pytest.approx(model.predict_proba(X), abs=tolerance)
    assert again.get_params(deep=True).keys() == model.get_params(deep=True).keys()
    assert type(again.base) is type(OWN[name])
    for attribute in ("eta_", "stop_reason_"):
        assert getattr(again, attribute) == getattr(model, attribute)
    for attribute in ("round_errors_", "betas_", "bound_", "train_exceed_", "classes_"):
        assert np.array_equal(getattr(again, attribute), getattr(model, attribute))
    again.save(tmp_path / "n", keep_state=keep_state)
    assert (tmp_path / "m").read_bytes() == (tmp_path / "n").read_bytes()
    assert again.model_.describe()["rounds"] == len(model.bound_)
    assert "digraph" in again.model_.to_dot(list(model.classes_), max_nodes=9)
    twin = pickle.loads(pickle.dumps(model))
    assert np.array_equal(twin.predict_proba(X), model.predict_proba(X))


def test_a_base_from_elsewhere_cannot_be_saved(tmp_path):
    X, _, y = problem(13)
    model = AdacondClassifier(LogisticRegression(), eta=0.9, n_rounds=2).fit(X, y)
    with pytest.raises(ArgumentError, match="base must be an estimator of this library"):
        model.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


def largest_difference(c, p):
    return np.abs(c - p).max(axis=1)


def test_a_norm_of_ones_own_is_saved_by_its_name_only(tmp_path):
    X, P, _ = problem(13)
    model = AdacondClassifier(STUMP, eta=0.5, n_rounds=2, norm=largest_difference).fit(X, P)
    model.save(tmp_path / "m")
    again = labeltrees.load(tmp_path / "m")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.norm == "largest_difference"
    with pytest.raises(ArgumentError, match="norm must be"):
        again.fit(X, P)


FORGERIES = {
    "another record": ("boosting.bound", lambda a: a[:-1].copy(), None),
    "fewer members": (None, None, lambda f: f | {"members": f["members"][:-1]}),
    "a foreign member": (None, None, lambda f: f | {"members": [{"model": "X", "facts": {}}] * 3}),
    "no members": (None, None, lambda f: f | {"members": 3}),
    "another width": (None, None, lambda f: f | {"n_features": 9}),
    "labels nobody named": ("vocabulary.integers", lambda a: a[:2].copy(), None),
    "a broken member": ("members.1.tree.parent", lambda a: a + 7, None),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_file_with_right_checksums_is_refused(tmp_path, forgery):
    X, _, y = problem(14)
    AdacondClassifier(TREE, eta=0.9, n_rounds=3).fit(X, y).save(tmp_path / "m")
    stored = store.read(tmp_path / "m")
    name, change, change_facts = FORGERIES[forgery]
    tensors = stored.tensors | ({name: change(stored.tensors[name])} if name else {})
    facts = change_facts(stored.facts) if change_facts else stored.facts
    store.write(tmp_path / "m", store.StoredModel(stored.model, facts, tensors))
    with pytest.raises(ModelFormatError):
        labeltrees.load(tmp_path / "m")


# Boundaries.


def test_a_perfect_base_returns_after_one_round():
    X, y = np.arange(12.0)[:, None], np.arange(12) % 3
    model = AdacondClassifier(FrequencyTableClassifier(back_off=0), n_rounds=50).fit(X, y)
    assert model.stop_reason_ == "perfect: the learner of round 1 makes no error"
    assert model.bound_.tolist() == model.train_exceed_.tolist() == model.betas_.tolist() == [0.0]
    assert np.array_equal(model.predict_proba(X), np.eye(3)[y])


def test_labels_of_weight_zero_are_not_there():
    X, _, y = problem(15)
    model = AdacondClassifier(TREE, eta=0.9, n_rounds=2)
    model.fit(X, y, sample_weight=(y != 2).astype(float))
    assert model.classes_.tolist() == [0, 1, 3, 4]


def test_boosting_may_be_boosted(tmp_path):
    X, P, _ = problem(16)
    inner = AdacondClassifier(STUMP, eta=0.4, n_rounds=2)
    model = AdacondClassifier(inner, eta=0.4, n_rounds=2).fit(X, P)
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(len(X)))
    model.save(tmp_path / "m")
    assert np.array_equal(labeltrees.load(tmp_path / "m").predict_proba(X), model.predict_proba(X))


# Errors: each names what is wrong, and the model stays as it was.

X2 = [[1.0, 0.0], [0.0, 1.0]]
BAD_FITS = {
    "rows that sum to 2": (X2, [[1.0, 1.0], [0.5, 0.5]], {}, DataError, "row 0 sums to 2"),
    "NaN target": (X2, [[np.nan, 1.0], [0.5, 0.5]], {}, DataError, "probabilities"),
    "too few rows": (X2, [[0.5, 0.5]] * 3, {}, DataError, "y has 3 rows for the 2 rows"),
    "classes twice": (X2, np.eye(2), {"classes": ["a", "a"]}, ArgumentError, "2 different labels"),
    "classes of labels": (X2, [0, 1], {"classes": [0, 1]}, ArgumentError, "classes must be None"),
    "no weight": (X2, np.eye(2), {"sample_weight": [0, 0]}, ArgumentError, "above zero"),
}


@pytest.mark.parametrize("case", BAD_FITS)
def test_bad_targets_are_refused_and_change_nothing(case):
    X, y, more, error, message = BAD_FITS[case]
    model = AdacondClassifier(TREE, eta=0.9, n_rounds=2).fit(X2 * 5, ["a", "b"] * 5)
    before = pickle.dumps(model.model_)
    with pytest.raises(error, match=message):
        model.fit(X, y, **more)
    assert pickle.dumps(model.model_) == before


@pytest.mark.parametrize(
    ("norm", "message"),
    [
        (lambda c, p: np.full(len(c), 1.5), "returns 1.5"),
        (lambda c, p: np.full(len(c), np.nan), "returns nan"),
        (lambda c, p: 0.5, r"returns shape \(\)"),
        (lambda c, p: np.zeros((len(c), 2)), "returns shape"),
    ],
)
def test_norms_that_are_none_are_refused(norm, message):
    with pytest.raises(ArgumentError, match=f"norm must be a callable .*{message}"):
        AdacondClassifier(STUMP, norm=norm).fit(*problem(17)[:2])


def test_a_base_that_fails_is_named_with_its_round():
    with pytest.raises(DataError, match=r"LogisticRegression.*cannot be fitted in round 1"):
        AdacondClassifier(LogisticRegression()).fit([[1.0], [2.0]], ["only", "only"])


class Unsound(Offset):
    """Answers with something that is no distribution."""

    def predict_proba(self, X):
        return np.full((len(X), 3), self.offset)


@pytest.mark.parametrize("offset", [-1.0, 0.5, np.nan])
def test_a_base_without_distributions_is_refused(offset):
    X, P = np.zeros((4, 1)), np.tile([0.5, 0.25, 0.25], (4, 1))
    with pytest.raises(DataError, match="predict_proba of base must be rows of numbers"):
        AdacondClassifier(Unsound(offset)).fit(X, P)
