"""Runs one contestant's program in its environment, which needs NumPy alone.

    python measuring.py PROGRAM train FOLDER MODEL SETTINGS
    python measuring.py PROGRAM query FOLDER MODEL SETTINGS OUT

PROGRAM is a module of this folder without its ending. FOLDER has the matrices that `data_sets.py`
wrote, SETTINGS are JSON, and OUT gets the predictions. The last line printed is JSON with what was
measured. A program has these functions:

``train(folder, model, settings)`` returns stopwatches of reading and of learning;
``load(model, settings)`` returns a model;
``rows_of(arrays)`` returns all rows in the form that the model takes, and a list of single ones;
``top(model, rows, k, wide)`` returns at most k labels and scores of each row, as lists of pairs or
as two arrays; ``wide`` requests a search of all labels.
"""

import importlib
import json
import resource
import sys
import time
from pathlib import Path

import numpy as np

#: Number of labels per row where time is measured.
TIMED_LABELS = 10
#: Maximum number of rows that are queried one by one.
SINGLE_ROWS = 2_000


class Stopwatch:
    """The seconds, of the wall and of all the process's threads, spent in a ``with`` block."""

    def __init__(self):
        self.wall = self.cpu = 0.0

    def __enter__(self):
        self.wall -= time.perf_counter()
        self.cpu -= time.process_time()
        return self

    def __exit__(self, *_):
        self.wall += time.perf_counter()
        self.cpu += time.process_time()


def main():
    name, action, folder, model, settings, *out = sys.argv[1:]
    program, settings = importlib.import_module(name), json.loads(settings)
    if action == "train":
        before = peak_mb()
        reading, learning = program.train(folder, model, settings)
        facts = {
            "reading_s": reading.wall,
            "train_s": learning.wall,
            "train_cpu_s": learning.cpu,
            "before_mb": before,
            "added_mb": peak_mb() - before,
        }
    else:
        facts = query(program, folder, model, settings, out[0])
    print(json.dumps(facts))


def query(program, folder, model, settings, out):
    """Ask for the top labels of all rows, and for every label of the first ``n_sample`` rows."""
    X = read(folder, "test_X")
    first = program.rows_of(first_rows(X, 1))[0]
    started = time.perf_counter()
    loaded = program.load(model, settings)
    program.top(loaded, first, 1, False)
    facts = {"load_s": time.perf_counter() - started}
    many, single = program.rows_of(X)
    n_rows, n_labels = int(X["shape"][0]), int(X["n_labels"])
    if settings["timed"]:
        facts |= times(program, loaded, many, single, n_rows, min(TIMED_LABELS, n_labels))
    with Stopwatch() as asking:
        found = program.top(loaded, many, min(settings["n_top"], n_labels), False)
    facts["ask_us"] = 1e6 * asking.cpu / n_rows
    answers = padded(found)
    every = {name: array[:0] for name, array in answers.items()}
    n_sample = min(settings["n_sample"], n_rows)
    if n_sample:
        rows = many if n_sample == n_rows else program.rows_of(first_rows(X, n_sample))[0]
        every = padded(program.top(loaded, rows, n_labels, True))
    np.savez(out, **answers, **{f"all_{name}": array for name, array in every.items()})
    return facts


def times(program, loaded, many, single, n_rows, k):
    """Return milliseconds per row, of all rows together and of single rows."""
    with Stopwatch() as batch:
        program.top(loaded, many, k, False)
    p50, p99 = np.percentile(single_ms(loaded, single[:SINGLE_ROWS], program.top, k), [50, 99])
    return {
        "batch_ms": 1e3 * batch.wall / n_rows,
        "batch_cpu_ms": 1e3 * batch.cpu / n_rows,
        "p50_ms": p50,
        "p99_ms": p99,
    }


def single_ms(loaded, rows, top, k):
    for row in rows[:100]:
        top(loaded, row, k, False)
    spent = []
    for row in rows:
        started = time.perf_counter()
        top(loaded, row, k, False)
        spent.append(1e3 * (time.perf_counter() - started))
    return spent


def read(folder, name):
    """Return the arrays of a matrix: data, indices, indptr, shape, n_labels."""
    with np.load(Path(folder) / f"{name}.npz") as file:
        return {key: file[key] for key in file}


def in_form(arrays, form, dtype=np.float32):
    """Return arrays that `read` gave as a matrix of one of SciPy's CSR classes."""
    parts = (arrays["data"], arrays["indices"], arrays["indptr"])
    return form(parts, shape=tuple(arrays["shape"]), dtype=dtype)


def all_and_single(X):
    """Return a matrix, and its first rows as single ones."""
    return X, [X[i : i + 1] for i in range(min(X.shape[0], SINGLE_ROWS))]


def first_rows(matrix, n_rows):
    end = matrix["indptr"][n_rows]
    return matrix | {
        "data": matrix["data"][:end],
        "indices": matrix["indices"][:end],
        "indptr": matrix["indptr"][: n_rows + 1],
        "shape": np.array([n_rows, matrix["shape"][1]]),
    }


def padded(answer):
    """Return labels and scores as arrays; a row with fewer ends in label -1."""
    if isinstance(answer, tuple):
        labels, scores = answer
        if labels.dtype == object:  # None is no label
            labels = np.where(np.equal(labels, None), -1, labels).astype(np.int32)
        return {"labels": labels, "scores": np.nan_to_num(scores)}
    width = max(1, max(map(len, answer)))
    labels = np.full((len(answer), width), -1, dtype=np.int32)
    scores = np.zeros((len(answer), width), dtype=np.float32)
    for row, pairs in enumerate(answer):
        for place, (label, score) in enumerate(pairs):
            labels[row, place], scores[row, place] = label, score
    return {"labels": labels, "scores": scores}


def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        2**20 if sys.platform == "darwin" else 2**10
    )


if __name__ == "__main__":
    main()
