"""Sets of labels from the probabilities of ExtremeRegressor, on bibtex, delicious and rcv1-sub1.

    python benchmarks/prediction_sets.py --data DIR

The last fifth of the training rows is held out. It is used to choose thresholds and to calibrate
sets. All numbers are of the test rows.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from harness.benchmark import Benchmark, Options
from harness.data_sets import Split, whole
from harness.report import Block, table
from labeltrees import ExtremeRegressor
from labeltrees.decisions import (
    ConformalSets,
    coverage_top_k,
    expected_f1_sets,
    labels_at,
    macro_f1_top_k,
    threshold_for,
    weighted_top_k,
)

SETS = ["bibtex", "delicious", "rcv1-sub1"]
#: Labels less likely than this are not requested.
FLOOR = 0.001
COVERAGES = [0.8, 0.9, 0.95]
K = 5
N_SPLITS = 20


class Told:
    """The predictions for held-out and test rows, and their true labels."""

    def __init__(self, split: Split, n_jobs: int) -> None:
        n_learned = split.X.shape[0] * 4 // 5
        self.learned = split.Y[:n_learned]
        model = ExtremeRegressor(n_jobs=n_jobs).fit(split.X[:n_learned], self.learned)
        self.held_out = model.predict_above(split.X[n_learned:], FLOOR)
        self.held_out_truth = split.Y[n_learned:]
        self.test = model.predict_above(split.X_test, FLOOR)
        self.test_truth = split.Y_test


def right(found: csr_array, truth: csr_array, axis: int) -> Any:
    return np.asarray(found.multiply(truth != 0).sum(axis=axis)).ravel()


def sizes(matrix: csr_array, axis: int) -> Any:
    return np.asarray((matrix != 0).sum(axis=axis)).ravel()


def mean_f1(found: csr_array, truth: csr_array, axis: int) -> float:
    """Return the mean F1 of rows (axis 1), or of the labels that test rows have (axis 0)."""
    n = sizes(found, axis) + sizes(truth, axis)
    f1 = np.where(n > 0, 2 * right(found, truth, axis) / np.maximum(n, 1), 1.0)
    return float(f1[sizes(truth, axis) > 0].mean() if axis == 0 else f1.mean())


def recalls(found: csr_array, truth: csr_array, axis: int) -> Any:
    n_true = sizes(truth, axis)
    return right(found, truth, axis)[n_true > 0] / n_true[n_true > 0]


def covered(found: csr_array, truth: csr_array, kind: str) -> float:
    """Return the coverage of sets; rows without true labels are covered."""
    recall = recalls(found, truth, 1)
    kept = recall.sum() if kind == "labels" else (recall > 1 - 1e-9).sum()
    return float(kept + found.shape[0] - len(recall)) / found.shape[0]


def f1_lines(name: str, told: Told) -> list[list[str]]:
    """Return the F1 of rows of a fixed threshold, a chosen one, and of the best expected sets."""
    chosen = threshold_for(told.held_out, told.held_out_truth, "example_f1").threshold
    ways = {
        "p >= 0.5": labels_at(told.test, 0.5),
        f"p >= {chosen:.3f}, chosen": labels_at(told.test, chosen),
        "expected_f1_sets": expected_f1_sets(told.test).sets,
    }
    return [
        [
            f"{name}, {way}",
            f"{100 * mean_f1(found, told.test_truth, 1):.2f}",
            f"{found.nnz / found.shape[0]:.2f}",
        ]
        for way, found in ways.items()
    ]


def coverage_lines(name: str, told: Told) -> list[list[str]]:
    """Return the requested coverage, the coverage of test rows, and the size of their sets."""
    lines = []
    for kind in ("labels", "rows"):
        for coverage in COVERAGES:
            sets = ConformalSets(coverage, kind=kind)
            sets.update(told.held_out, told.held_out_truth)
            found = sets.predict(told.test)
            reached = covered(found, told.test_truth, kind)
            lines.append(
                [
                    f'{name}, "{kind}"',
                    f"{100 * coverage:.0f}",
                    f"{100 * reached:.1f}",
                    f"{100 * reached_on_splits(told, coverage, kind):.1f}",
                    f"{found.nnz / found.shape[0]:.1f}",
                    f"{sets.threshold:.4f}",
                    "yes" if sets.guaranteed else "no",
                ]
            )
    return lines


def reached_on_splits(told: Told, coverage: float, kind: Any) -> float:
    """Return the mean coverage where held-out and test rows are mixed and split at random."""
    truth = vstack([told.held_out_truth, told.test_truth], format="csr")
    p = vstack([told.held_out, told.test], format="csr").multiply(truth != 0).tocsr()
    n_held_out, reached = told.held_out.shape[0], []
    for seed in range(N_SPLITS):
        order = np.random.default_rng(seed).permutation(p.shape[0])
        rows, new = order[:n_held_out], order[n_held_out:]
        sets = ConformalSets(coverage, kind=kind).update(p[rows], truth[rows])
        reached.append(covered(sets.predict(p[new]), truth[new], kind))
    return float(np.mean(reached))


def macro_lines(name: str, told: Told) -> list[list[str]]:
    """Return the macro-metrics of five labels per row, decided in several ways."""
    n_labels = told.test.shape[1]
    prior = np.maximum(sizes(told.learned, 0), 1) / told.learned.shape[0]
    ruled = macro_f1_top_k(told.held_out, K)
    together = macro_f1_top_k(told.test, K)
    free = macro_f1_top_k(told.test, K, fill=False)
    ways = {
        "likeliest": weighted_top_k(told.test, K, np.ones(n_labels)),
        "weights 1 / prior": weighted_top_k(told.test, K, 1 / prior),
        "weights 1 / sqrt(prior)": weighted_top_k(told.test, K, prior**-0.5),
        "macro_f1_top_k": together.sets,
        "its rule of held-out rows": weighted_top_k(
            told.test, K, ruled.weights, offsets=ruled.offsets
        ),
        "macro_f1_top_k, fill=False": free.sets,
        "coverage_top_k": coverage_top_k(told.test, K).sets,
    }
    return [[f"{name}, {way}", *macro_numbers(found, told)] for way, found in ways.items()]


def macro_numbers(found: csr_array, told: Told) -> list[str]:
    truth = told.test_truth
    hits = right(found, truth, 0)[sizes(truth, 0) > 0]
    numbers = [
        recalls(found, truth, 0).mean(),
        mean_f1(found, truth, 0),
        (hits > 0).mean(),
        right(found, truth, 1).sum() / (K * found.shape[0]),
    ]
    return [f"{100 * each:.2f}" for each in numbers]


def section(options: Options) -> list[Block]:
    """Return three tables."""
    own = options.own
    f1, coverage, macro = [], [], []
    for name in own.only:
        told = Told(whole(options.data, name, None), own.jobs)
        f1 += f1_lines(name, told)
        coverage += coverage_lines(name, told)
        macro += macro_lines(name, told)
    headers = (
        ["sets", "F1 of rows", "labels per row"],
        [
            *("sets", "asked", "reached", "random splits"),
            *("labels per row", "threshold", "guaranteed"),
        ],
        ["five labels per row", "macro-recall", "macro-F1", "coverage", "precision"],
    )
    return [table(*each) for each in zip(headers, (f1, coverage, macro), strict=True)]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--jobs", type=int, default=1)


BENCHMARK = Benchmark(
    "prediction_sets", __doc__, {"sets": section}, ("data",), needs_data=True, arguments=arguments
)

if __name__ == "__main__":
    BENCHMARK.main()
