"""Runs in PECOS's environment; see measuring.py."""

import measuring
import numpy as np
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear import XLinearModel
from scipy.sparse import csc_matrix, csr_matrix


def train(folder, model, settings):
    with measuring.Stopwatch() as reading:
        X = measuring.in_form(measuring.read(folder, "train_X"), csr_matrix)
        Y = csc_matrix(measuring.in_form(measuring.read(folder, "train_Y"), csr_matrix))
    threads, cost = settings["threads"], settings["cost"]
    costs = {} if cost is None else {"Cp": cost, "Cn": cost}
    with measuring.Stopwatch() as learning:
        features = LabelEmbeddingFactory.create(Y, X, method="pifa", threads=threads)
        chain = Indexer.gen(features, indexer_type="hierarchicalkmeans", threads=threads)
        learned = XLinearModel.train(X, Y, C=chain, threads=threads, **costs)
    learned.save(model)
    return reading, learning


def load(model, settings):
    return XLinearModel.load(model, is_predict_only=True)


def rows_of(arrays):
    return measuring.all_and_single(measuring.in_form(arrays, csr_matrix))


def top(model, X, k, wide):
    options = {"beam_size": k} if wide else {}
    found = model.predict(X, only_topk=k, threads=1, **options)
    if X.shape[0] == 1:
        return [list(zip(found.indices, found.data, strict=True))]
    labels = np.full((X.shape[0], k), -1, dtype=np.int32)
    scores = np.zeros((X.shape[0], k), dtype=np.float32)
    place = np.arange(len(found.indices)) - np.repeat(found.indptr[:-1], np.diff(found.indptr))
    row = np.repeat(np.arange(X.shape[0]), np.diff(found.indptr))
    labels[row, place], scores[row, place] = found.indices, found.data
    return labels, scores
