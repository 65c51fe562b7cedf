"""Metrics are pure functions of truth and prediction: each is its formula, whatever the order of
the rows, and refuses what is not a probability, a weight or a label.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st
from tests.references import metrics as reference

import labeltrees.metrics as m
from labeltrees.errors import ArgumentError

P = st.floats(0, 1)
# Tolerance: sums of up to 30 terms of either order agree to a few units in the last place.
CLOSE = {"rel": 1e-12, "abs": 1e-12}


def approx(value):
    return pytest.approx(value, **CLOSE)


@st.composite
def rows(draw):
    """Probabilities of true labels and their weights."""
    p = draw(st.lists(P, min_size=1, max_size=30))
    weight = draw(st.lists(st.floats(0.01, 10), min_size=len(p), max_size=len(p)))
    return p, weight


@st.composite
def distributions(draw):
    """True columns, a distribution per row, and weights."""
    n_rows, n_labels = draw(st.integers(1, 6)), draw(st.integers(2, 6))
    counts = st.lists(st.integers(0, 9), min_size=n_labels, max_size=n_labels)
    proba = np.array([draw(counts) for _ in range(n_rows)]) + 1e-3
    proba /= proba.sum(axis=1, keepdims=True)
    columns = [draw(st.integers(0, n_labels - 1)) for _ in range(n_rows)]
    return columns, proba, [draw(st.floats(0.01, 10)) for _ in range(n_rows)]


@st.composite
def top_answers(draw):
    """True labels, padded top labels, their probabilities, and weights; ties are common."""
    n_rows, k = draw(st.integers(1, 12)), draw(st.integers(1, 3))
    names = st.sampled_from(["a", "b", "c", None])
    levels = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), P)
    truth = [draw(st.sampled_from(["a", "b", "z"])) for _ in range(n_rows)]
    top = [["a"] + [draw(names) for _ in range(k - 1)] for _ in range(n_rows)]
    p = [[draw(levels) for _ in range(k)] for _ in range(n_rows)]
    return truth, top, p, [draw(st.sampled_from([0.1, 0.3, 0.7, 2.0])) for _ in range(n_rows)]


# Worked examples by hand.


def test_losses_by_hand() -> None:
    assert m.squared_loss([1, 0.5, 0]) == approx((0 + 0.25 + 1) / 3)
    assert m.squared_loss([1, 0], sample_weight=[3, 1]) == 0.25
    assert m.log_loss([1, math.exp(-2)]) == approx(1)
    assert m.log_loss([0.0]) == approx(9 * math.log(10))
    assert m.log_loss([0.0, 1.0], floor=0) == math.inf
    assert m.log_loss([0.0, 1.0], floor=0, sample_weight=[0, 1]) == 0
    assert m.log_loss([0.0], floor=0.5) == approx(math.log(2))


def test_brier_by_hand() -> None:
    assert m.brier_score([0], [[0.5, 0.3, 0.2]]) == approx(0.25 + 0.09 + 0.04)
    assert m.brier_score([-1], [[0.5, 0.5]]) == approx(1.5)  # true label without a column
    assert m.brier_score(["x", "q"], [[1, 0], [0, 1]], labels=["x", "y"]) == approx(1.0)
    assert m.brier_score([0], [[0, 1]]) == 2


def test_top_k_accuracy_by_hand() -> None:
    top = np.array([["a", "b"], ["b", None], ["c", "a"]], dtype=object)
    assert m.top_k_accuracy(["b", "b", "x"], top) == approx(2 / 3)
    assert m.top_k_accuracy(["b", "b", "x"], top[:, :1]) == approx(1 / 3)
    assert m.top_k_accuracy(["b", "b", "x"], top, sample_weight=[1, 1, 0]) == 1
    assert m.top_k_accuracy([1, 2], [[1], [3]]) == 0.5
    assert m.top_k_accuracy(np.array(["long name"]), np.array([["long"]])) == 0


def test_labels_past_2_to_the_53_are_told_apart() -> None:
    big = 2**53
    assert m.top_k_accuracy(np.array([big]), np.array([[big + 1]], dtype=np.uint64)) == 0
    assert m.top_k_accuracy(np.array([big + 1]), np.array([[big + 1]], dtype=np.uint64)) == 1


def test_calibration_by_hand() -> None:
    truth, top = [1, 1, 1, 1], [[1], [0], [1], [1]]
    p = [[0.2], [0.2], [0.8], [1.0]]
    curve = m.reliability_curve(truth, top, p, n_bins=2)
    assert curve.mean_probability == approx([0.2, 0.9])
    assert curve.frequency == approx([0.5, 1.0])
    assert curve.count.tolist() == [2, 2]
    assert m.expected_calibration_error(truth, top, p, n_bins=2) == approx((0.3 + 0.1) / 2)
    # A padded entry is no prediction.
    padded = np.array([[1, None], [0, None], [1, None], [1, None]], dtype=object)
    both = np.hstack([p, np.zeros((4, 1))])
    assert m.expected_calibration_error(truth, padded, both, n_bins=2) == approx(0.2)
    absent = np.hstack([top, np.full((4, 1), -1)])
    assert m.expected_calibration_error(truth, absent, both, n_bins=2) == approx(0.2)
    unknown = np.hstack([p, np.full((4, 1), np.nan)])
    assert m.expected_calibration_error(truth, absent, unknown, n_bins=2) == approx(0.2)


def test_bins_of_equal_width_by_hand() -> None:
    truth, top = [1, 1, 1, 1, 1], [[1], [0], [1], [1], [1]]
    p = [[0.1], [0.2], [0.3], [0.8], [1.0]]
    curve = m.reliability_curve(truth, top, p, n_bins=4, bins="width")  # none is in [0.5, 0.75)
    assert curve.mean_probability == approx([0.15, 0.3, 0.9])
    assert curve.frequency == approx([0.5, 1.0, 1.0])
    assert curve.count.tolist() == [2, 1, 2]
    error = m.expected_calibration_error(truth, top, p, n_bins=4, bins="width")
    assert error == approx((2 * 0.35 + 0.7 + 2 * 0.1) / 5)
    assert error != approx(m.expected_calibration_error(truth, top, p, n_bins=4))


def test_one_probability_makes_one_bin() -> None:
    curve = m.reliability_curve(["a"] * 10, [["a"]] * 7 + [["b"]] * 3, [[0.5]] * 10)
    assert curve.count.tolist() == [10]
    assert curve.expected_calibration_error == approx(0.2)


@pytest.mark.parametrize(
    ("loss", "printed"),
    [(0.812, 10.11), (0.7742, 8.32), (0.7725, 8.25), (0.7632, 7.91), (0.665, 5.42)],
)
def test_equivalent_labels_as_printed_in_the_paper(loss: float, printed: float) -> None:
    # The paper prints losses of four digits, which leaves the equivalent uncertain by 0.01.
    assert m.equivalent_labels(loss) == pytest.approx(printed, abs=0.01)


def test_equivalent_labels_of_a_uniform_guess() -> None:
    for n_labels in (1, 2, 10, 10**6):
        loss = (1 - 1 / n_labels) ** 2
        assert m.equivalent_labels(loss) == pytest.approx(n_labels, rel=1e-9)
    assert m.equivalent_labels(1) == math.inf


def test_hoeffding_by_hand() -> None:
    assert m.hoeffding_radius(2, delta=2 / math.e) == approx(0.5)
    assert m.hoeffding_radius(2, delta=2 / math.e, span=20) == approx(10)
    assert m.hoeffding_radius(10_000_000) == pytest.approx(0.000429, abs=1e-6)


# Against the reference and scikit-learn.


@given(rows(), st.floats(1e-9, 0.5))
def test_losses_equal_their_loops(case, floor) -> None:
    p, weight = case
    assert m.squared_loss(p) == approx(reference.squared_loss(p))
    assert m.squared_loss(p, sample_weight=weight) == approx(reference.squared_loss(p, weight))
    assert m.log_loss(p, floor=floor) == approx(reference.log_loss(p, floor))
    assert m.log_loss(p, sample_weight=weight) == approx(reference.log_loss(p, 1e-9, weight))


@given(distributions())
def test_brier_score_equals_its_loop_and_scikit_learn(case) -> None:
    columns, proba, weight = case
    expected = reference.brier_score(columns, proba, weight)
    assert m.brier_score(columns, proba, sample_weight=weight) == approx(expected)
    names = [f"label {column}" for column in range(proba.shape[1])]
    named = [names[column] for column in columns]
    assert m.brier_score(named, proba, labels=names, sample_weight=weight) == approx(expected)
    if proba.shape[1] > 2:  # with two labels scikit-learn counts one of them
        peer = sklearn.metrics.brier_score_loss(
            columns, proba, labels=range(proba.shape[1]), sample_weight=weight, scale_by_half=False
        )
        assert peer == approx(expected)


@given(distributions())
def test_log_loss_equals_scikit_learn(case) -> None:
    columns, proba, weight = case
    p_label = proba[np.arange(len(proba)), columns]
    peer = sklearn.metrics.log_loss(
        columns, proba, labels=range(proba.shape[1]), sample_weight=weight
    )
    assert m.log_loss(p_label, sample_weight=weight) == approx(peer)


@given(distributions(), st.integers(1, 6))
def test_brier_score_lies_between_its_bounds(case, k) -> None:
    columns, proba, weight = case
    top = -np.sort(-proba, axis=1)[:, :k]
    p_label = proba[np.arange(len(proba)), columns]
    exact = m.brier_score(columns, proba, sample_weight=weight)
    lower, upper = m.brier_from_top_k(p_label, top, sample_weight=weight)
    assert lower - 1e-12 <= exact <= upper + 1e-12
    if k >= proba.shape[1]:
        assert lower == approx(exact)
        assert upper == approx(exact)


@given(top_answers())
def test_top_k_accuracy_equals_its_loop(case) -> None:
    truth, top, _, weight = case
    assert m.top_k_accuracy(truth, top) == approx(reference.top_k_accuracy(truth, top))
    expected = reference.top_k_accuracy(truth, top, weight)
    assert m.top_k_accuracy(truth, top, sample_weight=weight) == approx(expected)


@given(top_answers(), st.integers(1, 20))
def test_calibration_equals_its_loop(case, n_bins) -> None:
    truth, top, p, weight = case
    top = np.array(top, dtype=object)
    pairs = reference.top_pairs(truth, top, p, weight)
    curve = m.reliability_curve(truth, top, p, n_bins=n_bins, sample_weight=weight)
    expected = np.array(reference.reliability_bins(pairs, n_bins)).T
    assert np.array([curve.mean_probability, curve.frequency, curve.count]) == approx(expected)
    error = m.expected_calibration_error(truth, top, p, n_bins=n_bins, sample_weight=weight)
    assert error == approx(reference.expected_calibration_error(pairs, n_bins))


# Invariants.


@given(top_answers(), st.randoms(use_true_random=False))
def test_calibration_does_not_depend_on_the_order_of_rows(case, random) -> None:
    shuffled = list(zip(*case, strict=True))
    random.shuffle(shuffled)
    curves = [
        m.reliability_curve(list(y), np.array(top, dtype=object), list(p), sample_weight=list(w))
        for y, top, p, w in (case, zip(*shuffled, strict=True))
    ]
    for name in ("mean_probability", "frequency", "count"):
        assert np.array_equal(getattr(curves[0], name), getattr(curves[1], name))


@given(top_answers())
def test_an_integer_weight_is_a_repeated_row(case) -> None:
    truth, top, p, _ = case
    times = np.arange(len(truth)) % 3 + 1
    top = np.array(top, dtype=object)
    weighted = m.expected_calibration_error(truth, top, p, sample_weight=times)
    again = np.repeat(np.arange(len(truth)), times)
    repeated = m.expected_calibration_error(np.array(truth)[again], top[again], np.array(p)[again])
    assert weighted == approx(repeated)
    assert m.top_k_accuracy(truth, top, sample_weight=times) == approx(
        m.top_k_accuracy(np.array(truth)[again], top[again])
    )


@given(st.lists(P, min_size=40, max_size=60, unique=True))
def test_bins_have_about_equal_mass(p) -> None:
    curve = m.reliability_curve([1] * len(p), [[1]] * len(p), np.array(p)[:, None], n_bins=7)
    assert len(curve.count) == 7
    assert curve.count.max() - curve.count.min() <= 1
    assert (np.diff(curve.mean_probability) > 0).all()


# Errors.

ONE = ([1], [[1]], [[0.5]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: m.squared_loss([]), r"the shape of p_label must be one without zeros, got \(0,\)"),
        (lambda: m.squared_loss(0.5), "the shape of p_label must be 1-dimensional"),
        (lambda: m.squared_loss([[0.5]]), "the shape of p_label"),
        (lambda: m.squared_loss([0.5, 1.5]), r"p_label\[1\] must be in \[0, 1\], got 1.5"),
        (lambda: m.squared_loss([-1e-9]), r"p_label\[0\] must be in"),
        (lambda: m.log_loss([math.nan]), r"p_label\[0\] must be in \[0, 1\], got nan"),
        (lambda: m.log_loss(["a"]), "p_label must be an array of numbers"),
        (lambda: m.log_loss([0.5], floor=1), r"floor must be in \[0, 1\), got 1"),
        (lambda: m.log_loss([0.5], floor=-1), "floor must be in"),
        (lambda: m.squared_loss([0.5], sample_weight=[1, 2]), "the length of sample_weight"),
        (lambda: m.squared_loss([0.5], sample_weight=[-1]), r"sample_weight\[0\] must be finite"),
        (lambda: m.squared_loss([0.5], sample_weight=[math.inf]), r"sample_weight\[0\] must be"),
        (lambda: m.squared_loss([0.5], sample_weight=[0]), "the sum of sample_weight must be > 0"),
        (lambda: m.squared_loss([0.5], sample_weight=[1e200]), "sum of squares of sample_weight"),
        (lambda: m.brier_score([0], [0.5]), "the shape of proba must be 2-dimensional"),
        (lambda: m.brier_score([0, 1], [[0.5, 0.5]]), "the length of y_true must be"),
        (lambda: m.brier_score([2], [[0.5, 0.5]]), r"y_true\[0\] must be in \[-1, n_labels=2\)"),
        (lambda: m.brier_score(["a"], [[0.5, 0.5]]), "the type of y_true must be integers"),
        (lambda: m.brier_score([0], [[0.5, 0.5]], labels=[0]), "the length of labels"),
        (lambda: m.brier_score([0], [[0.5, 0.5]], labels=[0, 0]), "labels must be different"),
        (lambda: m.brier_from_top_k([0.5], [[0.9, 0.9]]), "the sum of top_probabilities.0. must"),
        (lambda: m.brier_from_top_k([0.5], [[0.9]] * 2), "the length of top_probabilities"),
        (lambda: m.top_k_accuracy([1], np.zeros((1, 0), int)), "the shape of top_labels must be"),
        (lambda: m.top_k_accuracy([1], [1]), "the shape of top_labels must be 2-dimensional"),
        (lambda: m.top_k_accuracy([1, 2], [[1]]), "the length of top_labels must be"),
        (lambda: m.top_k_accuracy([1], [["1"]]), "must both be strings or both be integers"),
        (lambda: m.top_k_accuracy([1.0], [[1]]), "the type of y_true must be strings or integers"),
        (lambda: m.top_k_accuracy([None], [[None]]), "y_true must be strings or integers"),
        (lambda: m.top_k_accuracy([1, 2], [[1], [1, 2]]), "top_labels must be an array of labels"),
        (lambda: m.reliability_curve([1], [[1]], [[0.5, 0.5]]), "shape of top_probabilities"),
        (lambda: m.reliability_curve([1], [[1]], [[2.0]]), r"top_probabilities\[0, 0\] must be"),
        (lambda: m.reliability_curve([1], [[1]], [[np.nan]]), "an entry that is not padding"),
        (lambda: m.reliability_curve(*ONE, bins="equal"), "bins must be 'mass' or 'width'"),
        (lambda: m.reliability_curve(*ONE, n_bins=0), "n_bins must be an integer >= 1, got 0"),
        (lambda: m.expected_calibration_error(*ONE, n_bins=2.5), "n_bins must be an integer"),
        (lambda: m.hoeffding_radius(0), r"n must be a finite number > 0, got 0"),
        (lambda: m.hoeffding_radius(9, delta=0), r"delta must be in \(0, 1\), got 0"),
        (lambda: m.hoeffding_radius(9, delta=1), r"delta must be in \(0, 1\), got 1"),
        (lambda: m.hoeffding_radius(9, span=-1), r"span must be a finite number >= 0, got -1"),
        (lambda: m.equivalent_labels(1.1), r"squared_loss must be in \[0, 1\], got 1.1"),
        (lambda: m.equivalent_labels(math.nan), "squared_loss must be in"),
        (lambda: m.equivalent_labels("a"), "squared_loss must be in"),
    ],
)
def test_bad_arguments_are_named(call, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()
