"""The scores of a stream, of its last part and of its blocks, and the running sums behind them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.checks import integer
from labeltrees.metrics._calibration import equal_mass_bins

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

_SCORES = {
    False: (
        "n_rows", "n_new_labels", "squared_loss", "squared_loss_radius", "equivalent_labels",
        "log_loss", "log_loss_radius", "log_loss_seen", "accuracy", "accuracy_radius",
        "calibration_error",
    ),
    True: (
        "n_rows", "n_labels", "n_new_labels", "precision_at_1", "precision_at_1_radius",
        "precision_at_3", "precision_at_5", "ndcg_at_5", "log_loss_seen", "log_loss",
        "calibration_error",
    ),
}  # fmt: skip
"""Names of the scores of rows with one label each, and with label sets."""
CURVES = {
    False: ("accuracy", "squared_loss", "log_loss"),
    True: ("precision_at_1", "ndcg_at_5", "log_loss_seen"),
}
"""Names of the scores that a learning curve has of either."""
_N_CELLS = 1000
"""Number of cells of equal width; they are merged into ``_N_BINS`` of equal mass when needed."""
_N_BINS = 15


@dataclass(frozen=True)
class CurvePoint:
    """The scores of one block of rows; ``n_rows`` of the stream had been seen at its end.

    Rows of one label have accuracy, squared loss and log loss; rows of any number of labels have
    P@1, nDCG@5 and the log loss of labels that had been seen.
    """

    n_rows: int
    accuracy: float | None = None
    squared_loss: float | None = None
    log_loss: float | None = None
    precision_at_1: float | None = None
    ndcg_at_5: float | None = None
    log_loss_seen: float | None = None


@dataclass(frozen=True)
class StreamScores:
    """Scores of a part of a stream, with None for scores without rows.

    Attributes
    ----------
    label_sets : bool
        Whether rows may have any number of labels.
    n_rows, n_new_labels : int
        The number of rows, and of labels that came for the first time.
    log_loss : float or None
        The mean of -log p over the labels of all rows; no probability counts as less than the
        floor.
    log_loss_seen : float or None
        The same over the labels that had been seen before.
    calibration_error : float or None
        ECE@1 over the rows for which ``p_top`` was given: 15 bins of about equal mass, made of
        1000 cells of equal width.
    squared_loss, squared_loss_radius, equivalent_labels : float or None
        The paper's loss, its Hoeffding radius, and over how many labels a uniform guess has it.
        These and the next three are of rows with one label each.
    log_loss_radius : float or None
        The Hoeffding radius of the log loss.
    accuracy, accuracy_radius : float or None
        Over the rows for which ``correct`` was given.
    n_labels : int or None
        The number of labels that the rows had in all. This and the following are of rows with any
        number of labels.
    precision_at_1, precision_at_3, precision_at_5, ndcg_at_5 : float or None
        As `precision_at_k` and `ndcg_at_k`, over rows for which ``correct`` was given.
    precision_at_1_radius : float or None
        Its Hoeffding radius.
    """

    label_sets: bool
    n_rows: int
    n_new_labels: int
    log_loss: float | None
    log_loss_seen: float | None
    calibration_error: float | None
    squared_loss: float | None = None
    squared_loss_radius: float | None = None
    equivalent_labels: float | None = None
    log_loss_radius: float | None = None
    accuracy: float | None = None
    accuracy_radius: float | None = None
    n_labels: int | None = None
    precision_at_1: float | None = None
    precision_at_1_radius: float | None = None
    precision_at_3: float | None = None
    precision_at_5: float | None = None
    ndcg_at_5: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the scores of such rows for JSON, with None for unknown or infinite ones."""
        return {name: _finite(getattr(self, name)) for name in _SCORES[self.label_sets]}

    def brief(self) -> dict[str, float]:
        """Return the two most telling scores that are known, by name."""
        best = {"P@1": self.precision_at_1} if self.label_sets else {"accuracy": self.accuracy}
        named = best | {"log loss": self.log_loss_seen}
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class ProgressiveSummary(StreamScores):
    """Scores of a whole stream, and of its parts.

    Attributes
    ----------
    tail : StreamScores or None
        The scores of the last part of the stream, if its expected length was known.
    curve : tuple of CurvePoint
        The scores of each block of rows.
    delta, floor : float
        The probability that a radius is too small, and the floor of the log loss.
    """

    tail: StreamScores | None
    curve: tuple[CurvePoint, ...]
    delta: float
    floor: float

    def to_dict(self) -> dict[str, Any]:
        """Return the scores of such rows for JSON, with None for unknown or infinite ones."""
        names = ("n_rows", *CURVES[self.label_sets])
        return super().to_dict() | {
            "tail": None if self.tail is None else self.tail.to_dict(),
            "curve": [{n: _finite(getattr(point, n)) for n in names} for point in self.curve],
            "delta": self.delta,
            "floor": self.floor,
        }


def _finite(value: Any) -> Any:
    """Return the value as JSON takes it, or None if it is not finite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


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
