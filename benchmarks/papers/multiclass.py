"""The learners and data of paper 2: LOMtree, Rtree, filter tree and one-against-all."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack
from sklearn.feature_extraction.text import TfidfVectorizer

from labeltrees import (
    ConditionalTreeClassifier,
    FilterTreeClassifier,
    LOMTreeClassifier,
    OneAgainstAllClassifier,
)
from labeltrees.data.python_source import PythonSource
from online_sections.small_data import SmallSet, small_sets

LOM, RTREE, FILTER, OAA = "LOMtree", "Rtree", "filter tree", "one-against-all"
N_TIMED = 2000
MOST_LABELS_OF_OAA = 1000
YSO_ROWS = 20_000


@dataclass(frozen=True)
class Split:
    """Nine tenths of a set in two, to learn from and to choose by, and a tenth to test."""

    name: str
    train: tuple[Any, np.ndarray]
    valid: tuple[Any, np.ndarray]
    test: tuple[Any, np.ndarray]
    n_labels: int

    @property
    def learning(self) -> tuple[Any, np.ndarray]:
        """The rows to learn from and to choose by, together."""
        X = vstack([self.train[0], self.valid[0]], format="csr")
        return X, np.concatenate([self.train[1], self.valid[1]])


def split(name: str, X: csr_array, y: np.ndarray) -> Split:
    """Return 81 %, 9 % and 10 % of the rows in random order, as the paper."""
    order = np.random.default_rng(0).permutation(len(y))
    n_test, n_valid = len(y) // 10, (len(y) - len(y) // 10) // 10
    parts = np.split(order, [n_test, n_test + n_valid])
    test, valid, train = ((X[rows], y[rows]) for rows in parts)
    return Split(name, train, valid, test, len(np.unique(y)))


def splits(folder: Path, *, limit: int | None) -> list[Split]:
    """Return the sets with few labels that the folder has."""
    sets = sorted(small_sets(folder, None), key=lambda each: each.n_labels)
    return [joined(each, limit) for each in sets]


def joined(data: SmallSet, limit: int | None) -> Split:
    parts = (data.train, data.valid, data.test)
    X = vstack([part[0] for part in parts], format="csr")[:limit]
    y = np.concatenate([part[1] for part in parts])[:limit]
    return split(data.name, X, y)


def many_labels(folder: Path | None, *, limit: int) -> list[Split]:
    """Return the sets with thousands of labels, library records (if present) and Python source."""
    found = []
    if folder is not None and (folder / "yso-en").is_dir():
        found.append(records(folder / "yso-en", min(limit, YSO_ROWS)))
    chunks = list(PythonSource(order="shuffled", limit=limit))
    X = vstack([chunk.features for chunk in chunks], format="csr")
    y = np.unique(np.concatenate([chunk.labels for chunk in chunks]), return_inverse=True)[1]
    return sorted([*found, split("Python source", X, y)], key=lambda each: each.n_labels)


def records(folder: Path, n_rows: int) -> Split:
    """Return library records with one of their subjects drawn."""
    rng = np.random.default_rng(0)
    labels, texts = [], []
    with gzip.open(folder / "train.tsv.gz", "rt", encoding="utf-8") as file:
        for line in file:
            subjects, text = line.rstrip("\n").split("\t", 1)
            if subjects:
                labels.append(int(rng.choice(subjects.split())))
                texts.append(text)
            if len(texts) == n_rows:
                break
    X = csr_array(TfidfVectorizer(dtype=np.float32).fit_transform(texts))
    return split("yso-en, one subject drawn", X, np.array(labels))


def lomtree(data: Split, rate: float, n_passes: int, per_label: int, resistance: int) -> Any:
    """Return the LOMtree with T = per_label k - 1, which answers with its leaf's commonest label.

    Rows are unchanged, with a constant of 1.
    """
    return LOMTreeClassifier(
        learning_rate=rate,
        n_passes=n_passes,
        max_splits=per_label * data.n_labels - 1,
        swap_resistance=resistance,
        normalize=False,
        bias=1.0,
        counts="training",
        back_off=0.0,
    )


def rtree(data: Split, rate: float, n_passes: int) -> Any:
    """Return a balanced tree over the labels in random order, which predicts greedily."""
    return ConditionalTreeClassifier(
        structure="shuffled",
        mixing=False,
        refine=0,
        n_trees=1,
        learning_rate=rate,
        n_passes=n_passes,
    )


def filter_tree(data: Split, rate: float, n_passes: int) -> Any:
    return FilterTreeClassifier(learning_rate=rate, n_passes=n_passes)


def one_against_all(data: Split, rate: float, n_passes: int) -> Any:
    return OneAgainstAllClassifier(learning_rate=rate, n_passes=n_passes)


MAKERS: dict[str, Callable[..., Any]] = {
    LOM: lomtree,
    RTREE: rtree,
    FILTER: filter_tree,
    OAA: one_against_all,
}


def predicted(name: str, model: Any, X: Any) -> np.ndarray:
    """Return the labels by which the paper measures errors."""
    if name == RTREE:  # one path down the tree
        return model.predict_greedy(X)
    return model.predict(X)


def learning_seconds(learn: Callable[..., Any], part: tuple[Any, np.ndarray]) -> float:
    started = time.process_time()
    learn(*part)
    return time.process_time() - started


def asking_ms(name: str, model: Any, X: Any) -> float:
    """Return milliseconds per row, the least of three times."""
    some = X[:N_TIMED]
    spent = []
    for _ in range(3):
        started = time.process_time()
        predicted(name, model, some)
        spent.append(time.process_time() - started)
    return 1e3 * min(spent) / some.shape[0]


def unlearned(data: Split) -> Any:
    """Return one-against-all trained on a few rows, because its query time is the same."""
    X, y = data.train
    model = OneAgainstAllClassifier()
    return model.partial_fit(X[:20], y[:20], classes=np.unique(data.learning[1]))
