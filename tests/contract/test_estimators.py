"""The contract of every estimator: scikit-learn's, and that it says what its model says.

scikit-learn's checks -> fitting -> questions -> files -> the package -> rows with many labels.
"""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.contract.questions import CAPABILITIES, differing, every_answer
from tests.contract.subjects import (
    ANNOUNCED,
    CAN,
    N_FEATURES,
    NAMES,
    NUMBERS,
    ONE_OF_EACH,
    ONLINE,
    STUMP,
    SUBJECTS,
    asked,
    fitted,
    of_all,
    of_each,
    of_online,
    saved,
    streamed,
    targets,
    training,
)

import labeltrees
from labeltrees import (
    AdacondClassifier,
    Bm25Ranker,
    ConditionalTreeClassifier,
    DismecRanker,
    ExtremeRegressor,
    FilterTreeClassifier,
    FrequencyTableClassifier,
    LeastSquaresRegressor,
    LemlRegressor,
    LOMTreeClassifier,
    MultiLabelTreeClassifier,
    OneAgainstAllClassifier,
    PfastreXmlRanker,
    ProxmlRanker,
    RankSvmRanker,
    SelfTerminatingTreeClassifier,
    XlrRanker,
)
from labeltrees.data.labels import RaggedLabels
from labeltrees.errors import (
    DataError,
    FrozenModelError,
)
from labeltrees.estimators.several_labels import MultilabelEstimator
from labeltrees.models.capabilities import (
    Above,
    BeamSearch,
    BestRows,
    Descends,
    Explains,
    Samples,
)

# scikit-learn's checks.

STEPS = "a weight scales one gradient step; it does not repeat the step"
UNEQUAL_WEIGHTS = {
    ConditionalTreeClassifier: STEPS,
    FilterTreeClassifier: STEPS,
    LOMTreeClassifier: STEPS,
    MultiLabelTreeClassifier: STEPS,
    OneAgainstAllClassifier: STEPS,
    SelfTerminatingTreeClassifier: (
        'penalty="auto" holds out rows, and a row repeated is not a row with a weight then'
    ),
    AdacondClassifier: (
        'eta="auto" depends on the number of rows: a row repeated is not one with a weight'
    ),
}
"""Why repeated rows and weights are not the same."""
CHECKED = [
    ConditionalTreeClassifier(),
    ConditionalTreeClassifier(arity=4),
    FilterTreeClassifier(),
    LOMTreeClassifier(),
    SelfTerminatingTreeClassifier(),
    SelfTerminatingTreeClassifier(penalty=0.5, min_gain=0.1),
    OneAgainstAllClassifier(),
    FrequencyTableClassifier(),
    AdacondClassifier(STUMP, n_rounds=3),
    AdacondClassifier(ConditionalTreeClassifier(n_passes=3), n_rounds=3),
    ExtremeRegressor(n_trees=1),
    MultiLabelTreeClassifier(),
    LeastSquaresRegressor(),
    LemlRegressor(),
    PfastreXmlRanker(n_trees=5),
    Bm25Ranker(),
    DismecRanker(),
    ProxmlRanker(),
    RankSvmRanker(max_iterations=20),
    XlrRanker(n_factors=2, n_rounds=2),
]


def expected_failures(estimator):
    """Return the checks that an estimator fails, and why."""
    if isinstance(estimator, MultilabelEstimator):
        why = "probabilities are those of each label by itself: they do not sum to one"
        failing = {"check_classifiers_train": why}
        return failing | (_unequal(estimator) if type(estimator) in UNEQUAL_WEIGHTS else {})
    holds = isinstance(estimator, SelfTerminatingTreeClassifier) and estimator.penalty != "auto"
    if holds or type(estimator) not in UNEQUAL_WEIGHTS:
        return {}
    return _unequal(estimator)


def _unequal(estimator):
    return dict.fromkeys(
        (
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ),
        UNEQUAL_WEIGHTS[type(estimator)],
    )


