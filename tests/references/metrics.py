"""Metrics of one label per row in plain Python, written from their definitions."""

from __future__ import annotations

import math


def mean(values, weights=None):
    weights = [1.0] * len(values) if weights is None else weights
    return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)


def squared_loss(p_label, weights=None):
    return mean([(1 - p) ** 2 for p in p_label], weights)


def log_loss(p_label, floor, weights=None):
    return mean([-math.log(max(p, floor)) for p in p_label], weights)


def brier_score(columns, proba, weights=None):
    scores = []
    for true_column, row in zip(columns, proba, strict=True):
        score = 0.0 if true_column >= 0 else 1.0
        for column, p in enumerate(row):
            score += ((column == true_column) - p) ** 2
        scores.append(score)
    return mean(scores, weights)


def top_k_accuracy(y_true, top_labels, weights=None):
    hits = [float(truth in list(row)) for truth, row in zip(y_true, top_labels, strict=True)]
    return mean(hits, weights)


def reliability_bins(pairs, n_bins):
    """Bins of (p, hit, weight) triples as a list of (mean p, frequency, weight)."""
    total = sum(weight for _, _, weight in pairs)
    below = 0.0
    bins = {}
    for value in sorted({p for p, _, weight in pairs if weight > 0}):
        group = [(p, hit, weight) for p, hit, weight in pairs if p == value]
        mass = sum(weight for _, _, weight in group)
        middle = (below + mass / 2) / total * n_bins
        bins.setdefault(min(math.floor(middle + 1e-9), n_bins - 1), []).extend(group)
        below += mass
    return [
        (
            mean([p for p, _, _ in group], [weight for _, _, weight in group]),
            mean([float(hit) for _, hit, _ in group], [weight for _, _, weight in group]),
            sum(weight for _, _, weight in group),
        )
        for _, group in sorted(bins.items())
    ]


def expected_calibration_error(pairs, n_bins):
    bins = reliability_bins(pairs, n_bins)
    return mean([abs(frequency - p) for p, frequency, _ in bins], [weight for *_, weight in bins])


def top_pairs(y_true, top_labels, top_probabilities, weights):
    """The (p, hit, weight) triples of all returned labels, without padding."""
    return [
        (p, label == truth, weight)
        for truth, labels, row, weight in zip(
            y_true, top_labels, top_probabilities, weights, strict=True
        )
        for label, p in zip(labels, row, strict=True)
        if label is not None
    ]


def stream_scores(rows, floor):
    """Scores of (p_label, correct, p_top, is_new, weight) rows, as progressive validation's."""
    weights = [weight for *_, weight in rows]
    p_label = [p for p, *_ in rows]
    seen = [(p, weight) for p, _, _, is_new, weight in rows if not is_new]
    scores = {"n_rows": len(rows), "n_new_labels": sum(is_new for *_, is_new, _ in rows)}
    if sum(weights) > 0:
        scores["squared_loss"] = squared_loss(p_label, weights)
        scores["log_loss"] = log_loss(p_label, floor, weights)
        scores["accuracy"] = mean([float(correct) for _, correct, *_ in rows], weights)
    if sum(weight for _, weight in seen) > 0:
        scores["log_loss_seen"] = log_loss(
            [p for p, _ in seen], floor, [weight for _, weight in seen]
        )
    return scores
