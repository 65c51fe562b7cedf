"""Columns of any scale: moments, streams, files, explanations, and what stays as it was.

By hand -> agreement with tests/references/scaling.py -> invariants -> boundaries -> refusals.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.references.conditional import ReferenceConditionalTree
from tests.references.scaling import ReferenceScaling

import labeltrees
from labeltrees import (
    ConditionalTreeClassifier,
    FilterTreeClassifier,
    LOMTreeClassifier,
    OneAgainstAllClassifier,
)
from labeltrees.data.rows import as_rows
from labeltrees.errors import ArgumentError, ModelFormatError, TooLargeError
from labeltrees.models.online.scaling import ColumnScale, Moments, StandardRows
from labeltrees.models.registry import model_from
from labeltrees.store import StoredModel

NO_WEIGHTS = np.empty(0, dtype=np.float32)
ONLINE = [
    ConditionalTreeClassifier,
    FilterTreeClassifier,
    LOMTreeClassifier,
    OneAgainstAllClassifier,
]
of_online = pytest.mark.parametrize("kind", ONLINE)


def table(seed, n_rows=120, n_features=5, n_labels=4):
    """Rows whose columns differ in scale and place by many orders of magnitude."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_labels, size=n_rows)
    X = rng.normal(size=(n_labels, n_features))[y] + 0.5 * rng.normal(size=(n_rows, n_features))
    scale = 10.0 ** rng.uniform(-4, 4, n_features)
    return (X * scale + 3 * scale * rng.normal(size=n_features)).astype(np.float32), y


# By hand.


def test_two_columns_by_hand():
    rows = as_rows([[0.0, 5.0], [4.0, 5.0], [4.0, 5.0]])
    moments = Moments.of_none(2).after(rows, np.array([2, 1, 1], np.float32))
    assert moments.total == 4
    assert moments.mean.tolist() == [2.0, 5.0]
    assert moments.squares.tolist() == [16.0, 0.0]
    seen = moments.standardize(rows)
    assert seen.to_csr().toarray().tolist() == [[-1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]


# Agreement with the reference.

numbers = st.sampled_from([-3e4, -2.0, 0.0, 0.0, 1e-3, 1.0, 7.5, 1e6])


@st.composite
def streams(draw):
    n_features = draw(st.integers(1, 5))
    row = st.lists(numbers, min_size=n_features, max_size=n_features)
    rows = draw(st.lists(row, min_size=1, max_size=30))
    n = len(rows)
    weights = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=n, max_size=n))
    labels = draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    return np.array(rows, np.float32), np.array(weights, np.float32), labels


@settings(max_examples=150, deadline=None)
@given(streams())
def test_moments_and_scaled_rows_are_the_reference_s(stream):
    X, weights, _ = stream
    reference, moments = ReferenceScaling(), Moments.of_none(X.shape[1])
    seen, after = moments.standardize_in_turn(as_rows(X), weights)
    for row, x, weight in zip(seen.to_csr().toarray(), X, weights, strict=True):
        expected = reference.scaled_then_observed(x, weight)
        assert row == pytest.approx(expected, rel=1e-4, abs=1e-5)
    expected = np.array([reference.scaled(x) for x in X])
    assert after.standardize(as_rows(X)).values == pytest.approx(
        expected.ravel(), rel=1e-4, abs=1e-5
    )
    whole = moments.after(as_rows(X), weights)
    assert whole.total == after.total
    assert np.array_equal(whole.mean, after.mean)
    assert np.array_equal(whole.squares, after.squares)


@settings(max_examples=60, deadline=None)
@given(streams())
def test_streams_are_learned_as_the_references_learn_them(stream):
    X, weights, y = stream
    assume(weights.any())
    options = {"learning_rate": 0.3, "sharpness": 1.2}
    scaling, reference = ReferenceScaling(), ReferenceConditionalTree(X.shape[1], **options)
    model = ConditionalTreeClassifier(**options, refine=0)
    seen = model.progressive_fit(X, y, sample_weight=weights)
    for i, label in enumerate(y):
        row = scaling.scaled_then_observed(X[i], weights[i])
        if weights[i] > 0:
            p = reference.observe(row, label, weights[i])
            assert seen.p_label[i] == pytest.approx(p or 0.0, rel=5e-3, abs=1e-5)


# Invariants.


@of_online
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.lists(st.integers(1, 119), max_size=6))
def test_a_stream_does_not_depend_on_how_it_is_cut_nor_on_a_stop_in_between(kind, seed, cuts):
    X, y = table(seed)
    whole = kind().partial_fit(X, y)
    model = kind()
    for part in np.split(np.arange(len(y)), sorted(cuts)):
        if len(part):
            model = pickle.loads(pickle.dumps(model)).partial_fit(X[part], y[part])
    assert np.array_equal(model.predict_proba(X), whole.predict_proba(X))