@parametrize_with_checks(CHECKED, expected_failed_checks=expected_failures)
@pytest.mark.filterwarnings("ignore:.*:sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


def test_every_estimator_is_checked_by_scikit_learn():
    assert {type(each) for each in CHECKED} == {type(s.estimator) for s in SUBJECTS}


# Fitting.


@of_all
def test_fit_returns_the_estimator_and_leaves_its_parameters_and_data(subject):
    X, y = training()
    given, more = targets(subject, y, NAMES)
    kept, X_kept = pickle.dumps(given), X.copy()
    estimator = subject.new()
    params = repr(estimator.get_params())
    assert estimator.fit(X, given, **more) is estimator
    assert repr(estimator.get_params()) == params
    assert np.array_equal(X, X_kept)
    assert pickle.dumps(given) == kept
    assert estimator.n_features_in_ == N_FEATURES
    assert set(estimator.classes_.tolist()) == set(NAMES.tolist())
    if not more:
        assert estimator.classes_.tolist() == sorted(NAMES)
    expected = every_answer(fitted(subject.name).model_, asked())
    assert differing(every_answer(estimator.model_, asked()), expected) == []
    again = estimator.fit(X, given, **more)  # from scratch
    assert differing(every_answer(again.model_, asked()), expected) == []


@of_all
def test_fit_takes_sparse_rows(subject):
    X, y = training()
    given, more = targets(subject, y, NAMES)
    thin = subject.new().fit(sparse.csr_array(X), given, **more)
    expected = fitted(subject.name).predict_proba(asked())
    assert np.array_equal(thin.predict_proba(sparse.csc_array(asked())), expected)


of_streams = pytest.mark.parametrize("subject", [s for s in ONLINE if s.on_stream], ids=str)


def begin(subject, X, labels, **more):
    """Return an estimator that has learned the first rows of a stream."""
    told = "given" in subject.name or subject.model == "PecocTreeModel"
    classes = {"classes": sorted(NAMES)} if told else {}
    return subject.new().partial_fit(X, labels, **classes, **more)


@of_online
def test_partial_fit_goes_on_in_the_order_of_the_rows(subject):
    X, y = training()
    whole, pieces = (pickle.loads(pickle.dumps(fitted(subject.name))) for _ in range(2))
    assert whole.partial_fit(X[:60], NAMES[y[:60]]) is whole
    for part in parts_of(subject, 60):
        pieces.partial_fit(sparse.csr_array(X[part]), NAMES[y[part]])
    assert np.array_equal(whole.predict_proba(asked()), pieces.predict_proba(asked()))


@of_streams
def test_cutting_a_stream_into_pieces_changes_nothing(subject):
    X, y = training()
    labels = NAMES[y]
    whole, (first, *others) = begin(subject, X, labels), parts_of(subject, len(X))
    pieces = begin(subject, X[first], labels[first])
    for part in others:
        assert pieces.partial_fit(sparse.csr_array(X[part]), labels[part]) is pieces
    assert np.array_equal(pieces.classes_, whole.classes_)
    assert pickle.dumps(pieces.model_) == pickle.dumps(whole.model_)
    assert streamed(subject.name).classes_.tolist() == sorted([*NUMBERS.tolist(), ANNOUNCED])


def parts_of(subject, n_rows):
    """Return slices of all rows; several threads learn in batches, which must not be cut."""
    size = n_rows if "threads" in subject.name else 7
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


@of_streams
def test_a_row_of_weight_zero_is_as_if_it_were_not_there(subject):
    if "threads" in subject.name:  # such a row takes a place in its batch
        return
    X, y = training()
    weights = np.ones(len(X))
    weights[::3] = 0
    weights[y == 4] = 0  # a label that is never learned
    kept = weights > 0
    weighted = begin(subject, X, NAMES[y], sample_weight=weights)
    without = begin(subject, X[kept], NAMES[y[kept]])
    assert np.array_equal(weighted.classes_, without.classes_)
    assert np.array_equal(weighted.predict_proba(asked()), without.predict_proba(asked()))
    if hasattr(weighted, "tree_"):
        assert weighted.tree_ == without.tree_


@of_streams
def test_progressive_fit_learns_like_partial_fit_and_returns_predictions(subject):
    X, y = training()
    labels = NAMES[y]
    twin, learner = begin(subject, X[:60], labels[:60]), begin(subject, X[:60], labels[:60])
    seen = learner.progressive_fit(X[60:90], labels[60:90])
    twin.partial_fit(X[60:90], labels[60:90])
    assert np.array_equal(learner.predict_proba(asked()), twin.predict_proba(asked()))
    again = begin(subject, X[:60], labels[:60]).model_
    weights = np.empty(0, dtype=np.float32)
    single = RaggedLabels.of_single(labels[60:90])
    found = again.update(again.rows(X[60:90]), single, weights, k=1)
    assert all(np.array_equal(ours, theirs) for ours, theirs in zip(seen, found, strict=True))
    assert len(seen.top) == len(seen.p_label) == len(seen.is_new) == 30
    assert len(learner.progressive_fit(X[:3], labels[:3], k=0).top.T) == 0
    fresh = subject.new()
    if subject.model != "PecocTreeModel" and "given" not in subject.name:
        assert fresh.progressive_fit(X[:9], labels[:9]).is_new.sum() == len(set(labels[:9]))


@of_each
def test_the_names_of_the_features_are_kept_and_compared(subject):
    X, y = training()
    given, more = targets(subject, y, NAMES)
    names = [f"x{i}" for i in range(N_FEATURES)]
    frame = pd.DataFrame(X, columns=names)
    estimator = subject.new().fit(frame, given, **more)
    assert estimator.feature_names_in_.tolist() == names
    expected = fitted(subject.name).predict_proba(X[:3])
    assert np.array_equal(estimator.predict_proba(frame[:3]), expected)
    with pytest.raises(DataError, match="feature names"):
        estimator.predict(frame[:3].rename(columns={"x3": "y"}))
    with pytest.raises(DataError, match="feature names"):
        estimator.predict(frame[names[::-1]][:3])
    if Explains in CAN[subject.model]:
        reason = estimator.explain(frame[:1], NAMES[0], n_features=N_FEATURES)
        assert "x" in str(reason)
        assert str(reason) == str(estimator.model_.explain(
            estimator.model_.rows(X[:1]), NAMES[0], n_features=N_FEATURES, feature_names=names
        ))  # fmt: skip
        polars = pl.DataFrame({name: X[:1, column] for column, name in enumerate(names)})
        with (
            warnings.catch_warnings()
        ):  # scikit-learn before 1.8 finds no names in polars' newest frames
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            assert str(estimator.explain(polars, NAMES[0], n_features=N_FEATURES)) == str(reason)


# Questions.


@of_all
def test_the_estimator_says_what_its_model_says(subject):
    estimator = fitted(subject.name)
    model, X = estimator.model_, asked()
    rows = model.rows(X)
    p = estimator.predict_proba(X)
    assert np.array_equal(p, model.probabilities(rows))
    with np.errstate(divide="ignore"):
        assert np.array_equal(estimator.predict_log_proba(X), np.log(p))
    for k in (1, 4):
        ours, theirs = estimator.predict_top_k(X, k), model.top_labels(rows, k)
        assert np.array_equal(ours.labels, theirs.labels)
        assert np.array_equal(ours.probabilities, theirs.probabilities)
    if getattr(model, "form", "labels") == "labels":
        assert np.array_equal(estimator.predict(X), model.top_labels(rows, 1).labels[:, 0])
    else:  # tests/extreme/test_forms.py
        assert len(estimator.predict(X)) == len(X)
    labels = [NAMES[i % 9] for i in range(len(X))]
    named = estimator.predict_label_proba(X, labels)
    assert np.array_equal(named, model.label_probabilities(rows, labels))
    assert np.array_equal(estimator.classes_, model.vocabulary.labels)


@of_all
def test_further_questions_are_there_where_the_model_answers(subject):
    estimator, capable = fitted(subject.name), CAN[subject.model]
    model, X = estimator.model_, asked()
    rows = model.rows(X)
    methods = {
        "predict_above": Above,
        "top_rows": BestRows,
        "sample": Samples,
        "explain": Explains,
        "beam_top_k": BeamSearch,
        "predict_greedy": Descends,
    }
    for method, capability in methods.items():
        assert hasattr(estimator, method) == (capability in capable), method
    assert hasattr(estimator, "partial_fit") == hasattr(estimator, "progressive_fit")
    assert hasattr(estimator, "partial_fit") == subject.goes_on
    if Above in capable:
        ours, theirs = estimator.predict_above(X, 0.1), model.labels_above(rows, 0.1)
        assert np.array_equal(ours.toarray(), theirs.toarray())
    if BestRows in capable:
        ours, theirs = (
            estimator.top_rows(X, NAMES[[1, 3]], 4),
            model.top_rows(rows, NAMES[[1, 3]], 4),
        )
        assert np.array_equal(ours.rows, theirs.rows)
        assert np.array_equal(ours.probabilities, theirs.probabilities)
    if Explains in capable:
        expected = model.explain(rows.take(np.array([2])), NAMES[3], n_features=2)
        for x in (X[2], X[2].tolist(), X[2:3], sparse.csr_array(X[2:3])):
            assert str(estimator.explain(x, NAMES[3], n_features=2)) == str(expected)
    if BeamSearch in capable:
        ours = estimator.beam_top_k(X, 2, beam_width=2)
        theirs = model.beam_labels(rows, 2, beam_width=2)
        assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))
        beam = estimator.predict_top_k(X, 2, search="beam", beam_width=2)
        assert np.array_equal(beam.probabilities, ours.probabilities)


