"""Functions of truth and prediction, and running scores of a stream."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labeltrees.metrics.accuracy import top_k_accuracy
    from labeltrees.metrics.calibration import (
        ReliabilityCurve,
        expected_calibration_error,
        reliability_curve,
    )
    from labeltrees.metrics.coverage import coverage_at_k
    from labeltrees.metrics.distributions import (
        canberra_distance,
        chebyshev_distance,
        clark_distance,
        cosine_similarity,
        fraction_above,
        intersection_similarity,
        kl_divergence,
        kl_divergence_by_row,
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
        brier_at_k,
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
    from labeltrees.metrics.progressive import ProgressiveValidation
    from labeltrees.metrics.propensity import propensities
    from labeltrees.metrics.report import label_matrix, multilabel_report
    from labeltrees.metrics.stream_scores import CurvePoint, ProgressiveSummary, StreamScores

__all__ = [
    "CurvePoint",
    "FilteringCurve",
    "ProgressiveSummary",
    "ProgressiveValidation",
    "ReliabilityCurve",
    "StreamScores",
    "auc_at_k",
    "brier_at_k",
    "brier_from_top_k",
    "brier_score",
    "calibration_error_at_k",
    "canberra_distance",
    "chebyshev_distance",
    "clark_distance",
    "cosine_similarity",
    "coverage_at_k",
    "equivalent_labels",
    "expected_calibration_error",
    "filtering_curve",
    "fraction_above",
    "hoeffding_radius",
    "intersection_similarity",
    "kl_divergence",
    "kl_divergence_by_row",
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

# Imported when first used, so that scores of a stream do not wait for scipy.
_HOME = {
    "CurvePoint": "stream_scores",
    "FilteringCurve": "filtering",
    "ProgressiveSummary": "stream_scores",
    "ProgressiveValidation": "progressive",
    "ReliabilityCurve": "calibration",
    "StreamScores": "stream_scores",
    "auc_at_k": "multilabel",
    "brier_at_k": "label_calibration",
    "brier_from_top_k": "losses",
    "brier_score": "losses",
    "calibration_error_at_k": "label_calibration",
    "canberra_distance": "distributions",
    "chebyshev_distance": "distributions",
    "clark_distance": "distributions",
    "cosine_similarity": "distributions",
    "coverage_at_k": "coverage",
    "equivalent_labels": "losses",
    "expected_calibration_error": "calibration",
    "filtering_curve": "filtering",
    "fraction_above": "distributions",
    "hoeffding_radius": "losses",
    "intersection_similarity": "distributions",
    "kl_divergence": "distributions",
    "kl_divergence_by_row": "distributions",
    "label_log_loss": "label_calibration",
    "label_matrix": "report",
    "log_loss": "losses",
    "multilabel_report": "report",
    "ndcg_at_k": "multilabel",
    "plot_filtering_curves": "filtering",
    "precision_at_k": "multilabel",
    "propensities": "propensity",
    "psndcg_at_k": "multilabel",
    "psp_at_k": "multilabel",
    "ranking_error_at_k": "extreme_regression",
    "recall_at_k": "multilabel",
    "regression_error_at_k": "extreme_regression",
    "reliability_curve": "calibration",
    "reliability_curve_at_k": "label_calibration",
    "squared_loss": "losses",
    "top_k_accuracy": "accuracy",
    "total_variation": "distributions",
    "total_variation_by_row": "distributions",
    "weighted_ndcg_at_k": "multilabel",
    "weighted_precision_at_k": "multilabel",
    "xmad_at_k": "extreme_regression",
    "xrmse_at_k": "extreme_regression",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'labeltrees.metrics' has no attribute {name!r}")
    return getattr(import_module(f"labeltrees.metrics.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
