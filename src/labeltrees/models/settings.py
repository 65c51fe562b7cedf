"""The parameters of a method: one table of names, defaults and checks for all who use them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from labeltrees import checks
from labeltrees.errors import ModelFormatError

__all__ = ["MAX_SEED", "RandomState", "Settings"]

MAX_SEED = 2**64 - 1


class RandomState:
    """The check of a seed; an estimator has made one integer of whatever it was given."""

    def __init__(self, high: int = MAX_SEED) -> None:
        self.high = high

    def __call__(self, name: str, value: Any) -> int:
        """Return the checked seed."""
        return checks.integer(name, value, 0, self.high)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The checked parameters of a method.

    A subclass declares every parameter once, with `labeltrees.checks.setting`: its estimator has
    the same names and defaults, the command line takes its options from here, and the model file
    keeps them. A value outside its range raises `ArgumentError` under the parameter's name.
    """

    def __post_init__(self) -> None:
        checks.settle(self)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of the parameters."""
        return tuple(each.name for each in fields(cls))

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters as values that JSON takes."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Any, *, n_labels: int | None = None) -> Self:  # noqa: ARG003
        """Return the settings that `to_dict` wrote down, or raise `ModelFormatError`.

        With ``n_labels``, label ids in them must be below it: a file could name any.
        """
        if not isinstance(values, dict) or set(values) != set(cls.names()):
            raise ModelFormatError(f"the settings are not those of {cls.__name__}.")
        return cls(**values)
