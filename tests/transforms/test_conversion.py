"""Transformers become facts and arrays and come back: the same matrix, bit for bit, or an error."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from labeltrees.errors import ArgumentError, ModelFormatError
from labeltrees.transforms import (
    default_text_features,
    from_tensors,
    hashed_text_features,
    takes_text,
    to_tensors,
    width_of,
)
from labeltrees.transforms._words_and_pairs import WordsAndPairs

TEXTS = ["a Perl library", "a  C++ library", "Ärger im naïve Café", "", "the the the end", "😀 b"]
NUMBERS = np.array([[1.0, -2, 0, 3], [4, 0, 0.5, 3], [-7, 8, 9, 3], [0.1, 0.2, 0.3, 3]])
OF_TEXT = {
    "tfidf": TfidfVectorizer(),
    "words and pairs": default_text_features(),
    "words and pairs, all else": WordsAndPairs(
        pair_weight=0.3, pair_min_df=1, token_pattern=r"\w\w+", lowercase=False,
        strip_accents="ascii", stop_words=["the"],
    ),
    "tfidf, float32": TfidfVectorizer(ngram_range=(1, 2), dtype=np.float32),
    "tfidf, all else": TfidfVectorizer(
        analyzer="char_wb", ngram_range=(2, 3), norm="l1", use_idf=False, max_features=9,
        min_df=1, max_df=0.9, strip_accents="unicode", lowercase=False, binary=True,
        decode_error="replace", encoding="latin-1",
    ),
    "tfidf, stop words": TfidfVectorizer(stop_words=["the", "a"], smooth_idf=False),
    "tfidf, given words": TfidfVectorizer(vocabulary={"perl": 1, "café": 0}),
    "counts": CountVectorizer(token_pattern=r"\w+", stop_words="english"),
    "counts, given words": CountVectorizer(vocabulary=["perl", "end"], dtype=np.uint8),
    "hashing": HashingVectorizer(n_features=50),
    "hashing, words": hashed_text_features(),
    "hashing, float32": HashingVectorizer(
        n_features=2**20, alternate_sign=False, norm=None, dtype=np.float32, stop_words=["the"]
    ),
    "pipeline": make_pipeline(CountVectorizer(), TfidfTransformer(sublinear_tf=True)),
    "pipeline of three": make_pipeline(
        TfidfVectorizer(dtype=np.float32), "passthrough", MaxAbsScaler(), Normalizer(norm="max")
    ),
    "union": FeatureUnion(
        [
            ("words", TfidfVectorizer()),
            ("no", "drop"),
            ("letters", make_pipeline(CountVectorizer(analyzer="char"), MaxAbsScaler())),
        ],
        transformer_weights={"words": 2.0},
    ),
}  # fmt: skip
OF_NUMBERS = {
    "standard": StandardScaler(),
    "standard, no mean": StandardScaler(with_mean=False),
    "standard, no deviation": StandardScaler(with_std=False),
    "standard, nothing": StandardScaler(with_mean=False, with_std=False),
    "max abs": MaxAbsScaler(),
    "min max": MinMaxScaler(feature_range=(-1, 2), clip=True),
    "robust": RobustScaler(quantile_range=(10, 80), unit_variance=True),
    "robust, nothing": RobustScaler(with_centering=False, with_scaling=False),
    "normalizer": Normalizer("l1"),
    "tf-idf of counts": TfidfTransformer(use_idf=False),
    "pipeline": Pipeline([("scale", StandardScaler()), ("clip", MinMaxScaler())]),
    "union": FeatureUnion([("a", StandardScaler()), ("b", Normalizer())]),
}


def again(transformer):
    """Return what comes back after JSON and back."""
    facts, tensors = to_tensors(transformer)
    return from_tensors(json.loads(json.dumps(facts)), tensors)


def assert_same(ours, theirs):
    assert type(ours) is type(theirs)
    assert ours.dtype == theirs.dtype
    if sparse.issparse(ours):
        assert ours.shape == theirs.shape
        for name in ("indptr", "indices", "data"):
            assert getattr(ours, name).tobytes() == getattr(theirs, name).tobytes()
    else:
        assert ours.tobytes() == theirs.tobytes()


def params_of(transformer):
    """Parameters, with those that may come back in another form made alike."""
    params = transformer.get_params(deep=False)
    if params.get("vocabulary") is not None:
        params["vocabulary"] = transformer.vocabulary_
    return params


@pytest.mark.parametrize("name", OF_TEXT)
def test_a_vectoriser_comes_back_to_the_bit(name):
    fitted = clone(OF_TEXT[name]).fit(TEXTS)
    back = again(fitted)
    asked = [*TEXTS, "a new perl Library café", "nothing known"]
    assert_same(back.transform(asked), fitted.transform(asked))
    assert takes_text(back)
    assert width_of(back) == fitted.transform(TEXTS).shape[1]
    if hasattr(fitted, "get_feature_names_out"):
        assert back.get_feature_names_out().tolist() == fitted.get_feature_names_out().tolist()
    if type(fitted) not in (Pipeline, FeatureUnion):
        assert params_of(back) == params_of(fitted)
        assert again(back).get_params() == back.get_params()
    # It can be fitted again, as the one that was saved.
    assert_same(clone(back).fit_transform(TEXTS), clone(fitted).fit_transform(TEXTS))


@pytest.mark.parametrize("name", OF_NUMBERS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_scaler_comes_back_to_the_bit(name, dtype):
    numbers = NUMBERS.astype(dtype)
    fitted = clone(OF_NUMBERS[name]).fit(numbers)
    back = again(fitted)
    assert_same(back.transform(numbers[::-1] * 1.7), fitted.transform(numbers[::-1] * 1.7))
    assert not takes_text(back)
    assert width_of(back) in (fitted.transform(numbers).shape[1], None)
    if hasattr(fitted, "partial_fit"):
        both = [each.partial_fit(numbers + 1).transform(numbers) for each in (back, fitted)]
        assert_same(*both)


def test_scalers_of_sparse_rows_missing_values_and_names_come_back():
    rows = sparse.csr_matrix(NUMBERS)
    fitted = StandardScaler(with_mean=False).fit(rows)
    assert_same(again(fitted).transform(rows), fitted.transform(rows))
    missing = NUMBERS.copy()
    missing[1, 2] = np.nan
    fitted = StandardScaler().fit(missing)
    assert again(fitted).n_samples_seen_.tolist() == [4, 4, 3, 4]
    assert_same(again(fitted).transform(missing), fitted.transform(missing))
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(NUMBERS, columns=["a", "b", "ç", "d"])
    back = again(MinMaxScaler().fit(frame))
    assert back.feature_names_in_.tolist() == ["a", "b", "ç", "d"]
    with pytest.raises(ValueError, match="feature names"):
        back.transform(frame[["b", "a", "ç", "d"]])


@given(st.lists(st.text(), min_size=1, max_size=5), st.lists(st.text(), max_size=5))
def test_any_words_come_back(texts, asked):
    vectorizer = CountVectorizer(analyzer="char", ngram_range=(1, 2), lowercase=False)
    fitted = vectorizer.fit([*texts, "one"])
    assert_same(again(fitted).transform([*texts, *asked]), fitted.transform([*texts, *asked]))


class MyVectorizer(TfidfVectorizer):
    pass


REFUSED = {
    "a callable analyzer": (CountVectorizer(analyzer=str.split), "analyzer must be 'word'"),
    "a tokenizer": (TfidfVectorizer(tokenizer=str.split), "tokenizer must be None"),
    "a preprocessor": (TfidfVectorizer(preprocessor=str.lower), "preprocessor must be None"),
    "accents": (HashingVectorizer(strip_accents=str.lower), "strip_accents must be None"),
    "files": (CountVectorizer(input="filename"), "input must be 'content'"),
    "a subclass": (
        MyVectorizer(),
        "MyVectorizer cannot be saved .* These can be saved: .*TfidfVectorizer",
    ),
    "an unknown class": (QuantileTransformer(n_quantiles=2), "a QuantileTransformer cannot be"),
    "a function": (FunctionTransformer(), "a FunctionTransformer cannot be saved"),
    "inside": (make_pipeline(CountVectorizer(), FunctionTransformer()), "a FunctionTransformer"),
    "passed on in a union": (FeatureUnion([("a", "passthrough")]), "a FunctionTransformer cannot"),
    "no transformer": (3, "an? int cannot be saved"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_data_form_is_refused_with_its_reason(name):
    transformer, reason = REFUSED[name]
    if hasattr(transformer, "fit") and name != "files":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            is_text = takes_text(transformer) or isinstance(transformer, TfidfVectorizer)
            transformer = clone(transformer).fit(TEXTS if is_text else NUMBERS)
    elif name == "files":
        transformer.vocabulary_ = {"a": 0}
    with pytest.raises(ArgumentError, match=reason):
        to_tensors(transformer)


@pytest.mark.parametrize("transformer", [TfidfVectorizer(), StandardScaler(), CountVectorizer()])
def test_one_that_is_not_fitted_is_refused(transformer):
    with pytest.raises(NotFittedError):
        to_tensors(transformer)


def test_a_file_cannot_make_a_vectoriser_open_files_or_call_anything():
    facts, tensors = to_tensors(CountVectorizer().fit(TEXTS))
    for name, value in {"input": "filename", "analyzer": "os.system", "tokenizer": "eval"}.items():
        forged = facts | {"params": facts["params"] | {name: value}}
        with pytest.raises(ModelFormatError, match=name):
            from_tensors(forged, tensors)
    with pytest.raises(ModelFormatError, match="no parameter 'vocabulary'"):
        from_tensors(facts | {"params": {"vocabulary": ["a"]}}, tensors)


def test_steps_that_do_not_fit_each_other_are_refused():
    facts, tensors = to_tensors(make_pipeline(StandardScaler(), MinMaxScaler()).fit(NUMBERS))
    of_two, more = to_tensors(MinMaxScaler().fit(NUMBERS[:, :2]))
    forged = {
        "kind": "Pipeline",
        "parts": [facts["parts"][0], {"name": "b", "transformer": of_two}],
    }
    mixed = {t: a for t, a in tensors.items() if t.startswith("0.")}
    mixed |= {f"1.{name}": array for name, array in more.items()}
    with pytest.raises(ModelFormatError, match="makes 4 features, but its next step takes 2"):
        from_tensors(forged, mixed)
    deep = facts
    for _ in range(9):
        deep = {"kind": "Pipeline", "parts": [{"name": "a", "transformer": deep}]}
    with pytest.raises(ModelFormatError, match="deep"):
        from_tensors(deep, tensors)
