"""Conformal prediction, which gives sets of labels with a guaranteed average coverage."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from labeltrees.checks import choice, integer, number
from labeltrees.decisions._matrices import CheckedPairs, checked_pairs, values_at
from labeltrees.decisions._thresholds import labels_at
from labeltrees.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

    FloatArray = NDArray[np.float64]

_FORMAT = 1
CoverageKind: TypeAlias = Literal["labels", "rows"]
#: Tolerance for rounding in sums of shares, which must not cost a row's worth of coverage.
_ROUNDING = 1e-9
#: Number of new rows above which sorting all rows is faster than inserting.
_MANY = 32


class ConformalSets:
    """Sets of labels with a guaranteed coverage for the probabilities of any model.

    A row's set is all labels with ``p >= threshold``. The threshold is the highest that, on n rows
    the model has not learned from, keeps ``(sum of losses + 1) / (n + 1) <= 1 - coverage``
    (conformal risk control: Angelopoulos, Bates, Fisch, Lei and Schuster, 2022). If the calibration
    rows and a new row are exchangeable, the expected loss of the new row is at most
    ``1 - coverage``, on average over calibrations as well.

    With ``step`` above 0, rows may drift. `update` measures the loss of each row at the current
    threshold first, and then changes the allowed risk by ``step * (1 - coverage - loss)``
    (adaptive conformal inference: Gibbs and Candes, 2021). Then the mean loss of any T rows in
    succession from the first, in any order, is at most
    ``1 - coverage + (1 - coverage + step) / (step T)``, plus what was lost where a set held every
    label with a probability.

    Parameters
    ----------
    coverage : float in (0, 1), default 0.9
        The share that is guaranteed at least.
    kind : {"labels", "rows"}, default "labels"
        ``"labels"`` is the share of a row's true labels that are in its set, on average over rows
        (the expected recall). ``"rows"`` is the share of rows whose true labels are all in the set.
        A row without true labels counts as covered.
    step : float in [0, 1], default 0
        How fast the risk adapts to rows that drift; 0.01 to 0.05 are usual. 0 keeps the risk.
    window : int >= 1, optional
        Number of the latest rows to calibrate on, which bounds memory.

    Attributes
    ----------
    threshold : float
        The threshold for the rows so far; 0 if no threshold above 0 keeps the coverage. If it is
        above 0, ``predict_above(X, threshold)`` of the model returns the same sets.
    guaranteed : bool
        Whether the rows so far guarantee the coverage. If not, there are too few rows or too many
        true labels without a probability. Sets then have every label with a probability, and even
        these may be too few.
    risk : float
        The loss currently allowed; ``1 - coverage`` unless ``step`` is above 0.
    n_rows : int
        Number of calibration rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> P = rng.random((1000, 8)) ** 3
    >>> truth = rng.random((1000, 8)) < P
    >>> sets = ConformalSets(coverage=0.9).calibrate(P[:500], truth[:500])
    >>> found = sets.predict(P[500:])
    >>> n_true = truth[500:].sum(axis=1)
    >>> recall = found.multiply(truth[500:]).sum(axis=1)[n_true > 0] / n_true[n_true > 0]
    >>> bool(recall.mean() > 0.85), bool(found.sum() < 500 * 8)
    (True, True)
    """

    def __init__(
        self,
        coverage: float = 0.9,
        *,
        kind: CoverageKind = "labels",
        step: float = 0.0,
        window: int | None = None,
    ) -> None:
        self.coverage = number("coverage", coverage, 0, 1, open_low=True, open_high=True)
        self.kind: CoverageKind = choice("kind", kind, get_args(CoverageKind))
        self.step = number("step", step, 0, 1)
        self.window = None if window is None else integer("window", window, 1)
        self._rows = CalibrationRows(self.window)
        self._risk = 1 - self.coverage

    @property
    def threshold(self) -> float:
        """The smallest probability of a label in a set; 0 if all labels with a probability are."""
        return self._rows.threshold(self._risk)

    @property
    def guaranteed(self) -> bool:
        """Whether the rows so far guarantee the coverage."""
        return self._rows.threshold(1 - self.coverage) > 0

    @property
    def risk(self) -> float:
        """The loss that is currently allowed."""
        return self._risk

    @property
    def n_rows(self) -> int:
        """The number of calibration rows."""
        return len(self._rows)

    def calibrate(self, P: Any, truth: Any, *, unknown: ArrayLike | None = None) -> ConformalSets:
        """Calibrate on these rows only, and raise an error if they cannot guarantee the coverage.

        Parameters
        ----------
        P : sparse matrix or array of shape (n_rows, n_labels)
            The probability of each label, such as ``predict_above(X, 0.001)`` returns, for rows
            that the model has not learned from.
        truth : sparse matrix or array of shape (n_rows, n_labels)
            A label is true where it is not 0.
        unknown : array of int of shape (n_rows,), optional
            Number of true labels of each row that have no column. They count as missed.

        Returns
        -------
        ConformalSets
            This object.

        Examples
        --------
        >>> ConformalSets(coverage=0.9).calibrate([[0.5]], [[1]])
        Traceback (most recent call last):
        ...
        labeltrees.errors.ArgumentError: coverage must be at most 0.5, which 1 row guarantees with
        every label that P stores, got 0.9.
        """
        rows = CalibrationRows(self.window)
        rows.extend(rows_from(checked_pairs(P, truth, unknown), self.kind))
        if rows.threshold(1 - self.coverage) <= 0:
            n = (
                f"{len(rows):,} row guarantees"
                if len(rows) == 1
                else f"{len(rows):,} rows guarantee"
            )
            most = f"at most {1 - rows.least_risk():.6g}, which {n} with every label that P stores"
            raise ArgumentError.of("coverage", self.coverage, most)
        self._rows, self._risk = rows, 1 - self.coverage
        return self

    def update(self, P: Any, truth: Any, *, unknown: ArrayLike | None = None) -> ConformalSets:
        """Add rows to the calibration rows, with the same result as one by one.

        The arguments are those of `calibrate`. Pass rows that you predicted sets for, once you know
        their true labels.

        Returns
        -------
        ConformalSets
            This object.

        Examples
        --------
        >>> sets = ConformalSets(coverage=0.5)
        >>> sets.threshold, sets.guaranteed
        (0.0, False)
        >>> sets.update([[0.5], [0.8]], [[1], [1]]).threshold
        0.5
        """
        rows = rows_from(checked_pairs(P, truth, unknown), self.kind)
        if not self.step:
            self._rows.extend(rows)
            return self
        for row in rows:
            loss = row.loss(self.threshold)
            # A risk beyond these bounds gives the same sets and would take long to come back.
            risk = self._risk + self.step * (1 - self.coverage - loss)
            self._risk = min(max(risk, -self.step), 1.0)
            self._rows.extend([row])
        return self

    def predict(self, P: Any) -> csr_array:
        """Return each row's set, a matrix with 1 for each label in it.

        Examples
        --------
        >>> sets = ConformalSets(coverage=0.5).calibrate([[0.5], [0.8]], [[1], [1]])
        >>> sets.predict([[0.4], [0.6]]).toarray().tolist()
        [[0], [1]]
        """
        return labels_at(P, self.threshold)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers, strings and lists, which JSON can hold.

        Examples
        --------
        >>> import json
        >>> sets = ConformalSets(coverage=0.5).update([[0.5], [0.8]], [[1], [1]])
        >>> again = ConformalSets.from_dict(json.loads(json.dumps(sets.to_dict())))
        >>> again.threshold == sets.threshold
        True
        """
        return {
            "format": _FORMAT,
            "coverage": self.coverage,
            "kind": self.kind,
            "step": self.step,
            "window": self.window,
            "risk": self._risk,
            "rows": [[row.p.tolist(), row.share.tolist()] for row in self._rows],
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> ConformalSets:
        """Return the object that `to_dict` stored, which continues in exactly the same state."""
        names = {"format", "coverage", "kind", "step", "window", "risk", "rows"}
        if not isinstance(state, Mapping) or set(state) != names:
            found = sorted(map(str, state)) if isinstance(state, Mapping) else type(state).__name__
            raise ArgumentError.of("state", found, f"a dict with {', '.join(sorted(names))}")
        integer("state['format']", state["format"], _FORMAT, _FORMAT)
        sets = cls(
            state["coverage"], kind=state["kind"], step=state["step"], window=state["window"]
        )
        sets._risk = number("state['risk']", state["risk"], -sets.step, 1)
        sets._rows.extend(_checked_rows(state["rows"]))
        return sets


def _checked_rows(rows: Any) -> list[CalibrationRow]:
    """Return calibration rows from lists of thresholds and shares."""
    if not isinstance(rows, list):
        raise ArgumentError.of("the type of state['rows']", type(rows).__name__, "a list")
    return [_checked_row(f"state['rows'][{place}]", row) for place, row in enumerate(rows)]


def _checked_row(name: str, row: Any) -> CalibrationRow:
    try:
        p, share = (np.asarray(each, dtype=np.float64) for each in row)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError.of(name, row, "two lists of numbers") from None
    if p.ndim != 1 or p.shape != share.shape:
        raise ArgumentError.of(name, row, "two lists of equal length")
    inside = (p >= 0).all() and (p <= 1).all() and (np.diff(p) >= 0).all() and (share > 0).all()
    if not inside or not share.sum() <= 1 + 1e-9:
        raise ArgumentError.of(name, row, "rising numbers in [0, 1], and shares with a sum <= 1")
    return CalibrationRow(p, share)


class CalibrationRow(NamedTuple):
    """Thresholds above which a row's loss grows, and the shares by which it grows."""

    p: FloatArray
    share: FloatArray

    def loss(self, threshold: float) -> float:
        """Return the share of labels that the set of labels with p >= threshold, p > 0, misses."""
        return float(self.share[(self.p < threshold) | (self.p == 0)].sum())


def rows_from(pairs: CheckedPairs, kind: CoverageKind) -> list[CalibrationRow]:
    """Return each row's losses, which are its share of missed labels, or 1 if any is missed.

    The loss of a row without a true label is 0. A label without a probability is missed by every
    threshold above 0.
    """
    p_true = values_at(pairs.p, pairs.y)
    indptr = pairs.y.indptr
    rows = []
    for row, unknown in enumerate(pairs.unknown.tolist()):
        p = np.sort(p_true[indptr[row] : indptr[row + 1]])
        n_true = len(p) + unknown
        if kind == "rows":
            least = 0.0 if unknown else p[0] if len(p) else None
            p = np.empty(0) if least is None else np.array([least])
            rows.append(CalibrationRow(p, np.ones(len(p))))
            continue
        share = np.full(len(p), 1 / max(n_true, 1))
        if unknown:
            p, share = np.append(0.0, p), np.append(unknown / n_true, share)
        rows.append(CalibrationRow(p, share))
    return rows


class CalibrationRows:
    """Rows in the order in which they came, and their losses sorted by threshold.

    The losses at equal thresholds keep the order of the rows. Sums are therefore the same to the
    last bit, whether rows were added one by one or at once, or were loaded.

    Parameters
    ----------
    window : int, optional
        Number of the latest rows to keep. All rows are kept by default.
    """

    def __init__(self, window: int | None) -> None:
        self._rows: deque[CalibrationRow] = deque(maxlen=window)
        self._p, self._share = np.empty(0), np.empty(0)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[CalibrationRow]:
        return iter(self._rows)

    def extend(self, rows: Sequence[CalibrationRow]) -> None:
        """Add rows and remove the oldest rows that exceed the window."""
        if len(rows) >= _MANY:
            self._rows.extend(rows)
            p = np.concatenate([row.p for row in self._rows])
            share = np.concatenate([row.share for row in self._rows])
            order = np.argsort(p, kind="stable")
            self._p, self._share = p[order], share[order]
            return
        for row in rows:
            if len(self._rows) == self._rows.maxlen:
                self._forget(self._rows[0])
            self._rows.append(row)
            places = np.searchsorted(self._p, row.p, side="right")
            self._p = np.insert(self._p, places, row.p)
            self._share = np.insert(self._share, places, row.share)

    def _forget(self, oldest: CalibrationRow) -> None:
        """Remove the losses of the oldest row, which is the first row at each of its thresholds."""
        places = np.searchsorted(self._p, oldest.p, side="left")
        same = np.concatenate(([0], np.cumsum(np.diff(oldest.p) != 0)))[: len(places)]
        places = places + np.arange(len(places)) - np.searchsorted(same, same)
        self._p, self._share = np.delete(self._p, places), np.delete(self._share, places)

    def threshold(self, risk: float) -> float:
        """Return the highest threshold whose losses, plus one row of loss 1, are within risk.

        ``sup {t : (sum of the rows' losses at t + 1) / (n + 1) <= risk}``, at most 1, and 0 if
        there is none.
        """
        allowed = risk * (len(self._rows) + 1) - 1 + _ROUNDING
        if allowed < 0:
            return 0.0
        place = np.searchsorted(np.cumsum(self._share), allowed, side="right")
        return float(self._p[place]) if place < len(self._p) else 1.0

    def least_risk(self) -> float:
        """Return the smallest risk of any threshold above 0."""
        lost = float(self._share[: np.searchsorted(self._p, 0.0, side="right")].sum())
        return (lost + 1) / (len(self._rows) + 1)
