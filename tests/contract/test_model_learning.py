"""The contract of every model that learns: a detour over a file, predictions, weights, threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from tests.contract.questions import (
    NO_WEIGHTS,
    differing,
    every_answer,
    learn,
    same_state,
)
from tests.contract.subjects import (
    CAN,
    N_FEATURES,
    NAMES,
    ONLINE,
    Made,
    asked,
    copied,
    of_online,
    training,
)

import labeltrees
from labeltrees.data.labels import RaggedLabels
from labeltrees.models.capabilities import BeamSearch, Explains
from labeltrees.models.registry import model_class


@of_online
def test_learning_after_a_detour_over_a_file_is_learning_without(subject, tmp_path):
    X, y = training()
    model = copied(Made(subject, "fitted").model)
    model.save(tmp_path / "m")
    others = [copied(model), labeltrees.load_model(tmp_path / "m")]
    others.append(labeltrees.load_model(tmp_path / "m", mapped=True))
    others.append(model_class(subject.model).from_tensors(*model.to_tensors(keep_state=True)))
    before = model.probabilities(model.rows(asked()))
    for each in (model, *others):
        learn(each, X[:60], NAMES[y[::-1][:60]])
    state = model.to_tensors(keep_state=True)
    assert not np.array_equal(model.probabilities(model.rows(asked())), before)
    for other in others:
        same_state(other.to_tensors(keep_state=True), state)
        assert differing(every_answer(other, asked()), every_answer(model, asked())) == []


IN_TURN = [s for s in ONLINE if s.model != "PooledTreesModel" and "threads" not in s.name]


@pytest.mark.parametrize("subject", IN_TURN, ids=str)
def test_predictions_are_those_of_the_model_before_the_row(subject):
    X, y = training()
    labels = NAMES[y][::-1]
    model = copied(Made(subject, "fitted").model)
    twin = copied(model)
    grows = subject.model != "PecocTreeModel"
    if grows:
        labels[[5, 11]] = "late"
    single = RaggedLabels.of_single(labels[:25])
    seen = model.update(model.rows(X[:25]), single, NO_WEIGHTS, k=1)
    assert np.flatnonzero(seen.is_new).tolist() == ([5] if grows else [])
    for i in range(25):
        row = twin.rows(X[i : i + 1])
        p_label = twin.label_probabilities(row, labels[i : i + 1])
        top, p_top = twin.top_labels(row, 1)
        assert seen.p_label[i] == p_label[0]
        assert (seen.top[i, 0], seen.p_top[i, 0]) == (top[0, 0], p_top[0, 0])
        learn(twin, X[i : i + 1], labels[i : i + 1])
    same_state(model.to_tensors(keep_state=True), twin.to_tensors(keep_state=True))


@pytest.mark.parametrize("subject", IN_TURN, ids=str)
def test_predictions_change_nothing_that_is_learned(subject):
    X, y = training()
    states = []
    for predict, k in ((True, 1), (True, 0), (False, 0)):
        model = copied(Made(subject, "fitted").model)
        labels = RaggedLabels.of_single(NAMES[y[:40]][::-1])
        seen = model.update(model.rows(X[:40]), labels, NO_WEIGHTS, predict=predict, k=k)
        assert seen.top.size == seen.p_top.size == 40 * k
        states.append(model.to_tensors(keep_state=True))
    same_state(states[0], states[1])
    same_state(states[0], states[2])


@of_online
def test_a_row_of_weight_zero_is_not_learned(subject):
    X, y = training()
    labels = NAMES[y][:60].copy()
    weights = np.ones(60, dtype=np.float32)
    weights[::3] = 0
    labels[0] = "strange"
    weighted, without = (copied(Made(subject, "fitted").model) for _ in range(2))
    single = RaggedLabels.of_single(labels)
    weighted.update(weighted.rows(X[:60]), single, weights, predict=False)
    learn(without, X[:60][weights > 0], labels[weights > 0])
    same_state(weighted.to_tensors(keep_state=True), without.to_tensors(keep_state=True))


@of_online
def test_an_empty_row_is_learned(subject):
    model = copied(Made(subject, "fitted").model)
    learn(model, np.zeros((3, N_FEATURES)), NAMES[:3])
    assert model.probabilities(model.rows(asked())).max() <= 1


@of_online
def test_threads_may_ask_while_one_learns(subject):
    X, y = training()
    model = copied(Made(subject, "fitted").model)
    failures, done = [], threading.Event()
    # Whole distributions of a frequency table need its lock around the number of labels as well.
    answers_all = subject.model != "FrequencyTableModel"

    def ask():
        rows = model.rows(asked())
        label = NAMES[0]
        try:
            while True:
                last = done.is_set()
                p = model.top_labels(rows, 3).probabilities
                assert ((p >= 0) & (p <= 1)).all()
                p = model.label_probabilities(rows, [label] * rows.n_rows)
                assert ((p >= 0) & (p <= 1)).all()
                if answers_all:
                    assert model.probabilities(rows).sum(axis=1).max() < 1 + 1e-9
                    model.labels_above(rows, 0.1)
                    model.top_rows(rows, [label], 2)
                    model.sample(rows, np.linspace(0, 0.9, rows.n_rows))
                if Explains in CAN[subject.model]:
                    model.explain(rows.take(np.array([0])), label)
                if BeamSearch in CAN[subject.model]:
                    model.beam_labels(rows, 2, beam_width=3)
                if last:
                    return
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    # A PECOC tree does not grow; the trees of a pool learn of a new label one after the other.
    grows = subject.model not in ("PecocTreeModel", "PooledTreesModel")
    for start in range(0, 120, 8):
        labels = NAMES[y[start : start + 8]].copy()
        if grows:
            labels[0] = f"new {start}"
        learn(model, X[start : start + 8], labels)
    done.set()
    for thread in threads:
        thread.join()
    assert not failures
