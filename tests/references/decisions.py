"""Decisions from marginals, slow and obvious."""

from __future__ import annotations

from itertools import chain, combinations, product

import numpy as np


def subsets(n):
    return chain.from_iterable(combinations(range(n), size) for size in range(n + 1))


def f1(chosen, true, zero_division):
    if not len(chosen) and not len(true):
        return zero_division
    return 2 * len(set(chosen) & set(true)) / (len(chosen) + len(true))


def expected_f1(p, chosen, zero_division):
    """Sum over every set of labels that may be true."""
    total = 0.0
    for outcome in product([0, 1], repeat=len(p)):
        chance = np.prod([q if y else 1 - q for q, y in zip(p, outcome, strict=True)])
        total += chance * f1(chosen, np.flatnonzero(outcome), zero_division)
    return total


def best_expected_f1(p, zero_division):
    return max(expected_f1(p, chosen, zero_division) for chosen in subsets(len(p)))


def mean_loss(P, truth, threshold, kind, unknown):
    """What sets of labels with p >= threshold > 0 miss, on average over rows."""
    losses = []
    for p, y, more in zip(P, truth, unknown, strict=True):
        n_true = y.sum() + more
        missed = (y & (p < threshold)).sum() + more
        losses.append(0 if not n_true else missed / n_true if kind == "labels" else missed > 0)
    return float(np.mean(losses))


def conformal_threshold(P, truth, risk, kind, unknown):
    """Try every probability, highest first."""
    n = len(P)
    for threshold in sorted({*P[P > 0].tolist(), 1.0}, reverse=True):
        if (n * mean_loss(P, truth, threshold, kind, unknown) + 1) / (n + 1) <= risk + 1e-12:
            return threshold
    return 0.0


def macro_f1(P, chosen):
    """The mean over labels of 2 H / (N + T), as `macro_f1_top_k` says."""
    below = chosen.sum(axis=0) + P.sum(axis=0)
    above = 2 * (chosen * P).sum(axis=0)
    return float(np.mean([a / b if b else 0 for a, b in zip(above, below, strict=True)]))


def coverage(P, chosen):
    used = (P > 0).any(axis=0)
    return float((1 - np.prod(1 - P * chosen, axis=0))[used].mean())
