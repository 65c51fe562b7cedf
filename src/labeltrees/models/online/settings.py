"""The parameters that all models of online regressors share, and what the core makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np

from labeltrees import _core
from labeltrees.checks import Choice, Flag, Integer, Number, setting
from labeltrees.models.online.scaling import ScaleName
from labeltrees.models.settings import ClassifierSettings, RandomState, Settings, check_verbose

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labeltrees.data.rows import Rows

LossName = Literal["logistic", "squared"]
OptimizerName = Literal["adagrad", "sgd"]

LOSSES = {name: getattr(_core.Loss, name) for name in get_args(LossName)}
OPTIMIZERS = {name: getattr(_core.Optimizer, name) for name in get_args(OptimizerName)}

LearningRate = Number(0, 1e6, open_low=True)


@dataclass(frozen=True, kw_only=True)
class PassSettings(Settings):
    """How rows are read, how regressors step, and how `fit` goes over the data."""

    optimizer: OptimizerName = setting("adagrad", Choice(get_args(OptimizerName)))
    learning_rate: float = setting(1.0, LearningRate)
    n_passes: int = setting(5, Integer(1))
    shuffle: bool = setting(True, Flag())
    scale: ScaleName | None = setting("auto", Choice((*get_args(ScaleName), None)))
    normalize: bool = setting(True, Flag())
    bias: float = setting(0.25, Number(0, 1e6))
    random_state: int = setting(0, RandomState())
    verbose: int = setting(0, check_verbose)

    def passes(self, rows: Rows) -> int:  # noqa: ARG002 - for settings that choose
        """Return how often `fit` goes over these rows."""
        return self.n_passes

    def orders(self, rows: Rows) -> list[NDArray[np.int64]]:
        """Return the order of the rows in each pass over them."""
        generator = np.random.default_rng(self.random_state)
        orders = [np.arange(rows.n_rows, dtype=np.int64) for _ in range(self.passes(rows))]
        for order in orders:
            if self.shuffle:
                generator.shuffle(order)
        return orders


@dataclass(frozen=True, kw_only=True)
class OnlineSettings(PassSettings, ClassifierSettings):
    """The parameters of classifiers that learn row by row."""

    @classmethod
    def from_dict(cls, values: Any, *, n_labels: int | None = None) -> Self:
        """Return the settings that `to_dict` wrote down, or raise `ModelFormatError`."""
        if isinstance(values, dict):
            values = {"scale": None} | values  # files had none before columns were scaled
        return super().from_dict(values, n_labels=n_labels)


@dataclass(frozen=True, kw_only=True)
class RegressorSettings(OnlineSettings):
    """The parameters of regressors that estimate probabilities."""

    loss: LossName = setting("logistic", Choice(get_args(LossName)))

    @property
    def reading(self) -> _core.Reading:
        """How the core reads rows."""
        return _core.Reading(
            loss=LOSSES[self.loss],
            normalize=self.normalize,
            bias=self.bias,
            mixing=False,
            sharpness=1.0,
        )

    def learning(self, *, again: bool = False) -> _core.Learning:
        """Return how the core learns, from new rows or ``again`` from rows it has seen."""
        return _core.Learning(
            reading=self.reading,
            optimizer=OPTIMIZERS[self.optimizer],
            learning_rate=self.learning_rate,
            again=again,
        )
