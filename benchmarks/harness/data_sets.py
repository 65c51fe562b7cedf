"""The multi-label sets, as matrices and as files that every contestant can read."""

from __future__ import annotations

import functools
import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array, vstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from harness import peers
from labeltrees.data.readers import read_xc

VALID_SHARE = 0.1
MOST_VALID_ROWS = 5_000
YSO_ROWS = 100_000
TEXT_ROWS = 50_000  # Per step, because lists of words take more memory than matrices.


@dataclass(frozen=True, eq=False)
class Split:
    """Training rows and queried rows; ``folder`` has them as files."""

    name: str
    folder: Path
    X: csr_array
    Y: csr_array
    X_test: csr_array
    Y_test: csr_array

    @property
    def described(self) -> str:
        """The sizes, in words."""
        return (
            f"{self.X.shape[0]:,} training rows, {self.X_test.shape[0]:,} test rows, "
            f"{self.X.shape[1]:,} features, {self.X.nnz / self.X.shape[0]:.1f} a row, "
            f"{self.Y.shape[1]:,} labels, {self.Y.nnz / self.X.shape[0]:.2f} a row"
        )


@functools.cache
def whole(data: Path, name: str, limit: int | None) -> Split:
    """Return a set with its own test rows; ``name`` may end in ``-full`` for yso-en."""
    train, test = (
        _text_set(data / "yso-en", name, limit)
        if name.startswith("yso-en")
        else _xc_set(data / name, limit)
    )
    return written(name if limit is None else f"{name}-{limit}", *train, *test)


@functools.cache
def choosing(data: Path, name: str, limit: int | None) -> Split:
    """Return the set's training rows, split into rows to train on and rows to choose C with."""
    split = whole(data, name, limit)
    order = np.random.default_rng(0).permutation(split.X.shape[0])
    n_valid = min(MOST_VALID_ROWS, int(VALID_SHARE * len(order)))
    valid, rest = np.sort(order[:n_valid]), np.sort(order[n_valid:])
    X, Y = split.X, split.Y
    return written(f"{split.name}-choosing", X[rest], Y[rest], X[valid], Y[valid])


def training_rows(data: Path, name: str, limit: int | None) -> tuple[csr_array, csr_array]:
    """Return the set's training rows and their labels; its test rows are not read."""
    if not name.startswith("yso-en"):
        return _xc_rows(data / name / "train.txt.gz", limit)
    X, Y, _ = _text_rows(data / "yso-en", name, limit)
    return X, Y


def _xc_set(folder: Path, limit: int | None) -> tuple[tuple[csr_array, csr_array], ...]:
    return tuple(_xc_rows(folder / f"{part}.txt.gz", limit) for part in ("train", "test"))


def _xc_rows(path: Path, limit: int | None) -> tuple[csr_array, csr_array]:
    with gzip.open(path, "rt") as file:
        n_labels = int(file.readline().split()[2])
    X, Y = [], []
    for chunk in read_xc(path):
        X.append(chunk.features)
        ones = np.ones(len(chunk.labels), dtype=np.float32)
        shape = (chunk.n_rows, n_labels)
        Y.append(csr_array((ones, chunk.labels, chunk.label_starts), shape=shape))
    X, Y = vstack(X, format="csr")[:limit], vstack(Y, format="csr")[:limit]
    return csr_array(normalize(X)), Y


def _text_set(
    folder: Path, name: str, limit: int | None
) -> tuple[tuple[csr_array, csr_array], ...]:
    X, Y, vectorizer = _text_rows(folder, name, limit)
    labels, texts = _lines(folder / "test.tsv.gz", limit)
    return (X, Y), (csr_array(vectorizer.transform(texts)), _label_rows(labels, Y.shape[1]))


def _text_rows(
    folder: Path, name: str, limit: int | None
) -> tuple[csr_array, csr_array, TfidfVectorizer]:
    n_rows = limit if name.endswith("-full") else min(YSO_ROWS, limit or YSO_ROWS)
    with gzip.open(folder / "labels.txt.gz", "rt") as file:
        n_labels = sum(1 for _ in file)
    vectorizer = TfidfVectorizer(dtype=np.float32)
    labels, texts = _lines(folder / "train.tsv.gz", n_rows)
    X = csr_array(vectorizer.fit_transform(texts))
    return X, _label_rows(labels, n_labels), vectorizer


def _lines(path: Path, n_rows: int | None) -> tuple[list[str], list[str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t", 1) for line in islice(file, n_rows)]
    return [row[0] for row in rows], [row[1] for row in rows]


def _label_rows(labels: list[str], n_labels: int) -> csr_array:
    ids = [sorted({int(each) for each in line.split()}) for line in labels]
    starts = np.concatenate(([0], np.cumsum([len(row) for row in ids])))
    columns = np.array([each for row in ids for each in row], dtype=np.int32)
    ones = np.ones(len(columns), dtype=np.float32)
    return csr_array((ones, columns, starts), shape=(len(ids), n_labels))


def written(name: str, X: csr_array, Y: csr_array, X_test: csr_array, Y_test: csr_array) -> Split:
    """Return the split, written to files; Omikuji takes no row without features."""
    known = np.diff(X.indptr) > 0
    X, Y = X[known], Y[known]
    folder = peers.WORK / "sets" / name
    folder.mkdir(parents=True, exist_ok=True)
    for part, matrix in (("train_X", X), ("train_Y", Y), ("test_X", X_test)):
        matrix.sort_indices()  # PECOS insists
        np.savez(
            folder / f"{part}.npz",
            data=matrix.data.astype(np.float32),
            indices=matrix.indices.astype(np.int32),
            indptr=matrix.indptr.astype(np.int32),
            shape=np.array(matrix.shape),
            n_labels=np.array(Y.shape[1]),
        )
    _write_text(folder / "train.txt", X, Y)
    return Split(name, folder, X, Y, X_test, Y_test)


def _write_text(path: Path, X: csr_array, Y: csr_array) -> None:
    with path.open("w") as file:
        file.write(f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}\n")
        for first in range(0, X.shape[0], TEXT_ROWS):
            file.writelines(_text_lines(X[first : first + TEXT_ROWS], Y[first : first + TEXT_ROWS]))


def _text_lines(X: csr_array, Y: csr_array) -> Iterator[str]:
    labels, starts = Y.indices.tolist(), Y.indptr.tolist()
    pairs = [f"{c}:{v:.6g}" for c, v in zip(X.indices.tolist(), X.data.tolist(), strict=True)]
    for row, (begin, end) in enumerate(zip(X.indptr, X.indptr[1:], strict=False)):
        named = ",".join(map(str, labels[starts[row] : starts[row + 1]]))
        yield f"{named} {' '.join(pairs[begin:end])}\n"
