"""The systems that paper 4 compares, each tuned on a tenth of the training rows."""

from __future__ import annotations

import itertools
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import labeltrees

if TYPE_CHECKING:
    from collections.abc import Callable

COSTS = (10.0, 1.0, 3.0, 30.0, 100.0)
TAILS = (0.8, 0.5, 0.7, 0.9, 0.95)
#: XReg as the paper prints it.
PAPER = {"n_trees": 3, "arity": 2, "max_leaf": 100, "beam_width": 10}
PAPER |= {"cost_power": 1.0, "inner_power": 1.0, "calibrate": False}


@dataclass(frozen=True, eq=False)
class System:
    """An estimator by its name in the paper; what is tried, one parameter after the other."""

    name: str
    estimator: str
    fixed: dict[str, Any] = field(default_factory=dict)
    grid: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    graded: bool = True
    """Whether it learns from relevances; otherwise from which labels are relevant."""
    ranks_only: bool = False
    """Whether its scores only rank: they are no relevances."""

    @property
    def is_here(self) -> bool:
        return hasattr(labeltrees, self.estimator)

    def make(self, **options: Any) -> Any:
        return getattr(labeltrees, self.estimator)(random_state=0, **(self.fixed | options))


XREG, XREG_T = "XReg", "XReg-t"
SYSTEMS = [
    System("Parabel", "ExtremeRegressor", PAPER | {"loss": "hinge"}, {"cost": COSTS}, graded=False),
    System(XREG, "ExtremeRegressor", PAPER, {"cost": COSTS}),
    System(
        XREG_T,
        "ExtremeRegressor",
        PAPER | {"tail": "xreg"},
        {"cost": COSTS, "tail_weight": TAILS},
        ranks_only=True,
    ),
]
OURS = System("labeltrees, default", "ExtremeRegressor", {}, {"cost": COSTS})


@dataclass(frozen=True, eq=False)
class Run:
    """A system with the settings that did best, fitted to all training rows."""

    system: System
    settings: dict[str, Any]
    model: Any
    train_s: float
    model_mb: float


def tuned(
    system: System,
    fit: Callable[[Any], Any],
    fit_apart: Callable[[Any], Any],
    score: Callable[[Any], float],
    *,
    n_tried: int | None = None,
) -> Run:
    """Choose one parameter after the other by the score on rows kept apart, then fit all rows."""
    chosen: dict[str, Any] = {}
    for name, values in system.grid.items():
        tried = {}
        for value in values[:n_tried]:
            tried[value] = score(fit_apart(system.make(**chosen, **{name: value})))
        chosen[name] = max(tried, key=lambda each: tried[each])
    model = system.make(**chosen)
    started = time.process_time()
    fit(model)
    seconds = time.process_time() - started
    print(system.name, chosen, f"{seconds:.1f} s", file=sys.stderr, flush=True)
    return Run(system, chosen, model, seconds, megabytes(model))


def timed(ask: Callable[[], Any]) -> tuple[Any, float]:
    """Return an answer and the processor's seconds."""
    started = time.process_time()
    answer = ask()
    return answer, time.process_time() - started


def megabytes(model: Any) -> float:
    """Return the size of the model's file, without what only learning needs."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        model.save(path, keep_state=False)
        return path.stat().st_size / 1e6


def shown(settings: dict[str, Any]) -> str:
    """Return settings as they are printed."""
    return ", ".join(f"{name} {value:g}" for name, value in settings.items()) or "-"


def one_by_one(values: dict[str, tuple[Any, ...]]) -> list[tuple[str, Any]]:
    """Return each parameter with each of its values."""
    return list(itertools.chain.from_iterable([(k, v) for v in vs] for k, vs in values.items()))
