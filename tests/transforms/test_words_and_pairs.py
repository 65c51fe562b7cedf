"""The default features of texts: a worked example, and plain TF-IDF where nothing is changed."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer

from labeltrees import TextClassifier
from labeltrees.errors import ArgumentError, DataError
from labeltrees.transforms import default_text_features, feature_names, hashed_text_features
from labeltrees.transforms._features import transformed
from labeltrees.transforms._words_and_pairs import WORD, WordsAndPairs

TEXTS = ["good morning", "good night", "a good good night"]


def test_a_worked_example():
    words = WordsAndPairs()
    X = words.fit_transform(TEXTS).toarray()
    names = words.get_feature_names_out().tolist()
    assert names == ["a", "good", "good night", "morning", "night"]
    # idf = ln((1 + texts) / (1 + texts with it)) + 1, and half of it for a pair
    idf = [math.log(2) + 1, 1, (math.log(4 / 3) + 1) / 2, math.log(2) + 1, math.log(4 / 3) + 1]
    assert words.idf_ == pytest.approx(idf)
    last = np.array([idf[0], (1 + math.log(2)) * idf[1], idf[2], 0, idf[4]])
    assert X[2] == pytest.approx(last / np.linalg.norm(last))
    assert X.dtype == np.float32


@given(st.lists(st.text("ab .ä", max_size=12), min_size=1, max_size=8))
def test_without_its_own_rules_it_is_scikit_learns_tfidf(texts):
    texts = [*texts, "a b"]
    ours = WordsAndPairs(pair_weight=1, pair_min_df=1)
    theirs = TfidfVectorizer(
        ngram_range=(1, 2), token_pattern=WORD, sublinear_tf=True, dtype=np.float32
    )
    assert (ours.fit_transform(texts) != theirs.fit_transform(texts)).nnz == 0
    assert ours.vocabulary_ == theirs.vocabulary_
    assert (ours.transform(["a ä b a"]) != theirs.transform(["a ä b a"])).nnz == 0


@given(st.lists(st.text("ab .", max_size=12), min_size=1, max_size=8))
def test_what_is_learned_from_is_seen_as_any_other_text(texts):
    words = WordsAndPairs()
    X = words.fit_transform([*texts, "a"])
    assert (words.transform([*texts, "a"]) != X).nnz == 0
    assert (WordsAndPairs().fit([*texts, "a"]).transform([*texts, "a"]) != X).nnz == 0


def test_parameters_are_checked_when_it_is_fitted_and_copied():
    with pytest.raises(ArgumentError, match="pair_weight must be a finite number > 0, got 0"):
        WordsAndPairs(pair_weight=0).fit(TEXTS)
    with pytest.raises(ArgumentError, match=r"pair_min_df must be an integer >= 1, got 0\.5"):
        WordsAndPairs(pair_min_df=0.5).fit(TEXTS)
    with pytest.raises(ArgumentError, match="pair_weight must be"):
        TextClassifier(vectorizer=WordsAndPairs(pair_weight=-1)).fit(TEXTS, ["a", "b", "a"])
    with pytest.raises(NotFittedError):
        WordsAndPairs().transform(TEXTS)
    own = WordsAndPairs(pair_weight=0.3, stop_words=["a"], strip_accents="unicode")
    assert clone(own).get_params() == own.get_params()
    again = pickle.loads(pickle.dumps(own.fit(TEXTS)))
    assert (again.transform(TEXTS) != own.transform(TEXTS)).nnz == 0
    assert "a" not in own.vocabulary_


def test_hashed_words_are_named_by_the_text_asked_about():
    hashed = hashed_text_features()
    names = feature_names(hashed, "good night, good night")
    columns = hashed.transform(["good night, good night"]).indices
    assert {names[column] for column in columns} == {"good", "night", "good night", "night good"}
    assert len(names) == 2**20
    assert names[5:7] == ["hashed 5", "hashed 6"]
    with pytest.raises(IndexError):
        names[2**20]
    assert feature_names(hashed) is None
    assert len(feature_names(hashed, "")) == 2**20
    assert list(feature_names(default_text_features().fit(["a b"]))) == ["a", "b"]


def test_rows_that_a_scaler_cannot_take_are_refused():
    from sklearn.preprocessing import MaxAbsScaler

    from labeltrees.data.rows import as_rows

    scaler = MaxAbsScaler().fit(np.eye(2))
    with pytest.raises(DataError, match="X must have 2 features, got the feature number 3"):
        transformed(as_rows([[0, 0, 0, 1.0]]), scaler)
    scaler.scale_ = np.zeros(2)
    with pytest.raises(DataError), np.errstate(all="ignore"):
        transformed(as_rows([[0, 1.0]]), scaler)