@of_online
def test_the_scale_of_columns_does_not_matter(kind):
    X, y = table(1)
    other = (X * np.array([2**20, 2**-20, 4, 1, 2**10])).astype(np.float32)
    for learn in ("fit", "partial_fit"):
        models = [getattr(kind(), learn)(each, y) for each in (X, other)]
        assert models[1].predict_proba(other) == pytest.approx(models[0].predict_proba(X), abs=1e-6)


@of_online
def test_a_table_is_the_same_however_it_is_stored(kind):
    X, y = table(2)
    X[:, 3] = np.where(X[:, 3] > np.median(X[:, 3]), X[:, 3], 0)
    for learn in ("fit", "partial_fit"):
        dense, stored = (getattr(kind(), learn)(each, y) for each in (X, sparse.csr_array(X)))
        assert np.array_equal(dense.predict_proba(X), stored.predict_proba(sparse.csr_array(X)))


@of_online
def test_sparse_rows_stay_as_they_are(kind):
    rng = np.random.default_rng(0)
    X = sparse.csr_array(sparse.random(200, 3000, 0.01, random_state=rng, dtype=np.float32))
    y = rng.integers(5, size=200)
    for learn in ("fit", "partial_fit"):
        auto, none = (getattr(kind(scale=each), learn)(X, y) for each in ("auto", None))
        assert np.array_equal(auto.predict_proba(X), none.predict_proba(X))
        assert auto.model_.columns.moments is None


@of_online
@pytest.mark.parametrize("keep_state", [True, False])
def test_a_file_keeps_the_moments(kind, keep_state, tmp_path):
    X, y = table(3)
    model = kind().fit(X, y)
    model.save(tmp_path / "model", keep_state=keep_state)
    again = labeltrees.load(tmp_path / "model")
    assert again.predict_proba(X) == pytest.approx(model.predict_proba(X), abs=0.05)
    before, after = (each.model_.columns.moments for each in (model, again))
    assert after.total == before.total
    assert np.array_equal(after.mean, before.mean)
    assert np.array_equal(after.squares, before.squares)
    if keep_state:
        more = table(4)
        both = [each.partial_fit(*more).predict_proba(X) for each in (model, again)]
        assert np.array_equal(*both)


def test_every_tree_of_a_pool_has_the_same_moments():
    X, y = table(5)
    pool = ConditionalTreeClassifier(n_trees=3, structure="kmeans", refine=0).fit(X, y)
    pool.partial_fit(*table(6))
    first, *others = (member.columns.moments for member in pool.model_.members)
    assert first.total == 240
    assert all(np.array_equal(first.mean, other.mean) for other in others)


def test_a_row_that_was_predicted_is_scaled_as_one_of_a_query():
    X, y = table(7)
    model = ConditionalTreeClassifier().partial_fit(X[:60], y[:60])
    for i in range(60, 80):
        asked = model.predict_label_proba(X[[i]], y[[i]])
        assert model.progressive_fit(X[[i]], y[[i]]).p_label == asked


# What it is for.

TABLES = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}


@pytest.mark.parametrize("name", TABLES)
def test_raw_tables_are_learned_as_well_as_by_scaled_logistic_regression(name):
    X, y = TABLES[name](return_X_y=True)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    scaled = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    for scoring, worse in (("accuracy", lambda p: p - 0.02), ("neg_log_loss", lambda p: 1.1 * p)):
        ours, peer = (
            cross_val_score(model, X, y, cv=folds, scoring=scoring).mean()
            for model in (ConditionalTreeClassifier(), scaled)
        )
        assert ours >= worse(peer)


def test_an_explanation_shows_the_row_s_own_values():
    X, y = table(8)
    names = [f"column {i}" for i in range(5)]
    for model in (
        ConditionalTreeClassifier().fit(X, y),
        ConditionalTreeClassifier(refine=0).partial_fit(X, y),
        LOMTreeClassifier().fit(X, y),
    ):
        reason = model.explain(X[3], y[3], feature_names=names)
        listed = [c for step in reason.steps for c in step.contributions]
        refinement = getattr(reason, "refinement", None)
        listed += refinement.contributions if refinement else ()
        assert listed
        for c in listed:
            assert c.value == X[3, names.index(c.feature)]
            assert c.contribution == pytest.approx(c.standardized * c.weight, rel=1e-5)


# Boundaries.


def test_a_first_row_decides_for_a_stream_and_all_rows_for_a_fit():
    wide = np.zeros((4, 200), np.float32)
    wide[0, :60] = 1
    assert as_rows(wide[:1]).is_dense
    assert not as_rows(wide).is_dense
    y = ["a", "b", "a", "b"]
    assert ConditionalTreeClassifier().partial_fit(wide, y).model_.columns.moments is not None
    assert ConditionalTreeClassifier().fit(wide, y).model_.columns.moments is None


