"""The parameters of LOMtree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

from labeltrees import _core
from labeltrees.checks import Choice, Integer, Number, setting
from labeltrees.models.online.settings import OPTIMIZERS, OnlineSettings

CountsName = Literal["both", "training"]
GrowthName = Literal["online", "heaviest"]

PartitionLossName = Literal["hinge", "logistic", "squared", "absolute"]
LOSSES = {name: getattr(_core.PartitionLoss, name) for name in get_args(PartitionLossName)}


@dataclass(frozen=True, kw_only=True)
class LomSettings(OnlineSettings):
    """The checked parameters of `LOMTreeClassifier`, which says what they mean.

    Examples
    --------
    >>> LomSettings(swap_resistance=0.5)
    Traceback (most recent call last):
    ...
    labeltrees.errors.ArgumentError: swap_resistance must be in [1, 1e+09], got 0.5.
    """

    max_splits: int | None = setting(None, Integer(0, 2**30 - 1, optional=True))
    splits_per_label: float = setting(4.0, Number(0, 1e6))
    swap_resistance: float = setting(4.0, Number(1, 1e9))
    back_off: float = setting(1.0, Number(0, 1e6))
    counts: CountsName = setting("both", Choice(get_args(CountsName)))
    growth: GrowthName = setting("online", Choice(get_args(GrowthName)))
    loss: PartitionLossName = setting("hinge", Choice(get_args(PartitionLossName)))

    @property
    def reading(self) -> _core.Reading:
        """How the core reads rows."""
        return _core.Reading(
            loss=_core.Loss.logistic,  # of no consequence: only a margin's sign counts
            normalize=self.normalize,
            bias=self.bias,
            mixing=False,
            sharpness=1.0,
        )

    def learning(self, *, again: bool = False) -> _core.LomLearning:
        """Return how the core learns."""
        limited = self.max_splits is not None
        return _core.LomLearning(
            reading=self.reading,
            loss=LOSSES[self.loss],
            optimizer=OPTIMIZERS[self.optimizer],
            learning_rate=self.learning_rate,
            max_splits=float(self.max_splits or 0),
            splits_per_label=0.0 if limited else self.splits_per_label,
            swap_resistance=self.swap_resistance,
            training_path_only=self.counts == "training",
            again=again,
        )

    @classmethod
    def from_dict(cls, values: Any, *, n_labels: int | None = None) -> Self:
        """Return the settings that `to_dict` wrote down, or raise `ModelFormatError`."""
        if isinstance(values, dict):
            values = {"counts": "both", "growth": "online"} | values  # older files had no choice
            if values["counts"] == "taught":  # its name until 0.2.0
                values = values | {"counts": "training"}
        return super().from_dict(values, n_labels=n_labels)
