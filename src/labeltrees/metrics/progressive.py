"""Progressive validation: each prediction of a stream is scored before its label is learned.

Under identically and independently distributed rows, the mean loss is an unbiased estimate of the
learner's (Blum, Kalai, Langford, 1999), and Hoeffding's interval holds as for any sum of bounded
martingale differences.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.errors import ArgumentError
from labeltrees.metrics.arrays import (
    check_length,
    checked_bools,
    checked_probabilities,
    checked_weights,
)
from labeltrees.metrics.losses import equivalent_labels, negative_log
from labeltrees.metrics.running import (
    RunningScores,
    Sums,
    Tops,
    at_most_one,
    without_infinities,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    FloatArray = NDArray[np.float64]

__all__ = ["CurvePoint", "ProgressiveSummary", "ProgressiveValidation", "StreamScores"]


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
        plain: dict[str, Any] = without_infinities(dataclasses.asdict(self))
        return plain

    def brief(self) -> dict[str, float]:
        """Return the two scores that tell most, by name; those that are not known are left out."""
        named = {"accuracy": self.accuracy, "log loss": self.log_loss_seen}
        return {name: value for name, value in named.items() if value is not None}


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


class _Sums(Sums):
    """The sums of rows of one label: see `ProgressiveValidation._terms`."""

    n_sums = 9

    @property
    def n_effective(self) -> float | None:
        return self.ratio(0, 1, power=2)

    @property
    def squared_loss(self) -> float | None:
        return at_most_one(self.ratio(2, 0))

    @property
    def log_loss(self) -> float | None:
        return self.ratio(3, 0)

    @property
    def log_loss_seen(self) -> float | None:
        return self.ratio(5, 4)

    @property
    def n_scored_effective(self) -> float | None:
        return self.ratio(6, 7, power=2)

    @property
    def accuracy(self) -> float | None:
        return at_most_one(self.ratio(8, 6))


class ProgressiveValidation(RunningScores[CurvePoint, _Sums]):
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
    >>> ProgressiveValidation.from_state(stream.state()).summary() == summary
    True
    """

    _sums_class = _Sums
    _point_class = CurvePoint

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
        tops = None if top is None or hit is None else Tops(top, hit, weight)
        self._add(terms, new, tops)

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

    def _point(self) -> CurvePoint:
        scores = self._block
        return CurvePoint(self.n_rows, scores.accuracy, scores.squared_loss, scores.log_loss)

    def scores(self) -> StreamScores:
        """Return the scores so far, without curve and tail, which take longer."""
        return StreamScores(**self._scores(self._whole))

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
            "calibration_error": self._calibration_error(sums),
        }
