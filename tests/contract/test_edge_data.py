"""The contract of every estimator on data at the edge: it learns, or refuses and changes nothing.

Matrices that store the same numbers in another way -> rows of nothing, of one kind, at the ends of
float32's range -> steps that would pass it -> weights.
"""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from tests.contract.subjects import (
    BY_NAME,
    N_LABELS,
    NAMES,
    SUBJECTS,
    targets,
)

import labeltrees
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.rows import MAX_FEATURES, MAX_WEIGHT
from labeltrees.errors import ArgumentError, DataError, DivergedError

N_ROWS, N_FEATURES = 36, 5
OF_EACH_MODEL = list({s.model: s for s in reversed(SUBJECTS)}.values())
KINDS = [*OF_EACH_MODEL, BY_NAME["conditional, threads"], BY_NAME["extreme, tail"]]
of_kinds = pytest.mark.parametrize("subject", KINDS, ids=str)


def whole_numbers(seed=0):
    """Rows of small whole numbers, many of them 0, that tell labels apart."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (N_ROWS, N_FEATURES)) * (rng.random((N_ROWS, N_FEATURES)) < 0.6)
    X[:, 0] = 1 + label_ids() % 3
    return X.astype(np.float32)


def label_ids():
    return np.arange(N_ROWS) % N_LABELS


def all_stored(X):
    """Every entry, zeros included."""
    n_rows, n_features = X.shape
    columns, starts = np.tile(np.arange(n_features), n_rows), np.arange(n_rows + 1) * n_features
    return sparse.csr_array((X.ravel(), columns, starts), shape=X.shape)


def backwards(X):
    """Each row's entries from the last to the first."""
    rows = [np.flatnonzero(row)[::-1] for row in X]
    columns, starts = np.concatenate(rows), np.cumsum([0, *map(len, rows)])
    values = np.concatenate([row[order] for row, order in zip(X, rows, strict=True)])
    return sparse.csr_array((values, columns, starts), shape=X.shape)


def in_halves(X):
    """Each entry as two that add up to it, in different places of the row."""
    once = sparse.csr_array(X)
    halves, n = once.data / 2, np.diff(once.indptr)
    spans = zip(once.indptr[:-1], once.indptr[1:], strict=True)
    order = np.concatenate([np.tile(np.arange(a, b), 2) for a, b in spans])
    starts = np.append(0, np.cumsum(2 * n))
    return sparse.csr_array((halves[order], once.indices[order], starts), shape=X.shape)


SAME = {
    "explicit zeros": all_stored,
    "negative zeros": lambda X: all_stored(np.where(X == 0, np.float32(-0.0), X)),
    "unsorted": backwards,
    "duplicates": in_halves,
    "64 bits": lambda X: sparse.csr_array(X.astype(np.float64)),
    "by columns": sparse.csc_array,
}
"""Other ways to write the same numbers down."""


def fitted(subject, X, ids):
    """Return the subject fitted to these rows."""
    y, more = targets(subject, ids, NAMES)
    return subject.new().fit(X, y, **more)


def check_answers(subject, estimator, X, tmp_path):
    """Assert that answers are probabilities, also those of copies and of a saved file."""
    p = estimator.predict_proba(X)
    assert np.isfinite(p).all()
    assert (p >= 0).all()
    if not subject.by_itself:
        assert p.sum(axis=1) == pytest.approx(1, abs=1e-6)
    estimator.save(tmp_path / "m")
    assert np.array_equal(labeltrees.load(tmp_path / "m").predict_proba(X), p)
    assert np.array_equal(pickle.loads(pickle.dumps(estimator)).predict_proba(X), p)


@of_kinds
@pytest.mark.parametrize("case", SAME)
def test_how_numbers_are_stored_does_not_matter(subject, case):
    X = whole_numbers()
    written = SAME[case](X)
    tidy = sparse.csr_array(X)
    ours, theirs = fitted(subject, written, label_ids()), fitted(subject, tidy, label_ids())
    assert np.array_equal(ours.predict_proba(written), theirs.predict_proba(tidy))
    assert np.array_equal(ours.predict_proba(tidy), theirs.predict_proba(written))


def emptied(X):
    X[::3] = 0
    return sparse.csr_array(X)


def at_the_end(X):
    """The first feature alone, as the last of as many as there may be."""
    columns, starts = np.full(len(X), MAX_FEATURES - 1), np.arange(len(X) + 1)
    return sparse.csr_array((X[:, 0], columns, starts), shape=(len(X), MAX_FEATURES))


EDGES = {
    "empty rows": emptied,
    "nothing": np.zeros_like,
    "constant": np.ones_like,
    "denormal": lambda X: X * np.float32(2.0**-140),
    "huge": lambda X: X * np.float32(1e38),
    "of both ends": lambda X: np.where(X > 1, np.float32(3e38), X * np.float32(2.0**-149)),
    "widest": at_the_end,
    "one row": lambda X: X[:1],
    "one label": lambda X: X[::9],
    "two labels": lambda X: X[np.arange(N_ROWS) % 9 < 2],
}


@of_kinds
@pytest.mark.parametrize("case", EDGES)
def test_rows_at_the_edge_are_learned(subject, case, tmp_path):
    X, ids = EDGES[case](whole_numbers()), label_ids()
    chosen = {"one row": [0], "one label": ids[::9], "two labels": ids[ids < 2]}.get(case, ids)
    estimator = subject.new()
    y, more = targets(subject, np.asarray(chosen), NAMES)
    estimator.fit(X, y, **more)
    check_answers(subject, estimator, X, tmp_path)


