"""expected_f1_sets finds the best of all subsets, whatever the blocks that rows are done in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array
from tests.references import decisions as reference

import labeltrees.decisions._expected_metrics as module
from labeltrees.decisions import expected_f1_sets
from labeltrees.errors import ArgumentError

CHANCES = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(0, 1))


def rows(n_labels):
    return st.lists(st.lists(CHANCES, min_size=n_labels, max_size=n_labels), min_size=1, max_size=4)


def test_two_labels_by_hand():
    # {a}: true {a}: 1, {a, b}: 2/3; {a, b}: true {a}: 2/3, {b}: 2/3, both: 1.
    p = np.array([[0.8, 0.5]])
    one = 0.4 * 1 + 0.4 * 2 / 3
    two = 0.4 * 2 / 3 + 0.1 * 2 / 3 + 0.4 * 1
    found = expected_f1_sets(p)
    assert found.sets.toarray().tolist() == [[1, 1]]
    assert found.expected_f1[0] == pytest.approx(max(one, two), rel=1e-14)


@given(st.integers(1, 6).flatmap(rows), st.sampled_from([0.0, 0.5, 1.0]))
def test_no_subset_has_a_higher_expected_f1(P, zero_division):
    found = expected_f1_sets(P, zero_division=zero_division)
    for p, chosen, value in zip(P, found.sets.toarray(), found.expected_f1, strict=True):
        best = reference.best_expected_f1(p, zero_division)
        # Tolerance: sums of at most 64 terms in another order.
        assert value == pytest.approx(best, rel=1e-12, abs=1e-12)
        of_set = reference.expected_f1(p, np.flatnonzero(chosen), zero_division)
        assert of_set == pytest.approx(best, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_ten_labels_against_all_subsets_that_are_prefixes_and_some_that_are_not(seed):
    rng = np.random.default_rng(seed)
    p = np.sort(rng.random(10) ** 2)[::-1]
    found = expected_f1_sets([p])
    others = [tuple(rng.permutation(10)[: rng.integers(1, 6)]) for _ in range(20)]
    prefixes = [tuple(range(k)) for k in range(11)]
    values = [reference.expected_f1(p, chosen, 1.0) for chosen in prefixes + others]
    assert found.expected_f1[0] == pytest.approx(max(values), rel=1e-12)


def test_many_labels_agree_with_draws_and_with_any_size_of_block(monkeypatch):
    rng = np.random.default_rng(1)
    P = rng.random((40, 300)) ** rng.uniform(1, 30, (40, 1))
    P[P < 0.01] = 0
    found = expected_f1_sets(P)
    monkeypatch.setattr(module, "_ENTRIES_AT_ONCE", 1)
    alone = expected_f1_sets(P)
    assert (alone.sets != found.sets).nnz == 0
    np.testing.assert_allclose(alone.expected_f1, found.expected_f1, rtol=1e-12)
    draws = 2000
    for p, chosen, value in zip(P, found.sets.toarray(), found.expected_f1, strict=True):
        true = rng.random((draws, 300)) < p
        size = true.sum(axis=1) + chosen.sum()
        f1 = np.where(size > 0, 2 * (true & (chosen > 0)).sum(axis=1) / np.maximum(size, 1), 1)
        # Five standard errors of the mean of the draws.
        assert abs(f1.mean() - value) < 5 * f1.std() / np.sqrt(draws) + 1e-9


def test_the_number_of_labels_that_is_tried_is_bounded_and_the_best_is_within():
    rng = np.random.default_rng(2)
    p = np.sort(np.concatenate((rng.random(4), np.full(3000, 0.0005))))[::-1]
    at_most, n_true = module._bounds(p, np.array([0, len(p)]), np.array([len(p)]))
    assert at_most[0] < 60
    assert n_true[0] < 60
    every = module._prefix_f1(p[np.newaxis, :400], 400, 80)[0]
    assert every.argmax() <= at_most[0]
    assert expected_f1_sets([p]).sets.nnz <= at_most[0]


def test_what_is_left_out_changes_no_more_than_its_sum():
    rng = np.random.default_rng(3)
    P = rng.random((30, 20)) ** 4
    rest = np.where(P < 0.02, P, 0).sum(axis=1)
    whole = expected_f1_sets(P).expected_f1
    floored = expected_f1_sets(np.where(P < 0.02, 0, P)).expected_f1
    assert (np.abs(whole - floored) <= rest + 1e-12).all()


def test_forms_of_the_same_matrix_give_the_same_sets():
    P = np.array([[0.9, 0.0, 0.6], [0.0, 0.0, 0.0]])
    wanted = expected_f1_sets(P)
    twice = coo_array(([0.4, 0.5, 0.6, 0.0], ([0, 0, 0, 1], [0, 0, 2, 1])), shape=(2, 3))
    for same in (csr_array(P), twice, P.tolist()):
        assert (expected_f1_sets(same).sets != wanted.sets).nnz == 0
    assert wanted.sets.dtype == np.int64
    assert expected_f1_sets(np.zeros((0, 3))).sets.shape == (0, 3)
    assert expected_f1_sets(P, zero_division=0).expected_f1[1] == 0


@pytest.mark.parametrize(
    ("given_P", "words"),
    [
        ([[0.5, 1.2]], r"P\[0, 1\] must be in \[0, 1\], got 1.2"),
        ([[np.nan]], r"P\[0, 0\] must be in \[0, 1\], got nan"),
        ([0.5], r"the shape of P must be 2-dimensional, got \(1,\)"),
        ([["a"]], "P must be a matrix of numbers"),
        (csr_array(np.array([[1j]])), "the type of P must be numbers, got 'complex128'"),
    ],
)
def test_what_is_no_matrix_of_probabilities_is_refused(given_P, words):
    with pytest.raises(ArgumentError, match=words):
        expected_f1_sets(given_P)


def test_a_zero_division_outside_its_range_is_refused():
    with pytest.raises(ArgumentError, match=r"zero_division must be in \[0, 1\], got 2"):
        expected_f1_sets([[0.5]], zero_division=2)
