"""Progressive validation of rows with any number of labels: scored before they are learned."""

from __future__ import annotations

import dataclasses
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
from labeltrees.metrics.losses import negative_log
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

__all__ = ["ProgressiveSetSummary", "ProgressiveSetValidation", "SetCurvePoint", "SetScores"]

KS = (1, 3, 5)
"""How many of the likeliest labels are scored."""
_DISCOUNTS = 1 / np.log2(np.arange(2, KS[-1] + 2))


@dataclass(frozen=True)
class SetCurvePoint:
    """The scores of one block of rows; ``n_rows`` of the stream had been seen at its end."""

    n_rows: int
    precision_at_1: float | None
    ndcg_at_5: float | None
    log_loss_seen: float | None


@dataclass(frozen=True)
class SetScores:
    """Scores of a part of a stream; None where there is nothing to score.

    Attributes
    ----------
    n_rows, n_labels, n_new_labels : int
        The number of rows, of the labels that they had in all, and of those that came for the
        first time.
    precision_at_1, precision_at_3, precision_at_5, ndcg_at_5 : float or None
        As `precision_at_k` and `ndcg_at_k` have them, over rows whose likeliest labels were given.
    precision_at_1_radius : float or None
        Its Hoeffding radius.
    log_loss_seen : float or None
        The mean of -log p over the labels of all rows that had been seen before.
    log_loss : float or None
        The same over all labels; no probability counts as less than the floor.
    calibration_error : float or None
        ECE@1 of the likeliest label: 15 bins of about equal mass.
    """

    n_rows: int
    n_labels: int
    n_new_labels: int
    precision_at_1: float | None
    precision_at_1_radius: float | None
    precision_at_3: float | None
    precision_at_5: float | None
    ndcg_at_5: float | None
    log_loss_seen: float | None
    log_loss: float | None
    calibration_error: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the scores as JSON takes them: None for what is unknown or infinite."""
        plain: dict[str, Any] = without_infinities(dataclasses.asdict(self))
        return plain

    def brief(self) -> dict[str, float]:
        """Return the two scores that tell most, by name; those that are not known are left out."""
        named = {"P@1": self.precision_at_1, "log loss": self.log_loss_seen}
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True)
class ProgressiveSetSummary(SetScores):
    """Scores of a whole stream, and of its parts.

    Attributes
    ----------
    tail : SetScores or None
        The scores of the last part of the stream, if its expected length was known.
    curve : tuple of SetCurvePoint
        The scores of each block of rows.
    delta, floor : float
        The probability that a radius is too small, and the floor of the log loss.
    """

    tail: SetScores | None
    curve: tuple[SetCurvePoint, ...]
    delta: float
    floor: float


class _Sums(Sums):
    """The sums of rows of many labels: see `ProgressiveSetValidation._terms`."""

    n_sums = 13

    @property
    def n_labels(self) -> int:
        return round(float(self._sums.value[0]))

    @property
    def log_loss(self) -> float | None:
        return self.ratio(2, 1)

    @property
    def log_loss_seen(self) -> float | None:
        return self.ratio(4, 3)

    @property
    def n_scored_effective(self) -> float | None:
        return self.ratio(6, 5, power=2)

    def precision(self, k: int) -> float | None:
        place = 6 + 2 * KS.index(k)
        return at_most_one(self.ratio(place + 1, place))

    @property
    def ndcg(self) -> float | None:
        return at_most_one(self.ratio(12, 10))


class ProgressiveSetValidation(RunningScores[SetCurvePoint, _Sums]):
    """Scores of a stream of rows with any number of labels, predicted before they are learned.

    The parameters, and what holds of sums, blocks and tail, are those of `ProgressiveValidation`.

    Parameters
    ----------
    n_expected : int, optional
    tail_fraction : float in (0, 1], default 0.2
    block_size : int, default 10_000
    max_points : int, default 1000
    floor : float in (0, 1), default 1e-9
    delta : float in (0, 1), default 0.05

    Examples
    --------
    Two rows: the first has two labels, one of them new, and its likeliest label was right.

    >>> stream = ProgressiveSetValidation()
    >>> stream.update([0.5, 0.0, 0.25], [0, 2, 3], is_new=[False, True, False],
    ...               hits=[[True, False, False], [False, False, True]], p_top=[0.5, 0.75])
    >>> scores = stream.scores()
    >>> scores.precision_at_1, round(scores.precision_at_3, 4), scores.n_new_labels
    (0.5, 0.3333, 1)
    """

    _sums_class = _Sums
    _point_class = SetCurvePoint

    def update(
        self,
        p_label: ArrayLike,
        starts: ArrayLike,
        *,
        is_new: ArrayLike | None = None,
        hits: ArrayLike | None = None,
        p_top: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        """Add the next rows of the stream, scored before they were learned.

        Parameters
        ----------
        p_label : array of shape (n_labels_in_all,)
            The probability given to each true label, row by row; a row names each once.
        starts : array of shape (n_rows + 1,)
            Where each row's labels start in ``p_label``.
        is_new : array of booleans, optional
            Whether a label had never been seen before; by default none is new.
        hits : array of booleans of shape (n_rows, k), optional
            Whether each of the likeliest labels was true, likeliest first. P@k needs k of them.
        p_top : array of shape (n_rows,), optional
            The probability of the likeliest label; needs ``hits``.
        sample_weight : array, optional
            Weights >= 0 of the rows.
        """
        p = checked_probabilities("p_label", p_label, empty=True)
        borders = np.asarray(starts, np.int64)
        n_rows = len(borders) - 1
        if n_rows < 0 or borders[0] != 0 or borders[-1] != len(p) or (np.diff(borders) < 0).any():
            raise ArgumentError(f"starts must increase from 0 to the {len(p)} entries of p_label.")
        weight = checked_weights(sample_weight, n_rows)
        new = checked_bools("is_new", is_new, len(p))
        new = np.zeros(len(p), dtype=bool) if new is None else new
        found = _matrix(hits, n_rows)
        tops = None
        if p_top is not None:
            top = checked_probabilities("p_top", p_top, empty=True)
            check_length("p_top", top, n_rows)
            if found is None or not found.shape[1]:
                raise ArgumentError.of("hits", hits, "given with p_top")
            tops = Tops(top, found[:, 0], weight)
        row_of = np.repeat(np.arange(n_rows), np.diff(borders))
        n_new = np.bincount(row_of, new, minlength=n_rows).astype(np.int64)
        self._add(self._terms(p, new, row_of, weight, found), n_new, tops)

    def _terms(
        self,
        p: FloatArray,
        new: NDArray[np.bool_],
        row_of: NDArray[np.int64],
        weight: FloatArray,
        hits: NDArray[np.bool_] | None,
    ) -> FloatArray:
        """Return what each row adds to each sum, in the order of `_Sums`."""

        def by_row(values: Any) -> FloatArray:
            return np.bincount(row_of, values, minlength=len(weight)).astype(np.float64)

        log, seen = negative_log(p, self.floor), (~new).astype(np.float64)
        n_own = by_row(np.ones(len(p)))
        terms = [n_own, weight * n_own, weight * by_row(log)]
        terms += [weight * by_row(seen), weight * by_row(seen * log)]
        width = 0 if hits is None else hits.shape[1]
        terms.append((weight if width else 0 * weight) ** 2)
        for k in KS:
            scored = weight if hits is not None and width >= k else 0 * weight
            share = 0.0 if hits is None else hits[:, :k].sum(axis=1) / k
            terms += [scored, scored * share]
        gain = 0 * weight
        if hits is not None and width >= KS[-1]:
            best = np.concatenate([[1.0], np.cumsum(_DISCOUNTS)])  # a row without labels gains 0
            most = best[np.minimum(n_own, KS[-1]).astype(np.int64)]
            gain = weight * (hits[:, : KS[-1]] @ _DISCOUNTS) / most
        return np.stack([*terms, gain])

    def _point(self) -> SetCurvePoint:
        block = self._block
        return SetCurvePoint(self.n_rows, block.precision(1), block.ndcg, block.log_loss_seen)

    def scores(self) -> SetScores:
        """Return the scores so far, without curve and tail, which take longer."""
        return SetScores(**self._scores(self._whole))

    def summary(self) -> ProgressiveSetSummary:
        """Return all scores so far."""
        tail = None if self.tail_start is None else SetScores(**self._scores(self._tail))
        return ProgressiveSetSummary(
            **self._scores(self._whole),
            tail=tail,
            curve=tuple(self.curve),
            delta=self.delta,
            floor=self.floor,
        )

    def _scores(self, sums: _Sums) -> dict[str, Any]:
        return {
            "n_rows": sums.n_rows,
            "n_labels": sums.n_labels,
            "n_new_labels": sums.n_new,
            "precision_at_1": sums.precision(1),
            "precision_at_1_radius": self._radius(sums.n_scored_effective, 1.0),
            "precision_at_3": sums.precision(3),
            "precision_at_5": sums.precision(5),
            "ndcg_at_5": sums.ndcg,
            "log_loss_seen": sums.log_loss_seen,
            "log_loss": sums.log_loss,
            "calibration_error": self._calibration_error(sums),
        }


def _matrix(hits: ArrayLike | None, n_rows: int) -> NDArray[np.bool_] | None:
    """Return hits as a matrix; rows of none have no columns."""
    if hits is None:
        return None
    found = np.asarray(hits, dtype=bool)
    if found.ndim != 2 or len(found) != n_rows:
        if n_rows == 0 and found.size == 0:
            return found.reshape(0, 0)
        raise ArgumentError(f"hits must have {n_rows} rows of booleans, got shape {found.shape}.")
    return found
