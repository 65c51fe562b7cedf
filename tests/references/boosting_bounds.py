"""The generalisation bounds of the boosting paper, each from its proof, step by step.

Errors of print are mended as `labeltrees.models.boosting.bounds` lists them; nothing else is taken
from there.
"""

from __future__ import annotations

import math

import numpy as np


def theorem_4(exceed, n, k, log_h, slack, delta):
    """The three terms before "Setting delta", with the proof's N and its epsilon_2."""
    N = 128 * k * math.log(n) / slack**2
    assert slack > 16 * math.sqrt(k / N)  # Corollary 3 may be used
    epsilon_2 = math.sqrt((1 / (2 * n)) * (1 + N * log_h + math.log(1 / delta)))
    # The union bound that epsilon_2 is solved from: 2 |H|^N exp(-2 epsilon_2^2 n) <= delta.
    assert math.log(2) + N * log_h - 2 * epsilon_2**2 * n <= math.log(delta) + 1e-9 * (
        1 + N * log_h
    )
    return exceed + 2 * math.exp(-N * slack**2 / (128 * k)) + epsilon_2


def theorem_6(exceed, n, k, d, slack, delta):
    N = 512 * k * math.log(n) / slack**2
    log_cover = k * N * math.log(2) + d * k * N * math.log(512 * n * k**2 / slack**2) * math.log(
        32 * math.e * n * k / (d * slack)
    )
    # "1" of the paper in the place of log 2, and of the factor 2 before the covering number.
    epsilon_2 = math.sqrt(2 / n * (log_cover + k * N * (1 - math.log(2)) + math.log(1 / delta)))
    assert math.log(2) + log_cover - epsilon_2**2 * n / 2 <= math.log(delta) + 1e-9 * log_cover
    return exceed + 2 * math.exp(-N * slack**2 / (512 * k)) + epsilon_2


def theorem_7(epsilon, n, d):
    """The logarithm, factor by factor."""
    factors = [
        math.log(24),
        math.log(n),
        d * math.log(24 * math.e * n / epsilon) * math.log(288 * n / epsilon**2),
        -(epsilon**2) * n / 36,
    ]
    return sum(factors)


def theorem_8(vectors):
    """sqrt(k) sqrt(sum_i E |Z_i|_2^2), with every vector as often as every other."""
    k = vectors.shape[1]
    return lambda n: math.sqrt(k) * math.sqrt(n * float((vectors**2).sum(axis=1).mean()))


def packing(points, least):
    """The points of a line that are at least so far apart, taken greedily."""
    kept = []
    for point in np.sort(points):
        if not kept or point - kept[-1] >= least:
            kept.append(point)
    return kept
