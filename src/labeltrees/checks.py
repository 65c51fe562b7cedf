"""The checks of arguments.

Every check takes the argument's name and its value. It returns the value as the code uses it, or
raises `ArgumentError` with name, value and allowed range. `Check` objects do the same for a table
of parameters. `setting` declares a field of a settings class, and `settle` checks all its fields.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from labeltrees.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Collection

Value = TypeVar("Value")

MAX_THREADS = 256


def integer(
    name: str, value: object, low: int | None = None, high: int | None = None, *, what: str = ""
) -> int:
    """Return a whole number in [low, high], where None is no limit; ``what`` names ``high``.

    >>> integer("k", np.int32(3), 1, 5)
    3
    >>> integer("k", True, 1, 5, what="n_labels=")
    Traceback (most recent call last):
    ...
    labeltrees.errors.ArgumentError: k must be an integer in [1, n_labels=5], got True.
    """
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if whole and (low is None or value >= low) and (high is None or value <= high):  # type: ignore[operator]
        return int(value)  # type: ignore[call-overload, no-any-return]
    raise ArgumentError.of(name, value, _integers(low, high, what))


def _integers(low: int | None, high: int | None, what: str = "") -> str:
    if low is None and high is None:
        return "an integer"
    least = None if low is None else _power(low)
    if high is None:
        return f"an integer >= {least}"
    return f"an integer in [{least}, {what}{_power(high)}]"


def _power(high: int) -> str:
    """Return a bound as a power of two where it is close to one, for example ``2^64 - 1``."""
    if high >= 2**20:
        for less, text in ((0, ""), (1, " - 1"), (2, " - 2"), (3, " - 3")):
            if (high + less).bit_count() == 1:
                return f"2^{(high + less).bit_length() - 1}{text}"
    return str(high)


def number(
    name: str,
    value: object,
    low: float,
    high: float = math.inf,
    *,
    open_low: bool = False,
    open_high: bool = False,
) -> float:
    """Return a finite number between low and high; an open limit is not allowed itself.

    >>> number("alpha", 1, 0, 1)
    1.0
    >>> number("learning_rate", 0, 0, open_low=True)
    Traceback (most recent call last):
    ...
    labeltrees.errors.ArgumentError: learning_rate must be a finite number > 0, got 0.
    """
    real = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if real:
        try:
            found = float(value)  # type: ignore[arg-type]
        except OverflowError:  # an integer larger than any float
            found = math.inf
        inside = low < found if open_low else low <= found
        inside &= found < high if open_high else found <= high
        if inside and math.isfinite(found):
            return found
    if high == math.inf:
        allowed = f"a finite number {'>' if open_low else '>='} {low:g}"
    else:
        allowed = f"in {'(' if open_low else '['}{low:g}, {high:g}{')' if open_high else ']'}"
    raise ArgumentError.of(name, value, allowed)


def flag(name: str, value: object) -> bool:
    """Return True or False, and refuse all other values.

    >>> flag("shuffle", "no")
    Traceback (most recent call last):
    ...
    labeltrees.errors.ArgumentError: shuffle must be True or False, got 'no'.
    """
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise ArgumentError.of(name, value, "True or False")


def choice(name: str, value: Any, allowed: Collection[Value]) -> Value:
    """Return a value that is one of those allowed.

    >>> choice("loss", "square", ("logistic", "squared"))
    Traceback (most recent call last):
    ...
    labeltrees.errors.ArgumentError: loss must be 'logistic' or 'squared', got 'square'.
    """
    for each in allowed:
        if type(each) is type(value) and each == value:
            return each
    if isinstance(value, np.str_) and str(value) in allowed:  # an entry of an array of names
        return str(value)  # type: ignore[return-value]
    *first, last = map(repr, allowed)
    raise ArgumentError.of(name, value, f"{', '.join(first)} or {last}" if first else last)


def threads(name: str, n_jobs: object) -> int:
    """Return the number of threads for ``n_jobs``, where -1 is all cores and -2 all but one.

    >>> threads("n_jobs", None), threads("n_jobs", 3)
    (1, 3)
    """
    if n_jobs is None:
        return 1
    whole = isinstance(n_jobs, (int, np.integer)) and not isinstance(n_jobs, bool)
    if not whole or n_jobs == 0:
        raise ArgumentError.of(name, n_jobs, "None or an integer other than 0")
    n_threads: int = int(n_jobs)  # type: ignore[call-overload]
    if n_threads < 0:
        n_threads = max((os.cpu_count() or 1) + 1 + n_threads, 1)
    return min(n_threads, MAX_THREADS)


def one_of_labels(name: str, label: object, known: bool, n_labels: int) -> None:
    """Raise `ArgumentError` unless the label is known.

    >>> one_of_labels("label", "fig", False, 3)
    Traceback (most recent call last):
    ...
    labeltrees.errors.ArgumentError: label must be one of the 3 labels learned, got 'fig'.
    """
    if not known:
        raise ArgumentError.of(name, label, f"one of the {n_labels} labels learned")


class Check(Protocol):
    """A check of a named argument, ready to be declared in a table."""

    def __call__(self, name: str, value: Any) -> Any:
        """Return the value as the code uses it, or raise `ArgumentError`."""


@dataclass(frozen=True)
class Integer:
    """`integer` as an entry of a table; ``optional`` allows None, ``words`` allows names."""

    low: int
    high: int | None = None
    optional: bool = False
    words: tuple[str, ...] = ()

    def __call__(self, name: str, value: Any) -> Any:
        """Return the checked value."""
        if self.optional and value is None:
            return None
        if isinstance(value, str) and value in self.words:
            return str(value)
        others = (["None"] if self.optional else []) + [repr(word) for word in self.words]
        try:
            return integer(name, value, self.low, self.high)
        except ArgumentError as error:
            if not others:
                raise
            allowed = " or ".join([*others, str(error.allowed)])
            raise ArgumentError.of(name, value, allowed) from None


@dataclass(frozen=True)
class Number:
    """`number` as an entry of a table; ``optional`` allows None, ``words`` allows names."""

    low: float
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False
    optional: bool = False
    words: tuple[str, ...] = ()

    def __call__(self, name: str, value: Any) -> Any:
        """Return the checked value."""
        if self.optional and value is None:
            return None
        if isinstance(value, str) and value in self.words:
            return str(value)
        try:
            return number(
                name, value, self.low, self.high, open_low=self.open_low, open_high=self.open_high
            )
        except ArgumentError as error:
            others = (["None"] if self.optional else []) + [repr(word) for word in self.words]
            if not others:
                raise
            allowed = f"{', '.join(others)} or {error.allowed}"
            raise ArgumentError.of(name, value, allowed) from None


@dataclass(frozen=True)
class Flag:
    """`flag` as an entry of a table."""

    def __call__(self, name: str, value: Any) -> bool:
        """Return the checked value."""
        return flag(name, value)


@dataclass(frozen=True)
class Choice:
    """`choice` as an entry of a table."""

    allowed: tuple[Any, ...]

    def __call__(self, name: str, value: Any) -> Any:
        """Return the checked value."""
        return choice(name, value, self.allowed)


@dataclass(frozen=True)
class Threads:
    """`threads` as an entry of a table, which keeps ``n_jobs`` itself."""

    def __call__(self, name: str, value: Any) -> int | None:
        """Return the checked value."""
        threads(name, value)
        return None if value is None else int(value)


def setting(default: Any, check: Check) -> Any:
    """Return a field of a settings class with its default and its check."""
    return field(default=default, metadata={"check": check})


def settle(settings: Any) -> None:
    """Check every field of a frozen settings object in place, in its ``__post_init__``.

    >>> @dataclass(frozen=True)
    ... class Steps:
    ...     n: int = setting(3, Integer(1, 10))
    ...     def __post_init__(self) -> None:
    ...         settle(self)
    >>> Steps(np.int64(4)).n, Steps.n
    (4, 3)
    >>> Steps(11)
    Traceback (most recent call last):
    ...
    labeltrees.errors.ArgumentError: n must be an integer in [1, 10], got 11.
    """
    for each in fields(settings):
        check = each.metadata["check"]
        object.__setattr__(settings, each.name, check(each.name, getattr(settings, each.name)))
