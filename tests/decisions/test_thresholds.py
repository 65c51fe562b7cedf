"""threshold_for finds the best of all thresholds by scikit-learn's metrics, and its bounds of the
precision hold as often as they say.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, precision_score, recall_score

from labeltrees.decisions import labels_at, threshold_for
from labeltrees.errors import ArgumentError

AVERAGES = {"micro_f1": "micro", "macro_f1": "macro", "example_f1": "samples"}


@st.composite
def problems(draw):
    n_rows, n_labels = draw(st.integers(2, 6)), draw(st.integers(2, 5))
    chances = st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.9])
    P = np.array([[draw(chances) for _ in range(n_labels)] for _ in range(n_rows)])
    P[0, 0] = 0.7
    truth = np.array([[draw(st.integers(0, 1)) for _ in range(n_labels)] for _ in range(n_rows)])
    truth[1, 1] = 1
    return P, truth


@given(problems(), st.sampled_from(sorted(AVERAGES)), st.sampled_from([0.0, 1.0]))
def test_no_threshold_has_a_higher_f1(problem, metric, zero_division):
    P, truth = problem
    zero = zero_division if metric == "example_f1" else 0.0
    tried = sorted(set(P[P > 0].tolist()), reverse=True)
    scores = [
        f1_score(truth, (t <= P).astype(int), average=AVERAGES[metric], zero_division=zero)
        for t in tried
    ]
    found = threshold_for(P, truth, metric, zero_division=zero_division)
    assert found.score == pytest.approx(max(scores), abs=1e-12)
    assert scores[tried.index(found.threshold)] == pytest.approx(max(scores), abs=1e-12)
    kept = labels_at(P, found.threshold).toarray()
    assert found.precision == pytest.approx(precision_score(truth, kept, average="micro"))
    assert found.recall == pytest.approx(recall_score(truth, kept, average="micro"))
    assert found.labels_per_row == kept.sum() / len(P)


@given(problems(), st.sampled_from([0.2, 0.5, 0.8]))
def test_no_threshold_of_the_precision_has_a_higher_recall(problem, precision):
    P, truth = problem
    good = [
        recall_score(truth, t <= P, average="micro")
        for t in set(P[P > 0].tolist())
        if precision_score(truth, t <= P, average="micro") >= precision
    ]
    if not good:
        with pytest.raises(ArgumentError, match="precision must be at most"):
            threshold_for(P, truth, "recall", precision=precision)
        return
    found = threshold_for(P, truth, "recall", precision=precision)
    assert found.score == found.recall == pytest.approx(max(good))
    assert found.precision >= precision
    assert found.precision_bound is None


def chances(rng, n_rows):
    """Return what a model says and what is true: it is too sure of itself."""
    p = rng.random((n_rows, 4)) ** 0.5
    return p, p**1.5


@pytest.mark.parametrize("bound", ["rows", "pairs"])
def test_the_precision_expected_is_below_its_bound_no_more_often_than_promised(bound):
    rng = np.random.default_rng(0)
    wrong = reached = 0
    for _ in range(300):
        told, real = chances(rng, 300)
        truth = rng.random(real.shape) < real
        try:
            found = threshold_for(
                told, truth, "recall", precision=0.75, confidence=0.8, bound=bound
            )
        except ArgumentError:
            continue
        reached += 1
        wrong += real[told >= found.threshold].mean() < 0.75
    assert reached > 150
    # 0.2 of 300 are 60; four standard deviations of a binomial above that.
    assert wrong <= 60 + 4 * np.sqrt(300 * 0.2 * 0.8)


def test_labels_that_are_right_together_break_the_bound_of_pairs_and_not_that_of_rows():
    rng = np.random.default_rng(1)
    wrong = {"rows": 0, "pairs": 0}
    for _ in range(200):
        told = np.repeat(rng.choice([0.5, 0.9], (40, 1)), 30, axis=1)
        real = np.where(told > 0.6, 0.8, 0.5)
        truth = rng.random((40, 1)) < real  # the thirty labels of a row are all right or all wrong
        for bound in wrong:
            try:
                found = threshold_for(
                    told, truth, "recall", precision=0.75, confidence=0.9, bound=bound
                )
            except ArgumentError:
                continue
            wrong[bound] += real[told >= found.threshold].mean() < 0.75
    # 0.1 of 200 are 20; four standard deviations of a binomial above that.
    most = 20 + 4 * np.sqrt(200 * 0.1 * 0.9)
    assert wrong["rows"] <= most
    assert wrong["pairs"] > 0


def test_a_bound_is_below_the_precision_and_nearer_to_it_with_more_rows():
    rng = np.random.default_rng(2)
    told, real = chances(rng, 4000)
    truth = rng.random(real.shape) < real
    for bound in ("rows", "pairs"):
        found = [
            threshold_for(
                told[:n], truth[:n], "recall", precision=0.6, confidence=0.95, bound=bound
            )
            for n in (500, 4000)
        ]
        assert all(0.6 <= each.precision_bound < each.precision for each in found)
        few, many = (each.precision - each.precision_bound for each in found)
        assert many < few


@pytest.mark.parametrize("bound", ["rows", "pairs"])
@pytest.mark.parametrize(("precision", "confidence"), [(0.5, 1e-18), (1e-300, 0.9), (1e-9, 0.9)])
def test_extreme_levels_have_an_answer(bound, precision, confidence):
    arguments = {"precision": precision, "confidence": confidence, "bound": bound}
    found = threshold_for([[0.9, 0.1]] * 9, [[1, 0]] * 9, "recall", **arguments)
    assert precision <= found.precision_bound <= 1


def test_an_empty_set_where_nothing_is_true_counts_as_told():
    P, truth = [[0.9, 0.0], [0.2, 0.0], [0.2, 0.0]], [[1, 0], [0, 0], [0, 0]]
    scores = [threshold_for(P, truth, "example_f1", zero_division=z).score for z in (0, 0.5, 1)]
    assert scores == pytest.approx([1 / 3, 2 / 3, 1])


def test_labels_that_the_model_does_not_know_are_missed():
    known = threshold_for([[0.9], [0.2]], [[1], [0]])
    more = threshold_for([[0.9], [0.2]], [[1], [0]], unknown=[1, 0])
    assert (known.recall, more.recall) == (1.0, 0.5)
    assert more.score == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"metric": "f1"}, "metric must be 'micro_f1', 'macro_f1', 'example_f1' or 'recall'"),
        ({"metric": "recall"}, r"precision must be in \(0, 1\], got None"),
        ({"precision": 0.9}, "precision must be None for metric='micro_f1', got 0.9"),
        ({"confidence": 0.9}, "confidence must be None for metric='micro_f1', got 0.9"),
        ({"bound": "labels"}, "bound must be 'rows' or 'pairs', got 'labels'"),
        (
            {"metric": "recall", "precision": 1, "confidence": 0.9},
            r"precision must be in \(0, 1\) with confidence, got 1",
        ),
        (
            {"metric": "recall", "precision": 0.5, "confidence": 1},
            r"confidence must be in \(0, 1\), got 1",
        ),
        (
            {"metric": "recall", "precision": 0.9, "confidence": 0.9},
            "precision must be at most 0, the highest bound of a precision on these rows, got 0.9",
        ),
    ],
)
def test_parameters_out_of_range_are_refused(arguments, words):
    with pytest.raises(ArgumentError, match=words):
        threshold_for([[0.5, 0.2]], [[1, 0]], **arguments)


def test_rows_that_say_nothing_are_refused():
    with pytest.raises(ArgumentError, match="the number of probabilities in P above 0 must be > 0"):
        threshold_for([[0.0]], [[1]])
    with pytest.raises(ArgumentError, match="the number of true labels must be > 0, got 0"):
        threshold_for([[0.5]], [[0]], "recall", precision=0.5)
    with pytest.raises(ArgumentError, match=r"threshold must be in \[0, 1\], got 1.5"):
        labels_at([[0.5]], 1.5)
