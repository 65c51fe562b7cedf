"""Our conditional probability tree, one label a row, by one pass; see measuring.py."""

import measuring
import numpy as np
from scipy.sparse import csr_array

from labeltrees import ConditionalTreeClassifier
from labeltrees import load as load_model

CHUNK_ROWS = 10_000


def train(folder, model, settings):
    with measuring.Stopwatch() as reading:
        X = measuring.in_form(measuring.read(folder, "train_X"), csr_array)
        labels = measuring.read(folder, "train_Y")["indices"].astype(np.int64)
    estimator = ConditionalTreeClassifier(n_jobs=1, **settings["options"])
    with measuring.Stopwatch() as learning:
        for start in range(0, X.shape[0], CHUNK_ROWS):
            rows = slice(start, start + CHUNK_ROWS)
            estimator.partial_fit(X[rows], labels[rows])
    estimator.save(f"{model}/model.safetensors")
    return reading, learning


def load(model, settings):
    return load_model(f"{model}/model.safetensors")


def rows_of(arrays):
    return measuring.all_and_single(measuring.in_form(arrays, csr_array))


def top(model, X, k, wide):
    return tuple(model.predict_top_k(X, k))
