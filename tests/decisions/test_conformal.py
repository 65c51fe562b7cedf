"""ConformalSets keeps the coverage it promises, by simulation, and has the reference's threshold;
rows one by one, all at once and after reading it again are the same.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.references import decisions as reference

from labeltrees.decisions import ConformalSets, labels_at
from labeltrees.errors import ArgumentError

KINDS = ["labels", "rows"]


def drawn(rng, n_rows, n_labels=6, power=3.0):
    """Return probabilities that are wrong (squared) and truth."""
    p = rng.random((n_rows, n_labels)) ** power
    return p**2, rng.random(p.shape) < p


@st.composite
def problems(draw):
    n_rows, n_labels = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    chances = st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.9, 1.0])
    P = np.array([[draw(chances) for _ in range(n_labels)] for _ in range(n_rows)])
    truth = np.array([[draw(st.booleans()) for _ in range(n_labels)] for _ in range(n_rows)])
    unknown = np.array([draw(st.sampled_from([0, 0, 0, 2])) for _ in range(n_rows)])
    return P, truth, unknown


@given(problems(), st.sampled_from(KINDS), st.sampled_from([0.5, 0.7, 0.9]))
def test_the_threshold_is_the_highest_that_keeps_the_bound(problem, kind, coverage):
    P, truth, unknown = problem
    sets = ConformalSets(coverage, kind=kind).update(P, truth, unknown=unknown)
    wanted = reference.conformal_threshold(P, truth, 1 - coverage, kind, unknown)
    assert sets.threshold == wanted
    assert sets.guaranteed == (wanted > 0)
    assert (sets.predict(P) != labels_at(P, wanted)).nnz == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n_rows", "coverage"), [(30, 0.9), (99, 0.8)])
def test_new_rows_are_covered_as_often_as_promised_and_hardly_more(kind, n_rows, coverage):
    rng = np.random.default_rng(7)
    kept = []
    for _ in range(400):
        P, truth = drawn(rng, n_rows + 200)
        sets = ConformalSets(coverage, kind=kind).calibrate(P[:n_rows], truth[:n_rows])
        new = slice(n_rows, None)
        none = np.zeros(200, dtype=int)
        kept.append(1 - reference.mean_loss(P[new], truth[new], sets.threshold, kind, none))
    # The mean of 400 independent calibrations, four standard errors.
    error = 4 * np.std(kept) / np.sqrt(len(kept))
    assert np.mean(kept) >= coverage - error
    # A step of the loss is at most one row: the bound is tight up to 2 / (n + 1) for either kind.
    assert np.mean(kept) <= coverage + 2 / (n_rows + 1) + error


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("step", [0.0, 0.05])
@pytest.mark.parametrize("window", [None, 20])
def test_one_by_one_is_all_at_once_and_goes_on_after_reading(kind, step, window):
    rng = np.random.default_rng(3)
    P, truth = drawn(rng, 120)
    P = P.round(1)  # many ties
    unknown = rng.integers(0, 2, 120) * (rng.random(120) < 0.1)
    whole = ConformalSets(0.8, kind=kind, step=step, window=window)
    whole.update(P, truth, unknown=unknown)
    parts = ConformalSets(0.8, kind=kind, step=step, window=window)
    for row in range(120):
        parts.update(P[[row]], truth[[row]], unknown=unknown[[row]])
        if row % 50 == 7:
            parts = ConformalSets.from_dict(json.loads(json.dumps(parts.to_dict())))
    assert parts.to_dict() == whole.to_dict()
    assert parts.threshold == whole.threshold
    assert whole.n_rows == (window or 120)
    for a, b in ((parts._rows._p, whole._rows._p), (parts._rows._share, whole._rows._share)):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("kind", KINDS)
def test_sets_that_adapt_keep_their_coverage_while_the_model_gets_worse(kind):
    rng = np.random.default_rng(5)
    step, coverage, n_rows = 0.05, 0.8, 600
    sets = ConformalSets(coverage, kind=kind, step=step, window=100)
    still = ConformalSets(coverage, kind=kind)
    losses, lost_still, none = [], [], np.zeros(1, dtype=int)
    for row in range(n_rows):
        P, truth = drawn(rng, 1)
        P = np.maximum(P if row < 200 else P**3, 1e-9)  # overconfident from here on
        for each, lost in ((sets, losses), (still, lost_still)):
            lost.append(reference.mean_loss(P, truth, max(each.threshold, 1e-12), kind, none))
            each.update(P, truth)
    # The bound holds for every sequence: there is no tolerance but rounding.
    assert np.mean(losses) <= 1 - coverage + (1 - coverage + step) / (step * n_rows) + 1e-9
    assert np.mean(lost_still[200:300]) > 1 - coverage + 0.05
    assert np.mean(losses[200:]) < np.mean(lost_still[200:])


def test_labels_without_a_probability_count_as_missed():
    P, truth = np.full((40, 2), 0.5), np.array([[1, 0]] * 40)
    sure = ConformalSets(0.9).calibrate(P, truth)
    assert sure.threshold == 0.5
    half = np.arange(40) % 2
    with pytest.raises(ArgumentError, match=r"coverage must be at most 0.731707, which 40 rows"):
        sure.calibrate(P, truth, unknown=half)
    assert sure.threshold == 0.5  # nothing has changed
    unsure = ConformalSets(0.9).update(P, truth, unknown=half)
    assert (unsure.threshold, unsure.guaranteed) == (0, False)
    assert unsure.predict([[0.001, 0]]).toarray().tolist() == [[1, 0]]


def test_rows_without_labels_are_covered():
    sets = ConformalSets(0.9, kind="rows").calibrate(np.full((20, 1), 0.5), np.zeros((20, 1)))
    assert sets.threshold == 1.0
    mixed = np.array([[1]] + [[0]] * 19)
    assert ConformalSets(0.9).calibrate(np.full((20, 1), 0.5), mixed).threshold == 1.0


def test_labels_that_never_come_do_not_wind_the_risk_up():
    sets = ConformalSets(0.9, step=0.05)
    sets.update(np.full((300, 1), 0.5), np.zeros((300, 1)), unknown=np.ones(300, dtype=int))
    assert sets.risk == -0.05
    sets.update(np.full((300, 1), 0.5), np.zeros((300, 1)))
    assert sets.risk == 1.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"coverage": 1}, r"coverage must be in \(0, 1\), got 1"),
        ({"kind": "pairs"}, "kind must be 'labels' or 'rows', got 'pairs'"),
        ({"step": -1}, r"step must be in \[0, 1\], got -1"),
        ({"window": 0}, "window must be an integer >= 1, got 0"),
    ],
)
def test_parameters_out_of_range_are_refused(arguments, words):
    with pytest.raises(ArgumentError, match=words):
        ConformalSets(**arguments)


@pytest.mark.parametrize(
    ("truth", "unknown", "words"),
    [
        ([[1]], None, r"the shape of truth must be \(1, 2\), the shape of P, got \(1, 1\)"),
        ([[1, -1]], None, r"truth\[0, 1\] must be finite and >= 0, got -1.0"),
        ([[1, 0]], [1, 2], r"the shape of unknown must be \(n_rows=1,\), got \(2,\)"),
        ([[1, 0]], [-1], r"unknown\[0\] must be in \[0, 2\^31 - 1\], got -1"),
        ([[1, 0]], [0.5], "the type of unknown must be integers, got 'float64'"),
    ],
)
def test_bad_rows_are_refused_and_change_nothing(truth, unknown, words):
    sets = ConformalSets(0.5).update([[0.5, 0.1]], [[1, 0]])
    before = sets.to_dict()
    for method in (sets.update, sets.calibrate):
        with pytest.raises(ArgumentError, match=words):
            method([[0.5, 0.1]], truth, unknown=unknown)
    assert sets.to_dict() == before


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"risk": 3},
        {"risk": float("nan")},
        {"rows": None},
        {"rows": [[[0.5]]]},
        {"rows": [[[0.5], [0.5, 0.5]]]},
        {"rows": [[[2.0], [1.0]]]},
        {"rows": [[[0.5, 0.4], [0.5, 0.5]]]},
        {"rows": [[[0.5], [float("nan")]]]},
        {"rows": [[["a"], [1.0]]]},
        {"more": 1},
    ],
)
def test_a_damaged_state_is_refused(change):
    state = ConformalSets(0.5).update([[0.5, 0.1]], [[1, 0]]).to_dict()
    with pytest.raises(ArgumentError, match="state"):
        ConformalSets.from_dict(state | change)
    with pytest.raises(ArgumentError, match="state must be a dict"):
        ConformalSets.from_dict([state])
