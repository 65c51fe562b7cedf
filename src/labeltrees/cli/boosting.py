"""`labeltrees train --model adacond`: boost a base learner over a whole file and save the model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from scipy import sparse

from labeltrees.cli.inputs import Input
from labeltrees.cli.report import say_json, say_pairs
from labeltrees.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from labeltrees.estimators import OnlineClassifier

__all__ = ["BaseOption", "EtaOption", "RoundsOption", "train_boosted"]

_BASES = ("tree", "self-terminating", "one-against-all", "frequency-table")

BaseOption = Annotated[str, typer.Option(help=f"Of adacond: {', '.join(_BASES)}.")]
RoundsOption = Annotated[int, typer.Option(min=1, help="Of adacond: how many rounds at most.")]
EtaOption = Annotated[
    str, typer.Option(help="Of adacond: the error a row may have, in (0, 1), 'auto' or 'median'.")
]


def train_boosted(
    source: Input,
    out: Path,
    learner: OnlineClassifier,
    *,
    base: str,
    n_rounds: int,
    eta: str,
    n_passes: int,
    keep_state: bool,
    json: bool,
) -> None:
    """Read the whole file, boost the base learner over it, save the model and report."""
    from labeltrees.estimators import AdacondClassifier

    learner.set_params(n_passes=n_passes)
    boosted = AdacondClassifier(_base(base, learner), eta=_number(eta), n_rounds=n_rounds)
    boosted.check_parameters()  # before any work is done
    started = time.perf_counter()
    parts = list(source.examples())
    if not parts:
        raise DataError(f"{source.path} has no row with a label.")
    X = sparse.vstack([features for features, _, _ in parts], format="csr")
    y = np.concatenate([labels for _, labels, _ in parts])
    boosted.fit(X, y, sample_weight=np.concatenate([weights for _, _, weights in parts]))
    seconds = time.perf_counter() - started
    boosted.save(out, keep_state=keep_state, extra=source.facts())
    result: dict[str, Any] = {
        "model": str(out),
        "examples": len(y),
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
    if json:
        say_json(result)
    else:
        say_pairs({name.replace("_", " "): value for name, value in result.items()})


def _base(name: str, learner: OnlineClassifier) -> Any:
    from labeltrees.estimators import (
        FrequencyTableClassifier,
        OneAgainstAllClassifier,
        SelfTerminatingTreeClassifier,
    )

    seed = learner.get_params()["random_state"]
    bases = {
        "tree": learner,
        "self-terminating": SelfTerminatingTreeClassifier(random_state=seed),
        "one-against-all": OneAgainstAllClassifier(random_state=seed),
        "frequency-table": FrequencyTableClassifier(),
    }
    if name not in bases:
        raise ArgumentError.of("--base", name, f"one of {', '.join(_BASES)}")
    return bases[name]


def _number(eta: str) -> float | str:
    try:
        return float(eta)
    except ValueError:
        return eta
