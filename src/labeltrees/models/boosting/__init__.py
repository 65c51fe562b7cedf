"""Adacond, boosting of conditional distributions (paper 5)."""

from __future__ import annotations

from typing import Any

from labeltrees.models.method import Method


class _Adacond(Method):
    """The option ``base`` names the method that is boosted."""

    def facts_of_fit(self, estimator: Any) -> dict[str, Any]:
        return {
            "rounds": len(estimator.bound_),
            "stop_reason": estimator.stop_reason_,
            "eta": estimator.eta_,
            "rows_above_eta_round_1": float(estimator.train_exceed_[0]),
            "rows_above_eta": float(estimator.train_exceed_[-1]),
            "bound": float(estimator.bound_[-1]),
        }


METHODS = (
    _Adacond(
        name="adacond",
        description="boosting",
        models=("labeltrees.models.boosting.model:AdacondModel",),
        estimator="labeltrees.estimators.boosting.classifier:AdacondClassifier",
        fixed_settings=frozenset(("norm",)),  # the norm of a base is the one that users set
        option_help={"base": "The method that is boosted, with its settings: {}."},
        takes_base=True,
    ),
)
