"""Relevance: what users have becomes one checked sparse matrix.

Worked examples -> propensities -> calibration -> errors.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.references.extreme import propensities

from labeltrees.errors import ArgumentError, DataError, LabelTypeError
from labeltrees.models.extreme.calibration import Calibration
from labeltrees.models.extreme.relevance import as_relevance


def dense(relevance):
    shape = (relevance.n_rows, len(relevance.vocabulary))
    values, labels, starts = relevance.relevance, relevance.labels, relevance.starts
    return relevance.scale * sparse.csr_array((values, labels, starts), shape=shape).toarray()


@pytest.mark.parametrize(
    "Y",
    [
        sparse.csr_matrix([[0, 2.0], [0, 0], [4, 1]]),
        np.array([[0, 2.0], [0, 0], [4, 1]]),
        [[0, 2.0], [0.0, 0], [4.0, 1]],
        [{1: 2.0}, {}, {0: 4, 1: 1}],
    ],
)
def test_graded_relevance_is_scaled_to_one(Y):
    relevance = as_relevance(Y)
    assert relevance.scale == 4
    assert relevance.relevance.max() == 1
    assert dense(relevance).tolist() == [[0, 2], [0, 0], [4, 1]]
    assert relevance.vocabulary.labels.tolist() == [0, 1]


def test_labels_may_be_lists_of_names_or_one_a_row():
    lists = as_relevance([["b", "a"], [], ["b", "b"]])
    assert lists.vocabulary.labels.tolist() == ["a", "b"]
    assert dense(lists).tolist() == [[1, 1], [0, 0], [0, 1]]
    single = as_relevance(["b", "a", "b"])
    assert dense(single).tolist() == [[0, 1], [1, 0], [0, 1]]
    assert dense(as_relevance(np.array([7, 3, 7]))).tolist() == [[0, 1], [1, 0], [0, 1]]


def test_columns_may_be_named():
    relevance = as_relevance(np.eye(2), classes=["x", "y"])
    assert relevance.vocabulary.labels.tolist() == ["x", "y"]


def test_propensity_weighting_is_the_repositorys():
    Y = (np.random.default_rng(0).random((300, 12)) < np.linspace(0.02, 0.5, 12)).astype(float)
    weighted = as_relevance(Y).weighted_by_propensity()
    assert dense(weighted) == pytest.approx(Y / propensities(Y), rel=1e-6)


@pytest.mark.parametrize(
    ("Y", "error", "says"),
    [
        (None, DataError, "requires y"),
        (np.array([[1.0, -1]]), DataError, "row 0 of y has -1.0"),
        (sparse.csr_matrix([[0.0, 0], [0, np.nan]]), DataError, "row 1 of y has nan"),
        (np.array([[np.inf]]), DataError, r"in \[0, 1e\+09\]"),
        (np.zeros((3, 2)), DataError, "no relevance above 0"),
        ([[], []], DataError, "no label"),
        ([["a"], [1]], LabelTypeError, "all strings or all integers"),
        ([{"a": "b"}], DataError, "numbers"),
        (np.zeros((2, 2, 2)), DataError, "dimensions"),
    ],
)
def test_bad_relevance_is_refused(Y, error, says):
    with pytest.raises(error, match=says):
        as_relevance(Y)


def test_names_must_fit_the_columns():
    with pytest.raises(ArgumentError, match="classes"):
        as_relevance(np.eye(2), classes=["x", "x"])
    with pytest.raises(ArgumentError, match="classes"):
        as_relevance(["a", "b"], classes=["a", "b"])


# Calibration.


@settings(max_examples=50, deadline=None)
@given(
    st.floats(0.1, 3), st.floats(0, 3), st.floats(-3, 3), st.floats(-2, 2), st.floats(0.001, 0.99)
)
def test_calibration_keeps_the_order_and_can_be_undone(a, b, c, d, q):
    calibration = Calibration(a, b, c, d)
    mass = np.array([0.01, 1.0, 3.0])
    p = np.linspace(0, 1, 101)[1:-1]
    for m in mass:
        assert np.all(np.diff(calibration.apply(p, np.full(len(p), m))) >= 0)
    raw = calibration.invert(q, mass)
    assert np.all(calibration.apply(raw, mass) <= q)
    above = np.minimum(raw * (1 + 1e-6), 1 - 1e-12)
    reached = (calibration.apply(above, mass) >= q) | (raw < 1e-290) | (above > 1 - 1e-9)
    assert reached.all()


def test_calibration_finds_the_map_that_made_the_data():
    rng = np.random.default_rng(0)
    truth = Calibration(1.4, 0.6, 1.0, -0.8)
    p, mass = rng.beta(0.5, 4, 200_000), rng.uniform(0.2, 3, 200_000)
    hits = rng.random(len(p)) < truth.apply(p, mass)
    found = Calibration.fit(p, mass, hits)
    assert np.abs(found.apply(p, mass) - truth.apply(p, mass)).mean() < 0.003


def test_nothing_is_fitted_to_a_handful_of_labels():
    assert Calibration.fit([0.5] * 30, [1.0] * 30, [1.0] * 15 + [0.0] * 15).is_identity