@pytest.mark.parametrize(
    "subject", [s for s in SUBJECTS if Samples in CAN[s.model]], ids=str
)  # fmt: skip
def test_draws_repeat_for_a_seed_and_do_not_depend_on_batches(subject):
    estimator, X = fitted(subject.name), np.tile(asked(), (4, 1))
    whole = estimator.sample(X, random_state=7)
    uniforms = np.random.default_rng(7).random(len(X))
    assert np.array_equal(whole, estimator.model_.sample(estimator.model_.rows(X), uniforms))
    generator = np.random.default_rng(7)
    parts = [estimator.sample(X[start : start + 33], generator) for start in range(0, len(X), 33)]
    assert np.array_equal(whole, np.concatenate(parts))
    old_style = [estimator.sample(X, np.random.RandomState(3)) for _ in range(2)]
    assert np.array_equal(*old_style)
    assert not np.array_equal(whole, estimator.sample(X, random_state=8))
    assert set(estimator.sample(X)) <= set(NAMES)


def test_a_capability_of_the_class_is_offered_before_it_is_fitted():
    for subject in ONE_OF_EACH:
        estimator = subject.new()
        assert hasattr(estimator, "predict_above")
        assert hasattr(estimator, "explain") == (Explains in CAN[subject.model])
    # An estimator may have another model once it is fitted: more than two children per node.
    assert not hasattr(fitted("PECOC"), "explain")
    assert len(CAPABILITIES) == 9


