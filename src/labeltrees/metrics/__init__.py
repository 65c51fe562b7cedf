"""How good predictions are: pure functions of truth and prediction, and one accumulator."""

from labeltrees.metrics.accuracy import top_k_accuracy
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
from labeltrees.metrics.extreme_regression import (
    ranking_error_at_k,
    regression_error_at_k,
    xmad_at_k,
    xrmse_at_k,
)
from labeltrees.metrics.filtering import (
    FilteringCurve,
    filtering_curve,
    plot_filtering_curves,
)
from labeltrees.metrics.label_calibration import (
    calibration_error_at_k,
    label_log_loss,
    reliability_curve_at_k,
)
from labeltrees.metrics.losses import (
    brier_from_top_k,
    brier_score,
    equivalent_labels,
    hoeffding_radius,
    log_loss,
    squared_loss,
)
from labeltrees.metrics.multilabel import (
    auc_at_k,
    ndcg_at_k,
    precision_at_k,
    psndcg_at_k,
    psp_at_k,
    recall_at_k,
    weighted_ndcg_at_k,
    weighted_precision_at_k,
)
from labeltrees.metrics.multilabel_report import label_matrix, multilabel_report
from labeltrees.metrics.progressive import (
    CurvePoint,
    ProgressiveSummary,
    ProgressiveValidation,
    StreamScores,
)
from labeltrees.metrics.propensity import propensities

__all__ = [
    "CurvePoint",
    "FilteringCurve",
    "ProgressiveSummary",
    "ProgressiveValidation",
    "ReliabilityCurve",
    "StreamScores",
    "auc_at_k",
    "brier_from_top_k",
    "brier_score",
    "calibration_error_at_k",
    "canberra_distance",
    "chebyshev_distance",
    "clark_distance",
    "cosine_similarity",
    "equivalent_labels",
    "expected_calibration_error",
    "filtering_curve",
    "fraction_above",
    "hoeffding_radius",
    "intersection_similarity",
    "kl_divergence",
    "label_log_loss",
    "label_matrix",
    "log_loss",
    "multilabel_report",
    "ndcg_at_k",
    "plot_filtering_curves",
    "precision_at_k",
    "propensities",
    "psndcg_at_k",
    "psp_at_k",
    "ranking_error_at_k",
    "recall_at_k",
    "regression_error_at_k",
    "reliability_curve",
    "reliability_curve_at_k",
    "squared_loss",
    "top_k_accuracy",
    "total_variation",
    "total_variation_by_row",
    "weighted_ndcg_at_k",
    "weighted_precision_at_k",
    "xmad_at_k",
    "xrmse_at_k",
]
