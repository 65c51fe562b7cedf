"""Progressive validation: each prediction of a stream is scored before its label is learned.

Under identically and independently distributed rows, the mean loss is an unbiased estimate of the
learner's (Blum, Kalai, Langford, 1999), and Hoeffding's interval holds as for any sum of bounded
martingale differences.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.checks import integer, number
from labeltrees.errors import ArgumentError
from labeltrees.metrics.arrays import (
    check_length,
    checked_bools,
    checked_probabilities,
    checked_weights,
)
from labeltrees.metrics.calibration import equal_mass_bins
from labeltrees.metrics.losses import (
    LOG_FLOOR,
    equivalent_labels,
    hoeffding_radius,
    negative_log,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    FloatArray = NDArray[np.float64]

__all__ = ["CurvePoint", "ProgressiveSummary", "ProgressiveValidation", "StreamScores"]

_N_CELLS = 1000  # of equal width; they are merged into _N_BINS of equal mass when asked
_N_BINS = 15
_SETTINGS = ("tail_start", "block_size", "max_points", "floor", "delta")


@dataclass(frozen=True)
class CurvePoint:
    """The scores of one block of rows; ``n_rows`` of the stream had been seen at its end."""

    n_rows: int
    accuracy: float | None
    squared_loss: float | None
    log_loss: float | None


@dataclass(frozen=True)
class StreamScores:
    """Scores of a part of a stream; None where there is no row to score.

    Attributes
    ----------
    n_rows, n_new_labels : int
        The number of rows, and of rows whose label came for the first time.
    squared_loss, squared_loss_radius, equivalent_labels : float or None
        The paper's loss, its Hoeffding radius, and over how many labels a uniform guess has it.
    log_loss, log_loss_radius : float or None
        Over all rows; no probability counts as less than the floor.
    log_loss_seen : float or None
        The same over the rows whose label had been seen before.
    accuracy, accuracy_radius : float or None
        Over the rows for which ``correct`` was given.
    calibration_error : float or None
        ECE@1 over the rows for which ``p_top`` was given: 15 bins of about equal mass, made of
        1000 cells of equal width.
    """

    n_rows: int
    n_new_labels: int
    squared_loss: float | None
    squared_loss_radius: float | None
    equivalent_labels: float | None
    log_loss: float | None
    log_loss_radius: float | None
    log_loss_seen: float | None
    accuracy: float | None
    accuracy_radius: float | None
    calibration_error: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the scores as JSON takes them: None for what is unknown or infinite."""
        plain: dict[str, Any] = _without_infinities(dataclasses.asdict(self))
        return plain


@dataclass(frozen=True)
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


