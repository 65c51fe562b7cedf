"""The contract of every estimator: the probabilities of several candidates of each row.

Matrices and lists -> unknown labels, empty rows, pieces -> errors.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.contract.subjects import NAMES, NUMBERS, asked, fitted, of_all, of_each

from labeltrees.errors import ArgumentError, DataError, LabelTypeError
from labeltrees.models import model as models


def one_by_one(estimator, lists):
    """Return what asking about one label of one row at a time gives."""
    X = asked()
    return [
        np.concatenate(
            [np.empty(0), *(estimator.predict_label_proba(X[[i]], [label]) for label in labels)]
        )
        for i, labels in enumerate(lists)
    ]


@of_all
@pytest.mark.parametrize("names", ["names", "numbers"])
def test_candidates_have_the_probabilities_that_they_have_one_by_one(subject, names):
    estimator, rng = fitted(subject.name, names), np.random.default_rng(0)
    labels = NAMES if names == "names" else NUMBERS
    matrix = labels[rng.integers(len(labels), size=(len(asked()), 4))]
    expected = np.array(one_by_one(estimator, matrix))
    for given in (matrix, pd.DataFrame(matrix)):
        found = estimator.predict_label_proba(asked(), given)
        assert found.shape == matrix.shape
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-15)
    assert estimator.predict_label_proba(asked(), matrix[:, :1]).shape == (len(asked()), 1)


@of_all
def test_lists_give_an_array_for_each_row(subject, monkeypatch):
    estimator = fitted(subject.name)
    unknown = "never seen"
    lists = [[unknown, *NAMES[: i % 4]][i % 2 :] for i in range(len(asked()))]
    lists[5] = []
    expected = one_by_one(estimator, lists)
    for given in (lists, pd.Series(lists), [tuple(each) for each in lists]):
        found = estimator.predict_label_proba(asked(), given)
        assert isinstance(found, list)
        for ours, theirs in zip(found, expected, strict=True):
            assert ours == pytest.approx(theirs, rel=1e-12, abs=1e-15)
    monkeypatch.setattr(models, "_ENTRIES_AT_ONCE", 10)  # in many pieces
    again = estimator.predict_label_proba(asked(), lists)
    assert all(np.array_equal(ours, theirs) for ours, theirs in zip(found, again, strict=True))
    nothing = estimator.predict_label_proba(asked()[:2], [[], []])
    assert [each.tolist() for each in nothing] == [[], []]


@of_each
def test_wrong_candidates_are_refused(subject):
    estimator, X = fitted(subject.name), asked()[:2]
    with pytest.raises(ArgumentError, match="y has labels for 3 rows, but X has 2 rows"):
        estimator.predict_label_proba(X, NAMES[:6].reshape(3, 2))
    with pytest.raises(DataError, match="Row 1 is not a list"):
        estimator.predict_label_proba(X, [[NAMES[0]], NAMES[1]])
    with pytest.raises(LabelTypeError, match="labels of this model are str"):
        estimator.predict_label_proba(X, [[1], [2, 3]])
