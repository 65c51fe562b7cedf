"""Rankings by a tail classifier, XReg-t: for rows and for labels, exact and not.

The formulas -> agreement with tests/references/extreme.py -> what does not depend on k -> files.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.extreme.test_regressor import _answers_by_node, data, sorted_labels
from tests.references.extreme import labelwise, tail_means, tail_scores, unit_rows

import labeltrees
from labeltrees import ExtremeRegressor
from labeltrees.models.extreme import tail

SMALL = {"arity": 2, "max_leaf": 4, "calibrate": False, "max_epochs": 3}


@pytest.mark.parametrize("tail", ["xreg", "pfastrexml"])
def test_tail_scores_are_the_formulas(tail):
    X, Y = data(12)
    plain = ExtremeRegressor(n_trees=1, arity=4, max_leaf=4, calibrate=False).fit(X, Y)
    model = ExtremeRegressor(
        n_trees=1, arity=4, max_leaf=4, calibrate=False, tail=tail, tail_weight=0.7
    ).fit(X, Y)
    assert np.array_equal(plain.predict_proba(X), model.predict_proba(X))
    unit = unit_rows(X.astype(float))
    mean = unit_rows((Y > 0).T @ unit).astype(np.float16).astype(float)  # as they are saved
    cosine = unit @ mean.T
    near = cosine if tail == "xreg" else 1 / (1 + np.exp(30 * (2 - 2 * cosine)))
    expected = plain.predict_proba(X) ** 0.7 * near**0.3
    labels, scores = model.predict_top_scores(X, 3)
    assert scores == pytest.approx(sorted_labels(expected, 3)[1], rel=1e-3)
    again, p = model.predict_top_k(X, 3)
    assert np.array_equal(again, labels)
    assert np.array_equal(p, np.take_along_axis(plain.predict_proba(X), labels, axis=1))


def by_tail(model, X_train, Y, X):
    """The reference's scores of every row and label, (n_rows, n_labels)."""
    means = tail_means(X_train.astype(float), Y).astype(np.float16).astype(float)  # as saved
    return tail_scores(model.predict_relevance(X), X.astype(float), means, model.tail_weight)


@pytest.fixture
def few_candidates(monkeypatch):
    """Trees propose 12 candidates, so that small data have more than that."""
    monkeypatch.setattr(tail, "N_CANDIDATES", 12)


@pytest.fixture(scope="module")
def learned():
    X, Y = data(8, n_rows=400, graded=True)
    model = ExtremeRegressor(n_trees=1, inner_power=1, tail="xreg", tail_weight=0.3, **SMALL)
    return X, Y, model.fit(X, Y)


@pytest.fixture(scope="module")
def answers(learned):
    """Every node's answers for some rows."""
    X, _, model = learned
    return _answers_by_node(model, X[::8])


# Labels' best rows.


@pytest.mark.parametrize("factor", [0.5, 4.0])
def test_labelwise_xreg_t_ranks_what_algorithm_1_finds(learned, answers, few_candidates, factor):
    X, Y, model = learned
    tree, reach = model.model_.trees[0].tree, model.model_.trees[0].arrays[-1]
    asked = X[::8]
    found = labelwise(
        tree.parents(), tree.labels(), reach, answers.__getitem__, len(asked), 12, factor
    )
    scores = by_tail(model, X, Y, asked)
    rows, values = model.top_row_scores(asked, k=5, factor=factor)
    for label, candidates in found.items():
        best = sorted(candidates, key=lambda row: -scores[row, label])[:5]
        assert values[label] == pytest.approx(scores[best, label], rel=1e-4)
        assert scores[rows[label], label] == pytest.approx(scores[best, label], rel=1e-4)
    p = model.predict_proba(asked)
    again, p_rows = model.top_rows(asked, k=5, factor=factor)
    assert np.array_equal(again, rows)
    assert np.array_equal(p_rows, np.take_along_axis(p.T, rows, axis=1))
    plain = ExtremeRegressor(n_trees=1, inner_power=1, **SMALL).fit(X, Y)
    assert not np.array_equal(plain.top_rows(asked, k=5, factor=factor).rows, rows)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 3), st.sampled_from([0.0, 0.3, 0.9, 1.0]))
def test_exact_rankings_by_the_tail_are_those_of_all_pairs(seed, n_trees, weight):
    X, Y = data(seed, n_rows=150, graded=True)
    model = ExtremeRegressor(n_trees=n_trees, tail="xreg", tail_weight=weight, **SMALL).fit(X, Y)
    asked, known = X[:60], np.flatnonzero(Y.any(axis=0))
    scores = by_tail(model, X, Y, asked)[:, known]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tail, "N_CANDIDATES", 6)
        by_label = model.top_row_scores(asked, known, 4, exact=True)
        by_row = model.predict_top_scores(asked, 4, search="exact")
    assert by_label.scores == pytest.approx(sorted_labels(scores.T, 4)[1], rel=1e-4, abs=1e-9)
    assert by_row.scores == pytest.approx(sorted_labels(scores, 4)[1], rel=1e-4, abs=1e-9)
    own = np.take_along_axis(scores.T, by_label.rows, axis=1)
    assert own == pytest.approx(by_label.scores, rel=1e-4, abs=1e-9)


def test_a_label_that_no_row_has_has_no_rows():
    X, Y = data(17)
    Y[:, 3] = 0
    model = ExtremeRegressor(n_trees=2, tail="xreg", **SMALL).fit(X, Y)
    for exact in (False, True):
        rows, p = model.top_rows(X, [3, 0], 2, exact=exact)
        assert rows[0].tolist() == [-1, -1]
        assert p[0].tolist() == [0, 0]
        assert (rows[1] >= 0).all()


# What does not depend on how many are asked for.


def test_the_first_of_many_are_the_first_of_few():
    X, Y = data(5, n_rows=600, n_labels=150)
    model = ExtremeRegressor(n_trees=2, arity=4, max_leaf=8, max_epochs=2, tail="xreg").fit(X, Y)
    many = model.predict_top_k(X[:100], 40)
    for k in (1, 7):
        few = model.predict_top_k(X[:100], k)
        assert np.array_equal(few.labels, many.labels[:, :k])
        assert np.array_equal(few.probabilities, many.probabilities[:, :k])
    rows = model.top_rows(X[:300], k=40).rows
    assert np.array_equal(model.top_rows(X[:300], k=5).rows, rows[:, :5])


def test_a_file_keeps_the_ranking(learned, tmp_path):
    X, _, model = learned
    model.save(tmp_path / "m")
    again = labeltrees.load(tmp_path / "m")
    for left, right in zip(again.top_row_scores(X), model.top_row_scores(X), strict=True):
        assert np.array_equal(left, right)