class ProgressiveValidation:
    """Scores of a stream of rows that are predicted before they are learned.

    Memory does not grow with the stream: when the curve has ``max_points``, neighbours become one
    and blocks twice as long.

    Sums are compensated, so the result does not depend on how the stream is cut into updates
    beyond the last bits; blocks and tail are cut exactly.

    Parameters
    ----------
    n_expected : int, optional
        The length of the stream, if known: the tail begins at row
        ``n_expected - max(1, round(tail_fraction n_expected))`` and lasts until the stream ends.
    tail_fraction : float in (0, 1], default 0.2
        The part of the stream whose scores are kept separately.
    block_size : int, default 10_000
        The number of rows per point of the learning curve, at first.
    max_points : int, default 1000
        The most points that the curve may have, at least 2.
    floor : float in (0, 1), default 1e-9
        The least probability that the log loss counts.
    delta : float in (0, 1), default 0.05
        The probability that a Hoeffding radius is too small.

    Examples
    --------
    >>> stream = ProgressiveValidation(n_expected=4, tail_fraction=0.5)
    >>> stream.update([0.0, 0.5], correct=[False, True], is_new=[True, False])
    >>> stream.update([0.5, 0.5], correct=[True, True], is_new=[False, False])
    >>> summary = stream.summary()
    >>> summary.accuracy, summary.tail.accuracy, summary.squared_loss, summary.n_new_labels
    (0.75, 1.0, 0.4375, 1)
    """

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
        self._whole, self._tail, self._block = _Sums(), _Sums(), _Sums()
        self._cells, self._tail_cells = _Cells(), _Cells()
        self._points: list[CurvePoint] = []

    @property
    def n_rows(self) -> int:
        """The number of rows so far."""
        return self._whole.n_rows

    def update(
        self,
        p_label: ArrayLike,
        correct: ArrayLike | None = None,
        p_top: ArrayLike | None = None,
        *,
        is_new: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        """Add the next rows of the stream, scored before they were learned.

        Parameters
        ----------
        p_label : array of shape (n_rows,)
            The probability given to the true label; may be empty.
        correct : array of booleans, optional
            Whether the likeliest label was the true one.
        p_top : array, optional
            The probability of the likeliest label; needs ``correct``.
        is_new : array of booleans, optional
            Whether the label had never been seen before; by default none is new.
        sample_weight : array, optional
            Weights >= 0 of the rows.
        """
        p = checked_probabilities("p_label", p_label, empty=True)
        weight = checked_weights(sample_weight, len(p))
        hit = checked_bools("correct", correct, len(p))
        new = checked_bools("is_new", is_new, len(p))
        top = None if p_top is None else checked_probabilities("p_top", p_top, empty=True)
        if top is not None:
            check_length("p_top", top, len(p))
            if hit is None:
                raise ArgumentError.of("correct", None, "given with p_top")
        if new is None:
            new = np.zeros(len(p), dtype=bool)
        terms = self._terms(p, weight, hit, new)
        for start, stop in self._segments(len(p)):
            sums, n_new = terms[:, start:stop].sum(axis=1), int(new[start:stop].sum())
            in_tail = self.tail_start is not None and self.n_rows >= self.tail_start
            for part in (self._whole, self._block, *([self._tail] if in_tail else [])):
                part.add(sums, stop - start, n_new)
            if top is not None and hit is not None:
                rows = slice(start, stop)
                for cells in (self._cells, *([self._tail_cells] if in_tail else [])):
                    cells.add(top[rows], hit[rows], weight[rows])
            if self._block.n_rows == self.block_size:
                self._end_block()

    def _terms(
        self,
        p: FloatArray,
        weight: FloatArray,
        hit: NDArray[np.bool_] | None,
        new: NDArray[np.bool_],
    ) -> FloatArray:
        """Return what each row adds to each sum, in the order of `_Sums`."""
        log = weight * negative_log(p, self.floor)
        scored, hits = (0 * weight, 0 * weight) if hit is None else (weight, weight * hit)
        seen = ~new
        squared = weight * (1 - p) ** 2
        losses = (weight, weight**2, squared, log, weight * seen, log * seen)
        return np.stack((*losses, scored, scored**2, hits))

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
        self._block = _Sums()
        # An even number of points: the next block begins where one of twice the length does.
        if len(self._points) >= self.max_points and len(self._points) % 2 == 0:
            self._points = list(map(_mean_point, self._points[::2], self._points[1::2]))
            self.block_size *= 2

    def _point(self) -> CurvePoint:
        scores = self._block
        return CurvePoint(self.n_rows, scores.accuracy, scores.squared_loss, scores.log_loss)

    @property
    def curve(self) -> list[CurvePoint]:
        """The learning curve: scores of each block of rows, the last of which may be shorter."""
        return self._points + ([self._point()] if self._block.n_rows else [])

    def scores(self) -> StreamScores:
        """Return the scores so far, without curve and tail, which take longer."""
        return StreamScores(**self._scores(self._whole))

    def state(self) -> dict[str, Any]:
        """Return all that `from_state` needs to go on from here, as values that JSON takes."""
        return {
            **{name: getattr(self, name) for name in _SETTINGS},
            "sums": [part.state() for part in (self._whole, self._tail, self._block)],
            "cells": [part.state() for part in (self._cells, self._tail_cells)],
            "points": [list(dataclasses.astuple(point)) for point in self._points],
        }

    @classmethod
    def from_state(cls, state: Any) -> ProgressiveValidation:
        """Return the validation that `state` wrote down, equal to the last bit.

        >>> stream = ProgressiveValidation()
        >>> stream.update([0.25])
        >>> ProgressiveValidation.from_state(stream.state()).summary() == stream.summary()
        True
        """
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
            restored._points = [_restored_point(*point) for point in state["points"]]
        except (LookupError, TypeError, ValueError) as error:
            message = f"this is not the state of a progressive validation: {error}"
            raise ArgumentError(message) from None
        return restored

    def summary(self) -> ProgressiveSummary:
        """Return all scores so far."""
        tail = None if self.tail_start is None else StreamScores(**self._scores(self._tail))
        return ProgressiveSummary(
            **self._scores(self._whole),
            tail=tail,
            curve=tuple(self.curve),
            delta=self.delta,
            floor=self.floor,
        )

    def _scores(self, sums: _Sums) -> dict[str, Any]:
        cells = self._tail_cells if sums is self._tail else self._cells
        loss = sums.squared_loss
        return {
            "n_rows": sums.n_rows,
            "n_new_labels": sums.n_new,
            "squared_loss": loss,
            "squared_loss_radius": self._radius(sums.n_effective, 1.0),
            "equivalent_labels": None if loss is None else equivalent_labels(loss),
            "log_loss": sums.log_loss,
            "log_loss_radius": self._radius(sums.n_effective, -math.log(self.floor)),
            "log_loss_seen": sums.log_loss_seen,
            "accuracy": sums.accuracy,
            "accuracy_radius": self._radius(sums.n_scored_effective, 1.0),
            "calibration_error": cells.calibration_error,
        }

    def _radius(self, n: float | None, span: float) -> float | None:
        return None if n is None else hoeffding_radius(n, delta=self.delta, span=span)


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


class _Sums:
    """Running sums over a part of the stream, from which its scores follow."""

    def __init__(self) -> None:
        self.n_rows = 0
        self.n_new = 0
        self._sums = _CompensatedSum(9)

    def state(self) -> list[Any]:
        return [self.n_rows, self.n_new, *self._sums.state()]

    def restore(self, state: Any) -> None:
        n_rows, n_new, *sums = state
        self.n_rows, self.n_new = integer("n_rows", n_rows, 0), integer("n_new", n_new, 0)
        self._sums.restore(sums)

    def add(self, sums: FloatArray, n_rows: int, n_new: int) -> None:
        self._sums.add(sums)
        self.n_rows += n_rows
        self.n_new += n_new

    def _ratio(self, numerator: int, denominator: int, power: int = 1) -> float | None:
        sums = self._sums.value
        if not sums[denominator] > 0:
            return None
        return float(sums[numerator] ** power / sums[denominator])

    @property
    def n_effective(self) -> float | None:
        return self._ratio(0, 1, power=2)

    @property
    def squared_loss(self) -> float | None:
        return _at_most_one(self._ratio(2, 0))

    @property
    def log_loss(self) -> float | None:
        return self._ratio(3, 0)

    @property
    def log_loss_seen(self) -> float | None:
        return self._ratio(5, 4)

    @property
    def n_scored_effective(self) -> float | None:
        return self._ratio(6, 7, power=2)

    @property
    def accuracy(self) -> float | None:
        return _at_most_one(self._ratio(8, 6))


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


def _mean_point(first: CurvePoint, second: CurvePoint) -> CurvePoint:
    """Return one point for two blocks of the same length."""

    def mean(name: str) -> float | None:
        values = [getattr(point, name) for point in (first, second)]
        known = [value for value in values if value is not None]
        return sum(known) / len(known) if known else None

    return CurvePoint(second.n_rows, mean("accuracy"), mean("squared_loss"), mean("log_loss"))


def _restored_point(n_rows: Any, *scores: Any) -> CurvePoint:
    known = [None if score is None else number("score", score, 0) for score in scores]
    accuracy, squared_loss, log_loss = known
    return CurvePoint(integer("n_rows", n_rows, 0), accuracy, squared_loss, log_loss)


def _at_most_one(mean: float | None) -> float | None:
    return None if mean is None else min(mean, 1.0)  # rounding may go above


def _without_infinities(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_infinities(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_infinities(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
