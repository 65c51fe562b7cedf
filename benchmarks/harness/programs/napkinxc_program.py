"""Runs in napkinXC's environment; see measuring.py."""

import measuring
from napkinxc.models import PLT
from scipy.sparse import csr_matrix


def train(folder, model, settings):
    with measuring.Stopwatch() as reading:
        X, Y = (
            measuring.in_form(measuring.read(folder, name), csr_matrix)
            for name in ("train_X", "train_Y")
        )
    cost = settings["cost"]
    costs = {} if cost is None else {"liblinear_c": cost}
    with measuring.Stopwatch() as learning:
        PLT(model, seed=1, threads=settings["threads"], **costs).fit(X, Y)
    return reading, learning


def load(model, settings):
    loaded = PLT(model, threads=1)
    loaded.load()
    return loaded


def rows_of(arrays):
    return measuring.all_and_single(measuring.in_form(arrays, csr_matrix))


def top(model, X, k, wide):
    return model.predict_proba(X, top_k=k)
