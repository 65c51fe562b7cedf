"""Progressive validation, which scores each prediction of a stream before its row is learned.

Under identically and independently distributed rows, the mean loss is an unbiased estimate of the
learner's (Blum, Kalai, Langford, 1999), and Hoeffding's interval holds as for any sum of bounded
martingale differences.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from labeltrees.checks import flag, integer, number
from labeltrees.data.labels import RaggedLabels
from labeltrees.errors import ArgumentError
from labeltrees.metrics._arrays import (
    check_length,
    checked_bools,
    checked_probabilities,
    checked_weights,
)
from labeltrees.metrics._losses import (
    LOG_FLOOR,
    equivalent_labels,
    hoeffding_radius,
    negative_log,
)
from labeltrees.metrics._stream_scores import (
    CURVES,
    CalibrationCells,
    CurvePoint,
    ProgressiveSummary,
    RunningSums,
    StreamScores,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    FloatArray = NDArray[np.float64]

KS = (1, 3, 5)
"""Numbers of most likely labels that are scored where rows have several labels."""
_DISCOUNTS = 1 / np.log2(np.arange(2, KS[-1] + 2))
_SETTINGS = ("tail_start", "block_size", "max_points", "floor", "delta")
_N_SUMS = {False: 9, True: 15}
_OLD_PLACES = (1, 13, 13, 2, 3, 4, 6, 5, 7, 0, 8, 9, 10, 11, 12)
"""Place of each sum in states of label sets up to 0.2.0, which had 13 sums; 13: it was not kept."""


class ProgressiveValidation:
    """Scores of a stream of rows that are predicted before they are learned.

    Memory does not grow with the stream. When the curve has ``max_points``, neighbouring points are
    joined and blocks become twice as long.

    Sums are compensated, so the result does not depend on how the stream is cut into updates
    beyond the last bits; blocks and tail are cut exactly.

    Parameters
    ----------
    label_sets : bool, default False
        Whether rows have any number of labels: there are P@k and nDCG@5 then, instead of accuracy
        and squared loss.
    n_expected : int, optional
        The length of the stream, if known. The tail begins at row
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

    The first of these two rows with label sets has two labels, one of which is new, and its most
    likely label was right.

    >>> stream = ProgressiveValidation(label_sets=True)
    >>> stream.update([0.5, 0.0, 0.25], [[True, False, False], [False, False, True]], [0.5, 0.75],
    ...               starts=[0, 2, 3], is_new=[False, True, False])
    >>> scores = stream.scores()
    >>> scores.precision_at_1, round(scores.precision_at_3, 4), scores.n_new_labels
    (0.5, 0.3333, 1)
    """

    def __init__(
        self,
        *,
        label_sets: bool = False,
        n_expected: int | None = None,
        tail_fraction: float = 0.2,
        block_size: int = 10_000,
        max_points: int = 1000,
        floor: float = LOG_FLOOR,
        delta: float = 0.05,
    ) -> None:
        self.label_sets = flag("label_sets", label_sets)
        self.block_size = integer("block_size", block_size, 1)
        self.max_points = integer("max_points", max_points, 2)
        self.delta = number("delta", delta, 0, 1, open_low=True, open_high=True)
        self.floor = number("floor", floor, 0, 1, open_low=True, open_high=True)
        fraction = number("tail_fraction", tail_fraction, 0, 1, open_low=True)
        self.tail_start: int | None = None
        if n_expected is not None:
            n_expected = integer("n_expected", n_expected, 1)
            self.tail_start = n_expected - max(1, round(fraction * n_expected))
        self._whole, self._tail, self._block = self._sums(), self._sums(), self._sums()
        self._cells, self._tail_cells = CalibrationCells(), CalibrationCells()
        self._points: list[CurvePoint] = []

    def _sums(self) -> RunningSums:
        return RunningSums(_N_SUMS[self.label_sets])

    @property
    def n_rows(self) -> int:
        """The number of rows so far."""
        return self._whole.n_rows

    def observe(
        self, predicted: Any, labels: RaggedLabels | ArrayLike, sample_weight: Any = None
    ) -> None:
        """Add the next rows of the stream by what was predicted for them before.

        Parameters
        ----------
        predicted : Predictions
            What `progressive_fit` of an estimator, or `update` of a model, returned.
        labels : labels of shape (n_rows,), or RaggedLabels
            The true labels of the rows.
        sample_weight : array, optional
            Weights >= 0 of the rows.

        Examples
        --------
        >>> from labeltrees import ConditionalTreeClassifier
        >>> X, y, stream = [[1.0]] * 50, ["a", "b"] * 25, ProgressiveValidation()
        >>> stream.observe(ConditionalTreeClassifier().progressive_fit(X, y), y)
        >>> stream.scores().n_new_labels
        2
        """
        if not isinstance(labels, RaggedLabels):
            labels = RaggedLabels.of_single(labels)
        correct, p_top = None, None
        if predicted.top.size:
            p_top = predicted.p_top[:, 0]
            if labels.is_single:
                correct = np.asarray(predicted.top == labels.labels[:, np.newaxis], dtype=bool)
            else:
                row_of, correct = labels.row_of, np.zeros(predicted.top.shape, dtype=bool)
                equal = predicted.top[row_of] == labels.labels[:, np.newaxis]
                np.logical_or.at(correct, row_of, np.asarray(equal, dtype=bool))
        starts = None if labels.is_single else labels.starts
        self.update(
            predicted.p_label, correct, p_top,
            starts=starts, is_new=predicted.is_new, sample_weight=sample_weight,
        )  # fmt: skip

    def update(
        self,
        p_label: ArrayLike,
        correct: ArrayLike | None = None,
        p_top: ArrayLike | None = None,
        *,
        starts: ArrayLike | None = None,
        is_new: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        """Add the next rows of the stream, scored before they were learned.

        Parameters
        ----------
        p_label : array of shape (n_labels_in_all,)
            The probability given to each true label, row by row; may be empty.
        correct : array of booleans of shape (n_rows,) or (n_rows, k), optional
            Whether the most likely label, or each of the k most likely, was a true one. P@k needs
            k of them.
        p_top : array of shape (n_rows,), optional
            The probability of the most likely label; needs ``correct``.
        starts : array of shape (n_rows + 1,), optional
            Where each row's labels start in ``p_label``, which has each label of a row once; by
            default each row has one. Needs ``label_sets=True``.
        is_new : array of booleans of shape (n_labels_in_all,), optional
            Whether the label had never been seen before; by default none is new.
        sample_weight : array of shape (n_rows,), optional
            Weights >= 0 of the rows.
        """
        p = checked_probabilities("p_label", p_label, empty=True)
        borders = self._checked_starts(starts, len(p))
        n_rows = len(borders) - 1
        weight = checked_weights(sample_weight, n_rows)
        hits = _checked_hits(correct, n_rows)
        new = checked_bools("is_new", is_new, len(p))
        new = np.zeros(len(p), dtype=bool) if new is None else new
        top = None if p_top is None else checked_probabilities("p_top", p_top, empty=True)
        if top is not None:
            check_length("p_top", top, n_rows)
            if hits is None:
                raise ArgumentError.of("correct", correct, "given with p_top")
        if self.label_sets:
            row_of = np.repeat(np.arange(n_rows), np.diff(borders))
            terms = self._terms_of_sets(p, new, row_of, weight, hits)
            n_new = np.bincount(row_of, new, minlength=n_rows).astype(np.int64)
        else:
            terms, n_new = self._terms(p, new, weight, hits), new.astype(np.int64)
        self._add(terms, n_new, top, hits, weight)

    def _checked_starts(self, starts: ArrayLike | None, n_labels: int) -> NDArray[np.int64]:
        if starts is None:
            return np.arange(n_labels + 1, dtype=np.int64)
        if not self.label_sets:
            raise ArgumentError.of("starts", starts, "None without label_sets=True")
        borders = np.asarray(starts, np.int64)
        if (
            not len(borders)
            or borders[0] != 0
            or borders[-1] != n_labels
            or (np.diff(borders) < 0).any()
        ):
            raise ArgumentError(
                f"must increase from 0 to the {n_labels} entries of p_label.", argument="starts"
            )
        return borders

    def _terms(
        self,
        p: FloatArray,
        new: NDArray[np.bool_],
        weight: FloatArray,
        hits: NDArray[np.bool_] | None,
    ) -> FloatArray:
        """Return what each row with one label adds to each sum, in the order of `_scores`."""
        log = weight * negative_log(p, self.floor)
        scored, hit = (0 * weight, 0 * weight) if hits is None else (weight, weight * hits[:, 0])
        seen = ~new
        squared = weight * (1 - p) ** 2
        losses = (weight, weight**2, squared, log, weight * seen, log * seen)
        return np.stack((*losses, scored, scored**2, hit))

    def _terms_of_sets(
        self,
        p: FloatArray,
        new: NDArray[np.bool_],
        row_of: NDArray[np.int64],
        weight: FloatArray,
        hits: NDArray[np.bool_] | None,
    ) -> FloatArray:
        """Return what each row with any number of labels adds to each sum."""

        def by_row(values: Any) -> FloatArray:
            return np.bincount(row_of, values, minlength=len(weight)).astype(np.float64)

        log, seen = negative_log(p, self.floor), (~new).astype(np.float64)
        n_own = by_row(np.ones(len(p)))
        none, width = 0 * weight, 0 if hits is None else hits.shape[1]
        of_k = []
        for k in KS:
            share = 0.0 if hits is None else hits[:, :k].sum(axis=1) / k
            scored = weight if width >= k else none
            of_k.append((scored, scored * share))
        gain = none
        if hits is not None and width >= KS[-1]:
            best = np.concatenate([[1.0], np.cumsum(_DISCOUNTS)])  # a row without labels gains 0
            most = best[np.minimum(n_own, KS[-1]).astype(np.int64)]
            gain = weight * (hits[:, : KS[-1]] @ _DISCOUNTS) / most
        log_loss = (weight * by_row(log), weight * by_row(seen), weight * by_row(seen * log))
        (scored, hit), *others = of_k
        first = (weight * n_own, weight**2, none, *log_loss, scored, scored**2, hit)
        return np.stack((*first, n_own, *itertools.chain(*others), gain))

    def _add(
        self,
        terms: FloatArray,
        n_new: NDArray[Any],
        p_top: FloatArray | None,
        hits: NDArray[np.bool_] | None,
        weight: FloatArray,
    ) -> None:
        """Add what each row adds to each sum, (n_sums, n_rows), and its most likely label."""
        for start, stop in self._segments(terms.shape[1]):
            rows = slice(start, stop)
            sums, new = terms[:, rows].sum(axis=1), int(n_new[rows].sum())
            in_tail = self.tail_start is not None and self.n_rows >= self.tail_start
            for part in (self._whole, self._block, *([self._tail] if in_tail else [])):
                part.add(sums, stop - start, new)
            if p_top is not None and hits is not None:
                for cells in (self._cells, *([self._tail_cells] if in_tail else [])):
                    cells.add(p_top[rows], hits[rows, 0], weight[rows])
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
        self._block = self._sums()
        # With an even number of points the next block begins where one of twice the length does.
        if len(self._points) >= self.max_points and len(self._points) % 2 == 0:
            self._points = list(map(_mean_point, self._points[::2], self._points[1::2]))
            self.block_size *= 2

    def _point(self) -> CurvePoint:
        found = self._scores(self._block, None)
        return CurvePoint(self.n_rows, **{name: found[name] for name in CURVES[self.label_sets]})

    @property
    def curve(self) -> list[CurvePoint]:
        """The learning curve with the scores of each block of rows; the last may be shorter."""
        return self._points + ([self._point()] if self._block.n_rows else [])

    def scores(self) -> StreamScores:
        """Return the scores so far, without curve and tail, which take longer."""
        return StreamScores(**self._scores(self._whole, self._cells))

    def summary(self) -> ProgressiveSummary:
        """Return all scores so far."""
        tail = None
        if self.tail_start is not None:
            tail = StreamScores(**self._scores(self._tail, self._tail_cells))
        return ProgressiveSummary(
            **self._scores(self._whole, self._cells),
            tail=tail,
            curve=tuple(self.curve),
            delta=self.delta,
            floor=self.floor,
        )

    def _scores(self, sums: RunningSums, cells: CalibrationCells | None) -> dict[str, Any]:
        best, best_radius = sums.share(8, 6), self._radius(sums.ratio(6, 7, power=2), 1.0)
        found = {
            "label_sets": self.label_sets,
            "n_rows": sums.n_rows,
            "n_new_labels": sums.n_new,
            "log_loss": sums.ratio(3, 0),
            "log_loss_seen": sums.ratio(5, 4),
            "calibration_error": None if cells is None else cells.calibration_error,
        }
        if self.label_sets:
            return found | {
                "n_labels": round(sums[9]),
                "precision_at_1": best,
                "precision_at_1_radius": best_radius,
                "precision_at_3": sums.share(11, 10),
                "precision_at_5": sums.share(13, 12),
                "ndcg_at_5": sums.share(14, 12),
            }
        loss, n_effective = sums.share(2, 0), sums.ratio(0, 1, power=2)
        return found | {
            "squared_loss": loss,
            "squared_loss_radius": self._radius(n_effective, 1.0),
            "equivalent_labels": None if loss is None else equivalent_labels(loss),
            "log_loss_radius": self._radius(n_effective, -math.log(self.floor)),
            "accuracy": best,
            "accuracy_radius": best_radius,
        }

    def _radius(self, n: float | None, span: float) -> float | None:
        return None if n is None else hoeffding_radius(n, delta=self.delta, span=span)

    def state(self) -> dict[str, Any]:
        """Return the state for `from_state` as values that JSON takes."""
        names = ("n_rows", *CURVES[self.label_sets])
        return {
            **{name: getattr(self, name) for name in _SETTINGS},
            "sums": [part.state() for part in (self._whole, self._tail, self._block)],
            "cells": [part.state() for part in (self._cells, self._tail_cells)],
            "points": [[getattr(point, name) for name in names] for point in self._points],
        }

    @classmethod
    def from_state(cls, state: Any, *, label_sets: bool = False) -> Self:
        """Return the validation whose `state` this is, equal to the last bit."""
        try:
            settings = {name: state[name] for name in _SETTINGS if name != "tail_start"}
            restored = cls(label_sets=label_sets, **settings)
            start = state["tail_start"]
            restored.tail_start = None if start is None else integer("tail_start", start, 0)
            parts = (restored._whole, restored._tail, restored._block)
            for part, own in zip(parts, state["sums"], strict=True):
                part.restore(_reordered(own) if label_sets else own)
            cells = (restored._cells, restored._tail_cells)
            for cell, own in zip(cells, state["cells"], strict=True):
                cell.restore(own)
            names = CURVES[label_sets]
            restored._points = [_restored_point(names, *own) for own in state["points"]]
        except (LookupError, TypeError, ValueError) as error:
            message = f"this is not the state of a progressive validation: {error}"
            raise ArgumentError(message) from None
        return restored


def _checked_hits(correct: ArrayLike | None, n_rows: int) -> NDArray[np.bool_] | None:
    """Return whether the most likely labels were right, (n_rows, k), or None if unknown."""
    found = None if correct is None else np.asarray(correct)
    if found is None or found.ndim != 2:
        each = checked_bools("correct", found, n_rows)
        return None if each is None else each[:, np.newaxis]
    check_length("correct", found, n_rows)
    return found.astype(bool) if found.shape[1] else None


def _reordered(state: Any) -> Any:
    """Return the sums over label sets, also of a state of 0.2.0 or before."""
    n_rows, n_new, *sums = state
    if any(len(each) != len(_OLD_PLACES) - 2 for each in sums):
        return state
    return [n_rows, n_new, *([[*each, 0.0][place] for place in _OLD_PLACES] for each in sums)]


def _mean_point(first: CurvePoint, second: CurvePoint) -> CurvePoint:
    """Return one point for two blocks of the same length."""

    def mean(name: str) -> float | None:
        values = [getattr(point, name) for point in (first, second)]
        known = [value for value in values if value is not None]
        return sum(known) / len(known) if known else None

    names = [each.name for each in dataclasses.fields(second)[1:]]
    return CurvePoint(second.n_rows, **{name: mean(name) for name in names})


def _restored_point(names: tuple[str, ...], n_rows: Any, *scores: Any) -> CurvePoint:
    known = [None if score is None else number("score", score, 0) for score in scores]
    found = dict(zip(names, known, strict=True))
    return CurvePoint(integer("n_rows", n_rows, 0), **found)
