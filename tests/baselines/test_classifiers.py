"""One-against-all and the frequency table: what the paper compares its tree with.

Worked examples -> agreement with tests/reference.py -> invariants -> boundaries -> errors.
"""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.references.baselines import ReferenceOneAgainstAll, table_probability

import labeltrees
from labeltrees import FrequencyTableClassifier, OneAgainstAllClassifier
from labeltrees.errors import (
    ArgumentError,
    DataError,
    DivergedError,
    FrozenModelError,
    LabelTypeError,
    ModelFormatError,
    TooLargeError,
)

BOTH = [OneAgainstAllClassifier, FrequencyTableClassifier]


def expected_failures(estimator):
    if isinstance(estimator, FrequencyTableClassifier):
        return {}
    return dict.fromkeys(
        (
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ),
        "a weight scales one gradient step; it does not repeat the step",
    )


@parametrize_with_checks([make() for make in BOTH], expected_failed_checks=expected_failures)
@pytest.mark.filterwarnings("ignore:.*:sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


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


def test_the_table_by_hand():
    table = FrequencyTableClassifier(back_off=2.0)
    table.partial_fit([[1, 0], [1, 0], [0, 1], [1, 0]], ["a", "b", "b", "b"])
    # Overall: a 1/4, b 3/4. The row (1, 0): a 1 of 3, b 2 of 3.
    assert table.predict_proba([[1, 0]])[0] == pytest.approx([1.5 / 5, 3.5 / 5])
    assert table.predict_proba([[7, 7]])[0].tolist() == [0.25, 0.75]
    seen = table.progressive_fit([[0, 1], [0, 1]], ["a", "c"])
    assert seen.p_label == pytest.approx([0.5 / 3, 0])
    assert seen.top.tolist() == ["b", "b"]
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
    model = OneAgainstAllClassifier(**options)
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


# Invariants.


@pytest.mark.parametrize("make", BOTH)
def test_every_query_tells_the_same_probability(make):
    X, y = stream(1, n_labels=30)
    model = make().partial_fit(X, y)
    asked = np.vstack([X[:50], X[:50] + 0.5])
    full = model.predict_proba(asked)
    columns = {label: column for column, label in enumerate(model.classes_)}
    assert full.sum(axis=1) == pytest.approx(np.ones(100), abs=1e-12)
    labels, p = model.predict_top_k(asked, 30)
    assert np.array_equal(p, -np.sort(-full, axis=1))
    in_columns = np.vectorize(columns.__getitem__)(labels)
    assert np.array_equal(np.take_along_axis(full, in_columns, axis=1), p)
    assert np.array_equal(model.predict_top_k(asked, 4).labels, labels[:, :4])
    assert np.array_equal(model.predict_label_proba(asked, labels[:, 0]), p[:, 0])


@pytest.mark.parametrize("make", BOTH)
def test_cutting_a_stream_into_pieces_changes_nothing(make):
    X, y = stream(2)
    whole, pieces = make().partial_fit(X, y), make()
    for start in range(0, len(X), 37):
        pieces.partial_fit(sparse.csr_array(X[start : start + 37]), y[start : start + 37])
    assert np.array_equal(whole.predict_proba(X), pieces.predict_proba(X))


@pytest.mark.parametrize("make", BOTH)
def test_what_progressive_fit_foresees_is_what_the_model_said_before(make):
    X, y = stream(3, n_rows=100)
    model, twin = make().partial_fit(X[:50], y[:50]), make().partial_fit(X[:50], y[:50])
    for i in range(50, 100):
        p_label = model.predict_label_proba(X[i : i + 1], y[i : i + 1])
        top = model.predict_top_k(X[i : i + 1], 1)
        seen = twin.progressive_fit(X[i : i + 1], y[i : i + 1])
        assert seen.p_label == p_label
        assert (seen.top, seen.p_top) == (top.labels[0], top.probabilities[0])
        model.partial_fit(X[i : i + 1], y[i : i + 1])


@pytest.mark.parametrize("make", BOTH)
def test_a_row_of_weight_zero_is_not_learned(make):
    X, y = stream(4)
    weights = np.ones(len(X))
    weights[::3] = 0
    weighted = make().partial_fit(X, y, sample_weight=weights)
    without = make().partial_fit(X[weights > 0], y[weights > 0])
    assert np.array_equal(weighted.classes_, without.classes_)
    assert np.array_equal(weighted.predict_proba(X), without.predict_proba(X))


@pytest.mark.parametrize("make", BOTH)
@pytest.mark.parametrize("keep_state", [True, False])
def test_models_are_saved_and_go_on(tmp_path, make, keep_state):
    X, y = stream(5)
    names = np.array([f"é{label}" for label in y], dtype=object)
    model = make().fit(X[:300], names[:300])
    model.save(tmp_path / "m", keep_state=keep_state)
    again = labeltrees.load(tmp_path / "m")
    assert again.get_params() == model.get_params() == clone(model).get_params()
    assert np.abs(again.predict_proba(X) - model.predict_proba(X)).max() < 3e-3
    assert again.model_.describe()["can_learn"] == keep_state
    if not keep_state:
        with pytest.raises(FrozenModelError):
            again.partial_fit(X, names)
        again.save(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()
        return
    for learner in (again, model, twin := pickle.loads(pickle.dumps(model))):
        learner.partial_fit(X[300:], names[300:])
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(twin.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("make", BOTH)
def test_asking_while_another_thread_learns_is_safe(make):
    X, y = stream(6, n_rows=1000, n_labels=30)
    model = make().partial_fit(X[:50], y[:50])
    failures = []

    def ask():
        try:
            for _ in range(15):
                assert np.all(model.predict_top_k(X[:20], 3).probabilities <= 1)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for start in range(50, 1000, 50):
        model.partial_fit(X[start : start + 50], y[start : start + 50])
    for thread in threads:
        thread.join()
    assert not failures


def test_both_draw_their_labels():
    for make in BOTH:
        model = make().fit([[1.0], [2.0]], ["a", "b"])
        assert 'label="b"' in model.model_.to_dot(["a", "b"], max_nodes=10)


# Boundaries.


@pytest.mark.parametrize("make", BOTH)
def test_one_label_has_probability_one(make):
    model = make().fit([[1.0], [2.0]], ["only", "only"])
    assert model.predict_proba([[5.0]]).tolist() == [[1.0]]


@pytest.mark.parametrize("make", BOTH)
def test_an_unseen_label_has_probability_zero(make):
    X, y = stream(7)
    model = make().partial_fit(X, y)
    assert model.predict_label_proba(X[:2], [77, 78]).tolist() == [0, 0]


def test_stored_zeros_are_no_part_of_a_row():
    zeros = sparse.csr_array(
        (np.array([1.0, 0.0], "f4"), np.array([0, 1]), np.array([0, 2])), shape=(1, 2)
    )
    table = FrequencyTableClassifier(back_off=0).fit([[1.0, 0], [0, 1.0]], ["a", "b"])
    assert table.predict(zeros).tolist() == ["a"]


def test_labels_announced_to_one_against_all_learn_from_the_first_row():
    model = OneAgainstAllClassifier().partial_fit([[1.0]] * 9, ["a"] * 9, classes=["a", "b"])
    p = model.predict_proba([[1.0]])[0]
    assert p[0] > 0.7
    assert 0 < p[1] < 0.3


# Errors.

BAD = {
    "NaN": (lambda m: m.partial_fit([[np.nan, 1.0]], ["a"]), DataError, "NaN"),
    "width": (lambda m: m.partial_fit([[1.0]], ["a"]), DataError, "1 features.*2 features"),
    "k = 0": (lambda m: m.predict_top_k([[1.0, 0.0]], 0), ArgumentError, "k must be .*got 0"),
    "k > n": (lambda m: m.predict_top_k([[1.0, 0.0]], 3), ArgumentError, r"n_labels=2\], got 3"),
    "label count": (
        lambda m: m.predict_label_proba([[1.0, 0.0]], ["a", "b"]),
        ArgumentError,
        "2 labels for the 1 rows",
    ),
    "weight": (
        lambda m: m.partial_fit([[1.0, 0.0]], ["c"], sample_weight=[-1]),
        ArgumentError,
        r"sample_weight\[0\]",
    ),
    "no weight": (
        lambda m: m.partial_fit([[1.0, 0.0]], ["c"], sample_weight=[0]),
        ArgumentError,
        "above zero",
    ),
    "label type": (lambda m: m.partial_fit([[1.0, 0.0]], [3]), LabelTypeError, "got int"),
    "no memory": (
        lambda m: m.predict_proba([[1.0, 0.0]], max_bytes=15),
        TooLargeError,
        "over max_bytes=15",
    ),
}


@pytest.mark.parametrize("make", BOTH)
@pytest.mark.parametrize("case", BAD)
def test_bad_calls_are_refused_and_change_nothing(make, case):
    call, error, message = BAD[case]
    model = make().partial_fit([[1.0, 0.0], [0.0, 1.0]] * 5, ["a", "b"] * 5)
    before = pickle.dumps(model.model_)
    with pytest.raises(error, match=message):
        call(model)
    assert pickle.dumps(model.model_) == before


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (FrequencyTableClassifier(back_off=-1), "back_off"),
        (FrequencyTableClassifier(back_off=np.nan), "back_off"),
        (FrequencyTableClassifier(back_off="1"), "back_off"),
        (OneAgainstAllClassifier(loss="hinge"), "loss"),
        (OneAgainstAllClassifier(learning_rate=0), "learning_rate"),
        (OneAgainstAllClassifier(n_passes=0), "n_passes"),
        (OneAgainstAllClassifier(random_state=-1), "random_state"),
    ],
)
def test_bad_parameters_are_refused_by_name(model, name):
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(ArgumentError, match=f"{name} must"):
            learn([[1.0], [2.0]], [0, 1])
    with pytest.raises(NotFittedError):
        model.predict([[1.0]])


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
