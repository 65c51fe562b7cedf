"""Rows that sets are calibrated on, with the share of their labels that a threshold misses."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from labeltrees.decisions.matrices import CheckedPairs, values_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

CoverageKind: TypeAlias = Literal["labels", "rows"]

#: Tolerance for rounding in sums of shares, which must not cost a row's worth of coverage.
_ROUNDING = 1e-9
#: Number of new rows above which sorting all rows is faster than inserting.
_MANY = 32


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
