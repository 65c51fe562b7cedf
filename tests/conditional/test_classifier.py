"""ConditionalTreeClassifier: agrees with the paper's algorithm, answers consistently, refuses.

Worked example -> agreement with tests/reference.py -> invariants -> boundaries -> errors.
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
from tests.references.conditional import ReferenceConditionalTree

from labeltrees import ConditionalTreeClassifier, _core
from labeltrees.errors import (
    ArgumentError,
    DataError,
    DivergedError,
    LabelTypeError,
    TooLargeError,
)

EXPECTED_FAILURES = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "a weight scales one gradient step; it does not repeat the step",
)


@parametrize_with_checks(
    [ConditionalTreeClassifier()], expected_failed_checks=lambda _: EXPECTED_FAILURES
)
@pytest.mark.filterwarnings("ignore:.*:sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


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
    model = ConditionalTreeClassifier(**options)
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
    model = ConditionalTreeClassifier(**options).partial_fit(X, y, sample_weight=weights)
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


@pytest.mark.parametrize("structure", ["online", "random", "balanced"])
@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_every_query_tells_the_same_probability(structure, loss):
    X, y = stream(1, n_labels=40)
    model = ConditionalTreeClassifier(structure=structure, loss=loss, learning_rate=0.5)
    model.partial_fit(X, y)
    full = model.predict_proba(X)
    columns = {label: column for column, label in enumerate(model.classes_)}
    assert full.sum(axis=1) == pytest.approx(np.ones(len(X)), abs=1e-12)
    named = model.predict_label_proba(X, y)
    assert np.array_equal(named, full[np.arange(len(X)), [columns[label] for label in y]])
    labels, p = model.predict_top_k(X, 40)
    assert np.array_equal(p, -np.sort(-full, axis=1))
    in_columns = np.vectorize(columns.__getitem__)(labels)
    assert np.array_equal(np.take_along_axis(full, in_columns, axis=1), p)
    assert np.array_equal(model.predict(X), labels[:, 0])


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 30))
def test_top_k_equals_sorting_all_marginals(seed, n_labels, k):
    X, y = stream(seed, n_rows=80, n_features=6, n_labels=n_labels)
    model = ConditionalTreeClassifier(alpha=0.3).partial_fit(X, y)
    k = min(k, len(model.classes_))
    full = model.predict_proba(X[:10])
    assert np.array_equal(model.predict_top_k(X[:10], k).probabilities, -np.sort(-full)[:, :k])


def test_cutting_a_stream_into_pieces_changes_nothing():
    X, y = stream(2)
    whole = ConditionalTreeClassifier().partial_fit(X, y)
    pieces = ConditionalTreeClassifier()
    for start in range(0, len(X), 37):
        pieces.partial_fit(sparse.csr_array(X[start : start + 37]), y[start : start + 37])
    assert np.array_equal(whole.predict_proba(X), pieces.predict_proba(X))
    assert whole.tree_ == pieces.tree_


def test_what_progressive_fit_foresees_is_what_the_model_said_before():
    X, y = stream(3, n_rows=120)
    model, twin = ConditionalTreeClassifier(), ConditionalTreeClassifier()
    model.partial_fit(X[:60], y[:60])
    twin.partial_fit(X[:60], y[:60])
    for i in range(60, 120):
        p_label = model.predict_label_proba(X[i : i + 1], y[i : i + 1])
        top = model.predict_top_k(X[i : i + 1], 1)
        seen = twin.progressive_fit(X[i : i + 1], y[i : i + 1])
        assert seen.p_label == p_label
        assert seen.top == top.labels[0]
        assert seen.p_top == top.probabilities[0]
        model.partial_fit(X[i : i + 1], y[i : i + 1])


def test_renaming_labels_renames_predictions():
    X, y = stream(4)
    names = np.array([f"label {chr(97 + i)}" for i in range(9)], dtype=object)
    by_number = ConditionalTreeClassifier().partial_fit(X, y)
    by_name = ConditionalTreeClassifier().partial_fit(X, names[y])
    assert np.array_equal(names[by_number.predict(X)], by_name.predict(X))


def test_a_row_of_weight_zero_is_not_learned():
    X, y = stream(5)
    weights = np.ones(len(X))
    weights[::3] = 0
    weighted = ConditionalTreeClassifier().partial_fit(X, y, sample_weight=weights)
    without = ConditionalTreeClassifier().partial_fit(X[weights > 0], y[weights > 0])
    assert weighted.tree_ == without.tree_
    assert np.array_equal(weighted.classes_, without.classes_)
    assert np.array_equal(weighted.predict_proba(X), without.predict_proba(X))


@pytest.mark.parametrize("balance", ["labels", "examples"])
@pytest.mark.parametrize("alpha", [0.05, 0.2, 0.5, 0.8, 1.0])
def test_the_tree_is_never_deeper_than_theorem_7_allows(alpha, balance):
    rng = np.random.default_rng(6)
    y = rng.zipf(1.3, size=3000) % 700
    X = sparse.random_array((3000, 50), density=0.1, rng=rng, format="csr", dtype=np.float32)
    model = ConditionalTreeClassifier(alpha=alpha, balance=balance, learning_rate=5.0)
    for start in range(0, 3000, 500):
        model.partial_fit(X[start : start + 500], y[start : start + 500])
        assert model.tree_.depth <= _core.depth_bound(model.tree_.n_labels, alpha)


def test_several_passes_fit_better_than_one():
    X, y = stream(7)
    once = ConditionalTreeClassifier(n_passes=1).fit(X, y)
    often = ConditionalTreeClassifier(n_passes=10).fit(X, y)
    assert (
        np.log(often.predict_label_proba(X, y)).mean()
        > np.log(once.predict_label_proba(X, y)).mean() + 0.05
    )


def test_a_pickled_or_cloned_model_behaves_as_expected():
    X, y = stream(8)
    model = ConditionalTreeClassifier(alpha=0.4).partial_fit(X[:200], y[:200])
    twin = pickle.loads(pickle.dumps(model))
    model.partial_fit(X[200:], y[200:])
    twin.partial_fit(X[200:], y[200:])
    assert np.array_equal(model.predict_proba(X), twin.predict_proba(X))
    assert clone(model).get_params() == model.get_params()


def test_asking_while_another_thread_learns_is_safe():
    X, y = stream(9, n_rows=3000, n_labels=300)
    model = ConditionalTreeClassifier().partial_fit(X[:50], y[:50])
    failures = []

    def ask():
        try:
            for _ in range(30):
                p = model.predict_top_k(X[:40], 3).probabilities
                assert np.all((p >= 0) & (p <= 1))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for start in range(50, 3000, 50):
        model.partial_fit(X[start : start + 50], y[start : start + 50])
    for thread in threads:
        thread.join()
    assert not failures


# Boundaries.


def test_one_label_has_probability_one():
    model = ConditionalTreeClassifier().fit([[1.0], [2.0]], ["only", "only"])
    assert model.predict([[5.0]]).tolist() == ["only"]
    assert model.predict_proba([[5.0]]).tolist() == [[1.0]]


def test_an_empty_row_is_answered():
    X, y = stream(10)
    model = ConditionalTreeClassifier().partial_fit(X, y)
    empty = sparse.csr_array((2, X.shape[1]), dtype=np.float32)
    assert model.predict_proba(empty).sum(axis=1) == pytest.approx([1, 1])
    model.partial_fit(empty, y[:2])


def test_an_unseen_label_has_probability_zero():
    X, y = stream(11)
    model = ConditionalTreeClassifier().partial_fit(X, y)
    assert model.predict_label_proba(X[:2], [77, 78]).tolist() == [0, 0]


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


# Errors: each names what is wrong, and the model stays as it was.

BAD_X = {
    "NaN": ([[0.0, 1.0], [np.nan, 1.0]], DataError, r"row 1 of X has NaN, inf"),
    "inf": ([[np.inf, 1.0]], DataError, r"row 0 of X has NaN, inf"),
    "past float32": ([[0.0, 0.0], [0.0, 1e300]], DataError, r"row 1 of X has .*past float32"),
    "wrong width": ([[1.0, 2.0, 3.0]], DataError, "3 features.*2 features"),
    "one dimension": ([1.0, 2.0], DataError, "Reshape your data"),
    "three dimensions": (np.ones((1, 2, 1)), DataError, "two dimensions"),
    "no rows": (np.empty((0, 2)), DataError, r"0 sample\(s\)"),
    "no columns": (np.empty((2, 0)), DataError, r"0 feature\(s\)"),
    "complex": (np.ones((1, 2), dtype=complex), DataError, "Complex"),
    "words": ([["a", "b"]], DataError, "numbers"),
    "dates": (np.array([["2020-01-01", "2020-01-02"]], dtype="M8[D]"), DataError, "numbers"),
    "negative index": (
        sparse.csr_array((np.ones(1, "f4"), np.zeros(1, "i4"), np.array([0, 1])), shape=(1, 2)),
        DataError,
        r"row 0 of X has a feature index outside \[0, 2\): -1",
    ),
}
BAD_X["negative index"][0].indices[0] = -1


@pytest.mark.parametrize("case", BAD_X)
@pytest.mark.parametrize("method", ["partial_fit", "predict", "predict_proba", "predict_top_k"])
def test_bad_features_are_refused_and_change_nothing(case, method):
    X, error, message = BAD_X[case]
    model = ConditionalTreeClassifier().partial_fit([[1.0, 0.0], [0.0, 1.0]] * 5, ["a", "b"] * 5)
    before = pickle.dumps(model.model_)
    y = ["c"] * (X.shape[0] if hasattr(X, "shape") else len(X))
    with pytest.raises(error, match=message):
        model.partial_fit(X, y) if method == "partial_fit" else getattr(model, method)(X)
    assert pickle.dumps(model.model_) == before
    assert model.n_features_in_ == 2


BAD_CALLS = {
    "k = 0": (lambda m: m.predict_top_k([[1.0, 0.0]], 0), ArgumentError, r"k must be .*got 0"),
    "k > n": (lambda m: m.predict_top_k([[1.0, 0.0]], 3), ArgumentError, r"n_labels=2\], got 3"),
    "k = 1.5": (lambda m: m.predict_top_k([[1.0, 0.0]], 1.5), ArgumentError, "got 1.5"),
    "label count": (
        lambda m: m.predict_label_proba([[1.0, 0.0]], ["a", "b"]),
        ArgumentError,
        "2 labels for the 1 rows",
    ),
    "negative weight": (
        lambda m: m.partial_fit([[1.0, 0.0]] * 2, ["a", "c"], sample_weight=[1, -0.5]),
        ArgumentError,
        r"sample_weight\[1\] must be finite and >= 0, got -0.5",
    ),
    "NaN weight": (
        lambda m: m.partial_fit([[1.0, 0.0]], ["c"], sample_weight=[np.nan]),
        ArgumentError,
        "sample_weight",
    ),
    "weight shape": (
        lambda m: m.partial_fit([[1.0, 0.0]], ["c"], sample_weight=[1, 2]),
        ArgumentError,
        r"of shape \(1,\)",
    ),
    "no weight": (
        lambda m: m.partial_fit([[1.0, 0.0]], ["c"], sample_weight=[0]),
        ArgumentError,
        "above zero",
    ),
    "other label type": (
        lambda m: m.partial_fit([[1.0, 0.0]], [3]),
        LabelTypeError,
        "this model's are str, got int",
    ),
    "mixed labels": (
        lambda m: m.partial_fit([[1.0, 0.0]] * 2, ["c", 3]),
        LabelTypeError,
        "all strings or all integers",
    ),
    "None label": (lambda m: m.partial_fit([[1.0, 0.0]], [None]), LabelTypeError, "NoneType"),
    "too few labels": (
        lambda m: m.partial_fit([[1.0, 0.0]] * 2, ["c"]),
        DataError,
        "y has 1 labels for the 2 rows",
    ),
    "no memory": (
        lambda m: m.predict_proba([[1.0, 0.0]], max_bytes=15),
        TooLargeError,
        "1 rows x 2 labels need 16 bytes, over max_bytes=15",
    ),
}


@pytest.mark.parametrize("case", BAD_CALLS)
def test_bad_calls_are_refused_and_change_nothing(case):
    call, error, message = BAD_CALLS[case]
    model = ConditionalTreeClassifier().partial_fit([[1.0, 0.0], [0.0, 1.0]] * 5, ["a", "b"] * 5)
    before = pickle.dumps(model.model_)
    with pytest.raises(error, match=message):
        call(model)
    assert pickle.dumps(model.model_) == before


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("structure", "oak"),
        ("alpha", -0.1),
        ("alpha", 1.5),
        ("alpha", np.nan),
        ("alpha", "high"),
        ("balance", "weights"),
        ("loss", "hinge"),
        ("optimizer", "adam"),
        ("learning_rate", 0),
        ("learning_rate", np.inf),
        ("n_passes", 0),
        ("normalize", "yes"),
        ("mixing", 1),
        ("sharpness", 0),
        ("bias", -1),
        ("random_state", -1),
    ],
)
def test_bad_parameters_are_refused_by_name(name, value):
    model = ConditionalTreeClassifier(**{name: value})
    with pytest.raises(ArgumentError, match=f"{name} must"):
        model.fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(NotFittedError):
        model.predict([[1.0]])


def test_diverging_weights_are_reported_with_the_way_out():
    model = ConditionalTreeClassifier(
        loss="squared", optimizer="sgd", learning_rate=1e5, normalize=False
    )
    with pytest.raises(DivergedError, match=r"learning_rate=100000 is too large"):
        model.fit([[1e10], [2e10]] * 20, [0, 1] * 20)
    assert not hasattr(model, "classes_")
