"""A limit on the table of weights: never more memory, never a crash, and models that still work."""

import numpy as np
import pytest
from scipy import sparse

import labeltrees
from labeltrees import ConditionalTreeClassifier
from labeltrees.errors import ArgumentError

LIMIT = 2**20


def wide_rows(n_rows=4000, n_features=100_000, seed=0):
    """Return rows with ten features each, of which one tells the label and nine are noise."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 30, n_rows)
    noise = random.integers(30, n_features, (n_rows, 9))
    columns = np.concatenate([labels[:, None], noise], axis=1)
    starts = np.arange(n_rows + 1) * 10
    X = sparse.csr_matrix((np.ones(columns.size), columns.ravel(), starts), (n_rows, n_features))
    X.sum_duplicates()
    return X, labels


@pytest.mark.parametrize("arity", [2, 8])
def test_the_table_stays_within_its_limit_and_the_model_still_learns(arity):
    X, y = wide_rows()
    options = {"arity": arity, "structure": "online", "n_trees": 1, "refine": 0}
    free = ConditionalTreeClassifier(**options).fit(X, y)
    limited = ConditionalTreeClassifier(**options, max_memory=LIMIT).fit(X, y)
    assert free.model_.core.n_bytes > 2 * LIMIT
    assert limited.model_.core.n_bytes <= LIMIT
    X_test, y_test = wide_rows(500, seed=1)
    assert (limited.predict(X_test) == y_test).mean() > 0.9


@pytest.mark.parametrize("keep_state", [True, False])
def test_a_limited_model_is_the_same_after_loading(tmp_path, keep_state):
    X, y = wide_rows()
    model = ConditionalTreeClassifier(max_memory=LIMIT).partial_fit(X, y)
    model.save(tmp_path / "m", keep_state=keep_state)
    again = labeltrees.load(tmp_path / "m")
    X_test, y_test = wide_rows(300, seed=2)
    expected = model.predict_label_proba(X_test, y_test)
    assert again.predict_label_proba(X_test, y_test) == pytest.approx(
        expected, rel=0 if keep_state else 0.02, abs=0 if keep_state else 0.002
    )
    if keep_state:
        for learner in (model, again):
            learner.partial_fit(X_test, y_test)
        assert np.array_equal(model.predict_label_proba(X, y), again.predict_label_proba(X, y))


def test_a_limit_that_is_never_reached_changes_nothing():
    X, y = wide_rows(300)
    free = ConditionalTreeClassifier().partial_fit(X, y)
    limited = ConditionalTreeClassifier(max_memory=2**30).partial_fit(X, y)
    assert np.array_equal(free.predict_proba(X), limited.predict_proba(X))


@pytest.mark.parametrize("bad", [0, 2**20 - 1, -1, 1e9, "1GB", True])
def test_a_bad_limit_is_refused(bad):
    with pytest.raises(ArgumentError, match="max_memory must be None or an integer in"):
        ConditionalTreeClassifier(max_memory=bad).partial_fit([[1.0]], ["a"])
