"""Small multiclass sets, each split into rows to learn, to choose settings by, and to test."""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack
from sklearn.feature_extraction.text import TfidfVectorizer

from labeltrees.data.readers import read_xc

Part = tuple[Any, np.ndarray]


@dataclass(frozen=True, eq=False)
class SmallSet:
    """Rows and integer labels from 0, three times."""

    name: str
    train: Part
    valid: Part
    test: Part

    @property
    def n_labels(self) -> int:
        return 1 + max(int(part[1].max()) for part in (self.train, self.valid, self.test))

    @property
    def sizes(self) -> str:
        """The numbers of rows and labels, in words."""
        n_train, n_test = len(self.train[1]), len(self.test[1])
        return f"{n_train:,} rows to learn, {n_test:,} to test, {self.n_labels} labels"

    def first(self, limit: int | None) -> SmallSet:
        """Return the set with at most ``limit`` rows to learn."""
        return replace(self, train=(self.train[0][:limit], self.train[1][:limit]))


def small_sets(folder: Path, limit: int | None) -> list[SmallSet]:
    """Return the sets that the folder has, learning from at most ``limit`` rows of each."""
    loaders = {"rcv1-sub1": rcv1, "clinc150": clinc150, "letter": letter}
    sets = [load(folder / name) for name, load in loaders.items() if (folder / name).is_dir()]
    return [each.first(limit) for each in sets]


def rcv1(folder: Path) -> SmallSet:
    """One label drawn for each document; the last fifth of the training rows to choose by."""
    random = np.random.RandomState(0)
    X, y = drawn(folder / "train.txt.gz", random)
    cut = len(y) * 4 // 5
    test = drawn(folder / "test.txt.gz", random)
    return SmallSet("rcv1-sub1, one label drawn", (X[:cut], y[:cut]), (X[cut:], y[cut:]), test)


def drawn(path: Path, random: Any) -> Part:
    """Return the rows that have a label, each with one of its labels."""
    rows, labels = [], []
    for chunk in read_xc(path):
        starts = chunk.label_starts
        kept = np.flatnonzero(np.diff(starts) > 0)
        rows.append(chunk.features[kept])
        labels += [chunk.labels[random.randint(starts[i], starts[i + 1])] for i in kept]
    return vstack(rows, format="csr"), np.array(labels, np.int64)


def clinc150(folder: Path) -> SmallSet:
    """TF-IDF of words, fitted on the training rows."""
    texts = {}
    for part in ("train", "valid", "test"):
        lines = gzip.decompress((folder / f"{part}.tsv.gz").read_bytes()).decode().splitlines()
        texts[part] = [line.split("\t", 1) for line in lines]
    vectorizer = TfidfVectorizer(dtype=np.float32).fit(text for _, text in texts["train"])
    ids = {label: i for i, label in enumerate(sorted({label for label, _ in texts["train"]}))}
    parts = [
        (csr_array(vectorizer.transform([t for _, t in part])), np.array([ids[n] for n, _ in part]))
        for part in texts.values()
    ]
    shuffled = np.random.default_rng(0).permutation(len(parts[0][1]))
    train = (parts[0][0][shuffled], parts[0][1][shuffled])  # the file is sorted by label
    return SmallSet("clinc150, TF-IDF", train, *parts[1:])


def letter(folder: Path) -> SmallSet:
    """Standardised columns; 12,000 rows to learn, 3,000 to choose by, 5,000 to test."""
    text = gzip.decompress((folder / "letter.csv.gz").read_bytes()).decode()
    rows = list(csv.reader(text.splitlines()))[1:]
    y = np.array([ord(row[0]) - ord("A") for row in rows])
    X = np.array([row[1:] for row in rows], np.float32)
    X = (X - X[:12_000].mean(axis=0)) / X[:12_000].std(axis=0)
    sparse = csr_array(X)
    cuts = [slice(0, 12_000), slice(12_000, 15_000), slice(15_000, None)]
    return SmallSet("letter", *((sparse[cut], y[cut]) for cut in cuts))
