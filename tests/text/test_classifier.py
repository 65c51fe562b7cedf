"""The classifier of texts: what it takes, what it answers, and that a file holds all of it."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import MaxAbsScaler

import labeltrees
from labeltrees import (
    AdacondClassifier,
    ConditionalTreeClassifier,
    ExtremeRegressor,
    LOMTreeClassifier,
    SelfTerminatingTreeClassifier,
    TextClassifier,
)
from labeltrees.errors import ArgumentError, DataError, FrozenModelError
from labeltrees.estimators.contract import LabelEstimator
from labeltrees.transforms import default_text_features

WORDS = {
    "perl": ["perl", "cpan", "module"],
    "python": ["python", "pip", "module"],
    "font": ["font", "glyph", "serif"],
    "game": ["game", "player", "level"],
}


def texts_of(n_rows, seed=0):
    """Return texts of a few words each, mostly of their label's own, and their labels."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(list(WORDS), n_rows)
    texts = [
        " ".join([*rng.choice(WORDS[label], 3), *rng.choice(["a", "the", "new", "old"], 2)])
        for label in labels
    ]
    return texts, labels.tolist()


TEXTS, LABELS = texts_of(400)
ASKED, TRUTH = texts_of(60, seed=1)
TAGS = [[label, "code"] if label in ("perl", "python") else [label] for label in LABELS]
TAGS_TRUE = [[label, "code"] if label in ("perl", "python") else [label] for label in TRUTH]


@pytest.fixture(scope="module")
def one_label():
    return TextClassifier().fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def several():
    return TextClassifier().fit(TEXTS, TAGS)


def same_answers(ours, theirs, asked=ASKED):
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    assert ours.predict_proba(asked).tobytes() == theirs.predict_proba(asked).tobytes()
    top, other = ours.predict_top_k(asked, 3), theirs.predict_top_k(asked, 3)
    assert top.labels.tolist() == other.labels.tolist()


def test_one_label_a_text(one_label):
    assert isinstance(one_label.estimator_, ConditionalTreeClassifier)
    assert one_label.score(ASKED, TRUTH) > 0.9
    assert (one_label.predict(ASKED) == TRUTH).mean() == one_label.score(ASKED, TRUTH)
    labels, p = one_label.predict_top_k(["a perl library"], 3)
    assert labels[0, 0] == "perl"
    own = one_label.predict_label_proba(["a perl library"] * 3, labels[0])
    assert own.tolist() == p[0].tolist()
    whole = one_label.predict_proba(["a perl library"])
    assert whole.sum() == pytest.approx(1)
    assert one_label.classes_[whole[0].argmax()] == "perl"
    likely = one_label.predict_above(["a perl library"], p[0, 0])
    assert one_label.classes_[likely.indices].tolist() == ["perl"]
    assert set(one_label.sample(ASKED, random_state=0)) <= set(WORDS)
    rows = one_label.top_rows(ASKED, ["font"], 2).rows[0]
    assert [TRUTH[row] for row in rows] == ["font", "font"]


def test_several_labels_a_text(several):
    assert isinstance(several.estimator_, ExtremeRegressor)
    labels, _ = several.predict_top_k(["new perl module"], 2)
    assert sorted(labels[0]) == ["code", "perl"]
    assert several.score(ASKED, TAGS_TRUE) > 0.9
    assert not hasattr(several, "sample")
    assert not hasattr(several, "partial_fit")
    assert several.explain("new perl module", "perl").to_text().count("perl") > 1


def test_the_answers_are_those_of_vectoriser_and_estimator_apart(one_label):
    words = default_text_features()
    tree = ConditionalTreeClassifier().fit(words.fit_transform(TEXTS), LABELS)
    X = words.transform(ASKED)
    assert one_label.predict_proba(ASKED).tobytes() == tree.predict_proba(X).tobytes()
    assert (one_label.features(ASKED) != X).nnz == 0
    assert X.dtype == np.float32


DELEGATED = (
    "predict", "predict_top_k", "predict_label_proba", "predict_proba", "predict_log_proba",
    "predict_above", "top_rows", "sample",
)  # fmt: skip


