"""The parameters of conditional probability trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

from labeltrees import _core, checks
from labeltrees.checks import Choice, Flag, Integer, Number, Threads, setting
from labeltrees.errors import ArgumentError
from labeltrees.models.conditional.structure import (
    Structure,
    check_structure,
    structure_from_json,
    structure_name,
    structure_to_json,
)
from labeltrees.models.online.settings import LOSSES, OPTIMIZERS, RegressorSettings

__all__ = ["BalanceName", "ConditionalSettings"]

BalanceName = Literal["examples", "labels"]
BALANCES = {name: getattr(_core.Balance, name) for name in get_args(BalanceName)}
MIN_TABLE = 2**20
"""The least memory, in bytes, that a table can be kept within."""


def _arity(name: str, value: Any) -> int:
    if not isinstance(value, bool) and hasattr(value, "__index__"):
        arity = int(value)
        if 2 <= arity <= 2**30 and arity.bit_count() == 1:
            return arity
    raise ArgumentError.of(name, value, "a power of two in [2, 2^30]")


@dataclass(frozen=True, kw_only=True)
class ConditionalSettings(RegressorSettings):
    """The checked parameters of `ConditionalTreeClassifier`, which says what they mean.

    Examples
    --------
    >>> ConditionalSettings(alpha=2)
    Traceback (most recent call last):
    ...
    labeltrees.errors.ArgumentError: alpha must be in [0, 1], got 2.
    """

    structure: Structure = setting("online", check_structure)
    arity: int = setting(2, _arity)
    n_trees: int = setting(1, Integer(1, 1000))
    alpha: float = setting(0.6, Number(0, 1))
    balance: BalanceName = setting("examples", Choice(get_args(BalanceName)))
    mixing: bool = setting(True, Flag())
    sharpness: float = setting(1.2, Number(0, 10, open_low=True))
    n_passes: int = setting(1, Integer(1))
    novelty: bool = setting(False, Flag())
    max_memory: int | None = setting(None, Integer(MIN_TABLE, 2**63 - 1, optional=True))
    n_jobs: int | None = setting(None, Threads())

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_trees > 1 and self.novelty:
            raise ArgumentError.of("n_trees", self.n_trees, "1 with novelty=True")

    @property
    def structure_name(self) -> str:
        """The structure's name: ``"given"`` for a given tree."""
        return structure_name(self.structure)

    @property
    def n_threads(self) -> int:
        """How many threads learn and answer."""
        return checks.threads("n_jobs", self.n_jobs)

    @property
    def reading(self) -> _core.Reading:
        """How the core reads rows; squared loss has no log-odds to mix."""
        return _core.Reading(
            loss=LOSSES[self.loss],
            normalize=self.normalize,
            bias=self.bias,
            mixing=self.mixing and self.loss == "logistic",
            sharpness=self.sharpness,
        )

    def tree_learning(self, *, again: bool = False) -> _core.ConditionalLearning:
        """Return how the core learns a binary tree, which may grow."""
        balanced, random = (self.structure_name == name for name in ("balanced", "random"))
        insertion = _core.Insertion.random if random else _core.Insertion.objective
        # A random tree has no balance to keep: counting labels switches the guard off.
        balance = BALANCES["labels" if balanced or random else self.balance]
        return _core.ConditionalLearning(
            reading=self.reading,
            optimizer=OPTIMIZERS[self.optimizer],
            learning_rate=self.learning_rate,
            insertion=insertion,
            balance=balance,
            alpha=1.0 if balanced else self.alpha,
            seed=self.random_state,
            n_threads=self.n_threads,
            again=again,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters as values that JSON takes."""
        # asdict would copy a given tree
        plain = {name: getattr(self, name) for name in self.names()}
        return plain | {"structure": structure_to_json(self.structure)}

    @classmethod
    def from_dict(cls, values: Any, *, n_labels: int | None = None) -> Self:
        """Return the settings that `to_dict` wrote down, or raise `ModelFormatError`."""
        if isinstance(values, dict) and "structure" in values:
            structure = structure_from_json(values["structure"], n_labels=n_labels)
            values = values | {"structure": structure}
        return super().from_dict(values, n_labels=n_labels)
