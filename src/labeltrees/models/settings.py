"""The parameters of a method: one table of names, defaults and checks for all who use them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, Self

import numpy as np

from labeltrees import checks
from labeltrees.checks import setting
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ArgumentError, LabelTypeError, ModelFormatError

LabelWeights = Literal["balanced"] | dict[Any, float] | None
"""What rows of each label weigh: as much in all for each label, or as the dict says, else 1."""
_MOST_WEIGHT = 1e9
_LATER: dict[str, Any] = {
    "class_weight": None,
    "verbose": 0,
    "objective": "sum",
    "propensity_a": 0.55,
    "propensity_b": 1.5,
    "missing": "fill",
    "min_weight_share": 0.0,
}
"""What files did not say before there were these parameters."""

MAX_SEED = 2**64 - 1


class RandomState:
    """The check of a seed; an estimator has made one integer of whatever it was given."""

    def __init__(self, high: int = MAX_SEED) -> None:
        self.high = high

    def __call__(self, name: str, value: Any) -> int:
        """Return the checked seed."""
        return checks.integer(name, value, 0, self.high)


class ClassWeight:
    """The check of ``class_weight``: None, "balanced", or labels and what their rows weigh."""

    def __call__(self, name: str, value: Any) -> LabelWeights:
        """Return the checked value, a dict as a copy."""
        if value is None or (isinstance(value, str) and value == "balanced"):
            return value  # type: ignore[return-value]
        if not isinstance(value, dict):
            raise ArgumentError.of(name, value, "None, 'balanced' or a dict of labels and weights")
        try:
            for label, weight in value.items():
                checks.number(f"{name}[{label!r}]", weight, 0, _MOST_WEIGHT)
            vocabulary = LabelVocabulary(list(value))
        except (ArgumentError, LabelTypeError) as error:
            allowed = f"a dict of labels and weights in [0, {_MOST_WEIGHT:g}] ({error})"
            raise ArgumentError.of(name, value, allowed) from None
        return dict(zip(vocabulary.labels.tolist(), map(float, value.values()), strict=True))


def class_weight_to_json(value: LabelWeights) -> Any:
    """Return label weights as values that JSON takes, whose keys are always text."""
    return (
        [[label, weight] for label, weight in value.items()] if isinstance(value, dict) else value
    )


def check_verbose(name: str, value: Any) -> int:
    """Return how much is shown of a long fit: True is 1.

    >>> check_verbose("verbose", True), check_verbose("verbose", 2)
    (1, 2)
    """
    return checks.integer(name, int(value) if isinstance(value, (bool, np.bool_)) else value, 0)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The checked parameters of a method.

    A subclass declares every parameter once, with `labeltrees.checks.setting`: its estimator has
    the same names and defaults, the command line takes its options from here, and the model file
    keeps them. A value outside its range raises `ArgumentError` under the parameter's name.
    """

    def __post_init__(self) -> None:
        checks.settle(self)

    @property
    def batch_k(self) -> int:
        """The largest ``k`` for which a model's `update` learns rows in batches."""
        return 1

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
        if isinstance(values, dict):
            values = {name: _LATER[name] for name in _LATER if name in cls.names()} | values
        if not isinstance(values, dict) or set(values) != set(cls.names()):
            raise ModelFormatError(f"the settings do not belong to {cls.__name__}.")
        return cls(**values)


@dataclass(frozen=True, kw_only=True)
class ClassifierSettings(Settings):
    """The checked parameters of a method that gives a row one label."""

    class_weight: LabelWeights = setting(None, ClassWeight())

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters as values that JSON takes."""
        plain = {name: getattr(self, name) for name in self.names()}
        return plain | {"class_weight": class_weight_to_json(self.class_weight)}

    @classmethod
    def from_dict(cls, values: Any, *, n_labels: int | None = None) -> Self:
        """Return the settings that `to_dict` wrote down, or raise `ModelFormatError`."""
        if isinstance(values, dict) and not isinstance(values.get("class_weight"), str | None):
            try:
                pairs = {label: weight for label, weight in values["class_weight"]}  # noqa: C416
            except (TypeError, ValueError) as error:
                raise ModelFormatError(
                    f"class_weight is not pairs of label and weight: {error}"
                ) from None
            values = values | {"class_weight": pairs}
        return super().from_dict(values, n_labels=n_labels)
