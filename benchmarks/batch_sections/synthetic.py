"""Synthetic sets of any size, for growth with the number of labels and for labelwise search."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.preprocessing import normalize

from batch_sections.our_models import regressor, with_one_thread
from harness.benchmark import Options
from harness.report import Block, notes, number, table
from harness.timing import timed

LABELS_A_POINT = 3
N_FEATURES = 50_000
WORDS_A_LABEL, WORDS_A_POINT = 8, 24
SWEEP = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000)
N_POINTS = 100_000
N_ASKED = 2_000
N_SINGLE = 500
LABELWISE = 100_000
ALL_PAIRS_SAMPLE = 200
EXACT_SAMPLE = 300


@dataclass(frozen=True, eq=False)
class Points:
    """Training and test points, with features of length 1 and their labels."""

    X: csr_array
    Y: csr_array
    X_test: csr_array
    Y_test: csr_array


def made_up(n_points: int, n_asked: int, n_labels: int, seed: int = 0) -> Points:
    """Return points of three labels; half of a point's words are its labels', half are any.

    Labels come in groups of about 50 that share half of their words, so that a tree has something
    to find; words and labels are as uneven as Zipf's law with exponent 0.5.
    """
    rng = np.random.default_rng(seed)
    group = rng.integers(max(1, n_labels // 50), size=n_labels)
    of_group = rng.integers(N_FEATURES, size=(group.max() + 1, WORDS_A_LABEL // 2))
    own = rng.integers(N_FEATURES, size=(n_labels, WORDS_A_LABEL // 2))
    words = np.concatenate([of_group[group], own], axis=1)
    n = n_points + n_asked
    labels = (n_labels * rng.random((n, LABELS_A_POINT)) ** 2).astype(np.int64)
    which = rng.integers(WORDS_A_LABEL, size=(n, LABELS_A_POINT, WORDS_A_POINT // 6))
    named = np.take_along_axis(words[labels], which, axis=2).reshape(n, -1)
    noise = (N_FEATURES * rng.random((n, WORDS_A_POINT // 2)) ** 2).astype(np.int64)
    X, Y = counted(np.concatenate([named, noise], axis=1), N_FEATURES), counted(labels, n_labels)
    Y.data[:] = 1
    X = csr_array(normalize(X))
    return Points(X[:n_points], Y[:n_points], X[n_points:], Y[n_points:])


def counted(columns: np.ndarray, width: int) -> csr_array:
    """Return rows that count how often each column is named."""
    n, k = columns.shape
    ones, starts = np.ones(n * k, dtype=np.float32), np.arange(0, n * k + 1, k, dtype=np.int32)
    matrix = csr_array((ones, columns.ravel().astype(np.int32), starts), shape=(n, width))
    matrix.sum_duplicates()
    return matrix


def growth(options: Options) -> list[Block]:
    """Return the cost of one tree for ever more labels."""
    title = "### Growth with the number of labels"
    n_points = min(N_POINTS, options.limit or N_POINTS)
    sweep = [n for n in SWEEP if n <= (options.limit or SWEEP[-1])] or [options.limit]
    rows = [grown(n_labels, n_points, options) for n_labels in sweep]
    first = rows[0]
    options.found["growth"] = {
        "labels": (first[0], rows[-1][0]),
        "learn": rows[-1][1] / first[1],
        "ask": rows[-1][2] / first[2],
        "log": math.log2(rows[-1][0]) / math.log2(first[0]),
    }
    shown = [
        [
            f"{each[0]:,.0f}",
            *(number(value, 4) for value in each[1:]),
            *(number(each[i] / first[i], 2) for i in (1, 2)),
            number(math.log2(each[0]) / math.log2(first[0]), 2),
        ]
        for each in rows
    ]
    header = ["labels", "learn ms/point", "ask ms/point", "single p50 ms"]
    header += ["learn, times the first", "ask, times the first", "log L, times the first"]
    said = notes(
        f"One tree, {n_points:,} points with {LABELS_A_POINT} labels and {WORDS_A_POINT} words "
        f"each, {options.threads} threads to train, one to predict the top 5 of {N_ASKED:,}.",
    )
    return [title, table(header, shown), said]


def grown(n_labels: int, n_points: int, options: Options) -> list[float]:
    points = made_up(n_points, N_ASKED, n_labels)
    model, learning = timed(
        lambda: regressor(n_trees=1, n_jobs=options.threads).fit(points.X, points.Y)
    )
    with_one_thread(model)
    _, asking = timed(lambda: model.predict_top_k(points.X_test, 5), repeat=3)
    rows = [points.X_test[i : i + 1] for i in range(N_SINGLE)]
    spent = [timed(lambda row=row: model.predict_top_k(row, 5))[1] for row in rows]
    single = float(np.percentile(spent, 50))
    return [n_labels, 1e3 * learning / n_points, 1e3 * asking / N_ASKED, 1e3 * single]


def labelwise(options: Options) -> list[Block]:
    """Return the time of labelwise search among as many points as labels."""
    title = "### Labelwise search among many points and labels"
    n = min(LABELWISE, options.limit or LABELWISE)
    points = made_up(n, n, n)
    model = regressor(n_trees=1, n_jobs=options.threads).fit(points.X, points.Y)
    found, seconds = timed(lambda: model.top_rows(points.X_test, labels=None, k=5))
    some = np.random.default_rng(1).permutation(len(model.classes_))[:EXACT_SAMPLE]
    asked = np.asarray(model.classes_)[some]
    best = model.top_rows(points.X_test, labels=asked, k=5, exact=True)
    reached = found[1][some].sum() / best[1].sum()
    sample = points.X_test[:ALL_PAIRS_SAMPLE]
    whole = timed(lambda: model.predict_proba(sample))[1] * n / sample.shape[0]
    options.found["labelwise"] = whole / seconds
    rows = [
        ["labelwise search", number(seconds, 2), "1.0", number(reached, 4)],
        ["all pairs scored", number(whole, 1), number(whole / seconds, 1), "1.0000"],
    ]
    said = notes(
        f"{n:,} points x {len(model.classes_):,} labels that were learned, the 5 best points of "
        f"each label, one tree, {options.threads} threads. Scoring all pairs was measured for "
        f"{sample.shape[0]} points and multiplied; what is best is known for {len(asked)} labels.",
        f"Of what was found {100 * share_true(found, model, points):.2f} % is true.",
    )
    header = ["how", "s", "times as long", "relevance found over the best"]
    return [title, table(header, rows), said]


def share_true(found: Any, model: Any, points: Points) -> float:
    rows, scores = found
    label = np.broadcast_to(np.asarray(model.classes_)[:, np.newaxis], rows.shape)
    used = (rows >= 0) & (scores > 0)
    return float(np.asarray(points.Y_test[rows[used], label[used]]).mean())
