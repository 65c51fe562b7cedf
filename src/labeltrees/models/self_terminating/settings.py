"""The parameters of self-terminating trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np

from labeltrees import _core, checks
from labeltrees.checks import Choice, Flag, Integer, Number, Threads, setting
from labeltrees.errors import ArgumentError
from labeltrees.models.settings import ClassifierSettings, RandomState

if TYPE_CHECKING:
    from collections.abc import Callable

CriterionName = Literal["gini", "entropy"]
NormName = Literal["l1", "linf"]
FormName = Literal["vector", "scalar"]
CRITERIA = {name: getattr(_core.Criterion, name) for name in get_args(CriterionName)}
NORMS = {name: getattr(_core.Norm, name) for name in get_args(NormName)}

POWERS = (0.5, 0.7)
"""Values that ``weight_power="auto"`` tries."""
GAINS = {"gini": (0.25, 0.5, 1.0, 2.0, 4.0), "entropy": (1.0, 2.0, 4.0, 8.0, 16.0)}
"""Values that ``min_gain="auto"`` tries, in units of a row's mean weight."""
GAIN = {"gini": 0.5, "entropy": 4.0}
"""Value of ``min_gain="auto"`` if the penalty is set."""

_AUTO = ("auto",)


def _penalty(name: str, value: Any) -> Any:
    """Return "auto", a number, a list of numbers, or a callable of the depth."""
    if callable(value) or (isinstance(value, str) and value == "auto"):
        return value
    allowed = '"auto", a number >= 0, a list of them by depth, or a callable of the depth'
    if not isinstance(value, (str, bytes, bool)):
        try:
            table = [float(each) for each in (value if np.ndim(value) else [value])]
        except (TypeError, ValueError, OverflowError):
            table = []
        if table and all(each >= 0 for each in table):
            return table if np.ndim(value) else table[0]
    raise ArgumentError.of(name, value, allowed)


def _categorical(name: str, value: Any) -> list[int] | None:
    """Return the numbers of the categorical features, or None."""
    allowed = "None, or a list of different feature numbers >= 0"
    if value is None:
        return None
    if isinstance(value, (str, bytes)) or np.ndim(value) != 1:
        raise ArgumentError.of(name, value, allowed)
    try:
        numbers = [checks.integer(name, each, 0, 2**31 - 2) for each in value]
    except ArgumentError:
        raise ArgumentError.of(name, value, allowed) from None
    if len(set(numbers)) < len(numbers):
        raise ArgumentError.of(name, value, allowed)
    return numbers


@dataclass(frozen=True)
class Growth:
    """All settings of growing a tree except its penalty, with final values."""

    weight_power: float
    min_gain: float
    criterion: str
    norm: str
    split_terminated: bool
    max_bins: int
    n_jobs: int
    categorical: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SelfTerminatingSettings(ClassifierSettings):
    """The checked parameters of `SelfTerminatingTreeClassifier`, which describes them."""

    penalty: Any = setting("auto", _penalty)
    weight_power: float | str = setting(0.5, Number(0, 1, open_high=True, words=_AUTO))
    min_gain: float | str = setting(0.5, Number(0, words=_AUTO))
    criterion: CriterionName = setting("gini", Choice(get_args(CriterionName)))
    norm: NormName = setting("l1", Choice(get_args(NormName)))
    form: FormName = setting("vector", Choice(get_args(FormName)))
    categorical: Any = setting(None, _categorical)
    split_terminated: bool = setting(True, Flag())
    max_bins: int = setting(255, Integer(3, 255))
    n_jobs: int | None = setting(None, Threads())
    random_state: int = setting(0, RandomState())

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.categorical and self.norm != "l1":
            raise ArgumentError.of("norm", self.norm, "'l1' with categorical features")

    @property
    def categories(self) -> tuple[int, ...]:
        """The categorical features, increasing."""
        return tuple(sorted(self.categorical or ()))

    @property
    def penalty_scale(self) -> float:
        """Factor of penalties in the vector form, 2 for a scalar, which is a difference."""
        return 2.0 if self.form == "scalar" else 1.0

    def growth(self) -> Growth:
        """Return the settings of growing, with usual values for those set to "auto"."""
        power = POWERS[0] if self.weight_power == "auto" else self.weight_power
        gain = GAIN[self.criterion] if self.min_gain == "auto" else self.min_gain
        return Growth(
            weight_power=float(power),
            min_gain=float(gain),
            criterion=self.criterion,
            norm=self.norm,
            split_terminated=self.split_terminated,
            max_bins=self.max_bins,
            n_jobs=checks.threads("n_jobs", self.n_jobs),
            categorical=self.categories,
        )

    def penalties(self, n_rows: int) -> list[float] | None:
        """Return the penalties by depth for a tree over ``n_rows`` rows, or None for "auto"."""
        penalty: Any = self.penalty
        if isinstance(penalty, str):
            return None
        if callable(penalty):
            penalty = _penalty("penalty", _called(penalty, n_rows))
        return penalty if isinstance(penalty, list) else [penalty]

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters as JSON values, or raise `ArgumentError` for a callable penalty."""
        if callable(self.penalty):
            raise ArgumentError.of("penalty", self.penalty, "a number or a list to be saved")
        return super().to_dict()

    @classmethod
    def from_dict(cls, values: Any, *, n_labels: int | None = None) -> Self:
        """Return the settings that `to_dict` saved, or raise `ModelFormatError`."""
        if isinstance(values, dict):  # older files have neither
            values = {"form": "vector", "categorical": None} | values
        return super().from_dict(values, n_labels=n_labels)


def _called(penalty: Callable[[int], float], n_rows: int) -> list[float]:
    # No tree over n rows is deeper than n. Beyond a thousand levels the last value is used.
    return [penalty(depth) for depth in range(min(n_rows, 1000))]
