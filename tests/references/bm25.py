"""BM25 of labels, term by term (Sparck Jones, Walker and Robertson, 2000)."""

from __future__ import annotations

import math


def label_documents(X, relevance):
    """Return each label's counts: the rows' values above 0, times the label's relevance to them.

    ``X`` and ``relevance`` are nested lists, of rows by features and of rows by labels.
    """
    documents = [[0.0] * len(X[0]) for _ in relevance[0]]
    for row, labels in zip(X, relevance, strict=True):
        for label, y in enumerate(labels):
            for feature, value in enumerate(row):
                documents[label][feature] += y * max(value, 0)
    return documents


def bm25(query, label, documents, k1, b):
    """Return the score of one label's document for a query, a list of values."""
    written = [document for document in documents if sum(document) > 0]
    if not written or not sum(documents[label]):
        return 0.0
    mean_length = sum(map(sum, written)) / len(written)
    score = 0.0
    for feature, value in enumerate(query):
        tf = documents[label][feature]
        if value <= 0 or tf == 0:
            continue
        having = sum(document[feature] > 0 for document in written)
        idf = math.log(1 + (len(written) - having + 0.5) / (having + 0.5))
        length = 1 - b + b * sum(documents[label]) / mean_length
        score += value * idf * tf * (k1 + 1) / (tf + k1 * length)
    return score
