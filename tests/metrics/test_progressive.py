"""Progressive validation keeps the scores of a stream, however the stream is cut into updates,
and of its last part and its blocks, cut exactly where they begin and end.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.references import metrics as reference

from labeltrees.errors import ArgumentError
from labeltrees.metrics import (
    ProgressiveSummary,
    ProgressiveValidation,
    expected_calibration_error,
    hoeffding_radius,
)

P = st.floats(0, 1)
ROW = st.tuples(P, st.booleans(), P, st.booleans(), st.sampled_from([0.0, 0.3, 1.0, 2.5]))
STREAM = st.lists(ROW, max_size=40)


def feed(stream: ProgressiveValidation, rows) -> None:
    p, correct, p_top, is_new, weight = zip(*rows, strict=True) if rows else [()] * 5
    stream.update(p, correct, p_top, is_new=is_new, sample_weight=weight)


def assert_scores(actual, rows, floor: float = 1e-9) -> None:
    expected = reference.stream_scores(rows, floor)
    for name in ("n_rows", "n_new_labels"):
        assert getattr(actual, name) == expected[name]
    for name in ("squared_loss", "log_loss", "log_loss_seen", "accuracy"):
        value = expected.get(name)
        found = getattr(actual, name)
        assert found is value is None or found == pytest.approx(value, rel=1e-12, abs=1e-12)


def test_worked_example_by_hand() -> None:
    stream = ProgressiveValidation(n_expected=5, tail_fraction=0.4, block_size=2, floor=0.01)
    stream.update([0, 0.5], [False, True], [0.6, 0.5], is_new=[True, False])
    stream.update([1, 0.5, 0], [True, False, False], [1, 0.5, 0.2], is_new=[False, False, True])
    summary = stream.summary()
    assert stream.n_rows == summary.n_rows == 5
    assert summary.n_new_labels == 2
    assert summary.squared_loss == pytest.approx((1 + 0.25 + 0 + 0.25 + 1) / 5)
    assert summary.squared_loss_radius == hoeffding_radius(5)
    assert summary.equivalent_labels == pytest.approx(1 / (1 - math.sqrt(0.5)))
    assert summary.log_loss == pytest.approx((2 * math.log(2) + 2 * math.log(100)) / 5)
    assert summary.log_loss_radius == hoeffding_radius(5, span=-math.log(0.01))
    assert summary.log_loss_seen == pytest.approx(2 * math.log(2) / 3)
    assert (summary.accuracy, summary.accuracy_radius) == (0.4, hoeffding_radius(5))
    # Cells in order: .2 wrong; .5 right and .5 wrong; .6 wrong; 1 right.
    assert summary.calibration_error == pytest.approx((0.2 + 0 + 0.6 + 0) / 5)
    assert summary.tail is not None
    assert (summary.tail.n_rows, summary.tail.accuracy, summary.tail.n_new_labels) == (2, 0, 1)
    assert summary.tail.squared_loss == pytest.approx(1.25 / 2)
    assert [point.n_rows for point in summary.curve] == [2, 4, 5]
    assert [point.accuracy for point in summary.curve] == [0.5, 0.5, 0]
    assert [point.squared_loss for point in summary.curve] == pytest.approx([0.625, 0.125, 1])


@given(STREAM, st.integers(1, 9), st.integers(1, 50), st.floats(0.01, 1))
def test_scores_equal_their_loops(rows, block_size, n_expected, fraction) -> None:
    stream = ProgressiveValidation(
        block_size=block_size, n_expected=n_expected, tail_fraction=fraction
    )
    feed(stream, rows)
    summary = stream.summary()
    assert_scores(summary, rows)
    assert_scores(summary.tail, rows[n_expected - max(1, round(fraction * n_expected)) :])
    blocks = [rows[i : i + block_size] for i in range(0, len(rows), block_size)]
    assert len(summary.curve) == len(blocks)
    for i, (point, block) in enumerate(zip(summary.curve, blocks, strict=True)):
        assert point.n_rows == min((i + 1) * block_size, len(rows))
        expected = reference.stream_scores(block, 1e-9)
        for name in ("squared_loss", "log_loss", "accuracy"):
            value = expected.get(name)
            assert getattr(point, name) == (value and pytest.approx(value, rel=1e-12, abs=1e-12))


def flatten(value) -> list[float | None]:
    if isinstance(value, dict):
        return [x for item in value.values() for x in flatten(item)]
    if isinstance(value, list):
        return [x for item in value for x in flatten(item)]
    return [value]


@given(STREAM, st.lists(st.integers(0, 40), max_size=6), st.integers(1, 9))
def test_the_cuts_between_updates_do_not_matter(rows, cuts, block_size) -> None:
    whole = ProgressiveValidation(block_size=block_size, n_expected=30)
    feed(whole, rows)
    pieces = ProgressiveValidation(block_size=block_size, n_expected=30)
    borders = [0, *sorted(cuts), len(rows)]
    for start, stop in itertools.pairwise(borders):
        feed(pieces, rows[start:stop])
    one, other = flatten(whole.summary().to_dict()), flatten(pieces.summary().to_dict())
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        assert a is b is None or a == pytest.approx(b, rel=1e-12, abs=1e-12)


def test_terms_too_small_for_the_sum_are_not_lost() -> None:
    stream = ProgressiveValidation()
    stream.update([0.0], sample_weight=[2.0**53])
    for _ in range(1000):
        stream.update([1.0], sample_weight=[1.0])  # each alone would vanish next to 2^53
    assert stream.summary().squared_loss == 2.0**53 / (2.0**53 + 1000)


def test_calibration_is_near_that_of_the_exact_bins() -> None:
    rng = np.random.default_rng(3)
    p = rng.beta(0.5, 2, size=5000)
    correct = rng.random(5000) < p**1.5
    stream = ProgressiveValidation()
    stream.update(np.where(correct, p, 0), correct, p)
    exact = expected_calibration_error(correct.astype(int), np.ones((5000, 1), int), p[:, None])
    # Cells are 0.001 wide, and at most one cell's rows move across each of 14 borders.
    assert stream.summary().calibration_error == pytest.approx(exact, abs=0.005)


def test_known_parts_only() -> None:
    stream = ProgressiveValidation()
    empty = stream.summary()
    assert empty.squared_loss is empty.accuracy is empty.calibration_error is empty.tail is None
    assert empty.equivalent_labels is empty.squared_loss_radius is None
    stream.update([])
    stream.update([0.5, 0.0])
    stream.update([0.5], [True])
    summary = stream.summary()
    assert (summary.n_rows, summary.accuracy, summary.calibration_error) == (3, 1.0, None)
    assert summary.accuracy_radius == hoeffding_radius(1)
    assert summary.log_loss_seen == summary.log_loss


def test_summary_is_json_without_nan() -> None:
    stream = ProgressiveValidation(n_expected=10)
    stream.update([0.0], [False], [0.5], is_new=[True])
    summary = stream.summary()
    assert summary.equivalent_labels == math.inf
    text = json.dumps(summary.to_dict(), allow_nan=False)
    content = json.loads(text)
    assert content["equivalent_labels"] is content["log_loss_seen"] is None
    assert content["tail"]["n_rows"] == 0
    assert content["tail"]["squared_loss"] is None
    assert content["curve"][0]["n_rows"] == 1
    assert (content["delta"], content["floor"]) == (0.05, 1e-9)
    with pytest.raises(dataclasses.FrozenInstanceError):
        summary.n_rows = 2
    assert isinstance(summary, ProgressiveSummary)


def test_weights_widen_the_interval() -> None:
    stream = ProgressiveValidation()
    stream.update([0.5] * 4, sample_weight=[1, 1, 1, 3])
    assert stream.summary().squared_loss_radius == pytest.approx(hoeffding_radius(36 / 12))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.update([1.5]), r"p_label\[0\] must be in \[0, 1\]"),
        (lambda s: s.update([math.nan]), r"p_label\[0\] must be in \[0, 1\], got nan"),
        (lambda s: s.update(0.5), "the shape of p_label"),
        (lambda s: s.update([0.5], [True, False]), "the length of correct must be"),
        (lambda s: s.update([0.5], [2]), r"correct\[0\] must be 0 or 1, got 2.0"),
        (lambda s: s.update([0.5], [True], [0.5, 0.5]), "the length of p_top"),
        (lambda s: s.update([0.5], [True], [-1]), r"p_top\[0\] must be in"),
        (lambda s: s.update([0.5], None, [0.5]), "correct must be given with p_top"),
        (lambda s: s.update([0.5], is_new=[]), "the length of is_new"),
        (lambda s: s.update([0.5], sample_weight=[-1]), r"sample_weight\[0\] must be"),
        (lambda _: ProgressiveValidation(n_expected=0), "n_expected must be an integer >= 1"),
        (lambda _: ProgressiveValidation(tail_fraction=0), r"tail_fraction must be in \(0, 1\]"),
        (lambda _: ProgressiveValidation(block_size=0), "block_size must be an integer >= 1"),
        (lambda _: ProgressiveValidation(floor=0), r"floor must be in \(0, 1\), got 0"),
        (lambda _: ProgressiveValidation(delta=1), r"delta must be in \(0, 1\), got 1"),
    ],
)
def test_bad_arguments_are_named_and_change_nothing(call, message: str) -> None:
    stream = ProgressiveValidation()
    stream.update([0.5], [True], [0.5])
    before = stream.summary()
    with pytest.raises(ArgumentError, match=message):
        call(stream)
    assert stream.summary() == before


@given(STREAM, STREAM)
def test_a_stream_goes_on_from_its_state_to_the_last_bit(before, after):
    whole = ProgressiveValidation(n_expected=20, block_size=3, max_points=4)
    feed(whole, before)
    restored = ProgressiveValidation.from_state(json.loads(json.dumps(whole.state())))
    for stream in (whole, restored):
        feed(stream, after)
    assert restored.summary() == whole.summary()
    assert restored.state() == whole.state()


def test_the_curve_keeps_few_points_of_a_long_stream():
    stream = ProgressiveValidation(block_size=10, max_points=8)
    for step in range(100):
        stream.update(np.full(7, step / 100), np.full(7, step % 2 == 0))
    points = stream.summary().curve
    assert len(points) <= 9
    assert points[-1].n_rows == 700
    assert stream.block_size in (80, 160)
    whole = stream.summary().squared_loss
    ends = [0, *(point.n_rows for point in points)]
    weighed = sum(
        point.squared_loss * (end - begin)
        for point, (begin, end) in zip(points, itertools.pairwise(ends), strict=True)
    )
    assert weighed / 700 == pytest.approx(whole)


@pytest.mark.parametrize(
    "change",
    [
        {"sums": []},
        {"sums": [[1, 0, [0] * 9, [0] * 9]] * 2},
        {"sums": [[1, 0, [math.nan] * 9, [0] * 9]] * 3},
        {"sums": [[-1, 0, [0] * 9, [0] * 9]] * 3},
        {"cells": [[[1000], [0] * 3, [0] * 3]] * 2},
        {"cells": [[[1], [0] * 2, [0] * 3]] * 2},
        {"points": [[1, 2]]},
        {"points": [["a", 0, 0, 0]]},
        {"floor": 0},
        {"tail_start": "x"},
    ],
)
def test_a_forged_state_is_refused(change):
    with pytest.raises(ArgumentError):
        ProgressiveValidation.from_state(ProgressiveValidation().state() | change)
    with pytest.raises(ArgumentError):
        ProgressiveValidation.from_state([change])
