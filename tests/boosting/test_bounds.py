"""`models/boosting/bounds.py`: the theorems' numbers, and that nature keeps to them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.references import boosting_bounds as reference

from labeltrees.errors import ArgumentError
from labeltrees.models.boosting import bounds

SLACKS = st.floats(0.01, 0.99)
DELTAS = st.floats(1e-6, 0.99)
ROWS = st.integers(8, 10**12)
SHARES = st.floats(0, 1)

# The numbers.


@given(SHARES, ROWS, st.integers(1, 10**6), st.floats(0, 1e9), SLACKS, DELTAS)
def test_theorem_4_is_the_proofs_last_display(exceed, n, k, size, slack, delta):
    found = bounds.finite_class_bound(
        exceed, n_rows=n, n_labels=k, log_hypotheses=size, slack=slack, delta=delta
    )
    assert found == pytest.approx(reference.theorem_4(exceed, n, k, size, slack, delta), rel=1e-9)


@given(SHARES, ROWS, st.integers(1, 1000), st.floats(1, 1e6), SLACKS, DELTAS)
def test_theorem_6_is_the_proofs_last_display(exceed, n, k, d, slack, delta):
    found = bounds.infinite_class_bound(
        exceed, n_rows=n, n_labels=k, dimension=d, slack=slack, delta=delta
    )
    if d * slack > 32 * n * k:
        assert found == math.inf
    else:
        assert found == pytest.approx(reference.theorem_6(exceed, n, k, d, slack, delta), rel=1e-9)


@given(st.floats(0.01, 1), st.integers(20_000, 10**12), st.floats(0, 1e6))
def test_theorem_7_is_its_factors(epsilon, n, d):
    found = bounds.log_risk_deviation(epsilon, n_rows=n, dimension=d)
    assert found == pytest.approx(reference.theorem_7(epsilon, n, d), rel=1e-9, abs=1e-6)


@given(st.integers(10**5, 10**15), st.floats(1e-4, 0.5), st.floats(0.1, 2), st.floats(0, 2), DELTAS)
def test_the_risk_bound_is_where_theorem_7_meets_delta(n, L, diameter, ddim, delta):
    space = {"lipschitz": L, "diameter": diameter, "doubling_dimension": ddim}

    def deviation(epsilon):
        dimension = bounds.lipschitz_dimension(epsilon / 24, **space)
        return bounds.log_risk_deviation(epsilon, n_rows=n, dimension=dimension)

    found = bounds.risk_bound(0.25, n_rows=n, delta=delta, **space) - 0.25
    if found == math.inf:
        assert deviation(1.0) > math.log(delta)
    else:
        assert deviation(min(1.0, found * (1 + 1e-9))) <= math.log(delta) + 1e-6 * n
        assert deviation(found * (1 - 1e-6)) > math.log(delta)


# What they say is true.


def sums(rng, vectors, n_terms, n_draws):
    chosen = rng.integers(len(vectors), size=(n_draws, n_terms))
    return np.abs(vectors[chosen].sum(axis=1)).sum(axis=1)


@pytest.mark.parametrize("k", [2, 16, 256])
def test_corollary_3_and_theorem_8_hold_for_random_vectors(k):
    rng = np.random.default_rng(k)
    n = 200
    vectors = rng.choice([-1.0, 1.0], size=(100, k)) * rng.random((100, k)) / k
    vectors = np.concatenate([vectors, -vectors])  # mean 0, l1 norm below 1, entries below 1 / k
    lengths = sums(rng, vectors, n, 400)
    assert lengths.mean() <= bounds.norm_of_sum_bound(n, smoothness=1.0)
    assert reference.theorem_8(vectors)(n) <= bounds.norm_of_sum_bound(n, smoothness=1.0)
    for t in np.quantile(lengths, [0.5, 0.9, 1.0]):
        assert (lengths >= t).mean() <= bounds.norm_of_sum_tail(t, n_terms=n, n_labels=k)


def test_without_smoothness_the_sum_grows_with_n():
    """The example before Theorem 8: unit vectors of either sign, far more labels than terms."""
    rng = np.random.default_rng(0)
    n, k = 20, 2000
    columns, signs = rng.integers(k, size=(50, n)), rng.choice([-1, 1], size=(50, n))
    total = np.zeros((50, k))
    np.add.at(total, (np.arange(50)[:, np.newaxis], columns), signs)
    assert np.abs(total).sum(axis=1).mean() > 0.97 * n
    assert bounds.norm_of_sum_bound(n, smoothness=float(k)) > n


def test_theorem_4_holds_where_all_mixtures_can_be_tried():
    """Two learners, so mixtures are one number; rows enough for the bound to say something."""
    rng = np.random.default_rng(0)
    n, slack = 200_000, 0.9
    truth, guess = rng.random(n), rng.random((2, n))
    for weight in np.linspace(0, 1, 11):
        errors = np.abs(weight * guess[0] + (1 - weight) * guess[1] - truth)
        exceed = float((errors > 0.05).mean())
        bound = bounds.finite_class_bound(
            exceed, n_rows=n, n_labels=2, log_hypotheses=math.log(2), slack=slack
        )
        assert (errors > 0.05 + slack).mean() < bound
    assert bounds.finite_class_bound(
        0.0, n_rows=n, n_labels=2, log_hypotheses=math.log(2), slack=slack
    ) == pytest.approx(0.081, abs=1e-3)


@given(st.floats(0.05, 1), st.floats(0.1, 30), st.floats(0.1, 30))
def test_no_more_points_of_a_line_are_apart_than_the_dimension_says(scale, L, diameter):
    points = np.linspace(0, diameter, 2001)
    apart = reference.packing(points, scale / L * (1 + 1e-9))
    dimension = bounds.lipschitz_dimension(
        scale, lipschitz=L, diameter=diameter, doubling_dimension=1.0
    )
    assert len(apart) <= max(2, dimension)


# Invariants.


@given(SHARES, st.integers(8, 10**9), st.integers(1, 1000), st.floats(1, 1e5), SLACKS)
def test_more_rows_fewer_learners_and_more_slack_never_raise_a_bound(exceed, n, k, size, slack):
    facts = {"n_rows": n, "n_labels": k, "slack": slack}
    bound = bounds.finite_class_bound(exceed, log_hypotheses=size, **facts)
    assert bound > exceed
    assert bounds.finite_class_bound(exceed, log_hypotheses=size / 2, **facts) <= bound
    more = facts | {"n_rows": 4 * n}
    assert bounds.finite_class_bound(exceed, log_hypotheses=size, **more) <= bound
    easier = facts | {"slack": (1 + slack) / 2}
    assert bounds.finite_class_bound(exceed, log_hypotheses=size, **easier) <= bound
    smooth = bounds.finite_class_bound(exceed, log_hypotheses=size, smoothness=1.0, **facts)
    many = bounds.finite_class_bound(
        exceed, log_hypotheses=size, smoothness=1.0, **facts | {"n_labels": 10**9}
    )
    assert smooth == many <= bound * (1 + 1e-12) + 1e-12


def test_theorem_7_as_printed_would_say_nothing():
    with_factor = bounds.log_risk_deviation(0.5, n_rows=10**8, dimension=2.0)
    assert with_factor < 0 < with_factor + 0.25 * 10**8 / 36


@pytest.mark.parametrize("space", [{}, {"lipschitz": 1e9, "doubling_dimension": 1e6}])
def test_what_cannot_be_promised_is_infinite(space):
    assert bounds.log_risk_deviation(0.1, n_rows=100, dimension=1.0) == math.inf
    usual = {"lipschitz": 1.0, "diameter": 1.0, "doubling_dimension": 3.0}
    assert bounds.risk_bound(0.1, n_rows=1000, **(usual | space)) == math.inf


FINITE = {"n_rows": 100, "n_labels": 3, "log_hypotheses": 1.0, "slack": 0.1}
INFINITE = {"n_rows": 100, "n_labels": 3, "dimension": 2.0, "slack": 0.1}
SPACE = {"lipschitz": 1.0, "diameter": 1.0, "doubling_dimension": 1.0}


@pytest.mark.parametrize(
    ("function", "first", "options", "message"),
    [
        ("finite_class_bound", 1.5, FINITE, r"exceed must be .*\[0, 1\], got 1.5"),
        ("finite_class_bound", 0.5, FINITE | {"n_rows": 7}, "n_rows must be an integer >= 8"),
        ("finite_class_bound", 0.5, FINITE | {"log_hypotheses": -1.0}, "log_hypotheses must be"),
        ("finite_class_bound", 0.5, FINITE | {"slack": 0}, "slack must be"),
        ("finite_class_bound", 0.5, FINITE | {"delta": 1}, "delta must be"),
        ("finite_class_bound", 0.5, FINITE | {"smoothness": 0.0}, "smoothness must be"),
        ("infinite_class_bound", 0.5, INFINITE | {"dimension": 0.5}, "dimension must be"),
        ("infinite_class_bound", 0.5, INFINITE | {"n_labels": 0}, "n_labels must be"),
        ("lipschitz_dimension", 0.0, SPACE, "scale must be"),
        ("lipschitz_dimension", 0.1, SPACE | {"lipschitz": -1.0}, "lipschitz must be"),
        ("log_risk_deviation", 2.0, {"n_rows": 9, "dimension": 1.0}, "epsilon must be"),
        ("risk_bound", 0.1, SPACE | {"n_rows": 1}, "n_rows must be"),
        ("risk_bound", math.nan, SPACE | {"n_rows": 9}, "risk must be"),
        ("norm_of_sum_bound", 0, {"smoothness": 1.0}, "n_terms must be"),
        ("norm_of_sum_tail", -1.0, {"n_terms": 1, "n_labels": 1}, "t must be"),
    ],
)
def test_arguments_out_of_range_are_named(function, first, options, message):
    with pytest.raises(ArgumentError, match=message):
        getattr(bounds, function)(first, **options)