@pytest.mark.parametrize(
    ("settings", "standard"),
    [({}, True), ({"scale": None}, False), ({"normalize": False}, False),
     ({"normalize": False, "scale": "standard"}, True)],
)  # fmt: skip
def test_who_keeps_the_lengths_of_rows_keeps_their_scale_unless_told(settings, standard):
    model = OneAgainstAllClassifier(**settings).partial_fit(*table(9))
    assert (model.model_.columns.moments is not None) == standard


@of_online
def test_the_largest_and_the_least_numbers_are_learned(kind):
    X, y = table(10)
    X = X / np.abs(X).max(axis=0)
    X[:, 0] *= np.float32(3.4e38)
    X[:, 1] *= np.float32(1e-44)
    X[:, 2] = 0.1  # constant
    model = kind().fit(X, y).partial_fit(X, y)
    p = model.predict_proba(np.concatenate([X, np.full((1, 5), 3.4e38, np.float32)]))
    assert np.isfinite(p).all()
    assert model.model_.columns.moments.squares[2] == 0


def test_a_column_far_from_zero_keeps_its_deviation():
    values = 2**23 + np.array([0, 1, 2, 3], np.float32)
    rows = as_rows(values[:, np.newaxis])
    seen = Moments.of_none(1).after(rows).standardize(rows).values
    assert seen == pytest.approx((np.arange(4) - 1.5) / np.sqrt(1.25))


def test_rows_of_weight_zero_are_not_there():
    X, y = table(11)
    weights = np.r_[np.ones(60), np.zeros(60)]
    first = ConditionalTreeClassifier().fit(X[:60], y[:60])
    rest = ConditionalTreeClassifier().partial_fit(X, y, sample_weight=weights)
    assert rest.model_.columns.moments.total == 60
    assert np.array_equal(rest.model_.columns.moments.mean, first.model_.columns.moments.mean)


def test_standard_rows_are_not_scaled_again_nor_are_parts_of_them():
    X, _ = table(12)
    columns = ColumnScale()
    columns.take_all(OneAgainstAllClassifier()._settings(), as_rows(X), NO_WEIGHTS)
    seen = columns.seen(as_rows(X))
    assert isinstance(seen.take(np.arange(3)), StandardRows)
    assert columns.seen(seen.head(3)).values.tolist() == seen.values[:15].tolist()


# Refusals.


@of_online
@pytest.mark.parametrize("scale", ["unit", True, 1.0])
def test_other_scales_are_refused(kind, scale):
    with pytest.raises(ArgumentError, match=r"scale must be 'auto', 'standard' or None, got"):
        kind(scale=scale).fit([[1.0], [2.0]], ["a", "b"])


def test_rows_too_wide_to_be_filled_up_are_refused():
    X = sparse.csr_array(([1.0, 2.0], ([0, 1], [5, 2**30])), shape=(2, 2**31 - 1))
    model = OneAgainstAllClassifier(scale="standard")
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(TooLargeError, match="scale='standard'"):
            learn(X, ["a", "b"])


def damaged(change):
    X, y = table(13)
    tensors, facts = ConditionalTreeClassifier().fit(X, y).model_.to_tensors(keep_state=True)
    change(tensors, facts["columns"])
    return StoredModel("RefinedTreesModel", facts, tensors, {}, "0")


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors, _: tensors.update({"columns.mean": np.zeros(4)}),
        lambda tensors, _: tensors.update({"columns.mean": np.full(5, np.nan)}),
        lambda tensors, _: tensors.update({"columns.mean": np.zeros(5, np.float32)}),
        lambda tensors, _: tensors.update({"columns.squares": np.full(5, -1.0)}),
        lambda tensors, _: tensors.update({"columns.squares": np.full(5, np.inf)}),
        lambda tensors, _: tensors.pop("columns.squares"),
        lambda _, columns: columns.update(total=-1),
        lambda _, columns: columns.update(total="many"),
        lambda _, columns: columns.update(decided=False),
    ],
)
def test_moments_that_do_not_fit_are_refused(change):
    with pytest.raises(ModelFormatError):
        model_from(damaged(change))


def test_a_file_from_before_columns_were_scaled_scales_none():
    X, y = table(14)
    model = ConditionalTreeClassifier(scale=None).fit(X, y)
    tensors, facts = model.model_.to_tensors(keep_state=True)
    del facts["settings"]["scale"], facts["columns"]
    older = model_from(StoredModel("RefinedTreesModel", facts, tensors, {}, "0"))
    assert older.settings.scale is None
    assert np.array_equal(older.probabilities(as_rows(X)), model.predict_proba(X))