@of_each
def test_nothing_is_answered_before_something_is_learned(subject, tmp_path):
    estimator, X = subject.new(), asked()
    questions = [
        lambda e: e.predict(X),
        lambda e: e.predict_proba(X),
        lambda e: e.predict_top_k(X, 1),
        lambda e: e.predict_label_proba(X, NAMES[[0] * len(X)]),
        lambda e: e.predict_above(X, 0.1),
        lambda e: e.top_rows(X, NAMES[:1], 1),
        lambda e: e.save(tmp_path / "m"),
    ]
    if Samples in CAN[subject.model]:
        questions.append(lambda e: e.sample(X))
    if Explains in CAN[subject.model]:
        questions.append(lambda e: e.explain(X[0], NAMES[0]))
    for ask in questions:
        with pytest.raises(NotFittedError):
            ask(estimator)
    for name in ("classes_", "model_", "n_features_in_", "tree_"):
        assert not hasattr(estimator, name)
    assert not (tmp_path / "m").exists()


# Files.


def same_params(ours, theirs):
    """Whether two estimators have equal parameters, and so have their bases."""
    ours, theirs = (each.get_params() for each in (ours, theirs))
    base, other = ours.pop("base", None), theirs.pop("base", None)
    return ours == theirs and type(base) is type(other)


