"""Boosting itself: the paper's figure and Theorem 1, whatever the base learner does.

Worked example -> agreement with tests/reference_adacond.py -> Theorem 1 and other invariants ->
boundaries.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.references import boosting as reference

from labeltrees.errors import ModelFormatError
from labeltrees.models.boosting.rounds import (
    BoostingRecord,
    Fitted,
    boost,
    choose_eta,
    mixture_weights,
)

NORMS = {
    "total variation": lambda c, p: np.abs(c - p).sum(axis=1) / 2,
    "Chebyshev": lambda c, p: np.abs(c - p).max(axis=1),
    "Euclid": lambda c, p: np.sqrt(((c - p) ** 2).sum(axis=1) / 2),
}


@st.composite
def problems(draw):
    """Targets, and base learners that are wrong at random: mildly, wildly, or where it hurts."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, n_labels = draw(st.integers(1, 25)), draw(st.integers(2, 5))
    targets = rng.dirichlet(np.full(n_labels, draw(st.sampled_from([0.1, 1.0, 10.0]))), size=n)
    noise = draw(st.sampled_from([0.01, 0.1, 0.5, 1.0]))
    adversarial = draw(st.booleans())

    def fit(number, weights):
        assert 0 <= weights.min() <= weights.max() <= 1 + 1e-9
        guess = rng.dirichlet(np.ones(n_labels), size=n)
        share = noise * rng.random((n, 1))
        if adversarial:  # wrong where the weights are small: what costs it least
            share = noise * (weights[:, None] <= np.median(weights))
        return (1 - share) * targets + share * guess

    return fit, targets, draw(st.floats(0.02, 0.98))


def run(fit, targets, eta, n_rounds, norm=NORMS["total variation"], start=None):
    start = np.full(len(targets), 1 / len(targets)) if start is None else start

    def fitted(number, weights):
        answers = fit(number, weights)
        return Fitted(answers, answers)

    return boost(fitted, lambda c: norm(c, targets), start, eta=eta, n_rounds=n_rounds)


# A worked example.


def test_two_rounds_by_hand():
    # Errors .4 and .2 with weights 1/2: eps = .3. eta = .5: beta = .3 / .7. The new weights are to
    # each other as beta^.6 to beta^.8.
    targets = np.array([[1.0, 0.0], [1.0, 0.0]])
    answers = np.array([[0.6, 0.4], [0.8, 0.2]])
    seen = []

    def fit(number, weights):
        seen.append(weights)
        return answers

    record = run(fit, targets, 0.5, 2).record
    beta = 0.3 / 0.7
    assert record.errors[0] == pytest.approx(0.3)
    assert np.exp(record.log_betas[0]) == pytest.approx(beta)
    assert seen[1][0] / seen[1][1] == pytest.approx(beta**-0.2)
    assert record.bound[0] == pytest.approx(0.3 * 0.7 / math.sqrt(0.15 * 0.35))
    assert record.exceed.tolist() == [0.0, 0.0]
    assert record.stop_reason.startswith("n_rounds")


# Agreement with the reference.


@settings(max_examples=60)
@given(problems(), st.integers(1, 12))
def test_every_number_agrees_with_the_reference(problem, n_rounds):
    fit, targets, eta = problem
    answers = [fit(t, np.full(len(targets), 1 / len(targets))) for t in range(n_rounds)]
    kept, betas, errors, reason = reference.adacond(lambda t, w: answers[t], targets, eta, n_rounds)
    boosted = run(lambda t, w: answers[t], targets, eta, n_rounds)
    record = boosted.record
    assert record.stop_reason.startswith(reason)
    if reason == "perfect" or betas == [math.inf]:
        assert np.array_equal(boosted.members[-1], kept[0])
        return
    assert record.errors == pytest.approx(np.array(errors), rel=1e-9)
    assert np.exp(record.log_betas) == pytest.approx(np.array(betas), rel=1e-9)
    assert record.bound[-1] == pytest.approx(reference.bound(errors, eta), rel=1e-7)
    h = sum(w * c for w, c in zip(mixture_weights(record.log_betas), boosted.members, strict=True))
    assert h == pytest.approx(reference.mixture(kept, betas), abs=1e-9)
    wrong = [reference.total_variation(c, p) > eta for c, p in zip(h, targets, strict=True)]
    assert record.exceed[-1] == pytest.approx(np.mean(wrong), abs=1e-12)


# Invariants.


@settings(max_examples=80)
@given(problems(), st.sampled_from(sorted(NORMS)), st.integers(1, 30), st.integers(0, 2**32))
def test_theorem_1_holds_in_every_run_and_round(problem, norm, n_rounds, seed):
    fit, targets, eta = problem
    start = np.random.default_rng(seed).dirichlet(np.ones(len(targets))) + 1e-9
    record = run(fit, targets, eta, n_rounds, NORMS[norm], start / start.sum()).record
    # Rounding of sums of a few dozen terms; the theorem itself has no slack to give.
    assert (record.exceed <= record.bound + 1e-9).all()
    assert (np.diff(record.bound) <= 0).all()
    assert (record.bound <= np.exp(-2 * np.cumsum((eta - record.errors) ** 2)) + 1e-9).all() or (
        record.log_betas[0] >= 0
    )


@settings(max_examples=40)
@given(problems(), st.integers(1, 20))
def test_the_mixture_is_a_distribution(problem, n_rounds):
    boosted = run(*problem, n_rounds)
    weights = mixture_weights(boosted.record.log_betas)
    assert weights.sum() == pytest.approx(1)
    assert (weights >= 0).all()
    h = sum(w * c for w, c in zip(weights, boosted.members, strict=True))
    assert h.sum(axis=1) == pytest.approx(np.ones(len(h)))
    assert (h >= 0).all()


