"""Our estimators, in separate processes like the peers; see measuring.py."""

import measuring
import numpy as np
from scipy.sparse import csr_array

import labeltrees

CHUNK_ROWS = 10_000
#: Named here because it imports the models, which must not happen while time is taken.
load_model = labeltrees.load


def train(folder, model, settings):
    """Train by ``passes`` of `fit`, or by one pass of `partial_fit` where they are 1."""
    options = dict(settings["options"])
    if settings["cost"] is not None:
        options["cost"] = settings["cost"]
    if settings["estimator"] == "ExtremeRegressor":
        options["random_state"] = 0
    made = getattr(labeltrees, settings["estimator"])(n_jobs=settings["threads"], **options)
    with measuring.Stopwatch() as reading:
        X, Y = (
            measuring.in_form(measuring.read(folder, name), csr_array)
            for name in ("train_X", "train_Y")
        )
    if settings["estimator"] == "ConditionalTreeClassifier":  # one label per row
        Y = Y.indices.astype(np.int64)
    with measuring.Stopwatch() as learning:
        if settings.get("passes") == 1:
            for start in range(0, X.shape[0], CHUNK_ROWS):
                rows = slice(start, start + CHUNK_ROWS)
                made.partial_fit(X[rows], Y[rows])
        elif "passes" in settings:
            made.set_params(n_passes=settings["passes"]).fit(X, Y)
        else:
            made.fit(X, Y)
    made.set_params(n_jobs=1)  # queries use one thread
    made.save(f"{model}/model.safetensors")
    return reading, learning


def load(model, settings):
    return load_model(f"{model}/model.safetensors", mapped=settings["mapped"])


def rows_of(arrays):
    return measuring.all_and_single(measuring.in_form(arrays, csr_array))


def top(model, X, k, wide):
    if not wide:
        return tuple(model.predict_top_k(X, k))
    p = model.predict_proba(X)
    return np.broadcast_to(np.asarray(model.classes_), p.shape), p
