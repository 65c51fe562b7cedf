"""The scores of a stream, of its last part, and of its blocks of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

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
    """Scores of a part of a stream; None where there is nothing to score.

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
        """Return the scores of such rows as JSON takes them: None for unknown or infinite ones."""
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
        """Return the scores of such rows as JSON takes them: None for unknown or infinite ones."""
        names = ("n_rows", *CURVES[self.label_sets])
        return super().to_dict() | {
            "tail": None if self.tail is None else self.tail.to_dict(),
            "curve": [{n: _finite(getattr(point, n)) for n in names} for point in self.curve],
            "delta": self.delta,
            "floor": self.floor,
        }


def _finite(value: Any) -> Any:
    """Return the value as JSON takes it: None for what is not finite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
