"""Running sums over a stream, its last part and its blocks, from which scores follow."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from labeltrees.checks import integer, number
from labeltrees.errors import ArgumentError
from labeltrees.metrics.calibration import equal_mass_bins
from labeltrees.metrics.losses import LOG_FLOOR, hoeffding_radius

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

__all__ = ["RunningScores", "Sums", "Tops", "at_most_one", "without_infinities"]

_N_CELLS = 1000  # of equal width; they are merged into _N_BINS of equal mass when asked
_N_BINS = 15
_SETTINGS = ("tail_start", "block_size", "max_points", "floor", "delta")

PointT = TypeVar("PointT")
SumsT = TypeVar("SumsT", bound="Sums")


@dataclasses.dataclass(frozen=True)
class Tops:
    """The likeliest label of every row: its probability, whether it is true, the row's weight."""

    p: FloatArray
    hit: NDArray[np.bool_]
    weight: FloatArray


class RunningScores(Generic[PointT, SumsT]):
    """What the scores of all kinds of streams share: sums by part, blocks of rows, their state.

    A subclass says what each row adds to the sums, and what scores follow from them.
    """

    _sums_class: ClassVar[Any]
    _point_class: ClassVar[Any]
    """A dataclass of ``n_rows`` and scores, each a number >= 0 or None."""

    def __init__(
        self,
        *,
        n_expected: int | None = None,
        tail_fraction: float = 0.2,
        block_size: int = 10_000,
        max_points: int = 1000,
        floor: float = LOG_FLOOR,
        delta: float = 0.05,
    ) -> None:
        self.block_size = integer("block_size", block_size, 1)
        self.max_points = integer("max_points", max_points, 2)
        self.delta = number("delta", delta, 0, 1, open_low=True, open_high=True)
        self.floor = number("floor", floor, 0, 1, open_low=True, open_high=True)
        fraction = number("tail_fraction", tail_fraction, 0, 1, open_low=True)
        self.tail_start: int | None = None
        if n_expected is not None:
            n_expected = integer("n_expected", n_expected, 1)
            self.tail_start = n_expected - max(1, round(fraction * n_expected))
        self._whole: SumsT = self._sums_class()
        self._tail: SumsT = self._sums_class()
        self._block: SumsT = self._sums_class()
        self._cells, self._tail_cells = _Cells(), _Cells()
        self._points: list[PointT] = []

    @property
    def n_rows(self) -> int:
        """The number of rows so far."""
        return self._whole.n_rows

    def _add(self, terms: FloatArray, n_new: NDArray[Any], tops: Tops | None) -> None:
        """Add what each row adds to each sum, (n_sums, n_rows), and how many labels were new."""
        for start, stop in self._segments(terms.shape[1]):
            rows = slice(start, stop)
            sums, new = terms[:, rows].sum(axis=1), int(n_new[rows].sum())
            in_tail = self.tail_start is not None and self.n_rows >= self.tail_start
            for part in (self._whole, self._block, *([self._tail] if in_tail else [])):
                part.add(sums, stop - start, new)
            if tops is not None:
                for cells in (self._cells, *([self._tail_cells] if in_tail else [])):
                    cells.add(tops.p[rows], tops.hit[rows], tops.weight[rows])
            if self._block.n_rows == self.block_size:
                self._end_block()

    def _segments(self, n_rows: int) -> list[tuple[int, int]]:
        """Return the parts of the next rows between the borders of blocks and the tail's start."""
        begin, end = self.n_rows, self.n_rows + n_rows
        next_block = (begin // self.block_size + 1) * self.block_size
        borders = {begin, end, *range(next_block, end, self.block_size)}
        if self.tail_start is not None and begin < self.tail_start < end:
            borders.add(self.tail_start)
        cuts = [border - begin for border in sorted(borders)]
        return list(itertools.pairwise(cuts))

    def _end_block(self) -> None:
        self._points.append(self._point())
        self._block = self._sums_class()
        # An even number of points: the next block begins where one of twice the length does.
        if len(self._points) >= self.max_points and len(self._points) % 2 == 0:
            self._points = list(map(_mean_point, self._points[::2], self._points[1::2]))
            self.block_size *= 2

    def _point(self) -> PointT:
        raise NotImplementedError

    @property
    def curve(self) -> list[PointT]:
        """The learning curve: scores of each block of rows, the last of which may be shorter."""
        return self._points + ([self._point()] if self._block.n_rows else [])

    def state(self) -> dict[str, Any]:
        """Return all that `from_state` needs to go on from here, as values that JSON takes."""
        return {
            **{name: getattr(self, name) for name in _SETTINGS},
            "sums": [part.state() for part in (self._whole, self._tail, self._block)],
            "cells": [part.state() for part in (self._cells, self._tail_cells)],
            "points": [[*dataclasses.asdict(point).values()] for point in self._points],  # type: ignore[call-overload]
        }

    @classmethod
    def from_state(cls, state: Any) -> Self:
        """Return the scores that `state` wrote down, equal to the last bit."""
        try:
            start = state["tail_start"]
            restored = cls(**{name: state[name] for name in _SETTINGS if name != "tail_start"})
            restored.tail_start = None if start is None else integer("tail_start", start, 0)
            parts = (restored._whole, restored._tail, restored._block)
            for part, own in zip(parts, state["sums"], strict=True):
                part.restore(own)
            cells = (restored._cells, restored._tail_cells)
            for cell, own in zip(cells, state["cells"], strict=True):
                cell.restore(own)
            restored._points = [_restored_point(cls._point_class, *own) for own in state["points"]]
        except (LookupError, TypeError, ValueError) as error:
            message = f"this is not the state of a progressive validation: {error}"
            raise ArgumentError(message) from None
        return restored

    def _calibration_error(self, sums: SumsT) -> float | None:
        return (self._tail_cells if sums is self._tail else self._cells).calibration_error

    def _radius(self, n: float | None, span: float) -> float | None:
        return None if n is None else hoeffding_radius(n, delta=self.delta, span=span)


class Sums:
    """Running sums over a part of the stream, from which its scores follow."""

    n_sums: ClassVar[int]

    def __init__(self) -> None:
        self.n_rows = 0
        self.n_new = 0
        self._sums = _CompensatedSum(self.n_sums)

    def state(self) -> list[Any]:
        """Return the sums as values that JSON takes."""
        return [self.n_rows, self.n_new, *self._sums.state()]

    def restore(self, state: Any) -> None:
        """Take over what `state` wrote down."""
        n_rows, n_new, *sums = state
        self.n_rows, self.n_new = integer("n_rows", n_rows, 0), integer("n_new", n_new, 0)
        self._sums.restore(sums)

    def add(self, sums: FloatArray, n_rows: int, n_new: int) -> None:
        """Add the sums of more rows."""
        self._sums.add(sums)
        self.n_rows += n_rows
        self.n_new += n_new

    def ratio(self, numerator: int, denominator: int, power: int = 1) -> float | None:
        """Return a power of one sum over another; None where that is 0."""
        sums = self._sums.value
        if not sums[denominator] > 0:
            return None
        return float(sums[numerator] ** power / sums[denominator])


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


class _Cells:
    """Weight, probability and hits of the likeliest labels, by cells of probability."""

    def __init__(self) -> None:
        self._sums = _CompensatedSum(3, _N_CELLS)

    def state(self) -> list[Any]:
        filled = np.flatnonzero(self._sums.value.any(axis=0))
        return [filled.tolist(), *self._sums.state(filled)]

    def restore(self, state: Any) -> None:
        filled, *sums = state
        self._sums.restore(sums, [integer("cell", cell, 0, _N_CELLS - 1) for cell in filled])

    def add(self, p: FloatArray, hit: NDArray[np.bool_], weight: FloatArray) -> None:
        cell = np.minimum((p * _N_CELLS).astype(np.int64), _N_CELLS - 1)
        cells, index = np.unique(cell, return_inverse=True)
        columns = [np.bincount(index, terms) for terms in (weight, weight * p, weight * hit)]
        self._sums.add(np.stack(columns), (slice(None), cells))

    @property
    def calibration_error(self) -> float | None:
        sums = self._sums.value
        filled = sums[:, sums[0] > 0]
        if not filled.size:
            return None
        return equal_mass_bins(filled, _N_BINS).expected_calibration_error


def _mean_point(first: Any, second: Any) -> Any:
    """Return one point for two blocks of the same length."""

    def mean(name: str) -> float | None:
        values = [getattr(point, name) for point in (first, second)]
        known = [value for value in values if value is not None]
        return sum(known) / len(known) if known else None

    names = [each.name for each in dataclasses.fields(second)[1:]]
    return dataclasses.replace(second, **{name: mean(name) for name in names})


def _restored_point(kind: Any, n_rows: Any, *scores: Any) -> Any:
    known = [None if score is None else number("score", score, 0) for score in scores]
    return kind(integer("n_rows", n_rows, 0), *known)


def at_most_one(mean: float | None) -> float | None:
    """Return a mean of numbers up to 1: rounding may go above."""
    return None if mean is None else min(mean, 1.0)


def without_infinities(value: Any) -> Any:
    """Return the value as JSON takes it: None for what is not finite."""
    if isinstance(value, dict):
        return {key: without_infinities(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_infinities(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
