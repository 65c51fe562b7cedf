"""What training on many rows will take, from training on some of them."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labeltrees import _core, checks
from labeltrees.errors import ArgumentError
from labeltrees.models.extreme.training import train_extreme

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labeltrees.data.rows import Rows
    from labeltrees.models.extreme.relevance import RawRelevance
    from labeltrees.models.extreme.settings import ExtremeSettings

__all__ = ["TrainingEstimate", "estimate_training"]

_LEAST_ROWS = 100
_SHARES = (0.25, 0.5, 1.0)
_MOST_POWER = 1.2  # of the rows; faster growth is noise of runs that are too short


class TrainingEstimate(NamedTuple):
    """What `ExtremeRegressor.fit` is likely to take."""

    seconds: float
    """Of one thread; several share them out."""
    memory_bytes: int
    """The most memory besides the data given, with one thread."""
    model_bytes: int
    """The size of the model file."""


@dataclass(frozen=True)
class _Run:
    """What training one tree on some rows took; each grows like a power of the rows."""

    n_rows: int
    seconds: float
    tree_bytes: int
    label_bytes: int
    n_features: int
    n_mean_entries: int


def estimate_training(
    rows: Rows, relevance: RawRelevance, n_rows: int, settings: ExtremeSettings
) -> TrainingEstimate:
    """Return what training on ``n_rows`` rows like these will take.

    A tree is trained on a quarter, on half and on all of the sample; how time and sizes grow from
    one to the next says how they grow on. More rows have more labels, and so trees of more nodes:
    the sample's trees get as many by smaller leaves.
    """
    if rows.n_rows < _LEAST_ROWS:
        allowed = f"a sample of at least {_LEAST_ROWS} rows"
        raise ArgumentError.of("X", f"{rows.n_rows} rows", allowed)
    n_rows = checks.integer("n_rows", n_rows, rows.n_rows)
    order = np.random.default_rng(settings.random_state).permutation(rows.n_rows)
    samples = [np.sort(order[: int(share * rows.n_rows)]) for share in _SHARES]
    counts = [len(np.unique(relevance.take(chosen).labels)) for chosen in samples]
    n_labels = _labels_of(counts, math.log2(n_rows / rows.n_rows), len(relevance.vocabulary))
    runs = [
        _run(rows, relevance, chosen, _with_leaves_of(settings, count / n_labels))
        for chosen, count in zip(samples, counts, strict=True)
    ]
    n_sampled = [run.n_rows for run in runs]

    def grown(name: str) -> float:
        return _grown(n_sampled, [getattr(run, name) for run in runs], n_rows)

    tree_bytes, label_bytes = grown("tree_bytes"), grown("label_bytes")
    means, features = grown("n_mean_entries"), grown("n_features")
    growth = n_rows / rows.n_rows
    entries, targets = growth * len(rows.indices), growth * len(relevance.labels)
    width = min(64, -(-max(settings.arity, settings.max_leaf) // 16) * 16)
    data = 16 * entries + 32 * targets + 8 * means
    root = (60 + 4 * width) * n_rows + (24 + 4 * width) * features
    weights = tree_bytes * (settings.n_trees + 1)
    return TrainingEstimate(
        settings.n_trees * grown("seconds"),
        int(data + root + weights),
        int(settings.n_trees * tree_bytes + label_bytes),
    )


def _labels_of(counts: Sequence[int], n_doublings: float, n_known: int) -> float:
    """Return how many labels there are after so many doublings of the rows.

    Each doubling so far brought a smaller power of new ones than that before, and so it goes on.
    Labels that are known but not met are all there are.
    """
    before, last = (math.log2(max(b, 1) / max(a, 1)) for a, b in pairwise(counts))
    share = min(last / before, 1.0) if before > 0 else 0.0
    powers = last * n_doublings
    if share < 1:
        powers = last * share * (1 - share**n_doublings) / (1 - share)
    found: float = counts[-1] * 2**powers
    return min(found, n_known) if n_known > counts[-1] else found


def _with_leaves_of(settings: ExtremeSettings, share: float) -> ExtremeSettings:
    """Return the settings with leaves of this share of their labels."""
    return replace(settings, max_leaf=max(2, round(share * settings.max_leaf)))


def _run(
    rows: Rows, relevance: RawRelevance, chosen: np.ndarray, settings: ExtremeSettings
) -> _Run:
    part, raw = rows.take(chosen), relevance.take(chosen)
    scaled = raw.scaled()
    one = replace(settings, n_trees=1, n_jobs=1, max_memory=None, warm_start=False, verbose=0)
    start = time.process_time()
    model = train_extreme(part, scaled, one)
    seconds = time.process_time() - start
    data = _core.RelevanceData(*part.arrays, *scaled.arrays, len(scaled.vocabulary))
    tensors, _ = model.to_tensors(keep_state=False)
    of_tree = sum(a.nbytes for name, a in tensors.items() if name.startswith("tree0."))
    named = set(np.unique(raw.labels).tolist())
    whole = sum(a.nbytes for a in tensors.values()) - of_tree
    n_entries = len(data.label_features(1)[2])
    of_labels = int(whole * len(named) / len(scaled.vocabulary))
    return _Run(part.n_rows, seconds, of_tree, of_labels, data.n_features, n_entries)


def _grown(sizes: Sequence[int], values: Sequence[float], n_rows: int) -> float:
    """Return the value of so many rows: it goes on to grow by the power by which it grew last."""
    first, last = (max(float(value), 1e-9) for value in values[-2:])
    power = math.log(last / first) / math.log(sizes[-1] / sizes[-2])
    growth: float = (n_rows / sizes[-1]) ** min(max(power, 0.0), _MOST_POWER)
    return last * growth
