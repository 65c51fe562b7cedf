"""LOMtree: bad calls are refused by name and change nothing."""

import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from labeltrees import LOMTreeClassifier
from labeltrees.errors import (
    ArgumentError,
    DataError,
    LabelTypeError,
    TooLargeError,
)

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
    "label type": (lambda m: m.partial_fit([[1.0, 0.0]], [3]), LabelTypeError, "got int"),
    "no memory": (
        lambda m: m.predict_proba([[1.0, 0.0]], max_bytes=15),
        TooLargeError,
        "over max_bytes=15",
    ),
    "threshold": (lambda m: m.predict_above([[1.0, 0.0]], 0), ArgumentError, r"\(0, 1\], got 0"),
    "much above": (
        lambda m: m.predict_above([[1.0, 0.0]], 0.01, max_bytes=12),
        TooLargeError,
        "raise the threshold",
    ),
    "rows k": (lambda m: m.top_rows([[1.0, 0.0]], ["a"], 2), ArgumentError, "n_rows=1"),
    "rows label": (lambda m: m.top_rows([[1.0, 0.0]], ["z"], 1), ArgumentError, r"labels\[0\]"),
    "explain label": (lambda m: m.explain([1.0, 0.0], "z"), ArgumentError, "labels learned"),
    "explain rows": (lambda m: m.explain([[1.0, 0.0]] * 2, "a"), ArgumentError, "one row"),
    "explain n": (
        lambda m: m.explain([1.0, 0.0], "a", n_features=-1), ArgumentError, "n_features",
    ),
    "explain names": (
        lambda m: m.explain([1.0, 0.0], "a", feature_names=["x"]), ArgumentError, "2 names",
    ),
    "seed": (lambda m: m.sample([[1.0, 0.0]], -1), ArgumentError, "random_state"),
    "diagnose": (
        lambda m: m.diagnose([[1.0, 0.0]], ["a", "b"]), ArgumentError, "2 labels for the 1 rows",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_calls_are_refused_and_change_nothing(case):
    call, error, message = BAD[case]
    model = LOMTreeClassifier().partial_fit([[1.0, 0.0], [0.0, 1.0]] * 5, ["a", "b"] * 5)
    before = pickle.dumps(model.model_)
    with pytest.raises(error, match=message):
        call(model)
    assert pickle.dumps(model.model_) == before


@pytest.mark.parametrize(
    ("params", "name"),
    [
        ({"max_splits": -1}, "max_splits"),
        ({"max_splits": 2.5}, "max_splits"),
        ({"splits_per_label": -1}, "splits_per_label"),
        ({"swap_resistance": 0.99}, "swap_resistance"),
        ({"swap_resistance": np.nan}, "swap_resistance"),
        ({"back_off": -1}, "back_off"),
        ({"loss": "log"}, "loss"),
        ({"optimizer": "adam"}, "optimizer"),
        ({"learning_rate": 0}, "learning_rate"),
        ({"n_passes": 0}, "n_passes"),
        ({"normalize": 1}, "normalize"),
        ({"bias": -1}, "bias"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_bad_parameters_are_refused_by_name(params, name):
    model = LOMTreeClassifier(**params)
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(ArgumentError, match=name):
            learn([[1.0], [2.0]], ["a", "b"])
    assert not hasattr(model, "model_")


def test_nothing_is_answered_before_something_is_learned():
    with pytest.raises(NotFittedError):
        LOMTreeClassifier().predict([[1.0]])
