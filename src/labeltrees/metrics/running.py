"""Running sums over a part of a stream, exact whatever its length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.checks import integer
from labeltrees.metrics.calibration import equal_mass_bins

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

_N_CELLS = 1000
"""Number of cells of equal width; they are merged into ``_N_BINS`` of equal mass when needed."""
_N_BINS = 15


class RunningSums:
    """Numbers of rows and of new labels in a part of a stream, and sums over its rows."""

    def __init__(self, n_sums: int) -> None:
        self.n_rows = 0
        self.n_new = 0
        self._sums = _CompensatedSum(n_sums)

    def state(self) -> list[Any]:
        """Return the sums as values that JSON takes."""
        return [self.n_rows, self.n_new, *self._sums.state()]

    def restore(self, state: Any) -> None:
        """Take over what `state` returned."""
        n_rows, n_new, *sums = state
        self.n_rows, self.n_new = integer("n_rows", n_rows, 0), integer("n_new", n_new, 0)
        self._sums.restore(sums)

    def add(self, sums: FloatArray, n_rows: int, n_new: int) -> None:
        """Add the sums of more rows."""
        self._sums.add(sums)
        self.n_rows += n_rows
        self.n_new += n_new

    def __getitem__(self, place: int) -> float:
        return float(self._sums.value[place])

    def ratio(self, numerator: int, denominator: int, power: int = 1) -> float | None:
        """Return a power of one sum over another; None where that is 0."""
        sums = self._sums.value
        if not sums[denominator] > 0:
            return None
        return float(sums[numerator] ** power / sums[denominator])

    def share(self, numerator: int, denominator: int) -> float | None:
        """Return a ratio that is at most 1, which rounding may exceed."""
        mean = self.ratio(numerator, denominator)
        return None if mean is None else min(mean, 1.0)


class _CompensatedSum:
    """Neumaier's sum, elementwise: its error does not grow with the number of terms."""

    def __init__(self, *shape: int) -> None:
        self._sum, self._lost = np.zeros(shape), np.zeros(shape)

    def state(self, columns: Any = slice(None)) -> list[list[float]]:
        return [part[..., columns].ravel().tolist() for part in (self._sum, self._lost)]

    def restore(self, state: Any, columns: Any = slice(None)) -> None:
        for part, own in zip((self._sum, self._lost), state, strict=True):
            numbers = np.array(own, np.float64)
            if not np.isfinite(numbers).all():
                raise ValueError("a sum is not finite")
            part[..., columns] = numbers.reshape(part[..., columns].shape)

    def add(self, terms: FloatArray, at: Any = ...) -> None:
        old = self._sum[at]
        new = old + terms
        larger, smaller = np.maximum(old, terms), np.minimum(old, terms)  # none is negative
        self._lost[at] += (larger - new) + smaller
        self._sum[at] = new

    @property
    def value(self) -> FloatArray:
        return self._sum + self._lost


class CalibrationCells:
    """Weight, probability and hits of the most likely labels, by cells of probability."""

    def __init__(self) -> None:
        self._sums = _CompensatedSum(3, _N_CELLS)

    def state(self) -> list[Any]:
        """Return the sums of the cells that have any, as values that JSON takes."""
        filled = np.flatnonzero(self._sums.value.any(axis=0))
        return [filled.tolist(), *self._sums.state(filled)]

    def restore(self, state: Any) -> None:
        """Take over what `state` returned."""
        filled, *sums = state
        self._sums.restore(sums, [integer("cell", cell, 0, _N_CELLS - 1) for cell in filled])

    def add(self, p: FloatArray, hit: NDArray[np.bool_], weight: FloatArray) -> None:
        """Add the most likely label of each row."""
        cell = np.minimum((p * _N_CELLS).astype(np.int64), _N_CELLS - 1)
        cells, index = np.unique(cell, return_inverse=True)
        columns = [np.bincount(index, terms) for terms in (weight, weight * p, weight * hit)]
        self._sums.add(np.stack(columns), (slice(None), cells))

    @property
    def calibration_error(self) -> float | None:
        """The expected calibration error; None without rows."""
        sums = self._sums.value
        filled = sums[:, sums[0] > 0]
        if not filled.size:
            return None
        return equal_mass_bins(filled, _N_BINS).expected_calibration_error
