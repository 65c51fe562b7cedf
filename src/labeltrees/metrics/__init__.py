"""How good predictions are: pure functions of truth and prediction, and one accumulator."""

from labeltrees.metrics.calibration import (
    ReliabilityCurve,
    expected_calibration_error,
    reliability_curve,
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
from labeltrees.metrics.ranking import top_k_accuracy

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
    "equivalent_labels",
    "expected_calibration_error",
    "filtering_curve",
    "hoeffding_radius",
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
    "weighted_ndcg_at_k",
    "weighted_precision_at_k",
    "xmad_at_k",
    "xrmse_at_k",
]
