"""Functions of truth and prediction, and running scores of a stream."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labeltrees.metrics._calibration import (
        ReliabilityCurve,
        expected_calibration_error,
        reliability_curve,
    )
    from labeltrees.metrics._distributions import (
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
    from labeltrees.metrics._losses import (
        brier_from_top_k,
        brier_score,
        equivalent_labels,
        hoeffding_radius,
        log_loss,
        squared_loss,
        top_k_accuracy,
    )
    from labeltrees.metrics._multilabel import (
        auc_at_k,
        coverage_at_k,
        ndcg_at_k,
        precision_at_k,
        psndcg_at_k,
        psp_at_k,
        recall_at_k,
        weighted_ndcg_at_k,
        weighted_precision_at_k,
    )
    from labeltrees.metrics._progressive import ProgressiveValidation
    from labeltrees.metrics._propensity import propensities
    from labeltrees.metrics._relevances import (
        FilteringCurve,
        brier_at_k,
        calibration_error_at_k,
        filtering_curve,
        label_log_loss,
        plot_filtering_curves,
        ranking_error_at_k,
        regression_error_at_k,
        reliability_curve_at_k,
        xmad_at_k,
        xrmse_at_k,
    )
    from labeltrees.metrics._report import label_matrix, multilabel_report
    from labeltrees.metrics._stream_scores import CurvePoint, ProgressiveSummary, StreamScores

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

_NUMPY_ONLY = ("_losses", "_calibration", "_stream_scores", "_propensity", "_progressive")
_WITH_SCIPY = ("_multilabel", "_relevances", "_report", "_distributions")
"""Modules of the metrics. Those with scipy are imported when one of their names is first used."""


def __getattr__(name: str) -> Any:
    if name in __all__:
        for home in (*_NUMPY_ONLY, *_WITH_SCIPY):
            module = import_module(f"labeltrees.metrics.{home}")
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module 'labeltrees.metrics' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
