"""What a learner said of each example of a stream, and how good that was over the last fifth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labeltrees.metrics import (
    ReliabilityCurve,
    log_loss,
    reliability_curve,
    squared_loss,
)

FLOOR = 1e-9  # of the log loss


@dataclass(frozen=True, eq=False)
class Answers:
    """A learner's answers on the last rows of a stream: all of them, or the last fifth.

    Arrays that a learner cannot fill, having no probabilities, are None.
    """

    name: str
    correct: np.ndarray
    p_label: np.ndarray | None = None
    p_top: np.ndarray | None = None
    is_new: np.ndarray | None = None

    def tail(self, n_rows: int) -> Answers:
        """Return the answers on the last rows only."""
        parts = (self.correct, self.p_label, self.p_top, self.is_new)
        return Answers(self.name, *(None if part is None else part[-n_rows:] for part in parts))

    @property
    def accuracy(self) -> float:
        return float(self.correct.mean())

    @property
    def log_loss_seen(self) -> float | None:
        if self.p_label is None or self.is_new is None or self.is_new.all():
            return None
        return log_loss(self.p_label[~self.is_new], floor=FLOOR)

    @property
    def squared_loss(self) -> float | None:
        return None if self.p_label is None else squared_loss(self.p_label)

    @property
    def reliability(self) -> ReliabilityCurve | None:
        if self.p_top is None:
            return None
        # A hit is a prediction of label 1 where 1 is true.
        top = np.ones((len(self.correct), 1), np.int64)
        p = np.minimum(self.p_top, 1.0)[:, np.newaxis]
        return reliability_curve(self.correct.astype(np.int64), top, p)

    @property
    def calibration_error(self) -> float | None:
        curve = self.reliability
        return None if curve is None else curve.expected_calibration_error

    def curve(self, n_points: int = 25) -> tuple[np.ndarray, np.ndarray]:
        """Return row numbers and the accuracy of the block of rows that ends there."""
        blocks = np.array_split(self.correct, n_points)
        return np.cumsum([len(block) for block in blocks]), np.array([b.mean() for b in blocks])
