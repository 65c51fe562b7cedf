"""Directed damage to what a model file holds: each tensor and each fact, one defect at a time.

Every damage has a name that says what it did, so that a finding can be made again. The contract
tries all of them, the fuzzer chains of them.
"""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

INTEGERS = (-1, -2, 1, 7, 2**15, 2**31 - 3, 2**31 - 1, 2**62, -(2**63), 2**64 - 1)
FLOATS = (math.nan, math.inf, -math.inf, -1.0, 0.0, 1e-40, 0.75, 1e9, 1e38, 1e300)
DTYPES = ("u1", "i4", "i8", "u4", "f2", "f4", "f8", "?")
FACTS = (
    None, True, False, 0, 1, -1, 2**31, 2**63, 10**400, -0.5, 1e308, math.nan, math.inf, -math.inf,
    "", "x", "auto", [], [0], [[]], {}, {"a": 1},
)  # fmt: skip
DEEP: list[Any] = []
for _ in range(2000):
    DEEP = [DEEP]


def array_damages(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield (name, damaged copy); values are put in turn at the start, the middle and the end."""
    yield from _other_shapes(array)
    yield from _other_orders(array)
    yield from _other_values(array)


def _other_shapes(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    yield "empty", array[:0]
    yield "one less", array[:-1]
    yield "one more", np.concatenate([array, array[-1:]]) if len(array) else _ones(array, 1)
    yield "twice", np.concatenate([array, array])
    yield "half", array[: len(array) // 2]
    yield "another ndim", array.reshape(-1) if array.ndim > 1 else array.reshape(-1, 1)
    yield "no dimension", array.reshape(-1)[:1].reshape(()) if array.size else np.array(0)
    for dtype in DTYPES:
        if array.dtype != np.dtype(dtype):
            with np.errstate(all="ignore"):
                yield f"as {dtype}", array.astype(dtype)


def _other_orders(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    if len(array) > 1:
        yield "reversed", array[::-1]
        yield "turned round by one", np.roll(array, 1, axis=0)
        yield "two swapped", array[[1, 0, *range(2, len(array))]]
        yield "one repeated", array[[0, 0, *range(2, len(array))]]
        yield "all equal", np.broadcast_to(array[:1], array.shape)
        yield "the last for all", np.broadcast_to(array[-1:], array.shape)
        if array.dtype.kind in "iu" and array.ndim == 1:
            yield "each its own", np.arange(len(array)).astype(array.dtype)
            yield "the next one", (np.arange(len(array)) + 1).astype(array.dtype)


def _other_values(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    if not array.size:
        return
    is_float = array.dtype.kind == "f"
    values: tuple[Any, ...] = FLOATS if is_float else (*INTEGERS, len(array), len(array) - 1)
    for i, value in enumerate(values):
        place = (0, array.size // 2, array.size - 1)[i % 3]
        yield f"{value} at {place}", with_value(array, place, value)
        if i % 2 == 0:
            yield f"all {value}", with_value(array, slice(None), value)
    yield "all zero", np.zeros_like(array)
    if not is_float:
        for change, place in ((1, 0), (-1, array.size // 2), (1, array.size - 1)):
            moved = int(array.reshape(-1)[place]) + change
            yield f"{change:+} at {place}", with_value(array, place, moved)
    else:
        yield "a thousand times", with_value(array, slice(None), array.reshape(-1) * 1000)
        yield "negative", -array
        signs = np.where(np.arange(array.size) % 2, 1, -1)
        yield "huge, signs in turn", with_value(array, slice(None), signs * 3e38)


def with_value(array: np.ndarray, place: int | slice, value: Any) -> np.ndarray:
    """Return a copy with a value at a place of the flattened array, wrapped to its type."""
    damaged = np.array(array)
    flat = damaged.reshape(-1)
    with np.errstate(all="ignore"):
        if isinstance(value, int):
            wrapped = np.array(value % 2**64, dtype=np.uint64)
            flat[place] = wrapped.astype(array.dtype)
        else:
            flat[place] = np.asarray(value).astype(array.dtype)
    return damaged


def _ones(array: np.ndarray, n: int) -> np.ndarray:
    return np.ones((n, *array.shape[1:]), dtype=array.dtype)


def fact_places(facts: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of every value in nested facts, as keys and indices from the outside in."""
    entries = facts.items() if isinstance(facts, dict) else enumerate(facts)
    for key, value in entries:
        yield (*place, key)
        if isinstance(value, (dict, list)):
            yield from fact_places(value, (*place, key))


def with_fact(facts: Any, place: tuple[Any, ...], value: Any) -> Any:
    """Return facts with another value at a place."""
    *outer, last = place
    changed = copy.deepcopy(facts)
    inside = changed
    for key in outer:
        inside = inside[key]
    inside[last] = value
    return changed


def fact_damages(facts: Any, place: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    """Yield (name, facts with a wrong value at the place)."""
    for value in FACTS:
        yield f"{'.'.join(map(str, place))} = {value!r:.40}", with_fact(facts, place, value)
    yield f"{'.'.join(map(str, place))} = very deep lists", with_fact(facts, place, DEEP)
