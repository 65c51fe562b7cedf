"""What every program of a contestant shares; it needs NumPy alone, as it runs in any environment.

    PROGRAM train FOLDER MODEL SETTINGS
    PROGRAM predict FOLDER MODEL SETTINGS OUT

FOLDER has the matrices that `data_sets.py` wrote, SETTINGS are JSON, OUT gets the predictions. The
last line printed is JSON: what was measured.
"""

import json
import resource
import sys
import time
from pathlib import Path

import numpy as np

#: Labels a row where time counts, and where quality does.
TIMED_LABELS, SCORED_LABELS = 10, 100
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


def run(train, load, rows_of, top):
    """Run a contestant's program.

    ``train(folder, model, settings)`` returns stopwatches of reading and of learning;
    ``load(model, settings)`` a model; ``rows_of(arrays)`` all rows in the form that the model
    takes, and a list of single ones; ``top(model, rows, k, wide)`` at most k labels and scores of
    each row, as lists of pairs or as two arrays; ``wide`` asks for a search of all labels.
    """
    action, folder, model, settings, *out = sys.argv[1:]
    settings = json.loads(settings)
    if action == "train":
        before = peak_mb()
        reading, learning = train(folder, model, settings)
        facts = {
            "reading_s": reading.wall,
            "train_s": learning.wall,
            "train_cpu_s": learning.cpu,
            "before_mb": before,
        }
    else:
        facts = predict(folder, model, settings, out[0], load, rows_of, top)
    print(json.dumps(facts))


def predict(folder, model, settings, out, load, rows_of, top):
    X = read(folder, "test_X")
    first = rows_of(first_rows(X, 1))[0]
    started = time.perf_counter()
    loaded = load(model, settings)
    top(loaded, first, 1, False)
    load_s = time.perf_counter() - started
    many, single = rows_of(X)
    n_rows, n_labels = X["shape"][0], int(X["n_labels"])
    n_timed = min(TIMED_LABELS, n_labels)
    if settings.get("timed", True):
        with Stopwatch() as batch:
            top(loaded, many, n_timed, False)
        batch_ms, batch_cpu_ms = 1e3 * batch.wall / n_rows, 1e3 * batch.cpu / n_rows
        spent = single_ms(loaded, single[:SINGLE_ROWS], top, n_timed)
        p50, p99 = np.percentile(spent, [50, 99])
    else:
        batch_ms = batch_cpu_ms = p50 = p99 = None
    answers = padded(top(loaded, many, min(SCORED_LABELS, n_labels), False))
    if settings.get("named"):
        wide = padded(top(loaded, many, n_labels, True))
        answers |= {f"all_{name}": array for name, array in wide.items()}
    np.savez(out, **answers)
    return {
        "load_s": load_s,
        "batch_ms": batch_ms,
        "batch_cpu_ms": batch_cpu_ms,
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
    """Return a matrix and as many of its rows as are asked one by one."""
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
