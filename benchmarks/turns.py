"""How updates and queries share a model, and how soon Ctrl-C ends long calls.

    python benchmarks/turns.py [--seconds 5]

In the first table one thread calls `partial_fit` with 100 rows repeatedly, while others call
`predict_top_k` with 300 rows. It shows the rows learned per second, the longest `partial_fit`, and
the rows predicted per second. The second table shows the seconds from a signal to the exception
that its handler raises, in calls that would take far longer.
"""

from __future__ import annotations

import argparse
import signal
import threading
import time

import numpy as np
from scipy import sparse

from harness.benchmark import Benchmark, Options, say
from harness.report import Block, number, table
from labeltrees import (
    ConditionalTreeClassifier,
    ExtremeRegressor,
    FilterTreeClassifier,
    LOMTreeClassifier,
    OneAgainstAllClassifier,
    SelfTerminatingTreeClassifier,
)

LEARNED, ASKED = 100, 300
WAIT = 1.0  # seconds before the signal


class EnoughError(Exception):
    """What the signal's handler raises."""


def shared(n_askers: int, seconds: float) -> tuple[float, float, float]:
    """Return rows learned per second, the longest call, and rows answered per second."""
    generator = np.random.default_rng(0)
    X = generator.random((3000, 30)).astype(np.float32)
    y = generator.integers(0, 500, 3000)
    model = ConditionalTreeClassifier().partial_fit(X, y)
    over, asked = threading.Event(), [0] * n_askers

    def ask(number: int) -> None:
        while not over.is_set():
            model.predict_top_k(X[:ASKED], 5)
            asked[number] += ASKED

    askers = [threading.Thread(target=ask, args=(number,)) for number in range(n_askers)]
    for asker in askers:
        asker.start()
    calls, start = [], time.perf_counter()
    while (now := time.perf_counter()) - start < seconds:
        model.partial_fit(X[:LEARNED], y[:LEARNED])
        calls.append(time.perf_counter() - now)
    took = time.perf_counter() - start
    over.set()
    for asker in askers:
        asker.join()
    return LEARNED * len(calls) / took, max(calls), sum(asked) / took


def long_calls():
    """Yield the name of a call and the call."""
    generator = np.random.default_rng(0)
    X = generator.random((100_000, 60)).astype(np.float32)
    y = generator.integers(0, 2000, len(X))
    Y = sparse.csr_array((np.ones(len(y), np.float32), (np.arange(len(y)), y)))
    for kind in (ConditionalTreeClassifier, LOMTreeClassifier, FilterTreeClassifier):
        yield f"{kind.__name__}.fit", lambda kind=kind: kind().fit(X, y)
    yield "OneAgainstAllClassifier.fit", lambda: OneAgainstAllClassifier().fit(X, y)
    threads = ConditionalTreeClassifier(n_jobs=2, n_passes=20)
    yield "ConditionalTreeClassifier(n_jobs=2).fit", lambda: threads.fit(X, y)
    clustered = ConditionalTreeClassifier(structure="kmeans", n_passes=20)
    yield 'ConditionalTreeClassifier(structure="kmeans").fit', lambda: clustered.fit(X, y)
    stump = SelfTerminatingTreeClassifier(penalty=0.01)
    yield "SelfTerminatingTreeClassifier.fit", lambda: stump.fit(X, y % 30)
    yield "ExtremeRegressor.fit", lambda: ExtremeRegressor().fit(X, Y)
    tree = ConditionalTreeClassifier(n_passes=1).fit(X[:20_000], y[:20_000])
    yield "predict_top_k", lambda: tree.predict_top_k(X, 10)
    yield "predict_proba", lambda: tree.predict_proba(X, max_bytes=2**34)
    yield "top_rows", lambda: tree.top_rows(X, np.unique(y[:20_000]), 3)
    forest = ExtremeRegressor(n_trees=1).fit(X[:5000], Y[:5000])
    yield "ExtremeRegressor.top_rows", lambda: forest.top_rows(X, np.arange(2000), 3, exact=True)


def delay_of(call) -> float | None:
    """Return the seconds from a signal to its exception, or None if the call ended before it."""
    sent = []

    def handle(*_):
        raise EnoughError

    def send() -> None:
        sent.append(time.perf_counter())
        signal.raise_signal(signal.SIGALRM)

    signal.signal(signal.SIGALRM, handle)
    timer = threading.Timer(WAIT, send)
    timer.start()
    try:
        call()
        timer.cancel()
        timer.join()
        return None
    except EnoughError:
        return time.perf_counter() - sent[0]


def sharing(options: Options) -> list[Block]:
    """Return a table of writer and readers that share a model."""
    rows = []
    for n_askers in (0, 1, 4, 8):
        learned, longest, answered = shared(n_askers, options.own.seconds)
        rows.append([n_askers, number(learned, 0), number(longest, 2), number(answered, 0)])
    header = ["askers", "learned per second", "longest partial_fit, s", "answered per second"]
    return ["### Shared models", table(header, rows)]


def interrupts(_: Options) -> list[Block]:
    """Return a table of how soon calls hear a signal."""
    rows = []
    for name, call in long_calls():
        say(f"  {name}")
        delay = delay_of(call)
        rows.append([f"`{name}`", "done before" if delay is None else number(delay, 2)])
    return ["### Interrupted calls", table(["call", "seconds until Ctrl-C is heard"], rows)]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=5.0)


SECTIONS = {"sharing": sharing, "interrupts": interrupts}
BENCHMARK = Benchmark("turns", __doc__, SECTIONS, arguments=arguments)

if __name__ == "__main__":
    BENCHMARK.main()
