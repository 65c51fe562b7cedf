"""Columns of any scale: whether a model standardises them, and their running moments."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from labeltrees import _core, checks, store
from labeltrees.data.rows import Rows
from labeltrees.errors import ModelFormatError, TooLargeError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from labeltrees.models.online.settings import PassSettings
    from labeltrees.store import Facts, Tensors

ScaleName = Literal["auto", "standard"]

MOST_FILLED = 2**28
"""Entries that sparse rows may have once they are filled up: 2 GiB."""

_NO_WEIGHTS: NDArray[np.float32] = np.empty(0, dtype=np.float32)
_MOST_MEAN = 3.5e38  # what float32 rows can have
_MOST_SQUARES = 1e290  # so large no number of rows makes them, and they can still be added to


class StandardRows(Rows):
    """Rows whose columns have been standardised; nothing standardises them again."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Weight, means and squared deviations of the columns of the rows seen so far.

    Rows are taken one after the other in float64 (Welford), so the same rows give the same bits
    however they are cut into batches.

    Examples
    --------
    >>> from labeltrees.data.rows import as_rows
    >>> rows = as_rows([[1.0, 7.0], [3.0, 7.0]])
    >>> Moments.of_none(2).after(rows).standardize(rows).to_csr().toarray()
    array([[-1.,  0.],
           [ 1.,  0.]], dtype=float32)
    """

    total: float
    """The summed weight."""
    mean: NDArray[np.float64]
    squares: NDArray[np.float64]
    """The weighted sums of squared deviations from the means."""

    @classmethod
    def of_none(cls, n_features: int) -> Moments:
        """Return the moments before the first row."""
        return cls(0.0, np.zeros(n_features), np.zeros(n_features))

    @property
    def _arrays(self) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        return self.total, self.mean, self.squares

    def after(self, rows: Rows, weights: NDArray[np.float32] = _NO_WEIGHTS) -> Moments:
        """Return the moments with these rows; those of weight 0 are as if they were not there."""
        return Moments(*_core.observe(*rows.arrays, weights, *self._arrays))

    def standardize(self, rows: Rows) -> StandardRows:
        """Return (x - mean) / deviation, and 0 in columns that have been constant so far."""
        return _standard(rows, _core.standardize(*rows.arrays, *self._arrays))

    def standardize_in_turn(
        self, rows: Rows, weights: NDArray[np.float32]
    ) -> tuple[StandardRows, Moments]:
        """Return the same of each row by the moments before it, and those after all."""
        values, after = _core.standardize_and_observe(*rows.arrays, weights, *self._arrays)
        return _standard(rows, values), Moments(*after)


def _check_room(rows: Rows) -> None:
    """Raise `TooLargeError` if sparse rows would take too much memory with all their entries."""
    n_entries = rows.n_rows * rows.n_features
    if n_entries > max(MOST_FILLED, 8 * len(rows.values)):
        raise TooLargeError(
            f"scale='standard' makes {rows.n_rows} rows dense with {rows.n_features} features, "
            f"which needs {8 * n_entries:,} bytes. Pass fewer rows at a time, or scale=None."
        )


def _standard(rows: Rows, values: NDArray[np.float32]) -> StandardRows:
    n_rows, n_features = rows.shape
    starts = np.arange(0, n_rows * n_features + 1, n_features, dtype=np.int64)
    indices = np.tile(np.arange(n_features, dtype=np.int32), n_rows)
    return StandardRows(starts, indices, values, n_features)


class ColumnScale:
    """Whether a model standardises the columns of its rows, and by which moments.

    ``scale="auto"`` is decided by the first row of a stream or by all rows of a `fit`. While rows
    are learned they are taken in turn under a lock, so that the moments fit what was learned.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._state: tuple[bool, Moments | None] = (False, None)

    @property
    def is_decided(self) -> bool:
        """Whether it is known if columns are standardised."""
        return self._state[0]

    @property
    def moments(self) -> Moments | None:
        """The columns' moments; None where they stay as they are."""
        return self._state[1]

    def still(self) -> AbstractContextManager[Any]:
        """Return what keeps the moments as they are; nothing where there are none to keep."""
        return nullcontext() if self._state == (True, None) else self._lock

    def seen(self, rows: Rows) -> Rows:
        """Return rows as regressors see them, for a question."""
        moments = self.moments
        if moments is None or isinstance(rows, StandardRows):
            return rows
        _check_room(rows)
        return moments.standardize(rows)

    def own(self, rows: Rows) -> dict[int, float] | None:
        """Return the values of one row by column, where regressors see them standardised."""
        if self.moments is None:
            return None
        return dict(zip(rows.indices.tolist(), rows.values.tolist(), strict=True))

    def take_all(self, settings: PassSettings, rows: Rows, weights: NDArray[np.float32]) -> Rows:
        """Return rows that are all there as regressors see them, by the moments of them all."""
        self.check(settings, rows)
        with self._lock:
            self._decide(settings, rows)
            if self.moments is not None:
                self._state = True, self.moments.after(rows, weights)
        return self.seen(rows)

    def take(self, settings: PassSettings, rows: Rows, weights: NDArray[np.float32]) -> Rows:
        """Return rows of a stream as regressors see them, each by the moments before it.

        Call it under `still`.
        """
        if isinstance(rows, StandardRows):
            return rows
        if not self.is_decided:
            self._decide(settings, rows.head(1))
        if self.moments is None:
            return rows
        seen, moments = self.moments.standardize_in_turn(rows, weights)
        self._state = True, moments
        return seen

    def check(self, settings: PassSettings, rows: Rows) -> None:
        """Raise `TooLargeError` if rows that are to be learned cannot be filled up."""
        if self.moments is not None or (not self.is_decided and settings.scale == "standard"):
            _check_room(rows)

    def mark(self) -> tuple[bool, Moments | None]:
        """Return what `go_back` takes."""
        return self._state

    def go_back(self, mark: tuple[bool, Moments | None]) -> None:
        """Forget the rows taken since then."""
        self._state = mark

    def _decide(self, settings: PassSettings, rows: Rows) -> None:
        standard = settings.scale == "standard" or (
            # Who keeps the lengths of rows has scaled them.
            settings.scale == "auto" and settings.normalize and rows.is_dense
        )
        self._state = True, Moments.of_none(rows.n_features) if standard else None

    def to_tensors(self) -> tuple[Tensors, Facts]:
        """Return arrays and facts that `restore` takes."""
        is_decided, moments = self._state
        if moments is None:
            return {}, {"columns": {"decided": is_decided, "total": None}}
        tensors = {"columns.mean": moments.mean, "columns.squares": moments.squares}
        return tensors, {"columns": {"decided": True, "total": moments.total}}

    def restore(
        self, tensors: Mapping[str, NDArray[Any]], facts: Mapping[str, Any], n_features: int
    ) -> None:
        """Take what a file tells, or raise `ModelFormatError`; older files standardise nothing."""
        is_older = "scale" not in facts["settings"]
        told = {"decided": True, "total": None} if is_older else facts["columns"]
        is_decided = checks.flag("decided", told["decided"])
        if told["total"] is None:
            self._state = is_decided, None
            return
        total = checks.number("total", told["total"], 0, 1e200)
        mean, squares = (
            store.tensor(tensors, f"columns.{name}", np.float64).copy()
            for name in ("mean", "squares")
        )
        if (
            not is_decided
            or mean.shape != (n_features,)
            or squares.shape != (n_features,)
            or not (np.abs(mean) <= _MOST_MEAN).all()
            or not ((squares >= 0) & (squares <= _MOST_SQUARES)).all()
        ):
            raise ModelFormatError("the moments of the columns do not fit together.")
        self._state = True, Moments(total, mean, squares)
