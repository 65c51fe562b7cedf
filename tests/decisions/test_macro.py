"""Sets of k labels where labels count alike: the value that is claimed is that of the sets, never
falls, and is near the best of all choices on problems that are small enough to try them all.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.references import decisions as reference

from labeltrees import metrics
from labeltrees.decisions import coverage_top_k, macro_f1_top_k, weighted_top_k
from labeltrees.errors import ArgumentError

RULES = {macro_f1_top_k: reference.macro_f1, coverage_top_k: reference.coverage}
CHANCES = st.one_of(st.sampled_from([0.0, 0.2, 0.5, 1.0]), st.floats(0.001, 1))


@st.composite
def problems(draw):
    n_rows, n_labels = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    P = np.array([[draw(CHANCES) for _ in range(n_labels)] for _ in range(n_rows)])
    P[0, 0] = 0.5
    return P, draw(st.integers(1, 3))


@given(problems(), st.sampled_from(list(RULES)))
def test_the_value_is_that_of_the_sets_and_not_below_the_likeliest(problem, rule):
    P, k = problem
    found = rule(P, k)
    chosen = found.sets.toarray()
    assert (chosen.sum(axis=1) == np.minimum((P > 0).sum(axis=1), k)).all()
    assert (P[chosen > 0] > 0).all()
    # Tolerance: a probability of 1 counts as 1 - 1e-12 for coverage; sums in another order.
    assert found.expected == pytest.approx(RULES[rule](P, chosen), abs=1e-9)
    plain = weighted_top_k(P, k, np.ones(P.shape[1])).toarray()
    assert found.expected >= RULES[rule](P, plain) - 1e-9
    fewer = rule(P, k, iterations=1)
    assert fewer.expected <= found.expected + 1e-9


@pytest.mark.parametrize("rule", list(RULES))
def test_it_comes_near_the_best_of_all_choices(rule):
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(20):
        P = rng.random((4, 4)) ** 2
        rows = [[np.isin(np.arange(4), pair).astype(int) for pair in combinations(range(4), 2)]] * 4
        best = max(RULES[rule](P, np.array(chosen)) for chosen in product(*rows))
        shares.append(rule(P, 2).expected / best)
    assert max(shares) <= 1 + 1e-9
    # It ends in local optima: near, not at the best.
    assert np.mean(shares) > 0.97


def test_labels_that_harm_are_left_out_where_k_need_not_be_filled():
    rng = np.random.default_rng(1)
    P = rng.random((50, 10)) ** 4
    full, free = macro_f1_top_k(P, 5), macro_f1_top_k(P, 5, fill=False)
    assert free.sets.nnz < full.sets.nnz == 250
    assert free.sets.sum(axis=1).max() <= 5
    assert free.expected > full.expected
    assert free.expected == pytest.approx(reference.macro_f1(P, free.sets.toarray()))


def test_no_single_label_more_or_less_raises_what_is_left_free():
    rng = np.random.default_rng(3)
    P = rng.random((12, 6)) ** 3
    found = macro_f1_top_k(P, 4, fill=False, tolerance=0)
    chosen = found.sets.toarray()
    for row, label in np.ndindex(P.shape):
        changed = chosen.copy()
        changed[row, label] ^= 1
        if changed[row].sum() <= 4:
            assert reference.macro_f1(P, changed) <= found.expected + 1e-12


def test_the_rule_decides_other_rows_nearly_as_well_as_they_do_together():
    rng = np.random.default_rng(2)
    P = rng.random((600, 30)) ** rng.uniform(1, 12, 30)
    first, second = P[:300], P[300:]
    found = macro_f1_top_k(first, 3)
    ruled = weighted_top_k(second, 3, found.weights, offsets=found.offsets).toarray()
    plain = weighted_top_k(second, 3, np.ones(30)).toarray()
    together = macro_f1_top_k(second, 3).expected
    gained = reference.macro_f1(second, ruled) - reference.macro_f1(second, plain)
    assert gained > 0.6 * (together - reference.macro_f1(second, plain)) > 0


@given(problems())
def test_weights_of_one_choose_as_precision_at_k_ranks(problem):
    P, k = problem
    chosen = weighted_top_k(P, k, np.ones(P.shape[1])).toarray()
    assert (chosen * P).sum() == pytest.approx(
        metrics.weighted_precision_at_k(P, P, k, average="mean") * k * len(P)
    )


def test_weights_and_offsets_by_hand():
    P = np.array([[0.6, 0.3, 0.1], [0.0, 0.3, 0.0]])
    assert weighted_top_k(P, 1, [1, 3, 1]).toarray().tolist() == [[0, 1, 0], [0, 1, 0]]
    offsets = [0, -1, 0.2]
    ranked = weighted_top_k(P, 2, [1, 3, 5], offsets=offsets).toarray().tolist()
    assert ranked == [[1, 0, 1], [0, 1, 0]]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: weighted_top_k([[0.5]], 0, [1]), "k must be an integer >= 1, got 0"),
        (lambda: weighted_top_k([[0.5]], 1, [1, 2]), r"the shape of weights must be \(n_labels=1,"),
        (lambda: weighted_top_k([[0.5]], 1, [-1]), r"weights\[0\] must be finite and >= 0, got -1"),
        (lambda: weighted_top_k([[0.5]], 1, [np.inf]), r"weights\[0\] must be finite and >= 0"),
        (lambda: weighted_top_k([[0.5]], 1, ["a"]), "weights must be an array of numbers"),
        (
            lambda: weighted_top_k([[0.5]], 1, [1], offsets=[np.nan]),
            r"offsets\[0\] must be finite, got nan",
        ),
        (lambda: macro_f1_top_k([[0.5]], 1, iterations=0), "iterations must be an integer >= 1"),
        (lambda: macro_f1_top_k([[0.5]], 1, fill=1), "fill must be True or False, got 1"),
        (
            lambda: coverage_top_k([[0.5]], 1, tolerance=-1),
            "tolerance must be a finite number >= 0",
        ),
    ],
)
def test_arguments_out_of_range_are_refused(call, words):
    with pytest.raises(ArgumentError, match=words):
        call()


def test_no_rows_and_no_probabilities_have_empty_sets():
    for rule in RULES:
        assert rule(np.zeros((0, 2)), 1).sets.shape == (0, 2)
        assert rule(np.zeros((2, 2)), 1).sets.nnz == 0
