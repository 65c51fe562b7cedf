"""Extreme regression (paper 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labeltrees.models.method import Method

if TYPE_CHECKING:
    from pathlib import Path

    from labeltrees.data.chunk import Chunk
    from labeltrees.models.model import FittedModel


class _Extreme(Method):
    """Rows may be in files; presets stand for several settings."""

    def fit_chunk(self, settings: Any, data: Chunk, folder: Path | None) -> FittedModel:
        from labeltrees.models.extreme.spilling import relevance_of_chunk
        from labeltrees.models.extreme.training import train_extreme

        return train_extreme(data.rows, relevance_of_chunk(data).scaled(), settings, folder=folder)

    def settings_from_options(self, options: dict[str, Any]) -> dict[str, Any]:
        if "preset" not in options:
            return options
        from labeltrees.models.extreme.settings import preset_settings

        rest = {name: value for name, value in options.items() if name != "preset"}
        return preset_settings(options["preset"]) | rest

    def describe(self, model: Any) -> str:
        n_trees = model.describe().get("trees", 1)
        loss = " by hinge loss" if model.settings.loss == "hinge" else ""
        return f"extreme regression with {n_trees} tree{'s' if n_trees > 1 else ''}{loss}"


METHODS = (
    _Extreme(
        name="xreg",
        description="extreme regression",
        models=("labeltrees.models.extreme.model:ExtremeModel",),
        estimator="labeltrees.estimators.extreme:ExtremeRegressor",
        several_labels=True,
        effort_settings={"fast": {"n_trees": 1}, "best": {"n_trees": 6}},
        # P@1, P@3 and P@5 in three parts of the training rows, in percent: bibtex has 60.7, 37.9
        # and 28.0 with logistic and 61.8, 38.5 and 28.3 with hinge loss, rcv1-sub1 59.8, 47.2 and
        # 38.6 with logistic and 59.7, 46.8 and 38.4 with hinge loss.
        variants=({"loss": "hinge", "cost": 0.3},),
        option_help={"preset": "'paper' or 'release' for XReg's own settings, or 'parabel'."},
        trains_from_files=True,
    ),
)