@of_all
@pytest.mark.parametrize("keep_state", [True, False])
def test_load_after_save_is_the_identity(subject, keep_state, tmp_path):
    estimator, path = fitted(subject.name), saved(subject.name, keep_state)
    for mapped in (False, True):
        again = labeltrees.load(path, mapped=mapped)
        assert type(again) is type(estimator)
        assert same_params(again, estimator)
        assert again.n_features_in_ == N_FEATURES
        assert np.array_equal(again.classes_, estimator.classes_)
        model = labeltrees.load_model(path, mapped=mapped)
        assert type(model) is type(estimator.model_)
        expected = every_answer(model, asked())
        assert differing(every_answer(again.model_, asked()), expected) == []
        if keep_state:
            assert differing(every_answer(estimator.model_, asked()), expected) == []
    again.save(tmp_path / "n", keep_state=keep_state, extra={"a": [1, "é"]})
    assert labeltrees.store.read(tmp_path / "n").extra == {"a": [1, "é"]}
    if subject.goes_on and not keep_state:
        X, y = training()
        with pytest.raises(FrozenModelError, match="keep_state=False"):
            again.partial_fit(X, NAMES[y])
        again.fit(X, NAMES[y])  # from scratch it may


@of_all
def test_a_pickled_estimator_answers_and_goes_on_alike(subject):
    estimator = fitted(subject.name)
    twin, other = (pickle.loads(pickle.dumps(estimator)) for _ in range(2))
    assert same_params(twin, estimator)
    expected = every_answer(estimator.model_, asked())
    assert differing(every_answer(twin.model_, asked()), expected) == []
    if subject.goes_on:
        X, y = training()
        for each in (twin, other):
            each.partial_fit(X[:20], NAMES[y[:20]])
        assert np.array_equal(twin.predict_proba(asked()), other.predict_proba(asked()))


# The package.


def test_metrics_and_all_public_names_are_there_after_the_import():
    assert labeltrees.metrics.log_loss([0.5]) == pytest.approx(np.log(2))
    assert set(labeltrees.__all__) <= set(dir(labeltrees))
    assert all(getattr(labeltrees, name) is not None for name in labeltrees.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'forest'"):
        _ = labeltrees.forest


# A row with many labels.


def test_an_estimator_of_many_labels_is_neither_classifier_nor_regressor():
    for subject in SUBJECTS:
        assert is_classifier(subject.estimator) == (not subject.by_itself)
        assert not is_regressor(subject.estimator)


TRUTHS = {
    "lists": [["sun"], ["rain"], ["sun", "rain"]],
    "dicts": [{"sun": 1.0}, {"rain": 1.0}, {"sun": 1.0, "rain": 1.0}],
    "matrix": np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]),
    "sparse": sparse.csr_array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]),
    "labels": ["sun", "rain", "sun"],
}


@pytest.mark.parametrize("case", TRUTHS)
def test_the_score_of_every_kind_of_truth(case):
    X, truth = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]] * 40), TRUTHS[case]
    model = ExtremeRegressor(n_trees=1).fit(X, TRUTHS["lists"] * 40)
    more = {"classes": ["rain", "sun"]} if case in ("matrix", "sparse") else {}
    # The third row's labels are about as likely; either order is right but for "labels".
    order = model.predict_top_k(X[:3], 2).labels.tolist()
    assert [order[0][0], order[1][0]] == ["sun", "rain"]
    expected = 1.0 if case != "labels" or order[2][0] == "sun" else (2 + 1 / np.log2(3)) / 3
    assert model.score(X[:3], truth, **more) == pytest.approx(expected)
    with pytest.raises(DataError, match="y has 3 rows for the 2 rows of X"):
        model.score(X[:2], truth, **more)
    missed = model.score(X[:1], [["fog"]])
    assert missed == 0


def test_an_extreme_regressor_is_cross_validated():
    X, y = training()
    several = np.minimum(np.eye(9)[y] + np.eye(9)[(y + 1) % 9], 1)
    scores = cross_val_score(ExtremeRegressor(n_trees=1), X, several, cv=3)
    chance = cross_val_score(ExtremeRegressor(n_trees=1), X, several[::-1], cv=3)
    assert scores.shape == (3,)
    assert scores.min() > chance.max()
    assert cross_val_score(ExtremeRegressor(n_trees=1), X, y, cv=3).min() > 0
