"""BM25: labels as documents, against the formula term by term.

Worked example -> agreement with tests/references/bm25.py -> invariants -> boundaries -> a file.
What it shares with every estimator is in tests/contract.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.references.bm25 import bm25, label_documents

from labeltrees import Bm25Ranker
from labeltrees.errors import ArgumentError, ModelFormatError
from labeltrees.models.baselines.rankers import Bm25Model


def problem(seed, n_rows=20, n_features=6, n_labels=4):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 4, size=(n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.5)
    Y = rng.integers(1, 5, size=(n_rows, n_labels)) * (rng.random((n_rows, n_labels)) < 0.4)
    Y[0, 0] = 4
    return X.astype(float), Y.astype(float)


def test_two_labels_by_hand():
    # "sun" is the document (2, 0), "rain" (1, 1); both have length 2.
    model = Bm25Ranker(k1=1.0, b=0.5, calibrate=False)
    model.fit([[2, 0], [1, 1]], [["sun"], ["rain"]])
    common, rare = np.log(1 + 0.5 / 2.5), np.log(1 + 1.5 / 1.5)
    assert model.classes_.tolist() == ["rain", "sun"]
    scores = model.predict_scores([[1, 0], [3, 1]])
    expected = [
        [common * 2 / 2, common * 4 / 3],
        [3 * common * 2 / 2 + rare * 2 / 2, 3 * common * 4 / 3],
    ]
    assert scores == pytest.approx(np.array(expected), rel=1e-6)
    assert model.predict_proba([[1, 0]]) == pytest.approx(1 - np.exp(-scores[:1]))


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10**6), st.sampled_from([0.0, 0.5, 1.2, 10.0]), st.sampled_from([0.0, 0.75, 1.0])
)
def test_scores_are_those_of_the_formula(seed, k1, b):
    X, Y = problem(seed)
    asked, _ = problem(seed + 1)
    found = Bm25Ranker(k1=k1, b=b, calibrate=False).fit(X, Y).predict_scores(asked)
    documents = label_documents(X.tolist(), (Y / Y.max()).tolist())
    expected = [[bm25(x, label, documents, k1, b) for label in range(4)] for x in asked.tolist()]
    assert found == pytest.approx(np.array(expected), rel=1e-5, abs=1e-6)


def test_a_label_with_no_feature_of_the_row_comes_last():
    X, y = [[1, 0, 0], [1, 1, 0], [0, 0, 1]], [["a"], ["a", "b"], ["c"]]
    model = Bm25Ranker(calibrate=False).fit(X, y)
    labels, p = model.predict_top_k([[0, 2, 0]], 3)
    assert labels.tolist() == [["b", "a", "c"]]
    assert p[0, 2] == 0
    assert not model.predict_scores([[0, 0, 0], [-1, -1, -1]]).any()


def test_the_order_of_rows_and_features_does_not_matter():
    X, Y = problem(7)
    rng = np.random.default_rng(7)
    rows, features = rng.permutation(len(X)), rng.permutation(X.shape[1])
    one = Bm25Ranker(calibrate=False).fit(X, Y).predict_scores(X)
    other = Bm25Ranker(calibrate=False).fit(X[rows][:, features], Y[rows])
    assert other.predict_scores(X[:, features]) == pytest.approx(one, rel=1e-5)


def test_rows_without_features_can_be_learned():
    model = Bm25Ranker().fit([[0, 0], [-1, 0]], [["a"], ["b"]])
    assert not model.predict_scores([[1, 1]]).any()


@pytest.mark.parametrize(("name", "value"), [("k1", -1), ("b", 2), ("b", -0.5)])
def test_parameters_out_of_range_are_refused(name, value):
    with pytest.raises(ArgumentError, match=rf"{name} must be .*, got {value}"):
        Bm25Ranker(**{name: value}).fit([[1.0]], [["a"]])


def test_a_file_with_weights_that_are_none_is_refused():
    X, Y = problem(8)
    tensors, facts = Bm25Ranker().fit(X, Y).model_.to_tensors(keep_state=True)
    values = tensors["weights.values"]
    for wrong in (-values, values * np.float32("nan"), values[:-1].copy()):
        with pytest.raises(ModelFormatError, match="the weights are not"):
            Bm25Model.from_tensors(tensors | {"weights.values": wrong}, facts)
