"""Our online tree, by one pass of `partial_fit` or by `fit`; see measuring.py."""

import measuring
import numpy as np
from scipy.sparse import csr_array

from labeltrees import MultiLabelTreeClassifier
from labeltrees import load as load_model

CHUNK_ROWS = 10_000


def train(folder, model, settings):
    with measuring.Stopwatch() as reading:
        X, Y = (
            measuring.in_form(measuring.read(folder, name), csr_array)
            for name in ("train_X", "train_Y")
        )
    estimator = MultiLabelTreeClassifier(n_jobs=1, **settings["options"])
    with measuring.Stopwatch() as learning:
        if settings["passes"] == 1:
            for start in range(0, X.shape[0], CHUNK_ROWS):
                rows = slice(start, start + CHUNK_ROWS)
                estimator.partial_fit(X[rows], Y[rows])
        else:
            estimator.set_params(n_passes=settings["passes"]).fit(X, Y)
    estimator.save(f"{model}/model.safetensors")
    return reading, learning


def load(model, settings):
    return load_model(f"{model}/model.safetensors")


def rows_of(arrays):
    return measuring.all_and_single(measuring.in_form(arrays, csr_array))


def top(model, X, k, wide):
    if not wide:
        return tuple(model.predict_top_k(X, k))
    p = model.predict_proba(X)
    return np.broadcast_to(np.asarray(model.classes_), p.shape), p
