"""Pipelines that end in an estimator of the library: one file without pickle, the same answers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)
from tests.text.test_classifier import ASKED, LABELS, TAGS, TEXTS

import labeltrees
from labeltrees import (
    AdacondClassifier,
    ConditionalTreeClassifier,
    ExtremeRegressor,
    FrequencyTableClassifier,
    SelfTerminatingTreeClassifier,
    TextClassifier,
)
from labeltrees.errors import ArgumentError, FrozenModelError
from labeltrees.transforms import default_text_features

RNG = np.random.default_rng(0)
Y = np.arange(120) % 4
X = (RNG.normal(size=(120, 5)) + 2 * np.eye(4, 5)[Y]) * [1, 1e3, 1e-3, 5, 7] + 2
OF_NUMBERS = {
    "standard": make_pipeline(StandardScaler(), ConditionalTreeClassifier()),
    "robust": make_pipeline(RobustScaler(), Normalizer(), SelfTerminatingTreeClassifier(penalty=1)),
    "min max": Pipeline([("scale", MinMaxScaler()), ("labels", FrequencyTableClassifier())]),
    "boosted": make_pipeline(MaxAbsScaler(), AdacondClassifier(n_rounds=2)),
}
OF_TEXT = {
    "words and pairs": (
        make_pipeline(default_text_features(), ConditionalTreeClassifier()), LABELS
    ),
    "three": (
        make_pipeline(CountVectorizer(), TfidfTransformer(), ConditionalTreeClassifier()), LABELS
    ),
    "several labels": (make_pipeline(HashingVectorizer(), ExtremeRegressor(n_trees=1)), TAGS),
    "union": (
        make_pipeline(
            FeatureUnion([("w", CountVectorizer()), ("c", CountVectorizer(analyzer="char"))]),
            ConditionalTreeClassifier(),
        ),
        LABELS,
    ),
}  # fmt: skip


def same(pipeline, asked, tmp_path):
    """Save, load, ask and save again; return what was loaded."""
    labeltrees.save(pipeline, tmp_path / "m", extra={"note": 1})
    for mapped in (False, True):
        again = labeltrees.load(tmp_path / "m", mapped=mapped)
        assert type(again) is Pipeline
        assert list(again.named_steps) == list(pipeline.named_steps)
        assert again.predict_proba(asked).tobytes() == pipeline.predict_proba(asked).tobytes()
        assert again.predict(asked).tolist() == pipeline.predict(asked).tolist()
        assert again.classes_.tolist() == pipeline.classes_.tolist()
    labeltrees.save(again, tmp_path / "n", extra={"note": 1})
    assert (tmp_path / "n").read_bytes() == (tmp_path / "m").read_bytes()
    return again


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_a_pipeline_of_numbers_comes_back_to_the_bit(name, tmp_path):
    pipeline = OF_NUMBERS[name].fit(X, Y)
    again = same(pipeline, X[::-1] * 1.01, tmp_path)
    assert again.fit(X, Y).predict_proba(X).tobytes() == pipeline.predict_proba(X).tobytes()


@pytest.mark.parametrize("name", OF_TEXT)
def test_a_pipeline_of_texts_comes_back_to_the_bit(name, tmp_path):
    pipeline, y = OF_TEXT[name]
    same(pipeline.fit(TEXTS, y), ASKED, tmp_path)


def test_a_frozen_pipeline_answers_and_learns_no_more(tmp_path):
    pipeline = make_pipeline(StandardScaler(), ConditionalTreeClassifier()).fit(X, Y)
    labeltrees.save(pipeline, tmp_path / "small", keep_state=False)
    small = labeltrees.load(tmp_path / "small")
    assert small.predict(X).tolist() == pipeline.predict(X).tolist()
    with pytest.raises(FrozenModelError):
        small[-1].partial_fit(X, Y)


def test_estimators_alone_are_saved_as_by_their_own_method(tmp_path):
    tree = ConditionalTreeClassifier().fit(X, Y)
    labeltrees.save(tree, tmp_path / "m")
    tree.save(tmp_path / "n")
    assert (tmp_path / "n").read_bytes() == (tmp_path / "m").read_bytes()
    assert type(labeltrees.load(tmp_path / "m")) is ConditionalTreeClassifier


SCALED = make_pipeline(StandardScaler(), ConditionalTreeClassifier())
REFUSED = {
    "another estimator": (
        make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y),
        "the step 'logisticregression' of the pipeline must be an estimator of labeltrees",
    ),
    "a function": (
        make_pipeline(FunctionTransformer(), ConditionalTreeClassifier()).fit(X, Y),
        "a FunctionTransformer cannot be saved without pickle",
    ),
    "no other step": (make_pipeline(ConditionalTreeClassifier()).fit(X, Y), "at least two steps"),
    "texts in two places": (
        make_pipeline("passthrough", TextClassifier()).fit(TEXTS, LABELS),
        "the step 'textclassifier' of the pipeline must be an estimator of labeltrees",
    ),
    "something else": ({}, "estimator must be an estimator of labeltrees, or a Pipeline"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_saved_is_refused_and_no_file_is_written(name, tmp_path):
    estimator, reason = REFUSED[name]
    with pytest.raises(ArgumentError, match=reason):
        labeltrees.save(estimator, tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_one_that_is_not_fitted_is_refused(tmp_path):
    for estimator in (SCALED, ConditionalTreeClassifier(), TextClassifier()):
        with pytest.raises(NotFittedError):
            labeltrees.save(estimator, tmp_path / "m")
