"""Conditional probability trees and conditional PECOC (paper 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labeltrees.models.method import Method

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labeltrees.data.rows import Rows

_HERE = "labeltrees.models.conditional"


class _Conditional(Method):
    """Trees start in one of several forms, by their settings and the rows."""

    def start(self, settings: Any, n_features: int) -> Any:
        from labeltrees.models.conditional.start import start_on_stream

        return start_on_stream(settings, n_features)

    def start_on_rows(
        self, settings: Any, rows: Rows, labels: NDArray[Any], weights: NDArray[Any]
    ) -> Any:
        from labeltrees.models.conditional.start import start_on_all

        return start_on_all(settings, rows, labels, weights)

    def describe(self, model: Any) -> str:
        n_trees = model.describe().get("trees", 1)
        trees = self.description
        if n_trees > 1:
            trees = f"{n_trees} conditional probability trees"
        return f"{trees} with a reranker" if model.settings.is_refined else trees


METHODS = (
    _Conditional(
        name="conditional",
        description="a conditional probability tree",
        models=(
            f"{_HERE}.model:ConditionalTreeModel",
            f"{_HERE}.pecoc:PecocTreeModel",
            f"{_HERE}.several_trees:PooledTreesModel",
            f"{_HERE}.several_trees:RefinedTreesModel",
        ),
        estimator="labeltrees.estimators.conditional:ConditionalTreeClassifier",
        streams=True,
        # Log loss on the validation rows of clinc150 is 0.362, 0.289 and 0.281 with 1, 4 and 8
        # trees (docs/training.md).
        effort_settings={"fast": {"n_trees": 1}, "best": {"n_trees": 8, "refine": 16}},
        base_name="tree",
        base_settings={"structure": "online", "n_trees": 1, "refine": 0},
    ),
)
