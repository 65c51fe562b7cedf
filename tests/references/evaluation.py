"""Scores of an evaluation in plain Python, row by row, from definitions and a model's answers."""

from __future__ import annotations

from tests.references import metrics as single
from tests.references import multilabel as several


def label_scores(truth, learned, p_label, top, p_top, weights, k):
    """Scores of rows with one label each, where ``learned`` says which labels the model knows."""
    seen = [i for i, known in enumerate(learned) if known and weights[i] > 0]
    scores = {
        "accuracy": single.top_k_accuracy(truth, [row[:1] for row in top], weights),
        "squared loss": single.squared_loss(p_label, weights),
        "rows of unseen labels": single.mean([float(not known) for known in learned], weights),
    }
    if seen:
        own, of_seen = [p_label[i] for i in seen], [weights[i] for i in seen]
        scores["log loss"] = single.log_loss(own, 1e-9, of_seen)
    for each in sorted({1, k}):
        if max(map(len, top)) < each:
            continue
        first = [row[:each] for row in top]
        if each > 1:
            scores[f"top-{each} accuracy"] = single.top_k_accuracy(truth, first, weights)
        pairs = single.top_pairs(truth, first, [row[:each] for row in p_top], weights)
        scores[f"ECE@{each}"] = single.expected_calibration_error(pairs, 15)
        costs = [(float(hit) - p) ** 2 for p, hit, _ in pairs]
        scores[f"Brier@{each}"] = single.mean(costs, [weight for *_, weight in pairs])
    return scores


def labels_scores(truth, scores, weights, ks):
    """Scores of rows with several labels, lists of relevances and of predictions by column."""
    binary, found = several.binary(truth), {}
    for k in ks:
        found[f"P@{k}"] = several.weighted_precision(binary, scores, k, weights, "mean")
        found[f"R@{k}"] = several.recall(truth, scores, k, weights)
        found[f"nDCG@{k}"] = several.weighted_ndcg(binary, scores, k, weights, "mean")
        found[f"WP@{k}"] = several.weighted_precision(truth, scores, k, weights, "ratio")
        found[f"XMAD@{k}"] = several.xmad(truth, scores, k, weights)
    return found


def distribution_scores(truth, predicted, weights):
    """Scores of rows with a probability of each label, lists by column."""
    scaled = [[p / sum(row) for p in row] for row in predicted]
    rows = list(zip(truth, scaled, strict=True))
    return {
        "total variation": single.mean(
            [sum(abs(p - q) for p, q in zip(y, s, strict=True)) / 2 for y, s in rows], weights
        ),
        "most likely label": single.mean(
            [float(y[max(range(len(s)), key=s.__getitem__)] == max(y)) for y, s in rows], weights
        ),
    }
