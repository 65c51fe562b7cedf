"""What training on many rows will take, from training on some of them."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labeltrees import _core, checks
from labeltrees.errors import ArgumentError
from labeltrees.models.extreme.training import train_extreme

if TYPE_CHECKING:
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
    one to the next says how they grow on.
    """
    if rows.n_rows < _LEAST_ROWS:
        allowed = f"a sample of at least {_LEAST_ROWS} rows"
        raise ArgumentError.of("X", f"{rows.n_rows} rows", allowed)
    n_rows = checks.integer("n_rows", n_rows, rows.n_rows)
    order = np.random.default_rng(settings.random_state).permutation(rows.n_rows)
    runs = [
        _run(rows, relevance, np.sort(order[: int(share * rows.n_rows)]), settings)
        for share in _SHARES
    ]
    tree_bytes = _grown(runs, "tree_bytes", n_rows)
    label_bytes = _grown(runs, "label_bytes", n_rows)
    means, features = _grown(runs, "n_mean_entries", n_rows), _grown(runs, "n_features", n_rows)
    growth = n_rows / rows.n_rows
    entries, targets = growth * len(rows.indices), growth * len(relevance.labels)
    width = min(64, -(-max(settings.arity, settings.max_leaf) // 16) * 16)
    data = 16 * entries + 32 * targets + 8 * means
    root = (60 + 4 * width) * n_rows + (24 + 4 * width) * features
    weights = tree_bytes * (settings.n_trees + 1)
    return TrainingEstimate(
        settings.n_trees * _grown(runs, "seconds", n_rows),
        int(data + root + weights),
        int(settings.n_trees * tree_bytes + label_bytes),
    )


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


def _grown(runs: list[_Run], name: str, n_rows: int) -> float:
    """Return a number of so many rows: it goes on to grow by the power by which it grew last."""
    before, last = runs[-2:]
    first, second = float(getattr(before, name)), float(getattr(last, name))
    power = np.log(max(second, 1e-9) / max(first, 1e-9)) / np.log(last.n_rows / before.n_rows)
    return float(second * (n_rows / last.n_rows) ** float(np.clip(power, 0, _MOST_POWER)))
