"""The branch solver: optimal, exact about termination, between q and u.

Worked example -> agrees with a generic solver -> KKT conditions -> invariants -> errors.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import logsumexp
from tests.references.self_terminating import branch_posterior, relative_entropy, sibling_posteriors

from labeltrees.errors import ArgumentError
from labeltrees.models.self_terminating.branch import (
    solve_binary_branch,
    solve_branch,
    solve_siblings,
)


def random_problem(rng):
    """q, u and a penalty; often with zeros in q, equal ratios, or round numbers."""
    n = int(rng.integers(2, 9))
    q, u = rng.dirichlet(np.full(n, 0.5)), rng.dirichlet(np.ones(n))
    kind = rng.integers(5)
    if kind == 0:
        q[rng.integers(n)] = 0
    if kind == 1:
        q = np.round(8 * q) + (np.arange(n) == 0)
    if kind == 2:
        q, u = np.ceil(3 * q), np.ceil(3 * u)
    if kind == 3:
        q = u * rng.choice([0.5, 1.0, 2.0], size=n)
    return q / q.sum(), u / u.sum(), float(rng.uniform(0.01, 0.8))


def risk(q, u, alpha, penalty, bound):
    """The primal objective with max |alpha| replaced by a bound on it."""
    score = alpha + np.log(u)
    return -(q @ score) + logsumexp(score) + penalty * bound


def generic_minimum(q, u, penalty):
    n = len(q)
    low, high = np.hstack([-np.eye(n), np.ones((n, 1))]), np.hstack([np.eye(n), np.ones((n, 1))])
    rows = np.vstack([low, high])

    def value(x):
        return risk(q, u, x[:-1], penalty, x[-1])

    def slope(x):
        score = x[:-1] + np.log(u)
        return np.append(np.exp(score - logsumexp(score)) - q, penalty)

    found = minimize(
        value, np.append(np.zeros(n), 0.5), jac=slope, method="SLSQP",
        constraints={"type": "ineq", "fun": lambda x: rows @ x, "jac": lambda _: rows},
        options={"maxiter": 500, "ftol": 1e-13},
    )  # fmt: skip
    return found.fun


def test_three_labels_by_hand():
    # high: (.8 - .1) / .4 = 1.75; low: (0 + .1) / .3 = 1/3, and .2 lies between .1 and .525.
    solved = solve_branch([0.8, 0.2, 0.0], [0.4, 0.3, 0.3], 0.2)
    assert solved.p == pytest.approx([0.7, 0.2, 0.1], abs=1e-15)
    assert solved.theta == pytest.approx(0.5 * np.log(1.75 * 3), abs=1e-15)
    expected = 0.7 * np.log(1.75) + 0.2 * np.log(2 / 3) + 0.1 * np.log(1 / 3)
    assert solved.gain == pytest.approx(expected, abs=1e-15)


def test_a_thousand_problems_agree_with_a_generic_convex_solver():
    rng = np.random.default_rng(0)
    worst_gap = worst_excess = 0.0
    for i in range(1000):
        q, u, penalty = random_problem(rng)
        solved = solve_branch(q, u, penalty)
        primal = risk(q, u, solved.alpha, penalty, np.abs(solved.alpha).max())
        dual = -(q @ np.log(u)) - solved.gain
        worst_gap = max(worst_gap, abs(primal - dual))
        if i % 5 == 0:  # no gap is proof of a minimum; the solver knows nothing of our duality
            worst_excess = max(worst_excess, primal - generic_minimum(q, u, penalty))
    assert worst_gap < 1e-12  # strong duality, to rounding
    assert worst_excess < 1e-8


def test_the_optimality_conditions_hold():
    rng = np.random.default_rng(1)
    for _ in range(2000):
        q, u, penalty = random_problem(rng)
        p, alpha, theta, _ = solve_branch(q, u, penalty)
        assert p.sum() == pytest.approx(1, abs=1e-12)
        if theta == 0:
            continue
        assert np.abs(q - p).sum() == pytest.approx(penalty, abs=1e-12)
        assert np.all(np.abs(alpha) <= theta + 1e-12)
        assert alpha[q - p > 1e-12] == pytest.approx(theta, abs=1e-9)  # gamma > 0 in eq. (2)
        assert alpha[p - q > 1e-12] == pytest.approx(-theta, abs=1e-9)  # gamma < 0
        weights = u * np.exp(alpha)
        assert weights / weights.sum() == pytest.approx(p, abs=1e-12)


def test_a_branch_terminates_exactly_if_it_is_near():
    rng = np.random.default_rng(2)
    for _ in range(2000):
        # Eighths and sixteenths: distances are exact, and often equal to the penalty.
        q = rng.multinomial(8, np.ones(4) / 4) / 8
        u = (rng.multinomial(12, np.ones(4) / 4) + 1) / 16
        penalty = rng.integers(0, 32) / 16
        solved = solve_branch(q, u, penalty)
        assert solved.terminated == (np.abs(q - u).sum() <= penalty)
        if solved.terminated:
            assert np.array_equal(solved.p, u)
            assert solved.gain == 0


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_p_is_between_q_and_u_and_agrees_with_the_reference(seed):
    q, u, penalty = random_problem(np.random.default_rng(seed))
    solved = solve_branch(q, u, penalty)
    assert np.all(solved.p >= np.minimum(q, u) - 1e-15)
    assert np.all(solved.p <= np.maximum(q, u) + 1e-15)
    assert np.all(solved.p > 0)
    assert solved.p == pytest.approx(branch_posterior(q, u, penalty), abs=1e-12)
    assert solved.gain == pytest.approx(relative_entropy(solved.p, u), abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_gain_falls_with_the_penalty_and_p_moves_straight_to_u(seed):
    q, u, _ = random_problem(np.random.default_rng(seed))
    penalties = np.linspace(0, 2, 30)
    solved = [solve_branch(q, u, penalty) for penalty in penalties]
    gains = [s.gain for s in solved]
    assert np.all(np.diff(gains) <= 1e-12)
    assert np.all(np.diff(np.diff(gains)) >= -1e-12)  # convex
    assert np.all(np.diff([s.terminated for s in solved]) >= 0)
    away = np.array([np.abs(s.p - u) for s in solved])
    assert np.all(np.diff(away, axis=0) <= 1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.5]), st.sampled_from(["entropy", "gini"]))
def test_with_splits_and_given_edges_above_terminated_edges_are_nested(seed, power, criterion):
    # A branch and one of its own: p of the first moves by 1 / W1 per unit of the penalty, so what
    # the second is away from it grows by W2 / W1 < 1 at most, less than its penalty does.
    rng = np.random.default_rng(seed)
    upper = rng.integers(1, 40, size=int(rng.integers(2, 5))).astype(float)
    lower = np.maximum(rng.binomial(upper.astype(int), rng.random(len(upper))), [1, *upper[1:] * 0])
    if lower.sum() == upper.sum():
        return
    u = rng.dirichlet(np.ones(len(upper)))
    lasting = []
    for penalty in np.linspace(0.01, 1.2, 40) * upper.sum() ** (1 - power):
        prior, n_edges = u, 0
        for counts in (upper, lower):
            weight = counts.sum()
            solved = solve_branch(
                counts / weight, prior, penalty * weight ** (power - 1), criterion=criterion
            )
            if solved.terminated:
                break
            prior, n_edges = solved.p, n_edges + 1
        lasting.append(n_edges)
    assert np.all(np.diff(lasting) <= 0)


def random_siblings(rng):
    left, u, penalty = random_problem(rng)
    return left, rng.dirichlet(np.ones(len(u))), u, penalty, tuple(rng.uniform(0.5, 3, size=2))


@settings(max_examples=12, deadline=None)  # the reference searches in a search: 0.1 s an example
@given(st.integers(0, 2**32))
def test_siblings_under_one_penalty_agree_with_the_reference(seed):
    left, right, u, penalty, weights = random_siblings(np.random.default_rng(seed))
    solved = solve_siblings(left, right, u, penalty, weights=weights)
    expected = sibling_posteriors([weights[0] * left, weights[1] * right], u, penalty)
    for ours, p in zip(solved, expected, strict=True):
        assert ours.p == pytest.approx(p, abs=1e-9)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_siblings_share_one_penalty_and_are_optimal_for_their_shares(seed):
    left, right, u, penalty, weights = random_siblings(np.random.default_rng(seed))
    solved = solve_siblings(left, right, u, penalty, weights=weights)
    if np.abs(left - u).sum() > 1e-12:  # else it has nowhere to go
        assert solved[0].terminated == solved[1].terminated
    steep, flat = sorted(zip(solved, (left, right), strict=True), key=lambda pair: -pair[0].theta)
    if not np.allclose(flat[0].p, flat[1], atol=1e-9):  # else it got no share of the penalty
        assert steep[0].theta == pytest.approx(flat[0].theta, rel=1e-6, abs=1e-9)
    apart = [
        w * np.abs(q - s.p).sum() for w, q, s in zip(weights, (left, right), solved, strict=True)
    ]
    far = [w * np.abs(q - u).sum() for w, q in zip(weights, (left, right), strict=True)]
    assert sum(apart) == pytest.approx(min(penalty, sum(far)), abs=1e-9)
    for ours, q, w, share in zip(solved, (left, right), weights, apart, strict=True):
        assert ours.p == pytest.approx(branch_posterior(q, u, share / w), abs=1e-9)
        assert ours.gain == pytest.approx(w * relative_entropy(ours.p, u), abs=1e-9)


def test_the_binary_case_is_soft_thresholding():
    for q, u, penalty in [(0.9, 0.5, 0.1), (0.2, 0.6, 0.3), (0.5, 0.55, 0.1), (1.0, 0.5, 0.2)]:
        p, alpha = solve_binary_branch(q, u, penalty)
        expected = u if abs(q - u) <= penalty else q - np.sign(q - u) * penalty
        assert p == pytest.approx(expected, abs=1e-12)
        logit = np.log(p / (1 - p)) - np.log(u / (1 - u))
        assert alpha == pytest.approx(logit, abs=1e-9)


def test_without_a_penalty_p_is_q():
    solved = solve_branch([0.5, 0.5, 0.0], [0.2, 0.3, 0.5], 0.0)
    assert solved.p.tolist() == [0.5, 0.5, 0.0]
    assert solved.gain == pytest.approx(0.5 * np.log(2.5) + 0.5 * np.log(5 / 3))


def test_many_labels_take_no_longer_than_sorting_them():
    rng = np.random.default_rng(3)
    q, u = rng.dirichlet(np.full(20_000, 0.05)), rng.dirichlet(np.ones(20_000))
    solved = solve_branch(q, u, 0.3)
    assert solved.p.sum() == pytest.approx(1, abs=1e-9)
    assert np.abs(q - solved.p).sum() == pytest.approx(0.3, abs=1e-9)


@pytest.mark.parametrize(
    ("q", "u", "penalty", "message"),
    [
        ([0.5, 0.6], [0.5, 0.5], 0.1, "q must be a distribution"),
        ([1.5, -0.5], [0.5, 0.5], 0.1, "q must be a distribution"),
        ([0.5, 0.5], [0.5, np.nan], 0.1, "u must be a distribution"),
        ([0.5, 0.5], [1.0], 0.1, "q has 2 entries, but u has 1"),
        ([], [], 0.1, "q must be a distribution"),
        ([0.5, 0.5], [0.5, 0.5], -1, "penalty must be a finite number >= 0, got -1"),
        ([0.5, 0.5], [0.5, 0.5], np.nan, "penalty must be a finite number >= 0"),
        ([0.5, 0.5], [0.0, 1.0], 0.1, "labels with u = 0 have 0.5 of q"),
    ],
)
def test_bad_problems_are_refused(q, u, penalty, message):
    with pytest.raises(ArgumentError, match=message):
        solve_branch(q, u, penalty)


def test_a_label_without_prior_keeps_none_if_the_penalty_allows():
    solved = solve_branch([0.1, 0.5, 0.4], [0.0, 0.4, 0.6], 0.5)
    assert solved.p[0] == 0
    assert solved.p.sum() == pytest.approx(1, abs=1e-12)
