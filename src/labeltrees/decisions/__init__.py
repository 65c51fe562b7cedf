"""Choose sets of labels from the separate probability of each label."""

from __future__ import annotations

from labeltrees.decisions._conformal import ConformalSets
from labeltrees.decisions._expected_metrics import (
    ExpectedF1Sets,
    JointSets,
    coverage_top_k,
    expected_f1_sets,
    macro_f1_top_k,
    weighted_top_k,
)
from labeltrees.decisions._thresholds import Threshold, labels_at, threshold_for

__all__ = [
    "ConformalSets",
    "ExpectedF1Sets",
    "JointSets",
    "Threshold",
    "coverage_top_k",
    "expected_f1_sets",
    "labels_at",
    "macro_f1_top_k",
    "threshold_for",
    "weighted_top_k",
]
