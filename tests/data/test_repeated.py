"""`repeated_rows`: distributions from rows that come more than once."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from labeltrees import AdacondClassifier, FrequencyTableClassifier, SelfTerminatingTreeClassifier
from labeltrees.data.repeated import repeated_rows
from labeltrees.errors import ArgumentError, DataError

PAIRS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 1), st.sampled_from("abc")), min_size=1
)


@given(PAIRS, st.data())
def test_shares_are_those_of_counting(pairs, data):
    X = np.array([pair[:2] for pair in pairs], float)
    y = [pair[2] for pair in pairs]
    weights = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(y), max_size=len(y))))
    if not weights.any():
        weights[0] = 1
    found = repeated_rows(X, y, sample_weight=weights)
    counts = defaultdict(Counter)
    for row, label, weight in zip(X.tolist(), y, weights.tolist(), strict=True):
        if weight:
            counts[tuple(row)][label] += weight
    assert [tuple(row) for row in found.X.toarray().tolist()] == list(counts)
    assert found.labels.tolist() == sorted({label for each in counts.values() for label in each})
    for row, p, weight in zip(counts.values(), found.P.toarray(), found.weights, strict=True):
        assert weight == sum(row.values())
        assert p == pytest.approx([row[label] / weight for label in found.labels])
    for i, (label, weight) in enumerate(zip(y, weights, strict=True)):
        row = counts.get(tuple(X[i].tolist()), {})
        assert found.p_label[i] == pytest.approx(row[label] / sum(row.values()) if weight else 0)


def test_sparse_rows_and_stored_zeros_are_the_same_rows():
    dense = np.array([[1.0, 0, 2], [0, 0, 0], [1, 0, 2], [0, 0, 0]])
    thin = sparse.csr_array(dense)
    stored = sparse.csr_array((np.array([1.0, 0, 2]), [0, 1, 2], [0, 3]), shape=(1, 3))
    thin = sparse.vstack([thin, stored]).tocsr()
    found = repeated_rows(thin, [4, 3, 3, 3, 4])
    assert found.weights.tolist() == [3, 2]
    assert found.P.toarray() == pytest.approx(np.array([[1 / 3, 2 / 3], [1, 0]]))
    assert found.place.tolist() == [0, 1, 0, 1, 0]


def test_frequencies_are_those_of_the_table_without_back_off():
    rng = np.random.default_rng(0)
    X, y = rng.integers(2, size=(200, 3)), rng.integers(4, size=200)
    found = repeated_rows(X, y)
    table = FrequencyTableClassifier(back_off=0).fit(X, y)
    assert found.p_label == pytest.approx(table.predict_label_proba(X, y))
    assert found.P.toarray() == pytest.approx(table.predict_proba(found.X))


def test_the_distributions_can_be_boosted():
    rng = np.random.default_rng(1)
    X, y = rng.integers(2, size=(600, 4)), rng.integers(3, size=600)
    found = repeated_rows(X, y)
    assert found.X.shape == (16, 4)
    base = SelfTerminatingTreeClassifier(penalty=1.0)
    model = AdacondClassifier(base, eta=0.4, n_rounds=3)
    model.fit(found.X, found.P, sample_weight=found.weights, classes=found.labels)
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(600))


@pytest.mark.parametrize(
    ("X", "y", "weights", "error", "message"),
    [
        ([[1.0]], ["a", "b"], None, DataError, "y has 2 labels for the 1 rows"),
        ([[np.nan]], ["a"], None, DataError, "row 0 of X has NaN"),
        ([[1.0]], ["a"], [0], ArgumentError, "sample_weight must have a weight above zero"),
        ([[1.0]], ["a"], [-1], ArgumentError, r"sample_weight\[0\] must be in"),
        ([[1.0]], [[0.5, 0.5]], None, DataError, "y must have one label per row"),
    ],
)
def test_bad_data_are_refused(X, y, weights, error, message):
    with pytest.raises(error, match=message):
        repeated_rows(X, y, sample_weight=weights)
