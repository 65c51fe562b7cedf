"""The rows that sets are calibrated on: what share of their labels a threshold would miss."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from labeltrees.decisions.matrices import Pairs, values_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

__all__ = ["CalibrationRows", "Kind", "Row", "rows_from"]

Kind: TypeAlias = Literal["labels", "rows"]

#: Rounding of sums of shares must not cost a row's worth of coverage.
_ROUNDING = 1e-9
#: From so many rows on it is cheaper to sort anew than to insert.
_MANY = 32


class Row(NamedTuple):
    """Where a row's loss grows: above each of these thresholds, by these shares."""

    p: FloatArray
    share: FloatArray

    def loss(self, threshold: float) -> float:
        """Return the share that is missed when labels with p >= threshold, p > 0, are given."""
        return float(self.share[(self.p < threshold) | (self.p == 0)].sum())


def rows_from(pairs: Pairs, kind: Kind) -> list[Row]:
    """Return each row's losses: its share of missed labels, or 1 if any is missed.

    A row without a true label loses nothing. A label without a probability is missed by every
    threshold above 0.
    """
    told = values_at(pairs.p, pairs.y)
    indptr = pairs.y.indptr
    rows = []
    for row, unknown in enumerate(pairs.unknown.tolist()):
        p = np.sort(told[indptr[row] : indptr[row + 1]])
        n_true = len(p) + unknown
        if kind == "rows":
            least = 0.0 if unknown else p[0] if len(p) else None
            p = np.empty(0) if least is None else np.array([least])
            rows.append(Row(p, np.ones(len(p))))
            continue
        share = np.full(len(p), 1 / max(n_true, 1))
        if unknown:
            p, share = np.append(0.0, p), np.append(unknown / n_true, share)
        rows.append(Row(p, share))
    return rows


class CalibrationRows:
    """Rows in the order in which they came, and their losses sorted by threshold.

    Among equal thresholds the losses keep the rows' order, whether rows were added one by one, all
    at once or read again: so sums are the same to the last bit.

    Parameters
    ----------
    window : int, optional
        How many rows are kept, the latest; None keeps all.
    """

    def __init__(self, window: int | None) -> None:
        self._rows: deque[Row] = deque(maxlen=window)
        self._p, self._share = np.empty(0), np.empty(0)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def extend(self, rows: Sequence[Row]) -> None:
        """Add rows; those that do not fit into the window any more go."""
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

    def _forget(self, oldest: Row) -> None:
        """Take out the losses of the oldest row: the first of each threshold, as it came first."""
        places = np.searchsorted(self._p, oldest.p, side="left")
        same = np.concatenate(([0], np.cumsum(np.diff(oldest.p) != 0)))[: len(places)]
        places = places + np.arange(len(places)) - np.searchsorted(same, same)
        self._p, self._share = np.delete(self._p, places), np.delete(self._share, places)

    def threshold(self, risk: float) -> float:
        """Return the highest threshold whose losses, and one row that loses all, are within risk.

        ``sup {t : (sum of the rows' losses at t + 1) / (n + 1) <= risk}``, at most 1, and 0 if
        there is none.
        """
        allowed = risk * (len(self._rows) + 1) - 1 + _ROUNDING
        if allowed < 0:
            return 0.0
        place = np.searchsorted(np.cumsum(self._share), allowed, side="right")
        return float(self._p[place]) if place < len(self._p) else 1.0

    def least_risk(self) -> float:
        """Return the least risk that any threshold above 0 has."""
        lost = float(self._share[: np.searchsorted(self._p, 0.0, side="right")].sum())
        return (lost + 1) / (len(self._rows) + 1)
