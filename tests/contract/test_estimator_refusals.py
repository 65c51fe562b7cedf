"""The contract of every estimator: a bad call names what is wrong and changes nothing."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from tests.contract.subjects import (
    BY_NAME,
    ONE_OF_EACH,
    learners,
)

from labeltrees.errors import (
    ArgumentError,
    DataError,
    LabelTypeError,
    TooLargeError,
)

X2, Y2 = [[1.0, 0.0], [0.0, 1.0]], ["a", "b"]
BAD_X = {
    "NaN": ([[0.0, 1.0], [np.nan, 1.0]], "row 1 of X has NaN, inf"),
    "inf": ([[np.inf, 1.0]], "row 0 of X has .*inf"),
    "past float32": ([[0.0, 0.0], [0.0, 1e300]], "row 1 of X has .*past float32"),
    "wrong width": ([[1.0, 2.0, 3.0]], "3 features.*2 features"),
    "one dimension": ([1.0, 2.0], "Reshape your data"),
    "three dimensions": (np.ones((1, 2, 1)), "two dimensions"),
    "no rows": (np.empty((0, 2)), r"0 sample\(s\)"),
    "no columns": (np.empty((2, 0)), r"0 feature\(s\)"),
    "complex": (np.ones((1, 2), dtype=complex), "Complex"),
    "words": ([["a", "b"]], "numbers"),
    "dates": (np.array([["2020-01-01", "2020-01-02"]], dtype="M8[D]"), "numbers"),
    "negative index": (
        sparse.csr_array((np.ones(1, "f4"), np.zeros(1, "i4"), np.array([0, 1])), shape=(1, 2)),
        r"row 0 of X has a feature index outside \[0, 2\): -1",
    ),
}
BAD_X["negative index"][0].indices[0] = -1


def small(subject):
    """Return the estimator, fitted to two labels."""
    if "given" in subject.name:
        return subject.new().set_params(structure=["a", "b"]).fit(X2 * 5, Y2 * 5)
    return subject.new().fit(X2 * 5, Y2 * 5)


VARIANTS = [
    *ONE_OF_EACH,
    *(BY_NAME[name] for name in ("PECOC", "pool", "conditional, novelty", "Adacond of trees")),
]
of_variants = pytest.mark.parametrize("subject", VARIANTS, ids=str)


@of_variants
@pytest.mark.parametrize("case", BAD_X)
def test_bad_features_are_refused_and_change_nothing(subject, case):
    X, message = BAD_X[case]
    estimator = small(subject)
    if case == "NaN" and estimator.model_.missing:
        return
    before = pickle.dumps(estimator.model_)
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    questions = [
        lambda: estimator.predict(X),
        lambda: estimator.predict_proba(X),
        lambda: estimator.predict_top_k(X, 1),
        lambda: estimator.predict_label_proba(X, ["a"] * n_rows),
        lambda: estimator.predict_above(X, 0.5),
        lambda: estimator.top_rows(X, ["a"], 1),
    ]
    if hasattr(estimator, "sample"):
        questions.append(lambda: estimator.sample(X))
    if hasattr(estimator, "explain") and n_rows == 1:
        questions.append(lambda: estimator.explain(X, "a"))
    if case not in ("wrong width", "no columns", "no rows"):
        questions.append(lambda: estimator.fit(X, ["a"] * n_rows))
    if subject.goes_on:
        questions.append(lambda: estimator.partial_fit(X, ["a"] * n_rows))
    for ask in questions:
        with pytest.raises(DataError, match=message):
            ask()
    assert pickle.dumps(estimator.model_) == before
    assert estimator.n_features_in_ == 2


BAD_TARGETS = {
    "too few": (["a"], DataError, "y has 1 (labels|rows) for the 2 rows"),
    "none": (None, DataError, "requires y to be passed, but the target y is None"),
    "mixed": (["c", 3], LabelTypeError, "all strings or all integers"),
    "None in it": ([None, "a"], (LabelTypeError, DataError), "NoneType"),
    "fractions": (np.array([0.5, 1.0]), (LabelTypeError, DataError), "continuous"),
}


@of_variants
@pytest.mark.parametrize("case", BAD_TARGETS)
def test_bad_targets_are_refused_and_change_nothing(subject, case):
    y, error, message = BAD_TARGETS[case]
    estimator = small(subject)
    model, before = estimator.model_, pickle.dumps(estimator.model_)
    for learn in learners(estimator):
        with pytest.raises(error, match=message):
            learn(X2, y)
    assert estimator.model_ is model
    assert pickle.dumps(model) == before


BAD_WEIGHTS = {
    "negative": ([1, -0.5], r"sample_weight\[1\] must be in \[0, 1e\+09\], got -0.5"),
    "NaN": ([np.nan, 1], r"sample_weight\[0\] must be in"),
    "huge": ([1, 1.1e9], r"sample_weight\[1\] must be in \[0, 1e\+09\], got 1100000000.0"),
    "too many": ([1, 2, 3], r"sample_weight must be .*of shape \(2,\)"),
    "all zero": ([0, 0], "sample_weight must have a weight above zero"),
}


@of_variants
@pytest.mark.parametrize("case", BAD_WEIGHTS)
def test_bad_weights_are_refused_and_change_nothing(subject, case):
    if subject.by_itself:  # takes no weights
        return
    weights, message = BAD_WEIGHTS[case]
    estimator = small(subject)
    model, before = estimator.model_, pickle.dumps(estimator.model_)
    for learn in learners(estimator):
        with pytest.raises(ArgumentError, match=message):
            learn(X2, Y2, sample_weight=weights)
    assert estimator.model_ is model
    assert pickle.dumps(model) == before


BAD_QUESTIONS = {
    "k = 0": ("predict_top_k", (X2, 0), ArgumentError, "k must be .*got 0"),
    "k > n": ("predict_top_k", (X2, 3), ArgumentError, r"n_labels=2\], got 3"),
    "k = 1.5": ("predict_top_k", (X2, 1.5), ArgumentError, "k must be .*got 1.5"),
    "label count": ("predict_label_proba", (X2, ["a"]), ArgumentError, "1 labels for the 2 rows"),
    "label type": ("predict_label_proba", (X2, [3, 4]), LabelTypeError, "str, got int"),
    "threshold 0": ("predict_above", (X2, 0), ArgumentError, r"threshold must be in \(0, 1\]"),
    "threshold 2": ("predict_above", (X2, 2), ArgumentError, "threshold must be .*got 2"),
    "no such label": ("top_rows", (X2, ["a", "z"], 1), ArgumentError, r"labels\[1\] must be one"),
    "too many rows": ("top_rows", (X2, ["a"], 3), ArgumentError, r"n_rows=2\], got 3"),
    "seed": ("sample", (X2, -1), ArgumentError, "random_state must be .*got -1"),
    "seed True": ("sample", (X2, True), ArgumentError, "random_state must be .*got True"),
    "seed text": ("sample", (X2, "x"), ArgumentError, "random_state must be .*got 'x'"),
    "two rows": ("explain", (X2, "a"), ArgumentError, "x must be one row, got '2 rows'"),
    "unseen": ("explain", (X2[0], "z"), ArgumentError, "one of the 2 labels learned, got 'z'"),
    "beam": ("beam_top_k", (X2, 0), ArgumentError, "k must be .*got 0"),
}
TOO_LARGE = {
    "proba": ("predict_proba", (X2,), "2 rows x 2 labels need 32 bytes, over max_bytes=15"),
    "above": ("predict_above", (X2, 1e-9), "max_bytes=15"),
    "rows": ("top_rows", (X2, ["a"], 1), "need 32 bytes, over max_bytes=15"),
    "staged": ("staged_predict_proba", (X2,), "max_bytes=15"),
}


@of_variants
def test_bad_questions_are_refused_and_change_nothing(subject):
    estimator = small(subject)
    before = pickle.dumps(estimator.model_)
    n_asked = 0
    for case, (method, arguments, error, message) in BAD_QUESTIONS.items():
        if hasattr(estimator, method):
            n_asked += 1
            with pytest.raises(error, match=message):
                getattr(estimator, method)(*arguments)
            assert pickle.dumps(estimator.model_) == before, case
    assert n_asked >= 9
    for method, arguments, message in TOO_LARGE.values():
        if hasattr(estimator, method):
            with pytest.raises(TooLargeError, match=message):
                list(getattr(estimator, method)(*arguments, max_bytes=15))


@of_variants
def test_labels_of_another_kind_are_not_learned(subject):
    if not subject.learns:
        return
    estimator = small(subject)
    before = pickle.dumps(estimator.model_)
    with pytest.raises(LabelTypeError, match="labels of this model are str, got int"):
        estimator.partial_fit(X2, [3, 4])
    with pytest.raises(LabelTypeError, match="labels of this model are str, got int"):
        estimator.partial_fit(X2, Y2, classes=[3, 4])
    assert pickle.dumps(estimator.model_) == before
