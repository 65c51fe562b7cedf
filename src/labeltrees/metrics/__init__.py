"""How good predictions are: pure functions of truth and prediction, and one accumulator."""

from labeltrees.metrics.calibration import (
    ReliabilityCurve,
    expected_calibration_error,
    reliability_curve,
)
from labeltrees.metrics.distributions import (
    canberra_distance,
    chebyshev_distance,
    clark_distance,
    cosine_similarity,
    fraction_above,
    intersection_similarity,
    kl_divergence,
    total_variation,
    total_variation_by_row,
)
from labeltrees.metrics.losses import (
    brier_from_top_k,
    brier_score,
    equivalent_labels,
    hoeffding_radius,
    log_loss,
    squared_loss,
)
from labeltrees.metrics.progressive import (
    CurvePoint,
    ProgressiveSummary,
    ProgressiveValidation,
    StreamScores,
)
from labeltrees.metrics.ranking import top_k_accuracy

__all__ = [
    "CurvePoint",
    "ProgressiveSummary",
    "ProgressiveValidation",
    "ReliabilityCurve",
    "StreamScores",
    "brier_from_top_k",
    "brier_score",
    "canberra_distance",
    "chebyshev_distance",
    "clark_distance",
    "cosine_similarity",
    "equivalent_labels",
    "expected_calibration_error",
    "fraction_above",
    "hoeffding_radius",
    "intersection_similarity",
    "kl_divergence",
    "log_loss",
    "reliability_curve",
    "squared_loss",
    "top_k_accuracy",
    "total_variation",
    "total_variation_by_row",
]
