"""Signals, forks, the interpreter's end, and arrays that change under way."""

from __future__ import annotations

import signal
import threading

import numpy as np
import pytest
from tests import children
from tests.contract.questions import NO_WEIGHTS, same_state
from tests.contract.subjects import SUBJECTS

import labeltrees
from labeltrees import FrequencyTableClassifier
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.rows import as_rows

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "setitimer") or not hasattr(signal, "SIGALRM"), reason="needs POSIX signals"
)

N_FEATURES = 30
INTERRUPTED = [
    subject
    for subject in SUBJECTS
    if subject.learns
    and subject.on_stream
    and subject.model not in ("PooledTreesModel", "FrequencyTableModel")
]


class EnoughError(Exception):
    """What a signal's handler raises, as Python's own does for Ctrl-C."""


def rows_and_labels(n_rows):
    generator = np.random.default_rng(0)
    X = generator.random((n_rows, N_FEATURES)).astype(np.float32)
    return as_rows(X), generator.integers(0, 60, n_rows)


def new_model(subject, labels):
    first = np.eye(2, N_FEATURES, dtype=np.float32)
    return subject.new().partial_fit(first, labels[:2], classes=np.unique(labels)).model_


def learn(model, rows, labels, n_times):
    """Learn so many rows, beginning anew after the last."""
    order = np.resize(np.arange(rows.n_rows), n_times)
    single = RaggedLabels.of_single(labels)
    model.update(rows, single, NO_WEIGHTS, order=order, predict=False)


def learn_in_turn(model, rows, labels):
    model.update(rows, RaggedLabels.of_single(labels), NO_WEIGHTS, predict=False)


@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals need the main thread"
)
@pytest.mark.parametrize("subject", INTERRUPTED, ids=str)
def test_learning_that_is_interrupted_ends_after_a_whole_row(subject):
    rows, labels = rows_and_labels(1000)
    endless = 2_000_000

    def handle(*_):
        raise EnoughError

    model = new_model(subject, labels)
    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.15)
    try:
        with pytest.raises(EnoughError):
            learn(model, rows, labels, endless)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    n_learned = int(model.describe()["examples_learned"]) - 2
    assert 0 <= n_learned < endless
    undisturbed = new_model(subject, labels)
    if n_learned > 0:  # else the signal was faster than the first row
        learn(undisturbed, rows, labels, n_learned)
    same_state(model.to_tensors(keep_state=True), undisturbed.to_tensors(keep_state=True))


def test_counting_that_is_interrupted_leaves_a_table_that_can_be_saved(tmp_path, monkeypatch):
    rows, labels = rows_and_labels(50)
    model = FrequencyTableClassifier().partial_fit(np.eye(2, N_FEATURES), labels[:2]).model_
    for n_counted in range(1, 40):

        class Cut(dict):
            left = n_counted

            def get(self, key, default=None):
                self.left -= 1
                if self.left == 0:
                    self.setdefault(key, {})  # as between two steps of counting
                    raise EnoughError
                return dict.get(self, key, default)

        monkeypatch.setattr(model, "tables", Cut(model.tables))
        with pytest.raises(EnoughError):
            learn_in_turn(model, rows, labels)
        model.save(tmp_path / "model")
        again = labeltrees.load_model(tmp_path / "model")
        assert np.array_equal(again.totals, model.totals)


def run(program, *, expect=0):
    """Run a program of its own; it must end as expected, and not by a signal."""
    code, out, err = children.run(PRELUDE + program)
    assert code == expect, err[-2000:]
    return out


PRELUDE = """
import os, sys, threading, time
import numpy as np
from scipy import sparse
from labeltrees import ConditionalTreeClassifier, LOMTreeClassifier, SelfTerminatingTreeClassifier
from labeltrees.errors import ForkedModelError
generator = np.random.default_rng(0)
X = generator.random((3000, 30)).astype(np.float32)
y = generator.integers(0, 300, 3000)
tree = ConditionalTreeClassifier().partial_fit(X, y)
"""


@pytest.mark.parametrize("call", ["tree.partial_fit(X, y)", "tree.predict(X)"])
def test_the_interpreter_ends_while_a_daemon_thread_is_at_work(call):
    program = f"""
def go():
    while True:
        {call}
for _ in range(2):
    threading.Thread(target=go, daemon=True).start()
time.sleep(0.05)
"""
    run(program)


def test_a_child_of_fork_answers_or_says_that_it_cannot():
    counts = run(
        """
learner = threading.Thread(target=lambda: [tree.partial_fit(X, y) for _ in range(30)])
learner.start()
ended = {0: 0, 3: 0}
for _ in range(8):
    child = os.fork()
    if child == 0:
        try:
            tree.predict(X[:1])
            os._exit(0)
        except ForkedModelError:
            os._exit(3)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    ended[status] += 1  # a KeyError for anything else
learner.join()
tree.predict(X[:1])
print(sum(ended.values()))
"""
    )
    assert counts.strip() == "8"


def test_forks_before_and_after_learning_are_safe():
    run(
        """
tree = ConditionalTreeClassifier(n_jobs=3).partial_fit(X, y)
for _ in range(2):
    child = os.fork()
    if child == 0:
        tree.partial_fit(X[:500], y[:500] + 1000)
        tree.predict(X[:3])
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    tree.partial_fit(X[:500], y[:500])
"""
    )


@pytest.mark.parametrize(
    "work", ["tree.partial_fit(S, y)", "tree.predict(S)", "stump.fit(S, y % 5)"]
)
def test_arrays_that_another_thread_changes_meanwhile_crash_nothing(work):
    run(
        f"""
stump = SelfTerminatingTreeClassifier(penalty=1.0)
S = sparse.csr_array(X)
S.indptr, S.indices = S.indptr.astype(np.int64), S.indices.astype(np.int32)
starts, indices = S.indptr.copy(), S.indices.copy()
over = threading.Event()
def change():
    while not over.is_set():
        S.indptr[1500:], S.indices[:] = 2**42, 2**31 - 1
        S.indptr[:], S.indices[:] = starts, indices
changer = threading.Thread(target=change)
changer.start()
try:
    for _ in range(20):
        try:
            {work}
        except ValueError:
            pass  # what it was when it was checked
finally:
    over.set()
    changer.join()
"""
    )
