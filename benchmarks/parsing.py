"""Rows per second of the XC reader and of scikit-learn's svmlight reader, on the same rows.

    python benchmarks/parsing.py [FILE.txt[.gz]] [--repeat 5]

FILE is in the XC format; without it, synthetic rows are written to a temporary folder. Both read
the same uncompressed rows from a warm file, in one thread; the best of the repeats counts. Exits
with 1 if the two disagree or ours is not at least 5 times as fast.
"""

from __future__ import annotations

import gzip
import shutil
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.sparse import vstack
from sklearn.datasets import load_svmlight_file

from harness.benchmark import Benchmark
from harness.report import number, table
from harness.timing import timed
from labeltrees.data.readers import read_xc

LEAST_RATIO = 5.0


def section(options):
    """Return a table of both readers; what they found is in ``options.found``."""
    arguments = options.own
    with tempfile.TemporaryDirectory() as folder:
        xc, svmlight = Path(folder, "rows.txt"), Path(folder, "rows.svm")
        if arguments.file is None:
            write_synthetic(xc)
        else:
            unpack(arguments.file, xc)
        with xc.open("rb") as source, svmlight.open("wb") as target:
            n_features = int(source.readline().split()[1])
            shutil.copyfileobj(source, target)
        ours, our_time = timed(lambda: list(read_xc(xc)), repeat=arguments.repeat)
        theirs, their_time = timed(
            lambda: load_svmlight_file(
                str(svmlight),
                n_features=n_features,
                multilabel=True,
                zero_based=True,  # else columns move by one if none is 0
                dtype=np.float32,
            ),
            repeat=arguments.repeat,
        )
        equal = same(ours, theirs)
        size = svmlight.stat().st_size
    options.found["passed"] = equal and their_time / our_time >= LEAST_RATIO
    return [report(ours, size, our_time, their_time), "" if equal else "The two readers disagree."]


def unpack(path, target):
    opener = gzip.open if path.read_bytes()[:2] == b"\x1f\x8b" else open
    with opener(path, "rb") as source, target.open("wb") as file:
        shutil.copyfileobj(source, file)


def write_synthetic(path, n_rows=20_000, n_features=50_000, n_labels=5_000):
    """Rows of about 75 tf-idf-like values and 3 labels, as in rcv1."""
    random = np.random.default_rng(1)
    with path.open("w") as file:
        file.write(f"{n_rows} {n_features} {n_labels}\n")
        for _ in range(n_rows):
            columns = np.unique(random.integers(n_features, size=random.poisson(75)))
            labels = np.unique(random.integers(n_labels, size=random.poisson(3)))
            values = random.random(len(columns))
            pairs = (f"{c}:{v:.5g}" for c, v in zip(columns, values, strict=True))
            file.write(f"{','.join(map(str, labels))} {' '.join(pairs)}\n")


def same(chunks, theirs):
    features, labels = theirs
    ours = vstack([chunk.features for chunk in chunks], format="csr")
    our_labels = [
        sorted(chunk.labels[begin:end].tolist())
        for chunk in chunks
        for begin, end in pairwise(chunk.label_starts)
    ]
    return (
        np.array_equal(ours.indptr, features.indptr)
        and np.array_equal(ours.indices, features.indices)
        and np.array_equal(ours.data, features.data)
        and our_labels == [sorted(map(int, row)) for row in labels]
    )


def report(chunks, n_bytes, our_time, their_time):
    n_rows = sum(chunk.n_rows for chunk in chunks)
    rows = [
        [
            name,
            number(n_rows / seconds, 0),
            number(n_bytes / 1e6 / seconds, 1),
            number(their_time / seconds, 1),
        ]
        for name, seconds in [("scikit-learn", their_time), ("labeltrees", our_time)]
    ]
    return table(["reader", "rows/s", "MB/s", "times as fast"], rows)


def arguments(parser):
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--repeat", type=int, default=5)


BENCHMARK = Benchmark("parsing", __doc__, {"parsing": section}, arguments=arguments)


if __name__ == "__main__":
    sys.exit(0 if BENCHMARK.main().found["passed"] else 1)
