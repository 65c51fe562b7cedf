"""Adacond as its figure says it: plain weights, plain loops, whole distributions."""

from __future__ import annotations

import math

import numpy as np


def total_variation(p, q):
    return 0.5 * sum(abs(a - b) for a, b in zip(p, q, strict=True))


def adacond(fit, targets, eta, n_rounds, norm=total_variation):
    """Return (answers of each round kept, their betas, their errors, why it ended)."""
    n = len(targets)
    w = [1 / n] * n
    kept, betas, errors = [], [], []
    for t in range(n_rounds):
        answers = fit(t, np.array(w) / sum(w))
        d = [norm(c, p) for c, p in zip(answers, targets, strict=True)]
        eps = sum(wi * di for wi, di in zip(w, d, strict=True)) / sum(w)
        if eps == 0:
            return [answers], [0.0], [0.0], "perfect"
        if eps >= eta:
            if not kept:
                return [answers], [math.inf], [eps], "error >= eta"
            return kept, betas, errors, "error >= eta"
        beta = (1 - eta) * eps / (eta * (1 - eps))
        w = [wi * beta ** (1 - di) for wi, di in zip(w, d, strict=True)]
        kept.append(answers)
        betas.append(beta)
        errors.append(eps)
    return kept, betas, errors, "n_rounds"


def mixture(kept, betas):
    if len(kept) == 1:
        return kept[0]
    a = np.log(1 / np.array(betas))
    return sum(ai * c for ai, c in zip(a, kept, strict=True)) / a.sum()


def bound(errors, eta):
    """Theorem 1, in the paper's own form."""
    product = 1.0
    for eps in errors:
        product *= eps * (1 - eps) / (
            ((1 - eta) * eps) ** (1 - eta) * (eta * (1 - eps)) ** eta
        )  # fmt: skip
    return product
