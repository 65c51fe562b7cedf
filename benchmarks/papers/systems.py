"""The systems that paper 4 compares, each tuned on a tenth of the training rows."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import labeltrees
from labeltrees.models.extreme.settings import preset_settings

COSTS = (1.0, 0.1, 0.3, 3.0, 10.0)
RELEASE_COSTS = (10.0, 1.0, 3.0, 30.0, 100.0)
RANK_SVM_COSTS = (0.1, 0.01, 0.03, 0.3, 1.0)
XLR_COSTS = (0.003, 0.001, 0.01, 0.03)
XLR_FACTORS = (50, 20)
EQUATION_13_COSTS = (3e4, 10.0, 1e3, 1e4, 1e5, 3e5)
LEML_PENALTIES = (1.2, 0.06, 0.3, 0.6, 2.4, 4.8)
TAILS = (0.8, 0.3, 0.4, 0.5, 0.6, 0.7, 0.9, 0.95)


@dataclass(frozen=True, eq=False)
class System:
    """An estimator by its name in the paper; what is tried, one parameter after the other."""

    name: str
    estimator: str
    fixed: dict[str, Any] = field(default_factory=dict)
    grid: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    graded: bool = True
    """Whether it learns from relevances; otherwise from which labels are relevant."""
    in_units: bool = True
    """Whether its scores are in the units of the relevances that it learned from."""
    labelwise_only: bool = False
    pointwise_only: bool = False

    def make(self, **options: Any) -> Any:
        return getattr(labeltrees, self.estimator)(random_state=0, **(self.fixed | options))


XREG, XREG_T = "XReg", "XReg-t"
PLAIN = {"calibrate": False}
XLR = PLAIN | {"n_factors": 50, "n_rounds": 5}
RELEASE, EQUATION_13 = preset_settings("release"), preset_settings("paper")
PFASTREXML = {"tail_weight": (0.6, 0.8, 1.0), "cost": (4.0, 1.0), "gamma": (60.0, 30.0)}
_SCORES = {"in_units": False}
_BINARY = {"graded": False, "in_units": False}
SYSTEMS = [
    System("PfastreXML", "PfastreXmlRanker", PLAIN, PFASTREXML, **_SCORES),
    System("Parabel", "ExtremeRegressor", preset_settings("parabel"), {"cost": COSTS}, **_BINARY),
    System("LEML", "LemlRegressor", PLAIN, {"penalty": LEML_PENALTIES, "rank": (100, 159)}),
    System("1-vs-all-LS", "LeastSquaresRegressor", PLAIN, {"cost": COSTS}),
    System(
        "RankSVM",
        "RankSvmRanker",
        PLAIN,
        {"cost": RANK_SVM_COSTS},
        **_SCORES,
        pointwise_only=True,
    ),
    System("DiSMEC", "DismecRanker", PLAIN, {"cost": COSTS}, **_BINARY),
    System("ProXML", "ProxmlRanker", PLAIN, {"cost": COSTS}, **_BINARY),
    System(
        "XLR",
        "XlrRanker",
        XLR,
        {"cost": XLR_COSTS, "n_factors": XLR_FACTORS},
        **_SCORES,
        labelwise_only=True,
    ),
    System(XREG, "ExtremeRegressor", RELEASE, {"cost": RELEASE_COSTS}),
    System(
        XREG_T,
        "ExtremeRegressor",
        RELEASE | {"tail": "xreg"},
        {"cost": RELEASE_COSTS, "tail_weight": TAILS},
    ),
    System("XReg by equation 13", "ExtremeRegressor", EQUATION_13, {"cost": EQUATION_13_COSTS}),
    System("labeltrees, default", "ExtremeRegressor", {}, {"cost": COSTS}),
]
NAMED = {each.name: each for each in SYSTEMS}
POINTWISE = [each for each in SYSTEMS if not each.labelwise_only]
LABELWISE = [each for each in SYSTEMS if not each.pointwise_only]


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


def above_zero(found: Any) -> Any:
    """Return scores above 0 in the same order: 0 is what metrics take for no score."""
    shifted = found.copy()
    if len(shifted.data) and shifted.data.min() <= 0:
        shifted.data = shifted.data - shifted.data.min() + 1e-3
    return shifted


def not_negative(found: Any) -> Any:
    """Return scores as relevances, which are 0 or more."""
    cut = found.copy()
    cut.data = cut.data.clip(min=0)
    return cut


def megabytes(model: Any) -> float:
    """Return the size of the model's file, without what only learning needs."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        model.save(path, keep_state=False)
        return path.stat().st_size / 1e6


def shown(settings: dict[str, Any]) -> str:
    """Return settings as text."""
    return ", ".join(f"{name} {value:g}" for name, value in settings.items()) or "-"
