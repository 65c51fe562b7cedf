"""What a contestant said of the rows asked about, and what that cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, eq=False)
class Answers:
    """The five likeliest labels of each row with their scores, and every label of the first rows.

    Label -1 is none. Arrays are empty if no row was sampled.
    """

    labels: np.ndarray
    scores: np.ndarray
    all_labels: np.ndarray
    all_scores: np.ndarray
    train_s: float
    ask_us: float
    added_mb: float
