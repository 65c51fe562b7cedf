"""One logistic regression for each label, by scikit-learn; see measuring.py."""

from pathlib import Path

import measuring
import numpy as np
from scipy.sparse import csc_array, csr_array
from sklearn.linear_model import LogisticRegression

DEFAULT_COST = 1.0


def train(folder, model, settings):
    with measuring.Stopwatch() as reading:
        X, Y = (
            measuring.in_form(measuring.read(folder, name), csr_array, np.float64)
            for name in ("train_X", "train_Y")
        )
    cost = DEFAULT_COST if settings["cost"] is None else settings["cost"]
    weights, biases = np.zeros((Y.shape[1], X.shape[1]), np.float32), np.full(Y.shape[1], -np.inf)
    with measuring.Stopwatch() as learning:
        columns = csc_array(Y)
        for label in np.flatnonzero(np.diff(columns.indptr)):
            y = np.zeros(Y.shape[0])
            y[columns.indices[columns.indptr[label] : columns.indptr[label + 1]]] = 1
            one = LogisticRegression(C=cost, solver="liblinear").fit(X, y)
            weights[label], biases[label] = one.coef_[0], one.intercept_[0]
    np.savez(Path(model, "model.npz"), weights=weights, biases=biases)
    return reading, learning


def load(model, settings):
    with np.load(Path(model, "model.npz")) as file:
        return file["weights"], file["biases"]


def rows_of(arrays):
    return measuring.all_and_single(measuring.in_form(arrays, csr_array, np.float64))


def top(model, X, k, wide):
    weights, biases = model
    p = 1 / (1 + np.exp(-(X @ weights.T + biases)))
    labels = np.argsort(-p, axis=1, kind="stable")[:, :k]
    return labels, np.take_along_axis(p, labels, axis=1)


if __name__ == "__main__":
    measuring.run(train, load, rows_of, top)