UNSCALED = ("SelfTerminatingTreeModel", "FrequencyTableModel", "AdacondModel", "Bm25Model")
SCALED = [s for s in KINDS if s.model not in UNSCALED]


@pytest.mark.parametrize("subject", SCALED, ids=str)
@pytest.mark.parametrize("factor", [2.0**-140, 2.0**126], ids=["denormal", "huge"])
def test_rows_of_any_length_are_scaled_to_the_same(subject, factor):
    X = whole_numbers()
    far = X * np.float32(factor)  # exact
    assert np.isfinite(far).all()
    if "scale" in subject.new().get_params():
        subject = replace(subject, estimator=subject.new().set_params(scale=None))
    if subject.model == "RefinedTreesModel":  # experts that fit taught compare rows' lengths
        model = subject.new().partial_fit(X, NAMES[label_ids()])
        sums = fitted(subject, X, label_ids()).predict_proba(far).sum(axis=1)
        assert sums == pytest.approx(np.ones(len(X)), abs=1e-9)
    else:
        model = fitted(subject, X, label_ids())
    assert model.predict_proba(far) == pytest.approx(model.predict_proba(X), abs=1e-5)


# Steps past all measure.

IN_TURN = [
    s for s in SUBJECTS
    if s.learns and "normalize" in s.new().get_params() and s.model != "PooledTreesModel"
]  # fmt: skip


def diverging(subject):
    """Return the subject with settings by which large values diverge."""
    options = {"optimizer": "sgd", "normalize": False, "learning_rate": 1.0, "mixing": False}
    options |= {"loss": "squared", "sharpness": 1.0}
    known = subject.new().get_params()
    return subject.new().set_params(**{k: v for k, v in options.items() if k in known})


def refusal_of(model, row, label):
    """Let a model learn a row; return what it says if that diverges."""
    try:
        model.partial_fit(row, label)
    except DivergedError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("subject", IN_TURN, ids=str)
@pytest.mark.parametrize("value", [1e9, 3e38])
def test_a_step_past_all_measure_is_refused_and_the_row_changes_nothing(subject, value, tmp_path):
    X, y = whole_numbers() / 4, NAMES[label_ids()]
    model = diverging(subject)
    if subject.on_stream:
        model.partial_fit(X, y, classes=NAMES)
    else:
        model.fit(X, y)
    row = np.full((1, N_FEATURES), value, np.float32)
    refused = 0
    for i in range(6):
        before = model.predict_proba(X)
        error = refusal_of(model, row, NAMES[[i % N_LABELS]])
        if error:
            refused += 1
            assert "at row 0: learning_rate=1 is too large" in error
            if "threads" not in subject.name:
                assert np.array_equal(model.predict_proba(X), before)
        check_answers(subject, model, np.vstack([X, row, -row]).astype(np.float32), tmp_path)
    assert refused > 0
    model.partial_fit(X, y)  # it goes on


ONLINE_TREES = [s for s in IN_TURN if s.model in ("ConditionalTreeModel", "FilterTreeModel")
                and "given" not in s.name and s.on_stream]  # fmt: skip


@pytest.mark.parametrize("subject", ONLINE_TREES, ids=str)
def test_a_refused_row_does_not_make_a_leaf_for_its_label(subject):
    X, y = whole_numbers() / 4, NAMES[label_ids()]
    model = diverging(subject).partial_fit(X, y)
    if "threads" in subject.name:
        pytest.skip("rows learned together share what one of them began")
    n_labels = model.model_.core.n_labels
    row = np.full((1, N_FEATURES), 3e38, np.float32)
    with pytest.raises(DivergedError):
        model.partial_fit(row, ["late"])
    assert model.model_.core.n_labels == n_labels


# Weights.


STEADY = [s for s in SUBJECTS if s.learns and s.estimator.get_params().get("loss") != "squared"]


@pytest.mark.parametrize("subject", STEADY, ids=str)
def test_the_largest_weight_is_learned_from_and_a_larger_one_refused(subject, tmp_path):
    X, y = whole_numbers(), NAMES[label_ids()]
    model = subject.new()
    model.fit(X, y, sample_weight=np.where(label_ids() < 3, MAX_WEIGHT, 1))
    if "novelty" not in subject.name:
        check_answers(subject, model, X, tmp_path)
    before = model.predict_proba(X)
    with pytest.raises(ArgumentError, match=r"sample_weight\[0\] must be in \[0, 1e\+09\]"):
        model.partial_fit(X[:1], y[:1], sample_weight=[2 * MAX_WEIGHT])
    rows = model.model_.rows(X[:1])
    labels, weights = RaggedLabels.of_single(y[:1]), np.array([1e20], np.float32)
    with pytest.raises(ArgumentError, match=r"sample_weight\[0\] must be in \[0, 1e\+09\]"):
        model.model_.update(rows, labels, weights, predict=False)
    assert np.array_equal(model.predict_proba(X), before)


def test_absurd_relevance_is_refused_and_tiny_relevance_is_learned_from(tmp_path):
    X = whole_numbers()
    Y = np.eye(N_LABELS)[label_ids()]
    for loss in ("logistic", "hinge"):
        model = labeltrees.ExtremeRegressor(n_trees=1, loss=loss, cost=1e-6, arity=2, max_leaf=2)
        with pytest.raises(DataError, match=r"relevance must be in \[0, 1e\+09\]"):
            model.fit(X, 1e10 * Y)
        graded = np.where(np.arange(N_ROWS)[:, None] % 2 == 0, 1e9 * Y, 1e-300 * Y)
        p = model.fit(X, graded).predict_proba(X)
        assert np.isfinite(p).all()