@pytest.mark.parametrize("name", DELEGATED)
def test_a_delegated_method_has_the_estimators_signature_and_documentation(one_label, name):
    method, of_rows = (getattr(each, name) for each in (TextClassifier, LabelEstimator))
    own, (X, *others) = (
        list(inspect.signature(each).parameters.values())[1:] for each in (method, of_rows)
    )
    assert own == [X.replace(name="texts"), *others]
    text = inspect.getdoc(method)
    assert text.split(" ")[:3] == inspect.getdoc(of_rows).split(" ")[:3]
    assert "matrix of shape (n_rows, n_features)" not in text
    assert f"model.{name}([" in text
    assert pickle.loads(pickle.dumps(one_label)).__class__.__dict__[name].__name__ == name


def test_texts_and_options_may_be_named(one_label):
    assert one_label.predict(texts=["perl cpan"]).tolist() == ["perl"]
    with pytest.raises(TypeError, match="beam"):
        one_label.predict_above(["perl cpan"], threshold=0.5, beam=3)


def test_a_method_is_there_only_if_the_estimator_has_it():
    boosted = TextClassifier(AdacondClassifier(base=LOMTreeClassifier()))
    for name in DELEGATED:
        assert hasattr(boosted, name) == hasattr(boosted.estimator, name)
    assert not hasattr(TextClassifier(ExtremeRegressor()), "sample")
    assert not hasattr(TextClassifier(ExtremeRegressor()), "partial_fit")


def test_texts_are_read_once(monkeypatch):
    n_read = []
    read = CountVectorizer.decode
    monkeypatch.setattr(
        CountVectorizer, "decode", lambda self, text: n_read.append(text) or read(self, text)
    )
    TextClassifier().fit(TEXTS, LABELS)
    assert len(n_read) == len(TEXTS)


def forms_of(texts):
    yield tuple(texts)
    yield np.array(texts)
    yield np.array(texts, dtype=object)
    yield np.array(texts)[:, None]
    yield (text for text in texts)
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    yield pandas.Series(texts, index=range(7, 7 + len(texts)))
    yield pandas.Series(texts, dtype="string[pyarrow]")
    yield pandas.Series(texts, dtype="category")
    yield pytest.importorskip("polars").Series(texts)
    yield pyarrow.array(texts)
    yield pyarrow.chunked_array([texts[:9], texts[9:]])


def test_texts_may_come_in_anything(one_label):
    expected = one_label.predict_proba(ASKED).tobytes()
    for texts in forms_of(ASKED):
        assert one_label.predict_proba(texts).tobytes() == expected
    pyarrow = pytest.importorskip("pyarrow")
    for y in (
        pyarrow.array(LABELS),
        np.array(LABELS),
        pytest.importorskip("pandas").Series(LABELS),
    ):
        again = TextClassifier().fit(np.array(TEXTS), y)
        assert again.predict_proba(ASKED).tobytes() == expected


def test_lists_of_labels_may_come_in_anything(several):
    expected = several.predict_proba(ASKED).tobytes()
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    objects = np.empty(len(TAGS), dtype=object)
    objects[:] = TAGS
    for y in (
        objects,
        pandas.Series(TAGS),
        pytest.importorskip("polars").Series(TAGS),
        pyarrow.array(TAGS),
        [set(tags) for tags in TAGS],
    ):
        again = TextClassifier().fit(TEXTS, y)
        assert again.predict_proba(ASKED).tobytes() == expected
        assert again.predict(ASKED).tolist() == several.predict(ASKED).tolist()
    matrix = np.array([[name in tags for name in several.classes_] for tags in TAGS]) * 1.0
    of_matrix = TextClassifier().fit(TEXTS, matrix, classes=several.classes_)
    assert of_matrix.predict_proba(ASKED).tobytes() == expected


BAD_TEXTS = {
    "one text": ("a text", "got the one text 'a text'. Put it into a list"),
    "none": ([], "at least one text"),
    "a number": (["a", 3], "got 3 of int in row 1"),
    "nothing": (["a", None], "got None of NoneType in row 1"),
    "missing": (np.array(["a", np.nan], dtype=object), "got nan of float in row 1"),
    "bytes": ([b"a"], "of bytes in row 0"),
    "two columns": (np.array([["a", "b"]]), r"one dimension, got shape \(1, 2\)"),
    "a dict": ({"a": 1}, "got a dict"),
    "no list": (3, "got int"),
}


@pytest.mark.parametrize("case", BAD_TEXTS)
def test_what_is_no_list_of_texts_is_refused(one_label, case):
    texts, reason = BAD_TEXTS[case]
    with pytest.raises(DataError, match=reason):
        one_label.predict(texts)
    with pytest.raises(DataError, match=reason):
        TextClassifier().fit(texts, ["a"])


