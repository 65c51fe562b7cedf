"""Structures, arities and one-against-all on labelled text, defaults otherwise.

Prints a Markdown table: test error, log loss and seconds to fit, each the mean over seeds with the
lowest and highest. All settings are defaults. Test rows with labels that are not in the training
rows are left out.

    python benchmarks/structures.py train.tsv.gz test.tsv.gz      # label<TAB>text
"""

from __future__ import annotations

import argparse
import gzip
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from harness.benchmark import Benchmark, Options
from harness.report import Block, table
from labeltrees import ConditionalTreeClassifier, OneAgainstAllClassifier


def plain(**settings: Any) -> ConditionalTreeClassifier:
    """Return one tree without refinement, so that only structures differ."""
    return ConditionalTreeClassifier(n_trees=1, refine=0, **settings)


MODELS = {
    "online": lambda seed: plain(structure="online", random_state=seed),
    "online, arity 4": lambda seed: plain(structure="online", arity=4, random_state=seed),
    "random": lambda seed: plain(structure="random", random_state=seed),
    "Huffman": lambda seed: plain(structure="huffman", random_state=seed),
    "k-means by labels": lambda seed: plain(
        structure="kmeans", balance="labels", random_state=seed
    ),
    "one against all": lambda seed: OneAgainstAllClassifier(random_state=seed),
} | {
    f"k-means, arity {arity}": lambda seed, arity=arity: plain(
        structure="kmeans", arity=arity, random_state=seed
    )
    for arity in (2, 4, 8, 16, 256)
}


def read(path: Path) -> tuple[np.ndarray, list[str]]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    pairs = [line.split("\t", 1) for line in text.decode().splitlines()]
    return np.array([label for label, _ in pairs], dtype=object), [text for _, text in pairs]


def spread(values: list[float], digits: int) -> str:
    mean, low, high = np.mean(values), min(values), max(values)
    return f"{mean:.{digits}f} ({low:.{digits}f}-{high:.{digits}f})"


def section(options: Options) -> list[Block]:
    """Return a line for each structure."""
    own = options.own
    y, text = read(own.train)
    y_test, text_test = read(own.test)
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    X = vectorizer.fit_transform(text).astype(np.float32)
    known = np.isin(y_test.astype(str), y.astype(str))
    X_test, y_test = vectorizer.transform(text_test).astype(np.float32)[known], y_test[known]
    rows = []
    for name, make in MODELS.items():
        error, loss, seconds = [], [], []
        for seed in range(own.seeds):
            started = time.perf_counter()
            model = make(seed).fit(X, y)
            seconds.append(time.perf_counter() - started)
            error.append(float(np.mean(model.predict(X_test) != y_test)))
            loss.append(float(-np.log(model.predict_label_proba(X_test, y_test)).mean()))
        rows.append([name, spread(error, 3), spread(loss, 3), spread(seconds, 1)])
    size = f"{own.seeds} seeds, {X.shape[0]:,} rows, {len(set(y))} labels."
    return [size, table(["model", "error", "log loss", "seconds to fit"], rows)]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("train", type=Path)
    parser.add_argument("test", type=Path)
    parser.add_argument("--seeds", type=int, default=5)


BENCHMARK = Benchmark("structures", __doc__, {"structures": section}, arguments=arguments)

if __name__ == "__main__":
    BENCHMARK.main()
