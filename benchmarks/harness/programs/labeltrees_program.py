"""Our own contestant, in a process of its own like the others; see measuring.py."""

import measuring
import numpy as np
from scipy.sparse import csr_array

from labeltrees import ExtremeRegressor
from labeltrees import load as load_model


def train(folder, model, settings):
    with measuring.Stopwatch() as reading:
        X, Y = (
            measuring.in_form(measuring.read(folder, name), csr_array)
            for name in ("train_X", "train_Y")
        )
    options = dict(settings["options"])
    if settings["cost"] is not None:
        options["cost"] = settings["cost"]
    estimator = ExtremeRegressor(n_jobs=settings["threads"], random_state=0, **options)
    with measuring.Stopwatch() as learning:
        estimator.fit(X, Y)
    estimator.set_params(n_jobs=1)  # it is asked with one thread
    estimator.save(f"{model}/model.safetensors")
    return reading, learning


def load(model, settings):
    return load_model(f"{model}/model.safetensors", mapped=True)


def rows_of(arrays):
    return measuring.all_and_single(measuring.in_form(arrays, csr_array))


def top(model, X, k, wide):
    if not wide:
        return tuple(model.predict_top_k(X, k))
    p = model.predict_proba(X)
    return np.broadcast_to(np.asarray(model.classes_), p.shape), p
