"""Runs in Omikuji's environment; see measuring.py. It is trained on a file and predicts rows."""

from itertools import pairwise
from pathlib import Path

import measuring
import omikuji


class TimedReading:
    """Omikuji's functions, with the seconds of reading its file kept apart."""

    def __init__(self, functions):
        self.functions, self.watch = functions, measuring.Stopwatch()

    def __getattr__(self, name):
        return getattr(self.functions, name)

    def load_omikuji_data_set(self, *arguments):
        with self.watch:
            return self.functions.load_omikuji_data_set(*arguments)


def train(folder, model, settings):
    omikuji.lib = timed = TimedReading(omikuji.lib)
    chosen = omikuji.Model.default_hyper_param()
    chosen.n_trees = settings["n_trees"]
    chosen.linear_loss_type = omikuji.LossType[settings["loss"].upper()].value
    if settings["cost"] is not None:
        chosen.linear_c = settings["cost"]
    with measuring.Stopwatch() as learning:
        path = str(Path(folder) / "train.txt")
        learned = omikuji.Model.train_on_data(path, chosen, n_threads=settings["threads"])
    learning.wall -= timed.watch.wall
    learning.cpu -= timed.watch.cpu
    learned.save(model)
    return timed.watch, learning


def load(model, settings):
    loaded = omikuji.Model.load(model)
    loaded.init_prediction_thread_pool(1)
    return loaded


def rows_of(matrix):
    starts, columns, data = (matrix[key].tolist() for key in ("indptr", "indices", "data"))
    pairs = list(zip(columns, data, strict=True))
    rows = [pairs[begin:end] for begin, end in pairwise(starts)]
    return rows, [[row] for row in rows]


def top(model, rows, k, wide):
    beam = max(10, k) if wide else 10
    return [model.predict(row, beam_size=beam, top_k=k) if row else [] for row in rows]
