"""Our tree, and two rivals that learn nothing, over the built-in stream."""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from harness.processes import Measured, run_measured
from labeltrees import ConditionalTreeClassifier
from labeltrees.cli.commands.demo import Cache, FrequencyTable
from labeltrees.data.python_source import PythonSource
from online_sections.scores import Answers
from online_sections.stream_file import StreamFile, tail_start


@functools.cache
def progressive(order: str, limit: int) -> Answers:
    """Each example is predicted, then learned."""
    return progressive_of("labeltrees", ConditionalTreeClassifier, order, limit)


def progressive_of(name: str, make: Callable[[], Any], order: str, limit: int) -> Answers:
    return timed_progressive(name, make, order, limit)[0]


@functools.cache
def timed_progressive(
    name: str, make: Callable[[], Any], order: str, limit: int
) -> tuple[Answers, float]:
    """Return the answers, and the seconds that predicting and learning took without reading."""
    model, parts, seconds = make(), [], 0.0
    for chunk in PythonSource(order=order, limit=limit):  # type: ignore[arg-type]
        started = time.perf_counter()
        seen = model.progressive_fit(chunk.features, chunk.labels)
        seconds += time.perf_counter() - started
        parts.append((seen.top[:, 0] == chunk.labels, seen.p_label, seen.p_top[:, 0], seen.is_new))
    told = Answers(f"{name}, progressive", *map(np.concatenate, zip(*parts, strict=True)))
    return told, seconds


@functools.cache
def frozen(order: str, limit: int) -> Answers:
    """Four fifths are learned; the last fifth is only predicted."""
    return frozen_of("labeltrees", ConditionalTreeClassifier, order, limit)


@functools.cache
def frozen_of(name: str, make: Callable[[], Any], order: str, limit: int) -> Answers:
    model, rest = learned_head(order, limit, make)
    return told(f"{name}, frozen", model, rest)


def told(name: str, model: Any, rest: list[Any]) -> Answers:
    """Return what a model says of rows that it does not learn."""
    known = set(model.classes_.tolist())
    parts = []
    for features, labels in rest:
        top, p_top = model.predict_top_k(features, 1)
        p_label = model.predict_label_proba(features, labels)
        is_new = np.array([label not in known for label in labels])
        parts.append((top[:, 0] == labels, p_label, p_top[:, 0], is_new))
    return Answers(name, *map(np.concatenate, zip(*parts, strict=True)))


@functools.cache
def winners_of(name: str, make: Callable[[], Any], order: str, limit: int) -> Answers:
    """As `frozen_of`, for models whose probabilities cost a look at every label."""
    model, rest = learned_head(order, limit, make)
    hits = [model.predict(features) == labels for features, labels in rest]
    return Answers(f"{name}, frozen", np.concatenate(hits))


def learned_head(
    order: str, limit: int, make: Callable[[], Any] = ConditionalTreeClassifier
) -> tuple[Any, list[Any]]:
    """Return a model that has learned four fifths, and the rest in (features, labels)."""
    return timed_head(order, limit, make)[:2]


def timed_head(order: str, limit: int, make: Callable[[], Any]) -> tuple[Any, list[Any], float]:
    """As `learned_head`, with the seconds that learning took without reading."""
    model, rest, n_seen, seconds = make(), [], 0, 0.0
    source = PythonSource(order=order, limit=limit)  # type: ignore[arg-type]
    n_head = tail_start(source.count())
    for chunk in source:
        here = min(max(n_head - n_seen, 0), chunk.n_rows)
        if here:
            started = time.perf_counter()
            model.partial_fit(chunk.features[:here], chunk.labels[:here])
            seconds += time.perf_counter() - started
        if here < chunk.n_rows:
            rest.append((chunk.features[here:], chunk.labels[here:]))
        n_seen += chunk.n_rows
    return model, rest, seconds


def makers(settings: dict[str, dict[str, Any]]) -> dict[str, Callable[[], Any]]:
    """Return what makes each contestant."""
    return {
        name: functools.partial(ConditionalTreeClassifier, **each)
        for name, each in settings.items()
    }


def megabytes(model: Any) -> float:
    """Return the size of all tables of a fitted model of ours."""
    facts = model.model_.describe()
    return sum(facts[name] for name in facts if name.endswith("bytes_in_memory")) / 1e6


@functools.cache
def cache(order: str, limit: int) -> Answers:
    memory = Cache()
    source = PythonSource(order=order, limit=limit)  # type: ignore[arg-type]
    hits = [memory.update(chunk.contexts, chunk.labels) for chunk in source]
    return Answers("cache, no learning", np.concatenate(hits))


@functools.cache
def frequencies(order: str, limit: int) -> Answers:
    counts = FrequencyTable()
    source = PythonSource(order=order, limit=limit)  # type: ignore[arg-type]
    hits, p_label = zip(*(counts.update(chunk.labels) for chunk in source), strict=True)
    p = np.concatenate(p_label)
    return Answers("frequency table", np.concatenate(hits), p, is_new=p == 0)


def run_stream(file: StreamFile, *options: str) -> tuple[Measured, float]:
    """Run our command on the file; return its cost and its accuracy over the last fifth."""
    command = (sys.executable, "-m", "labeltrees", "stream", file.path, "--json", "--quiet")
    measured = run_measured([*command, "--limit", str(file.n_examples), *options])
    return measured, json.loads(measured.output)["tail"]["accuracy"]


#: The same, run once for all sections.
stream_command = functools.cache(run_stream)


@functools.cache
def start_up() -> Measured:
    """Run a command of ours that does nothing: what Python and its libraries take."""
    return run_measured([sys.executable, "-m", "labeltrees", "--help"])
