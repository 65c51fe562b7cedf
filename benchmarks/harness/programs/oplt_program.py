"""napkinXC's online tree, in napkinXC's environment; see measuring.py.

Its Python classes do not name it, but the options of their base class reach it. It makes one pass
with one thread, row by row, and new labels join the tree.
"""

import measuring
from napkinxc.models import Model
from scipy.sparse import csr_matrix


def train(folder, model, settings):
    with measuring.Stopwatch() as reading:
        X, Y = (
            measuring.in_form(measuring.read(folder, name), csr_matrix)
            for name in ("train_X", "train_Y")
        )
    options = {"tree_type": "onlineBestScore", "optimizer": "adagrad", "eta": settings["rate"]}
    with measuring.Stopwatch() as learning:
        made(model, epochs=1, weights_threshold=0.0, **options).fit(X, Y)
    return reading, learning


def made(folder, **options):
    return Model(model="oplt", output=folder, threads=1, seed=1, **options)


def load(model, settings):
    loaded = made(model)
    loaded.load()
    return loaded


def rows_of(arrays):
    return measuring.all_and_single(measuring.in_form(arrays, csr_matrix))


def top(model, X, k, wide):
    return model.predict_proba(X, top_k=k)