def test_bad_data_and_arguments_are_refused_and_change_nothing(one_label):
    with pytest.raises(DataError, match="empty vocabulary"):
        TextClassifier().fit(["!!", "?"], ["a", "b"])
    with pytest.raises(DataError, match="y has 1 labels for the 2 rows"):
        TextClassifier().fit(["a", "b"], ["a"])
    with pytest.raises(ArgumentError, match="estimator must be None or an estimator of labeltrees"):
        TextClassifier(CountVectorizer()).fit(TEXTS, LABELS)
    with pytest.raises(DataError, match="text must be one string"):
        one_label.explain(["a perl library"], "perl")
    with pytest.raises(ArgumentError, match="label must be one of the 4 labels learned"):
        one_label.explain("a perl library", "fog")
    letters = HashingVectorizer(analyzer="char")
    hashing = TextClassifier(vectorizer=letters).partial_fit(TEXTS, LABELS)
    with pytest.raises(DataError, match="cannot be hashed"):
        hashing.predict(["half a pair: \ud800"])
    before = hashing.predict_proba(ASKED)
    with pytest.raises(DataError, match="y has 1 labels"):
        hashing.partial_fit(["a", "b"], ["perl"])
    assert (hashing.predict_proba(ASKED) == before).all()


def test_nothing_is_answered_before_something_is_learned(tmp_path):
    model = TextClassifier()
    for ask in (model.predict, model.predict_proba, model.predict_top_k, model.features):
        with pytest.raises(NotFittedError):
            ask(["a"])
    with pytest.raises(NotFittedError):
        model.save(tmp_path / "m")
    assert not hasattr(model, "classes_")
    assert hasattr(model, "partial_fit")
    assert not hasattr(TextClassifier(ExtremeRegressor()), "partial_fit")


# Learning row by row.


def test_partial_fit_hashes_words_and_goes_on():
    model = TextClassifier(ConditionalTreeClassifier(), HashingVectorizer(n_features=2**16))
    model.partial_fit(TEXTS[:200], LABELS[:200]).partial_fit(TEXTS[200:], LABELS[200:])
    assert model.score(ASKED, TRUTH) > 0.9
    assert model.partial_fit(["rain"] * 20, ["weather"] * 20).predict(["rain"]) == ["weather"]
    of_itself = TextClassifier().partial_fit(TEXTS, LABELS)
    assert type(of_itself.vectorizer_) is HashingVectorizer
    features = [
        c.feature for c in of_itself.explain("a perl library", "perl").steps[0].contributions
    ]
    assert "perl" in features
    assert not any("hashed" in feature for feature in features)


def test_partial_fit_with_tfidf_needs_a_vocabulary():
    with pytest.raises(ArgumentError, match="cannot fit a TfidfVectorizer, which needs all texts"):
        TextClassifier(vectorizer=TfidfVectorizer()).partial_fit(TEXTS, LABELS)
    model = TextClassifier().fit(TEXTS[:300], LABELS[:300])
    width = model.features(["a"]).shape[1]
    model.partial_fit(["unseen words perl"] * 9, ["else"] * 9)
    assert "else" in model.classes_
    assert model.features(["a"]).shape[1] == width
    words = TfidfVectorizer().fit(TEXTS)
    given = TextClassifier(vectorizer=words).partial_fit(TEXTS, LABELS)
    assert given.vectorizer_ is words
    assert given.score(ASKED, TRUTH) > 0.9
    with pytest.raises(ArgumentError, match="one label per text"):
        TextClassifier().partial_fit(TEXTS, TAGS)


# Explanations.


def test_explanations_are_in_words(one_label):
    reason = one_label.explain("a perl library", "perl")
    words = {c.feature for step in reason.steps for c in step.contributions}
    assert "perl" in words
    assert words <= {"a", "perl", "a perl"}
    assert "perl" in reason.to_text()


@pytest.mark.parametrize(
    "vectorizer",
    [
        make_pipeline(CountVectorizer(), TfidfTransformer()),
        make_pipeline(HashingVectorizer(), MaxAbsScaler()),
        FeatureUnion([("words", TfidfVectorizer()), ("pairs", CountVectorizer())]),
    ],
    ids=["pipeline", "hashing", "union"],
)
def test_explanations_of_combined_vectorisers_are_in_words(vectorizer):
    model = TextClassifier(vectorizer=vectorizer).fit(TEXTS, LABELS)
    reason = model.explain("perl", "perl")
    named = [c.feature for step in reason.steps for c in step.contributions]
    assert named
    assert all(name.removeprefix("words__").removeprefix("pairs__") == "perl" for name in named)


