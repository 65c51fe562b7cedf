"""Labels in every form that scikit-learn's tools know: `fit`, `predict`, `score` and searches.

Forms -> metrics of indicator matrices -> cross-validation -> files -> errors.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.preprocessing import MultiLabelBinarizer

import labeltrees
from labeltrees import ExtremeRegressor
from labeltrees.errors import ArgumentError

NAMES = np.array(["fog", "hail", "rain", "snow", "sun"], dtype=object)


def weather(n_rows=300):
    """Rows that show which labels they have, some of them none."""
    rng = np.random.default_rng(0)
    Y = (rng.random((n_rows, 5)) < 0.35).astype(np.int64)
    X = Y + 0.15 * rng.normal(size=Y.shape)
    return X.astype(np.float32), Y


def lists_of(Y):
    return [NAMES[row > 0].tolist() for row in Y]


def regressor(**params):
    return ExtremeRegressor(n_trees=1, **params)


class FrameColumn:
    """What a list column of polars is to NumPy: an array of arrays, and no ``ndim``."""

    def __init__(self, lists):
        self.arrays = pd.Series([np.array(row, dtype=object) for row in lists]).to_numpy()

    def __array__(self, dtype=None, copy=None):
        return self.arrays

    def __iter__(self):
        return iter(self.arrays)

    def __len__(self):
        return len(self.arrays)


FORMS = {
    "lists": lists_of,
    "tuples": lambda Y: [tuple(row) for row in lists_of(Y)],
    "sets": lambda Y: [set(row) for row in lists_of(Y)],
    "dicts": lambda Y: [dict.fromkeys(row, 1.0) for row in lists_of(Y)],
    "series": lambda Y: pd.Series(lists_of(Y)),
    "objects": lambda Y: pd.Series(lists_of(Y)).to_numpy(),
    "arrays": lambda Y: [np.array(row, dtype=object) for row in lists_of(Y)],
    "series of arrays": lambda Y: pd.Series(FrameColumn(lists_of(Y)).arrays),  # as Parquet is read
    "column of another frame": lambda Y: FrameColumn(lists_of(Y)),
    "dense": lambda Y: Y,
    "booleans": lambda Y: Y > 0,
    "floats": lambda Y: Y.astype(np.float32),
    "nested": lambda Y: Y.astype(float).tolist(),
    "frame": lambda Y: pd.DataFrame(Y, columns=NAMES),
    "csr_array": sparse.csr_array,
    "csr_matrix": sparse.csr_matrix,
    "csc_array": sparse.csc_array,
    "binarized": lambda Y: MultiLabelBinarizer().fit_transform(lists_of(Y)),
    "binarized, sparse": lambda Y: MultiLabelBinarizer(sparse_output=True).fit_transform(
        lists_of(Y)
    ),
}
IN_LISTS = ("lists", "tuples", "sets", "dicts", "series", "objects", "arrays")
IN_LISTS += ("series of arrays", "column of another frame")


@pytest.mark.parametrize("form", FORMS)
def test_predict_answers_in_the_form_of_y(form):
    X, Y = weather()
    model = regressor().fit(X[:200], FORMS[form](Y[:200]))
    found, p = model.predict(X[200:]), model.predict_proba(X[200:])
    if form in IN_LISTS:
        assert found.shape == (100,)
        for labels, row in zip(found, p, strict=True):
            likeliest = np.argsort(-row, kind="stable")
            assert labels == NAMES[likeliest[row[likeliest] >= 0.5]].tolist()
        matrix = MultiLabelBinarizer(classes=NAMES).fit_transform(found)
    elif form.startswith(("cs", "binarized, sparse")):
        assert sparse.issparse(found)
        assert isinstance(found, sparse.csr_array)
        matrix = found.toarray()
    else:
        assert isinstance(found, np.ndarray)
        matrix = found
    assert matrix.dtype == np.int64
    assert np.array_equal(matrix, p >= 0.5)
    assert f1_score(Y[200:], matrix, average="micro") > 0.95
    assert model.score(X[200:], FORMS[form](Y[200:])) > 0.8  # a fifth has no label: 0


def test_one_label_per_row_gives_one_label_per_row():
    X, Y = weather()
    first = NAMES[np.argmax(Y, axis=1)]
    for y in (first, first.tolist(), first[:, np.newaxis]):
        found = regressor().fit(X, y).predict(X)
        assert found.shape == (len(X),)
        assert (found == first).mean() > 0.7


def test_the_threshold_decides_how_many_labels_there_are():
    X, Y = weather()
    model = regressor().fit(X, Y)
    p = model.predict_proba(X)
    for threshold in (1e-3, 0.3, 0.9, 1.0):  # a parameter that needs no other fit
        model.set_params(threshold=threshold)
        assert np.array_equal(model.predict(X), p >= threshold)
    strict = regressor(threshold=0.9).fit(X, lists_of(Y))
    assert sum(map(len, strict.predict(X))) == (p >= 0.9).sum()


def test_columns_are_those_of_the_matrix_whatever_their_names():
    X, Y = weather()
    model = regressor().fit(X, Y, classes=NAMES[::-1])
    assert model.classes_.tolist() == NAMES[::-1].tolist()
    assert f1_score(Y, model.predict(X), average="micro") > 0.95
    assert model.score(X, Y, classes=NAMES[::-1]) > 0.8
    empty = np.column_stack([Y, np.zeros(len(Y), np.int64)])  # a column without an entry stays
    assert regressor().fit(X, empty).predict(X).shape == empty.shape


# Cross-validation and searches.


@pytest.mark.parametrize("form", FORMS)
def test_cross_validation_takes_every_form(form):
    X, Y = weather(150)
    if not sparse.issparse(FORMS[form](Y)):  # which cross_val_score itself refuses
        scores = cross_val_score(regressor(), X, FORMS[form](Y), cv=3)
        assert scores.min() > 0.75
    search = GridSearchCV(regressor(), {"cost": [1e-4, 3.0]}, cv=3).fit(X, FORMS[form](Y))
    assert search.best_params_ == {"cost": 3.0}
    assert len(search.predict(X[:4]) if form in IN_LISTS else search.predict(X[:4]).shape)


@pytest.mark.parametrize("form", ["dense", "csr_array", "csr_matrix", "binarized, sparse"])
def test_scorers_of_indicator_matrices_choose_a_threshold(form):
    X, Y = weather(200)
    search = GridSearchCV(regressor(), {"threshold": [0.5, 1.0]}, scoring="f1_micro", cv=3)
    search.fit(X, FORMS[form](Y))
    assert search.best_params_ == {"threshold": 0.5}
    assert search.best_score_ > 0.9
    if form == "dense":
        scores = cross_val_score(regressor(), X, Y, cv=3, scoring="f1_macro")
        assert scores.min() > 0.9


def test_predictions_of_folds_are_put_together():
    X, Y = weather(150)
    found = cross_val_predict(regressor(), X, Y, cv=3)
    assert f1_score(Y, found, average="macro") > 0.9
    listed = cross_val_predict(regressor(), X, lists_of(Y), cv=3)
    assert np.array_equal(MultiLabelBinarizer(classes=NAMES).fit_transform(listed), found)
    every = cross_val_predict(regressor(), X, Y, cv=3, method="predict_proba")
    assert np.array_equal(every >= 0.5, found)
    loss = make_scorer(lambda y, p: -np.abs(y - p).mean())
    assert cross_val_score(regressor(), X, Y, scoring=loss, cv=3).min() > -0.1


# Files, errors.


@pytest.mark.parametrize("form", ["lists", "dense", "csr_array"])
def test_a_loaded_model_answers_in_the_same_form(form, tmp_path):
    X, Y = weather()
    model = regressor(threshold=0.7).fit(X, FORMS[form](Y))
    model.save(tmp_path / "m")
    again = labeltrees.load(tmp_path / "m")
    assert again.threshold == 0.7
    ours, theirs = model.predict(X), again.predict(X)
    assert type(ours) is type(theirs)
    if form == "lists":
        assert ours.tolist() == theirs.tolist()
    else:
        assert (ours != theirs).sum() == 0


def test_a_threshold_that_was_set_wrong_is_refused_by_predict():
    X, Y = weather(50)
    model = regressor().fit(X, Y).set_params(threshold=0)
    with pytest.raises(ArgumentError, match=r"threshold must be in \(0, 1\], got 0"):
        model.predict(X)
