"""One logistic regression for each label, by scikit-learn; see measuring.py."""

from pathlib import Path

import measuring
import numpy as np
from one_vs_rest import OneVsRest
from scipy.sparse import csr_array

DEFAULT_COST = 1.0


def train(folder, model, settings):
    with measuring.Stopwatch() as reading:
        X, Y = (
            measuring.in_form(measuring.read(folder, name), csr_array, np.float64)
            for name in ("train_X", "train_Y")
        )
    cost = DEFAULT_COST if settings["cost"] is None else settings["cost"]
    with measuring.Stopwatch() as learning:
        learned = OneVsRest.fitted(X, Y, cost)
    np.savez(Path(model, "model.npz"), weights=learned.weights, biases=learned.biases)
    return reading, learning


def load(model, settings):
    with np.load(Path(model, "model.npz")) as file:
        return OneVsRest(file["weights"], file["biases"])


def rows_of(arrays):
    return measuring.all_and_single(measuring.in_form(arrays, csr_array, np.float64))


def top(model, X, k, wide):
    p = model.predict_proba(X)
    labels = np.argsort(-p, axis=1, kind="stable")[:, :k]
    return labels, np.take_along_axis(p, labels, axis=1)
