"""The parameters of filter trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from labeltrees import _core
from labeltrees.checks import Choice, setting
from labeltrees.models.online.settings import OPTIMIZERS, RegressorSettings

PairingName = Literal["balanced", "random"]


@dataclass(frozen=True, kw_only=True)
class FilterSettings(RegressorSettings):
    """The checked parameters of `FilterTreeClassifier`, which says what they mean.

    Examples
    --------
    >>> FilterSettings(structure="online")
    Traceback (most recent call last):
    ...
    labeltrees.errors.ArgumentError: structure must be 'balanced' or 'random', got 'online'.
    """

    structure: PairingName = setting("balanced", Choice(get_args(PairingName)))

    def tree_learning(self, *, again: bool = False) -> _core.ConditionalLearning:
        """Return how the core learns: labels are counted where new ones are placed."""
        random = self.structure == "random"
        return _core.ConditionalLearning(
            reading=self.reading,
            optimizer=OPTIMIZERS[self.optimizer],
            learning_rate=self.learning_rate,
            insertion=_core.Insertion.random if random else _core.Insertion.objective,
            balance=_core.Balance.labels,
            alpha=1.0,
            seed=self.random_state,
            n_threads=1,
            again=again,
        )
