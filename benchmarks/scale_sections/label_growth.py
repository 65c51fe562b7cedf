"""Cost per row by the number of labels, all else equal, under any load.

All models are in memory and take turns of a few thousand rows, so a machine that becomes slow does
so for all of them. Their ratios hold where seconds do not.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from harness.benchmark import Options
from labeltrees import ConditionalTreeClassifier
from online_sections.growth import CHUNK_ROWS, window_rows
from scale_sections import growing, measurements, report

SECTION, FULL, MEMORY, LABEL = RECORDS = ("growth", "full", "memory", "label")
SIZES = (64_000, 256_000, 1_000_000)
QUICK_SIZES = (200, 800)
MODELS: dict[str, dict[str, Any]] = {"refined": {}, "tree alone": {"refine": 0}}
N_ROUNDS = 2  # how often each label is learned before time is taken
N_BARE = 500_000  # labels, to see the memory of a label without weights
READS = 500_000
LEAST_MEMORY = 2**23  # that refined trees can be kept within
N_TURNS = 15
TURN_ROWS = 4_000
N_WARM = 40  # labels that are queried repeatedly, so that their memory is in the caches


@dataclass(eq=False)
class Grown:
    """A model that knows ``n_labels`` labels, and the microseconds per row of its turns."""

    n_labels: int
    max_memory: int | None
    model: ConditionalTreeClassifier
    learn: list[float] = field(default_factory=list)
    far: list[float] = field(default_factory=list)
    near: list[float] = field(default_factory=list)


def run(options: Options) -> None:
    """Measure and write down a label's memory, and every size for each kind of model."""
    n_bare = 20_000 if options.quick else N_BARE
    measurements.append(
        options.own.measured, section=LABEL, labels=n_bare, bytes=label_bytes(n_bare)
    )
    sizes = QUICK_SIZES if options.quick else SIZES
    for name, settings in MODELS.items():
        random = np.random.default_rng(0)
        models = [grown(n_labels, settings, random) for n_labels in sizes]
        compare(models, SECTION, name, options)
        del models
    full_tables(sizes[0], options)
    found = report.latest(
        measurements.read(options.own.measured, section=SECTION, name="refined"), "labels"
    )
    waiting([1e6 * (each["table_mb"] + each["experts_mb"]) for each in found], options)


def full_tables(n_labels: int, options: Options) -> None:
    """Compare models of one size whose tables have room, or half of the memory they want."""
    random = np.random.default_rng(0)
    free = grown(n_labels, {}, random)
    sizes = growing.state(free.model)
    half = max(int(5e5 * (sizes["table_mb"] + sizes["experts_mb"])), LEAST_MEMORY)
    full = grown(n_labels, {"max_memory": half}, random)
    compare([free, full], FULL, "refined", options)


def compare(models: list[Grown], section: str, name: str, options: Options) -> None:
    """Let the models take turns, and write down what they took."""
    random = np.random.default_rng(1)
    for _ in range(3 if options.quick else N_TURNS):
        for each in models:
            take_turn(each, random)
    for each in models:
        measurements.append(
            options.own.measured, section=section, name=name, **facts(each, models[0])
        )


def waiting(sizes: list[float], options: Options) -> None:
    """Write down what one number of a random line of 64 bytes takes, from as much memory each.

    The reads do not depend on each other, as the core's do not, which fetches lines ahead.
    """
    random = np.random.default_rng(0)
    lines = [np.ones((int(size / 64), 8)) for size in sizes]
    spent_ns: list[list[float]] = [[] for _ in lines]
    for _ in range(3 if options.quick else N_TURNS):
        for several, taken in zip(lines, spent_ns, strict=True):
            chosen = random.integers(len(several), size=READS)
            started = time.thread_time()
            several[chosen, 0].sum()
            taken.append((time.thread_time() - started) / READS * 1e9)
    for size, taken in zip(sizes, spent_ns, strict=True):
        times = float(np.median(np.array(taken) / np.array(spent_ns[0])))
        found = {"bytes": size, "ns": float(np.median(taken)), "least_ns": min(taken)}
        measurements.append(options.own.measured, section=MEMORY, times=times, **found)


def label_bytes(n_labels: int) -> float:
    """Return the memory of a label that has no weights: its name, its place in the tree, counts."""
    names = np.array([f"label_{i:09}" for i in range(n_labels)], object)
    rows = csr_array((n_labels, 1), dtype=np.float32)
    before = growing.resident_mb()
    model = ConditionalTreeClassifier().partial_fit(rows, names)
    more = growing.resident_mb() - before
    # The names are shared with the caller here; the model of a stream has them alone.
    return more * 2**20 / model.model_.describe()["leaves"] + sys.getsizeof(names[0])


def grown(n_labels: int, settings: dict[str, Any], random: np.random.Generator) -> Grown:
    """Return a model that has learned every label as often as any other."""
    model = ConditionalTreeClassifier(**settings)
    for _ in range(N_ROUNDS):
        order = random.permutation(n_labels)
        for start in range(0, n_labels, CHUNK_ROWS):
            labels = order[start : start + CHUNK_ROWS]
            model.partial_fit(window_rows(labels), labels)
    return Grown(n_labels, settings.get("max_memory"), model)


def take_turn(each: Grown, random: np.random.Generator) -> None:
    learned, asked = (random.integers(each.n_labels, size=TURN_ROWS) for _ in range(2))
    few = random.integers(each.n_labels, size=N_WARM)[random.integers(N_WARM, size=TURN_ROWS)]
    each.learn.append(spent(each.model.partial_fit, learned))
    each.far.append(spent(each.model.predict_label_proba, asked))
    spent(each.model.predict_label_proba, few)  # brings it near
    each.near.append(spent(each.model.predict_label_proba, few))


def spent(ask: Callable[..., Any], labels: np.ndarray) -> float:
    """Return the microseconds of this thread's processor time that a row takes."""
    X = window_rows(labels)
    started = time.thread_time()
    ask(X, labels)
    return (time.thread_time() - started) / len(labels) * 1e6


def facts(each: Grown, first: Grown) -> dict[str, Any]:
    """Return medians, and medians of the ratios to the first model's nearest turn."""
    found: dict[str, Any] = {**growing.state(each.model), "max_memory": each.max_memory}
    for kind in ("learn", "far", "near"):
        own, other = np.array(getattr(each, kind)), np.array(getattr(first, kind))
        low, middle, high = np.percentile(own / other, [25, 50, 75])
        found |= {f"{kind}_us": float(np.median(own)), f"{kind}_least_us": float(own.min())}
        found |= {f"{kind}_times": float(middle), f"{kind}_range": [float(low), float(high)]}
    return found
