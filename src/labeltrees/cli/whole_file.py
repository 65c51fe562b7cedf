"""`labeltrees train` of the models that need the whole file: extreme regression and boosting."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees import checks
from labeltrees.cli.methods import Chosen, as_options
from labeltrees.data.rows import Rows
from labeltrees.errors import DataError
from labeltrees.progress import Progress

if TYPE_CHECKING:
    from pathlib import Path

    from labeltrees.cli.inputs import Input

__all__ = ["BASES", "stacked", "train_boosted", "train_extreme_regressor"]

BASES = ("tree", "self-terminating", "one-against-all", "frequency-table")
"""What can be boosted."""


def train_extreme_regressor(
    source: Input, out: Path, chosen: Chosen, options: dict[str, Any], *, quiet: bool
) -> dict[str, Any]:
    """Read the file, train, save; return what there is to say. Holds all rows in memory."""
    from labeltrees.models.extreme.relevance import as_relevance
    from labeltrees.models.extreme.training import train_extreme

    settings = chosen.settings(**options)
    parts: list[Rows] = []
    labels: list[list[Any]] = []
    with Progress("reading", enabled=not quiet) as progress:
        for chunk in source.chunks():
            parts.append(chunk.rows)
            labels += [
                chunk.labels[begin:end].tolist() for begin, end in pairwise(chunk.label_starts)
            ]
            progress.advance(chunk.n_rows)
    if not any(labels):
        raise DataError(f"{source.path} has no row with a label.")
    started = time.perf_counter()
    relevance = as_relevance(labels)
    if settings.relevance == "propensity":
        relevance = relevance.weighted_by_propensity()
    model = train_extreme(stacked(parts), relevance, settings)
    seconds = time.perf_counter() - started
    source.save(model, out)
    facts = model.describe()
    return {
        "model": str(out),
        "examples": len(labels),
        "labels": len(model.vocabulary),
        "trees": facts["trees"],
        "depth": facts["depth"],
        "weights": facts["weights"],
        "seconds": round(seconds, 3),
        "file_bytes": out.stat().st_size,
    }


def train_boosted(
    source: Input,
    out: Path,
    chosen: Chosen,
    *,
    base: str,
    n_rounds: int,
    eta: str,
    n_passes: int,
    keep_state: bool,
) -> dict[str, Any]:
    """Read the whole file, boost the base learner over it, save; return what there is to say."""
    from labeltrees.estimators import AdacondClassifier
    from labeltrees.models.boosting.model import AdacondSettings

    number = _number(eta)
    as_options(AdacondSettings, {"eta": number, "n_rounds": n_rounds}, {"n_rounds": "rounds"})
    learner = _base(base, chosen, n_passes)
    started = time.perf_counter()
    parts = list(source.examples())
    if not parts:
        raise DataError(f"{source.path} has no row with a label.")
    rows = stacked([part for part, _, _ in parts])
    labels = np.concatenate([part for _, part, _ in parts])
    weights = np.concatenate([part for _, _, part in parts])
    boosted = AdacondClassifier(learner, eta=number, n_rounds=n_rounds)
    boosted.fit(rows, labels, sample_weight=weights)
    seconds = time.perf_counter() - started
    source.save(boosted.model_, out, keep_state=keep_state)
    return {
        "model": str(out),
        "examples": len(labels),
        "labels": len(boosted.classes_),
        "rounds": len(boosted.bound_),
        "stop_reason": boosted.stop_reason_,
        "eta": boosted.eta_,
        "rows_above_eta_round_1": float(boosted.train_exceed_[0]),
        "rows_above_eta": float(boosted.train_exceed_[-1]),
        "bound": float(boosted.bound_[-1]),
        "seconds": round(seconds, 3),
        "file_bytes": out.stat().st_size,
    }


def stacked(parts: list[Rows]) -> Rows:
    """Return rows one below the other; parts of files without a width may differ in theirs."""
    if len(parts) == 1:
        return parts[0]
    offsets = np.cumsum([0, *(len(part.indices) for part in parts)])
    starts = [part.starts[1:] + offset for part, offset in zip(parts, offsets[:-1], strict=True)]
    return Rows(
        np.concatenate([np.zeros(1, np.int64), *starts]),
        np.concatenate([part.indices for part in parts]),
        np.concatenate([part.values for part in parts]),
        max(part.n_features for part in parts),
    )


def _base(name: str, chosen: Chosen, n_passes: int) -> Any:
    from labeltrees.estimators import (
        ConditionalTreeClassifier,
        FrequencyTableClassifier,
        OneAgainstAllClassifier,
        SelfTerminatingTreeClassifier,
    )

    if checks.choice("--base", name, BASES) == "tree":
        own = chosen.given | {"random_state": chosen.seed, "n_jobs": chosen.jobs}
        # Plain trees, because rounds are many.
        plain: dict[str, Any] = {"structure": "online", "n_trees": 1, "refine": 0}
        return ConditionalTreeClassifier(**plain | own, n_passes=n_passes)
    return {
        "self-terminating": SelfTerminatingTreeClassifier(random_state=chosen.seed),
        "one-against-all": OneAgainstAllClassifier(random_state=chosen.seed),
        "frequency-table": FrequencyTableClassifier(),
    }[name]


def _number(eta: str) -> float | str:
    try:
        return float(eta)
    except ValueError:
        return eta