def test_weights_stay_finite_over_a_thousand_rounds():
    # Wrong only where the weights are small: the errors are tiny and the weights sharp.
    targets = np.tile([1.0, 0.0], (50, 1))
    rng = np.random.default_rng(0)

    def fit(number, weights):
        assert np.isfinite(weights).all()
        assert weights.sum() == pytest.approx(1)
        wrong = rng.random(50) < 0.02
        heaviest = int(np.argmax(weights))
        wrong[heaviest - 1], wrong[heaviest] = True, False
        p = np.where(wrong, 0.0, 1.0)
        return np.column_stack([p, 1 - p])

    record = run(fit, targets, 0.9, 1000).record
    assert len(record.errors) == 1000
    for array in (record.errors, record.log_betas, record.bound):
        assert np.isfinite(array).all()
    assert (record.exceed <= record.bound + 1e-9).all()


def test_errors_far_below_the_smallest_number_are_still_told_apart():
    # Row 0 is right a thousand times, which costs it all its weight; then only row 0 is wrong.
    targets = np.tile([1.0, 0.0], (2, 1))

    def fit(number, weights):
        p = np.array([1.0, 0.5]) if number < 1000 else np.array([0.0, 1.0])
        return np.column_stack([p, 1 - p])

    record = run(fit, targets, 0.9, 1001).record
    assert len(record.errors) == 1001
    assert record.errors[1000] == 0  # in floating point, but not in truth
    assert -np.inf < record.log_betas[1000] < -1000
    assert np.isfinite(mixture_weights(record.log_betas)).all()


# Boundaries.


def test_a_perfect_learner_ends_it_after_one_round():
    targets = np.random.default_rng(0).dirichlet(np.ones(3), size=9)
    boosted = run(lambda t, w: targets, targets, 0.1, 50)
    assert len(boosted.members) == 1
    assert boosted.record.stop_reason.startswith("perfect: the learner of round 1")
    assert boosted.record.bound.tolist() == [0.0]
    assert boosted.record.exceed.tolist() == [0.0]


def test_a_perfect_learner_of_a_later_round_answers_alone():
    targets = np.random.default_rng(0).dirichlet(np.ones(3), size=9)
    flat = np.full((9, 3), 1 / 3)
    boosted = run(lambda t, w: targets if t == 2 else flat, targets, 0.9, 50)
    assert mixture_weights(boosted.record.log_betas).tolist() == [0, 0, 1]
    assert boosted.record.exceed[-1] == 0


@pytest.mark.parametrize("eta", [0.125, 0.25])
def test_the_constant_offset_of_the_impossibility_argument_cannot_be_boosted(eta):
    targets = np.tile([0.5, 0.25, 0.25], (8, 1))
    offset = targets + np.array([-0.25, 0.25, 0.0])
    boosted = run(lambda t, w: offset, targets, eta, 50)
    assert boosted.record.stop_reason == f"error >= eta: round 1 has error 0.25, and eta is {eta}"
    assert len(boosted.members) == 1
    assert boosted.record.bound.tolist() == [1.0]


def test_the_constant_offset_is_boosted_to_nothing_better_than_itself():
    targets = np.tile([0.5, 0.25, 0.25], (8, 1))
    offset = targets + np.array([-0.25, 0.25, 0.0])
    boosted = run(lambda t, w: offset, targets, 0.3, 50)
    assert len(boosted.members) == 50
    assert boosted.record.errors == pytest.approx(np.full(50, 0.25))
    assert boosted.record.exceed.max() == 0  # "at most eta" was true from the start


def test_a_weak_learner_later_on_is_discarded():
    targets = np.tile([1.0, 0.0], (4, 1))
    boosted = run(lambda t, w: targets - [[0.1, -0.1]] if t < 2 else 1 - targets, targets, 0.2, 9)
    assert len(boosted.members) == len(boosted.record.errors) == 2
    assert boosted.record.stop_reason.startswith("error >= eta: round 3 has error 1,")


def test_eta_is_chosen_by_the_first_round():
    d, even = np.array([0.1, 0.2, 0.6, 0.7]), np.full(4, 0.25)
    assert choose_eta("auto", d, even, 0.4) == pytest.approx(0.4 + 0.5)
    many = np.full(10**6, 0.4)
    assert choose_eta("auto", many, many, 0.4) == pytest.approx(0.42)
    assert choose_eta("auto", d, even, 0.99) == 1 - 1e-6
    skewed = np.array([0.0, 0.5, 0.5, 0.6])
    assert choose_eta("median", skewed, even, 0.4) == 0.5
    assert choose_eta("median", d, even, 0.4) == choose_eta("auto", d, even, 0.4)
    assert choose_eta("median", skewed, np.array([0.9, 0.04, 0.03, 0.03]), 0.05) == 0.55


def test_a_record_that_does_not_fit_together_is_refused():
    record = run(lambda t, w: np.array([[0.6, 0.4]]), np.array([[1.0, 0.0]]), 0.5, 3).record
    tensors, facts = record.to_tensors(), record.to_facts()
    again = BoostingRecord.restore(tensors, facts)
    assert np.array_equal(again.bound, record.bound)
    forgeries = [np.zeros(2), np.zeros((3, 1)), np.zeros(3, "f4"), np.full(3, np.nan)]
    for forged in forgeries:
        with pytest.raises(ModelFormatError):
            BoostingRecord.restore(tensors | {"boosting.log_betas": forged}, facts)