# scikit-learn's tools.


def test_it_is_cloned_pickled_cross_validated_and_searched(one_label):
    model = TextClassifier(ConditionalTreeClassifier(), TfidfVectorizer())
    copy = clone(model.fit(TEXTS, LABELS))
    assert not hasattr(copy, "estimator_")
    assert copy.get_params().keys() == model.get_params().keys()
    same_answers(pickle.loads(pickle.dumps(model)), model)
    assert is_classifier(TextClassifier())
    assert not is_classifier(TextClassifier(ExtremeRegressor()))
    assert cross_val_score(TextClassifier(), TEXTS, LABELS, cv=3).min() > 0.9
    assert cross_val_score(TextClassifier(), TEXTS, LABELS, cv=3, scoring="neg_log_loss").min() > -1
    options = {"estimator__refine": [0, 4], "vectorizer__ngram_range": [(1, 1), (1, 2)]}
    search = GridSearchCV(model, options, cv=2).fit(TEXTS, LABELS)
    assert search.best_score_ > 0.9
    assert search.predict(["a perl library"]).tolist() == ["perl"]


def test_lists_of_labels_are_cross_validated():
    model = TextClassifier(ExtremeRegressor(n_trees=1))
    assert cross_val_score(model, TEXTS, TAGS, cv=3).min() > 0.8
    assert cross_val_score(TextClassifier(), TEXTS, TAGS, cv=KFold(3)).min() > 0.8


# Files.

KEPT = {
    "default": TextClassifier(),
    "hashing": TextClassifier(vectorizer=HashingVectorizer(n_features=4096)),
    "counts and a LOMtree": TextClassifier(LOMTreeClassifier(), CountVectorizer()),
    "combined": TextClassifier(
        SelfTerminatingTreeClassifier(penalty=1.0), make_pipeline(CountVectorizer(), MaxAbsScaler())
    ),
}


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize("mapped", [False, True])
def test_load_after_save_is_the_identity(name, mapped, tmp_path):
    model = clone(KEPT[name]).fit(TEXTS, LABELS)
    model.save(tmp_path / "m", extra={"note": "ours"})
    again = labeltrees.load(tmp_path / "m", mapped=mapped)
    assert type(again) is TextClassifier
    assert type(again.estimator_) is type(model.estimator_)
    assert again.vectorizer_.get_params().keys() == model.vectorizer_.get_params().keys()
    same_answers(again, model)
    assert labeltrees.load_model(tmp_path / "m").n_features == model.features(["a"]).shape[1]
    again.save(tmp_path / "n", extra={"note": "ours"})
    assert (tmp_path / "n").read_bytes() == (tmp_path / "m").read_bytes()
    refitted = clone(again).fit(TEXTS, LABELS)
    same_answers(refitted, model)


def test_several_labels_are_loaded_and_answer(several, tmp_path):
    labeltrees.save(several, tmp_path / "m")
    again = labeltrees.load(tmp_path / "m")
    same_answers(again, several)
    assert again.predict_top_k(["a perl library"], 2).labels.shape == (1, 2)
    assert again.score(ASKED, TAGS_TRUE) == several.score(ASKED, TAGS_TRUE)


def test_a_loaded_classifier_goes_on_learning_unless_it_is_frozen(tmp_path):
    model = TextClassifier().partial_fit(TEXTS[:200], LABELS[:200])
    model.save(tmp_path / "m")
    again = labeltrees.load(tmp_path / "m")
    for each in (model, again):
        each.partial_fit(TEXTS[200:], LABELS[200:])
    same_answers(again, model)
    model.save(tmp_path / "small", keep_state=False)
    small = labeltrees.load(tmp_path / "small")
    assert small.score(ASKED, TRUTH) == model.score(ASKED, TRUTH)
    with pytest.raises(FrozenModelError):
        small.partial_fit(TEXTS, LABELS)


def test_a_vectoriser_without_data_form_is_refused_and_the_old_file_stays(one_label, tmp_path):
    one_label.save(tmp_path / "m")
    model = TextClassifier(vectorizer=CountVectorizer(analyzer=str.split)).fit(TEXTS, LABELS)
    with pytest.raises(ArgumentError, match=r"CountVectorizer cannot be saved .* analyzer"):
        model.save(tmp_path / "m")
    same_answers(labeltrees.load(tmp_path / "m"), one_label)
