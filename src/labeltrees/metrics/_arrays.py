"""The arrays that metrics take, checked, and the weighted mean of rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    FloatArray = NDArray[np.float64]
    BoolArray = NDArray[np.bool_]


def checked_floats(name: str, values: ArrayLike, *, ndim: int, empty: bool = False) -> FloatArray:
    """Return the values as float64 with ``ndim`` axes, none of them empty unless allowed."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(f"must be an array of numbers: {error}.", argument=name) from None
    if array.ndim != ndim:
        raise ArgumentError.of(f"the shape of {name}", array.shape, f"{ndim}-dimensional")
    if not empty and not array.size:
        raise ArgumentError.of(f"the shape of {name}", array.shape, "one without zeros")
    return array


def checked_probabilities(
    name: str, values: ArrayLike, *, ndim: int = 1, empty: bool = False, padded: bool = False
) -> FloatArray:
    """Return the values as float64 in [0, 1]; NaN is allowed where rows may be padded."""
    array = checked_floats(name, values, ndim=ndim, empty=empty)
    good = (array >= 0) & (array <= 1)
    if padded:
        good |= np.isnan(array)
    raise_at_first(name, array, ~good, "in [0, 1]")
    return array


def checked_weights(sample_weight: ArrayLike | None, n_rows: int) -> FloatArray:
    """Return one finite weight >= 0 for each row; ones if none are given."""
    if sample_weight is None:
        return np.ones(n_rows)
    weight = checked_floats("sample_weight", sample_weight, ndim=1, empty=True)
    check_length("sample_weight", weight, n_rows)
    raise_at_first("sample_weight", weight, ~((weight >= 0) & (weight < np.inf)), "finite and >= 0")
    with np.errstate(over="ignore"):
        if not np.isfinite(weight @ weight):
            raise ArgumentError.of("the sum of squares of sample_weight", math.inf, "finite")
    return weight


def checked_bools(name: str, values: ArrayLike | None, n_rows: int) -> BoolArray | None:
    """Return one truth value for each row, from booleans or 0 and 1."""
    if values is None:
        return None
    array = checked_floats(name, values, ndim=1, empty=True)
    check_length(name, array, n_rows)
    raise_at_first(name, array, (array != 0) & (array != 1), "0 or 1")
    return array.astype(bool)


def checked_labels(name: str, values: Any, *, ndim: int) -> NDArray[Any]:
    """Return an array of labels: strings, integers, or objects that are either."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ArgumentError(f"must be an array of labels: {error}.", argument=name) from None
    if array.ndim != ndim:
        raise ArgumentError.of(f"the shape of {name}", array.shape, f"{ndim}-dimensional")
    if not array.size:
        raise ArgumentError.of(f"the shape of {name}", array.shape, "one without zeros")
    if array.dtype.kind not in "iuUTO":
        raise ArgumentError.of(f"the type of {name}", array.dtype.name, "strings or integers")
    return array


def check_length(name: str, array: NDArray[Any], n_rows: int) -> None:
    """Raise unless the array has one entry, or one row, for each row of the first argument."""
    if len(array) != n_rows:
        raise ArgumentError.of(f"the length of {name}", len(array), f"the number of rows, {n_rows}")


def raise_at_first(name: str, array: FloatArray, bad: BoolArray, allowed: str) -> None:
    """Raise for the first bad entry, naming its index and value."""
    if bad.any():
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        where = ", ".join(str(i) for i in index)
        raise ArgumentError.of(f"{name}[{where}]", float(array[index]), allowed)


def weighted_mean(values: FloatArray, sample_weight: ArrayLike | None) -> float:
    """Return ``sum_i w_i v_i / sum_i w_i``; rows of weight 0 are left out, even if inf."""
    if sample_weight is None:
        return float(values.mean())
    weight = checked_weights(sample_weight, len(values))
    used = weight > 0
    if not used.any():
        raise ArgumentError.of("the sum of sample_weight", 0.0, "> 0")
    return float(np.average(values[used], weights=weight[used]))
