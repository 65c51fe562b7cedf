"""fastText over the features that a row has, without their values; see measuring.py.

If labels are few, each has its regressor (`ova`). If they are many, only hierarchical softmax is
fast enough. Its probabilities sum to 1 for any number of labels of a row. At high rates training
may diverge, depending on luck. Then the rate is halved until training succeeds.
"""

from itertools import pairwise
from pathlib import Path

import fasttext
import measuring
import numpy as np

EPOCHS = 25
MOST_OVA = 2_000
LEAST_RATE = 0.01
PREFIX = "__label__"


def train(folder, model, settings):
    with measuring.Stopwatch() as reading:
        X, Y = (measuring.read(folder, name) for name in ("train_X", "train_Y"))
        names = [" ".join(f"{PREFIX}{label}" for label in row) for row in named(Y)]
        file = Path(model, "rows.txt")
        file.write_text("".join(f"{a} {b}\n" for a, b in zip(names, words(X), strict=True)))
    loss = "ova" if int(Y["n_labels"]) <= MOST_OVA else "hs"
    options = {"loss": loss, "epoch": EPOCHS, "minCount": 1, "thread": 1, "verbose": 0}
    with measuring.Stopwatch() as learning:
        learned = fitted(file, settings["rate"], options)
    learned.save_model(str(Path(model, "model.bin")))
    return reading, learning


def fitted(file, rate, options):
    try:
        return fasttext.train_supervised(str(file), lr=rate, **options)
    except RuntimeError:  # "Encountered NaN."
        if rate < LEAST_RATE:
            raise
        return fitted(file, rate / 2, options)


def load(model, settings):
    return fasttext.load_model(str(Path(model, "model.bin")))


def rows_of(arrays):
    rows = words(arrays)
    return rows, [[row] for row in rows]


def top(model, rows, k, wide):
    labels, p = np.full((len(rows), k), -1), np.zeros((len(rows), k))
    for row, (names, found) in enumerate(zip(*model.predict(rows, k=k), strict=True)):
        labels[row, : len(names)] = [int(name.removeprefix(PREFIX)) for name in names]
        p[row, : len(names)] = np.clip(found, 0, 1)
    return labels, p


def named(matrix):
    """Return the columns of each row."""
    columns, starts = matrix["indices"].tolist(), matrix["indptr"].tolist()
    return [columns[begin:end] for begin, end in pairwise(starts)]


def words(matrix):
    """Return each row's features as words."""
    return [" ".join(f"f{column}" for column in row) for row in named(matrix)]
