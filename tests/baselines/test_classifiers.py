"""One-against-all and the frequency table: what the paper compares its tree with.

Worked examples -> agreement with tests/reference.py -> invariants -> boundaries -> errors.
What it shares with every estimator is in tests/contract.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.references.baselines import ReferenceOneAgainstAll, table_probability

from labeltrees import FrequencyTableClassifier, OneAgainstAllClassifier
from labeltrees.errors import (
    DivergedError,
    ModelFormatError,
)

BOTH = [OneAgainstAllClassifier, FrequencyTableClassifier]


def stream(seed, n_rows=400, n_features=6, n_labels=9):
    """Rows of few distinct values, so that many come again."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_labels, size=n_rows)
    centres = rng.integers(3, size=(n_labels, n_features))
    X = (centres[y] + (rng.random((n_rows, n_features)) < 0.1)).astype(np.float32)
    return X, y


# Worked examples.


def test_one_against_all_by_hand():
    model = OneAgainstAllClassifier(
        loss="squared", optimizer="sgd", learning_rate=0.5, normalize=False, bias=0.0
    )
    model.partial_fit([[1.0]], ["a"])  # f_a = .5 x
    assert model.predict_label_score([[1.0], [3.0]], ["a", "a"]).tolist() == [0.5, 1.0]
    assert model.predict_proba([[1.0]]).tolist() == [[1.0]]
    model.partial_fit([[1.0]], ["b"])  # f_a = .25 x, f_b = .5 x
    assert model.predict_label_score([[1.0]] * 2, ["a", "b"]).tolist() == [0.25, 0.5]
    assert model.predict_proba([[1.0]])[0] == pytest.approx([1 / 3, 2 / 3])
    assert model.predict_label_score([[1.0]], ["c"]).tolist() == [0]


def test_progressive_scores_by_hand():
    options = {"loss": "squared", "optimizer": "sgd", "learning_rate": 0.5, "normalize": False,
               "bias": 0.0, "scale": None}  # fmt: skip
    rows, labels = [[1.0]] * 4, ["a", "b", "a", "c"]
    scores = OneAgainstAllClassifier(**options).progressive_scores(rows, labels)
    assert scores.tolist() == [0, 0, 0.25, 0]  # f_a is .5, then .25 when a comes again
    seen = OneAgainstAllClassifier(**options).progressive_fit(rows, labels)
    assert seen.p_label[2] == pytest.approx(1 / 3)  # .25 of .25 + .5


def test_the_table_by_hand():
    table = FrequencyTableClassifier(back_off=2.0)
    table.partial_fit([[1, 0], [1, 0], [0, 1], [1, 0]], ["a", "b", "b", "b"])
    # Overall: a 1/4, b 3/4. The row (1, 0): a 1 of 3, b 2 of 3.
    assert table.predict_proba([[1, 0]])[0] == pytest.approx([1.5 / 5, 3.5 / 5])
    assert table.predict_proba([[7, 7]])[0].tolist() == [0.25, 0.75]
    seen = table.progressive_fit([[0, 1], [0, 1]], ["a", "c"])
    assert seen.p_label == pytest.approx([0.5 / 3, 0])
    assert seen.top.tolist() == [["b"], ["b"]]
    assert seen.is_new.tolist() == [False, True]


# Agreement with the references.

numbers = st.sampled_from([-1.0, 0.0, 0.0, 0.25, 2.0])


@st.composite
def problems(draw):
    n_features = draw(st.integers(1, 3))
    row = st.lists(numbers, min_size=n_features, max_size=n_features)
    rows = draw(st.lists(row, min_size=1, max_size=30))
    n = len(rows)
    labels = draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    weights = draw(st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=n, max_size=n))
    return np.array(rows, dtype=np.float32), labels, weights


@settings(max_examples=200, deadline=None)
@given(problems(), st.sampled_from(["logistic", "squared"]), st.sampled_from(["adagrad", "sgd"]))
def test_one_against_all_learns_like_the_reference(problem, loss, optimizer):
    X, y, weights = problem
    options = {"loss": loss, "optimizer": optimizer, "learning_rate": 0.2}
    reference = ReferenceOneAgainstAll(X.shape[1], **options)
    model = OneAgainstAllClassifier(**options, scale=None)
    seen = model.progressive_fit(X, y, sample_weight=weights)
    for i, label in enumerate(y):
        p = reference.observe(X[i], label, weights[i])
        assert bool(seen.is_new[i]) == (p is None)
        assert seen.p_label[i] == pytest.approx(p or 0.0, rel=1e-3, abs=1e-6)
    for row, p in zip(X[:3], model.predict_proba(X[:3]), strict=True):
        expected = reference.distribution(row)
        assert p == pytest.approx([expected[name] for name in model.classes_], rel=1e-3, abs=1e-6)


