"""Metrics of many labels, written from the paper's section 3 with loops over dense lists.

A prediction is None where a label is not predicted; its score is then 0.
"""

from __future__ import annotations

import math


def first_k(predicted, k):
    """The k labels predicted highest, equal ones by column; only labels that are predicted."""
    labels = [label for label, score in enumerate(predicted) if score is not None]
    return sorted(labels, key=lambda label: (-predicted[label], label))[:k]


def best_k(true, k):
    return sorted(true, reverse=True)[:k]


def mean(values, weights):
    return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)


def binary(truth):
    return [[float(y > 0) for y in row] for row in truth]


def gain(true, predicted, k):
    return sum(true[label] for label in first_k(predicted, k))


def dcg(relevances):
    return sum(y / math.log2(rank + 1) for rank, y in enumerate(relevances, start=1))


def weighted_precision(truth, scores, k, weights, average):
    rows = list(zip(truth, scores, strict=True))
    gains = [gain(y, s, k) for y, s in rows]
    if average == "mean":
        return mean([g / k for g in gains], weights)
    return mean(gains, weights) / mean([sum(best_k(y, k)) for y in truth], weights)


def weighted_ndcg(truth, scores, k, weights, average):
    rows = list(zip(truth, scores, strict=True))
    gains = [dcg([y[label] for label in first_k(s, k)]) for y, s in rows]
    best = [dcg(best_k(y, k)) for y in truth]
    if average == "mean":
        return mean([g / b if b > 0 else 0.0 for g, b in zip(gains, best, strict=True)], weights)
    return mean(gains, weights) / mean(best, weights)


def recall(truth, scores, k, weights):
    shares = []
    for y, s in zip(binary(truth), scores, strict=True):
        shares.append(gain(y, s, k) / sum(y) if any(y) else 0.0)
    return mean(shares, weights)


def auc(truth, scores, k, weights, tolerance=1e-6, average="ratio"):
    wrong, n_pairs = [], []
    for y, s in zip(truth, scores, strict=True):
        told = [0.0 if each is None else each for each in s]
        first, relevant = first_k(s, k), [label for label, each in enumerate(y) if each > 0]
        wrong.append(
            sum(
                y[j] < y[label] - tolerance and told[j] > told[label] + tolerance
                for j in first
                for label in relevant
            )
        )
        n_pairs.append(len(first) * len(relevant))
    if average == "ratio":
        return 1 - mean(wrong, weights) / mean(n_pairs, weights)
    rows = [row for row, n in enumerate(n_pairs) if n]  # eq. 3 of a row; 0 / 0 is none
    return mean([1 - wrong[row] / n_pairs[row] for row in rows], [weights[row] for row in rows])


def coverage(truth, scores, k, named="rightly"):
    relevant = {label for y in truth for label, each in enumerate(y) if each > 0}
    found = {
        label
        for y, s in zip(truth, scores, strict=True)
        for label in first_k(s, k)
        if named == "at all" or y[label] > 0
    }
    return len(found & relevant) / len(relevant)


def errors(y, s):
    return [abs((0.0 if b is None else b) - a) for a, b in zip(y, s, strict=True)]


def xmad(truth, scores, k, weights):
    return mean(
        [sum(best_k(errors(y, s), k)) / k for y, s in zip(truth, scores, strict=True)], weights
    )


def xrmse(truth, scores, k, weights):
    rows = zip(truth, scores, strict=True)
    return mean(
        [math.sqrt(sum(e**2 for e in best_k(errors(y, s), k)) / k) for y, s in rows], weights
    )


def ranking_error(truth, scores, k, weights):
    rows = zip(truth, scores, strict=True)
    return mean([(sum(best_k(y, k)) - gain(y, s, k)) / k for y, s in rows], weights)


def regression_error(truth, scores, k, weights):
    rows = zip(truth, scores, strict=True)
    return mean([sum(errors(y, s)[label] for label in first_k(s, k)) / k for y, s in rows], weights)


def released_xmad(truth, scores, k, weights):
    return regression_error(truth, scores, k, weights) / weighted_precision(
        truth, scores, k, weights, "ratio"
    )


def inverse_propensity_relevance(truth, propensity):
    return [[y / p for y, p in zip(row, propensity, strict=True)] for row in binary(truth)]


def propensities(truth, a, b):
    n_rows = len(truth)
    scale = max(math.log(n_rows) - 1, 0) * (b + 1) ** a
    counts = [sum(row[label] > 0 for row in truth) for label in range(len(truth[0]))]
    return [1 / (1 + scale * math.exp(-a * math.log(count + b))) for count in counts]


def label_log_loss(truth, scores, weights, floor=1e-9):
    costs = []
    for y, s in zip(truth, scores, strict=True):
        p = [0.0 if each is None else each for each in s]
        costs.append(
            sum(
                -a * math.log(max(b, floor)) - (1 - a) * math.log(max(1 - b, floor))
                for a, b in zip(y, p, strict=True)
            )
            / len(y)
        )
    return mean(costs, weights)


def kept_above(truth, scores, threshold):
    """How many predictions reach the threshold, their mean relevance and their share of it all."""
    kept = [
        a
        for y, s in zip(truth, scores, strict=True)
        for a, b in zip(y, s, strict=True)
        if b is not None and b >= threshold
    ]
    return len(kept), sum(kept) / len(kept), sum(kept) / sum(map(sum, truth))


def turned(rows):
    return [list(column) for column in zip(*rows, strict=True)]
