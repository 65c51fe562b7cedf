"""Threads learn, ask, describe, save and pickle the same model at the same time."""

from __future__ import annotations

import pickle
import sys
import threading

import numpy as np
import pytest
from tests.contract.questions import NO_WEIGHTS, every_answer, same_state
from tests.contract.subjects import N_FEATURES, SUBJECTS

import labeltrees
from labeltrees.data.labels import RaggedLabels

N_BLOCKS, BLOCK = 6, 60
LEARNERS = [subject for subject in SUBJECTS if subject.learns and not subject.several]


@pytest.fixture(autouse=True)
def hasty_threads():
    """Let the interpreter change between threads as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def block(number):
    """Return rows of a stream in which there are always new labels."""
    generator = np.random.default_rng(number)
    X = generator.random((BLOCK, N_FEATURES)).astype(np.float32)
    return X, generator.integers(0, 25 * (number + 1), BLOCK)


def started(subject):
    """Return a model that has learned the stream's first block, and what is announced to it."""
    X, y = block(0)
    estimator = subject.new()
    if not subject.on_stream:  # its labels must be known
        everything = [block(number) for number in range(N_BLOCKS)]
        X = np.concatenate([rows for rows, _ in everything])
        y = np.concatenate([labels for _, labels in everything])
        return estimator.fit(X, y).model_
    return estimator.partial_fit(X, y, classes=np.arange(25 * N_BLOCKS)).model_


def teach(model, number):
    X, y = block(number)
    model.update(model.rows(X), RaggedLabels.of_single(y), NO_WEIGHTS, predict=False)


class Busy:
    """Threads that call functions again and again until the work is over."""

    def __init__(self, *functions):
        self.errors, self._over = [], threading.Event()
        self._rounds = [0] * len(functions)
        self._threads = [
            threading.Thread(target=self._repeat, args=(i, function))
            for i, function in enumerate(functions)
        ]

    def _repeat(self, number, function):
        try:
            while not self._over.is_set():
                function()
                self._rounds[number] += 1
        except BaseException as error:
            self.errors.append(error)

    @property
    def n_rounds(self):
        return sum(self._rounds)

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        for thread in self._threads:
            thread.join()


@pytest.mark.parametrize("subject", LEARNERS, ids=str)
def test_a_model_that_is_asked_and_saved_meanwhile_learns_the_same(subject, tmp_path):
    model, path = started(subject), tmp_path / "model"
    X, _ = block(99)

    def save():
        model.save(path)
        p = labeltrees.load_model(path).probabilities(model.rows(X[:3]))
        sums = p.sum(axis=1)  # below 1 where a mass is kept for new labels
        assert (sums > 0).all()
        assert (sums < 1 + 1e-9).all()

    def copy():
        again = pickle.loads(pickle.dumps(model))
        assert again.describe().keys() == model.describe().keys()

    with Busy(save, copy, lambda: every_answer(model, X[:4])) as others:
        for number in range(1, N_BLOCKS):
            teach(model, number)
    assert others.errors == []
    undisturbed = started(subject)
    for number in range(1, N_BLOCKS):
        teach(undisturbed, number)
    same_state(model.to_tensors(keep_state=True), undisturbed.to_tensors(keep_state=True))


@pytest.mark.parametrize("subject", LEARNERS, ids=str)
def test_two_teachers_lose_no_row(subject):
    model = started(subject)
    with Busy(lambda: every_answer(model, block(99)[0][:4])) as asker:
        teachers = [
            threading.Thread(target=lambda numbers=numbers: [teach(model, n) for n in numbers])
            for numbers in (range(1, N_BLOCKS, 2), range(2, N_BLOCKS, 2))
        ]
        for teacher in teachers:
            teacher.start()
        for teacher in teachers:
            teacher.join()
    assert asker.errors == []
    alone = started(subject)
    for number in range(1, N_BLOCKS):
        teach(alone, number)
    assert set(model.vocabulary.labels.tolist()) == set(alone.vocabulary.labels.tolist())
    ours, theirs = model.describe(), alone.describe()
    for name in ("examples_learned", "labels_seen", "labels"):
        assert ours.get(name) == theirs.get(name)


@pytest.mark.parametrize("subject", LEARNERS, ids=str)
def test_askers_do_not_starve_a_teacher_nor_the_other_way_round(subject):
    model = started(subject)
    X, y = block(0)
    rows, few = model.rows(X), model.rows(X[:5])

    def ask():
        model.top_labels(rows, 2)

    def learn():
        model.update(few, RaggedLabels.of_single(y[:5]), NO_WEIGHTS, predict=False)

    n_turns, patience = 5, 20_000  # turns of the others while one waits for one of its own
    for own, others in ((learn, [ask] * 4), (ask, [learn] * 2)):
        with Busy(*others) as crowd:
            for _ in range(n_turns):
                before = crowd.n_rounds
                own()
                assert crowd.n_rounds - before < patience
        assert crowd.errors == []
