"""Compare our defaults on raw tables of numbers with logistic regression on scaled ones.

Prints a Markdown table: accuracy, log loss and seconds of the processor to learn. Five-fold
cross-validation for scikit-learn's sets and for made ones, whose columns are multiplied by
10^uniform(-4, 4) and shifted. Of letter, the first three quarters of the rows are trained on, and
the rest are test rows. Every learner gets the rows in random order.

    python benchmarks/tabular.py                                 # 2 minutes
    python benchmarks/tabular.py --letter letter.csv.gz --only letter
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from harness.benchmark import Benchmark, Options, say
from harness.report import Block, table
from labeltrees import ConditionalTreeClassifier

Table = tuple[np.ndarray, np.ndarray]
Folds = list[tuple[np.ndarray, np.ndarray]]

SHIPPED = ("iris", "wine", "breast_cancer", "digits")
MADE = {  # name: rows, columns, labels, seed
    "made 1": (400, 12, 3, 101),
    "made 2": (1_000, 20, 2, 102),
    "made 3": (3_000, 40, 8, 103),
    "made 4": (12_000, 24, 5, 104),
    "made 5": (20_000, 60, 12, 105),
}


def made(n_rows: int, n_columns: int, n_labels: int, seed: int) -> Table:
    """Return rows of scikit-learn's generator, their columns scaled and shifted."""
    X, y = datasets.make_classification(
        n_rows, n_columns, n_informative=n_columns // 2, n_redundant=n_columns // 5,
        n_classes=n_labels, random_state=seed,
    )  # fmt: skip
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-4, 4, n_columns)
    return X * scale + 5 * scale * rng.normal(size=n_columns), y


def read_letter(path: Path) -> Table:
    """Return the table of a CSV whose first column is the label."""
    cells = np.loadtxt(path, delimiter=",", dtype=str)
    if not cells[0, 1].strip('"').lstrip("-").replace(".", "").isdigit():
        cells = cells[1:]  # a header
    return cells[:, 1:].astype(float), cells[:, 0]


def tables(letter: Path | None) -> Iterator[tuple[str, Table, Folds]]:
    """Yield every table with its training rows and its test rows."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    for name in SHIPPED:
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        yield name, (X, y), list(folds.split(X, y))
    for name, shape in MADE.items():
        X, y = made(*shape)
        yield name, (X, y), list(folds.split(X, y))
    if letter is not None:
        X, y = read_letter(letter)
        yield "letter", (X, y), [tuple(np.split(np.arange(len(y)), [3 * len(y) // 4]))]


def fitted(X: np.ndarray, y: np.ndarray) -> Any:
    return ConditionalTreeClassifier().fit(X, y)


def in_one_pass(X: np.ndarray, y: np.ndarray) -> Any:
    return ConditionalTreeClassifier().partial_fit(X, y)


def logistic(X: np.ndarray, y: np.ndarray) -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X, y)


LEARNERS: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
    "scaled logistic regression": logistic,
    "`fit`": fitted,
    "`partial_fit`, one pass": in_one_pass,
}


def measure(learn: Callable[..., Any], rows: Table, folds: Folds) -> str:
    """Return accuracy, log loss and seconds, each the mean over the folds."""
    X, y = rows
    right, losses, seconds = [], [], []
    for known, asked in folds:
        order = np.random.default_rng(0).permutation(known)
        start = time.process_time()
        model = learn(X[order], y[order])
        seconds.append(time.process_time() - start)
        p = model.predict_proba(X[asked])
        truth = np.argmax(np.asarray(model.classes_) == y[asked][:, np.newaxis], axis=1)
        right.append((p.argmax(axis=1) == truth).mean())
        losses.append(-np.log(np.maximum(p[np.arange(len(p)), truth], 1e-15)).mean())
    return f"{np.mean(right):.3f}, {np.mean(losses):.3f}, {np.mean(seconds):.2f}"


def section(options: Options) -> list[Block]:
    """Return a line for each table."""
    warnings.filterwarnings("ignore", module="sklearn")
    rows = []
    for name, some, folds in tables(options.own.letter):
        if options.own.only in (None, name):
            say(f"  {name}")
            cells = [measure(learn, some, folds) for learn in LEARNERS.values()]
            rows.append([name, len(some[1]), *cells])
    return [table(["accuracy, log loss, seconds", "rows", *LEARNERS], rows)]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--letter", type=Path, help="CSV of UCI's letter recognition")
    parser.add_argument("--only", help="the name of one table")


BENCHMARK = Benchmark("tabular", __doc__, {"tables": section}, arguments=arguments)

if __name__ == "__main__":
    BENCHMARK.main()
