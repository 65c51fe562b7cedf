"""Metrics of distributions: each is its formula, zero for equal rows, and refuses what is none."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import labeltrees.metrics as m
from labeltrees.errors import ArgumentError

DISTANCES = [
    m.total_variation, m.kl_divergence, m.chebyshev_distance, m.clark_distance,
    m.canberra_distance,
]  # fmt: skip
SIMILARITIES = [m.cosine_similarity, m.intersection_similarity]


@st.composite
def pairs(draw):
    """Two distributions a row, zeros included, and weights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = draw(st.integers(1, 8)), draw(st.integers(2, 6))
    p, q = (rng.integers(0, 4, size=shape) + 1e-3 * (rng.random(shape) < 0.5) for _ in range(2))
    for array in (p, q):
        array[:, 0] += array.sum(axis=1) == 0
        array /= array.sum(axis=1, keepdims=True)
    return p, q, rng.uniform(0.1, 2, size=shape[0])


def looped(name, p, q):
    """One row's value, term by term."""
    terms = list(zip(p.tolist(), q.tolist(), strict=True))
    used = [(a, b) for a, b in terms if a + b > 0]
    return {
        "total_variation": lambda: sum(abs(a - b) for a, b in terms) / 2,
        "kl_divergence": lambda: sum(a * math.log(a / max(b, 1e-9)) for a, b in terms if a > 0),
        "chebyshev_distance": lambda: max(abs(a - b) for a, b in terms),
        "clark_distance": lambda: math.sqrt(sum(((a - b) / (a + b)) ** 2 for a, b in used)),
        "canberra_distance": lambda: sum(abs(a - b) / (a + b) for a, b in used),
        "cosine_similarity": lambda: (
            sum(a * b for a, b in terms)
            / math.sqrt(sum(a * a for a, _ in terms) * sum(b * b for _, b in terms))
        ),
        "intersection_similarity": lambda: sum(min(a, b) for a, b in terms),
    }[name]()


@pytest.mark.parametrize("metric", DISTANCES + SIMILARITIES)
@given(pairs())
def test_every_metric_equals_its_loop(metric, case):
    p, q, weight = case
    by_row = [looped(metric.__name__, a, b) for a, b in zip(p, q, strict=True)]
    assert metric(p, q) == pytest.approx(np.mean(by_row), rel=1e-9, abs=1e-12)
    weighted = metric(sparse.csr_array(p), q, sample_weight=weight)
    assert weighted == pytest.approx(np.average(by_row, weights=weight), rel=1e-9, abs=1e-12)


@given(pairs())
def test_equal_rows_are_at_distance_zero_and_metrics_agree_with_each_other(case):
    p, q, _ = case
    for distance in DISTANCES:
        assert distance(p, p) == pytest.approx(0, abs=1e-12)
    for similarity in SIMILARITIES:
        assert similarity(p, p) == pytest.approx(1)
    assert m.intersection_similarity(p, q) == pytest.approx(1 - m.total_variation(p, q))
    by_row = m.total_variation_by_row(p, q)
    assert by_row.mean() == pytest.approx(m.total_variation(p, q))
    assert m.chebyshev_distance(p, q) <= by_row.mean() + 1e-12
    # Pinsker's inequality.
    assert (by_row**2).mean() <= m.kl_divergence(p, q) / 2 + 1e-9


def test_values_by_hand():
    p, q = [[0.5, 0.5, 0.0]], [[0.25, 0.5, 0.25]]
    assert m.total_variation(p, q) == 0.25
    assert m.chebyshev_distance(p, q) == 0.25
    assert m.kl_divergence(p, q) == pytest.approx(0.5 * math.log(2))
    assert m.canberra_distance(p, q) == pytest.approx(1 / 3 + 1)
    assert m.clark_distance(p, q) == pytest.approx(math.sqrt(1 / 9 + 1))
    assert m.cosine_similarity(p, q) == pytest.approx(0.375 / math.sqrt(0.5 * 0.375))
    assert m.intersection_similarity(p, q) == 0.75
    assert m.kl_divergence([[1.0, 0.0]], [[0.0, 1.0]], floor=0) == math.inf
    assert m.kl_divergence([[1.0, 0.0]], [[0.0, 1.0]]) == pytest.approx(9 * math.log(10))
    assert m.kl_divergence([[0.0, 1.0]], [[0.0, 1.0]], floor=0) == 0


def test_fraction_above_is_strict_and_weighted():
    assert m.fraction_above([0.1, 0.5, 0.9], 0.5) == pytest.approx(1 / 3)
    assert m.fraction_above([0.1, 0.5, 0.9], 0.5, sample_weight=[1, 1, 2]) == 0.5
    assert m.fraction_above([0.0, 1.0], 1) == 0
    assert m.fraction_above([0.0, 1.0], 0) == 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: m.total_variation([[0.5, 0.6]], [[1, 0]]), r"the sum of p_true\[0\] must be 1"),
        (lambda: m.total_variation([[1, 0]], [[0.5, 0.6]]), r"the sum of p_pred\[0\] must be 1"),
        (lambda: m.clark_distance([[1, 0]], [[1, 0, 0]]), "the shape of p_pred must be"),
        (lambda: m.kl_divergence([[1.5, -0.5]], [[1, 0]]), r"p_true\[0, 0\] must be in \[0, 1\]"),
        (lambda: m.kl_divergence([[math.nan, 1]], [[1, 0]]), r"p_true\[0, 0\] must be in"),
        (lambda: m.kl_divergence([[1, 0]], [[1, 0]], floor=1), "floor must be in"),
        (lambda: m.cosine_similarity([1, 0], [1, 0]), "the shape of p_true must be 2-dimensional"),
        (lambda: m.cosine_similarity([["a"]], [[1]]), "p_true must be an array of numbers"),
        (lambda: m.chebyshev_distance([], []), "the shape of p_true"),
        (lambda: m.fraction_above([1.5], 0.5), r"errors\[0\] must be in \[0, 1\], got 1.5"),
        (lambda: m.fraction_above([0.5], 2), r"eta must be in \[0, 1\], got 2"),
        (lambda: m.fraction_above([0.5], 0.5, sample_weight=[1, 2]), "the length of sample_weight"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()