@settings(max_examples=200, deadline=None)
@given(problems(), st.sampled_from([0.0, 0.5, 1.0, 10.0]))
def test_the_table_counts_like_the_reference(problem, back_off):
    X, y, weights = problem
    model = FrequencyTableClassifier(back_off=back_off)
    seen = model.progressive_fit(X, y, sample_weight=weights)
    examples = []
    for x, label, weight, p in zip(X, y, weights, seen.p_label, strict=True):
        if examples:
            assert p == pytest.approx(table_probability(examples, x, label, back_off))
        examples.append((x, label, weight))
    for x, distribution in zip(X[:3], model.predict_proba(X[:3]), strict=True):
        expected = [table_probability(examples, x, label, back_off) for label in model.classes_]
        assert distribution == pytest.approx(expected)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["logistic", "squared"]))
def test_progressive_scores_are_the_papers(seed, loss):
    X, y = stream(seed, n_rows=25, n_labels=4)
    options = {"loss": loss, "optimizer": "sgd", "learning_rate": 0.3}
    model, twin = (OneAgainstAllClassifier(**options, scale=None) for _ in range(2))
    reference = ReferenceOneAgainstAll(X.shape[1], **options)
    expected = []
    for x, label in zip(X, y, strict=True):
        expected.append(reference.score(x, int(label)))
        reference.observe(x, int(label))
    weights = np.ones(len(y))
    weights[3] = 0  # is passed over, and has no score
    assert model.progressive_scores(X, y) == pytest.approx(expected, abs=1e-5)
    assert twin.progressive_scores(X[:10], y[:10], sample_weight=weights[:10])[3] == 0
    assert np.array_equal(twin.classes_, OneAgainstAllClassifier().partial_fit(
        X[:10], y[:10], sample_weight=weights[:10]).classes_)  # fmt: skip
    # It learns what partial_fit learns.
    learned = OneAgainstAllClassifier(**options, scale=None).partial_fit(X, y)
    assert np.array_equal(model.predict_proba(X), learned.predict_proba(X))


# Invariants.


def test_both_draw_their_labels():
    for make in BOTH:
        model = make().fit([[1.0], [2.0]], ["a", "b"])
        assert 'label="b"' in model.model_.to_dot(["a", "b"], max_nodes=10)


# Boundaries.


def test_labels_announced_to_one_against_all_learn_from_the_first_row():
    model = OneAgainstAllClassifier().partial_fit([[1.0]] * 9, ["a"] * 9, classes=["a", "b"])
    p = model.predict_proba([[1.0]])[0]
    assert p[0] > 0.7
    assert 0 < p[1] < 0.3


# Errors.


def test_diverging_weights_are_reported():
    model = OneAgainstAllClassifier(
        loss="squared", optimizer="sgd", learning_rate=1e5, normalize=False
    )
    with pytest.raises(DivergedError, match="learning_rate=100000 is too large"):
        model.fit([[1e10], [2e10]] * 20, [0, 1] * 20)


FORGERIES = [
    (OneAgainstAllClassifier, {"mass": np.zeros(50)}),
    (OneAgainstAllClassifier, {"mass": -np.ones(2)}),
    (OneAgainstAllClassifier, {"table.keys": np.zeros(1, "u8")}),
    (FrequencyTableClassifier, {"rows.sizes": np.ones(1, "i8")}),
    (FrequencyTableClassifier, {"totals": np.ones(99)}),
    (FrequencyTableClassifier, {"totals": np.full(9, np.nan)}),
    (FrequencyTableClassifier, {"pairs.labels": np.full(3, 7, "i4")}),
    (FrequencyTableClassifier, {"rows.keys": np.zeros((2, 3), "u1")}),
]


@pytest.mark.parametrize(("make", "forgery"), FORGERIES)
def test_forged_tensors_are_refused(make, forgery):
    X, y = stream(8)
    model = make().fit(X, y)
    tensors, facts = model.model_.to_tensors(keep_state=True)
    with pytest.raises(ModelFormatError):
        make._model_class.from_tensors(tensors | forgery, facts)
