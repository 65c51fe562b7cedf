"""Settings under which extreme regression is what others have described: papers and programs."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, get_args

from labeltrees import checks

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PresetName", "preset_settings"]

PresetName = Literal["paper", "release", "parabel"]

_SHARED: dict[str, Any] = {
    "n_trees": 3,  # T
    "arity": 2,
    "max_leaf": 100,  # M
    "beam_width": 10,  # P
    "inner_power": 1.0,
    "cost_power": 0.0,
    "calibrate": False,
    "min_weight": 0.0,
}
_PRESETS: Mapping[PresetName, dict[str, Any]] = MappingProxyType(
    {
        # Equation 13 to its optimum, every weight kept, and the mean of what all trees say.
        "paper": _SHARED
        | {
            "objective": "mean",
            "cost": 10.0,
            "max_epochs": 100,
            "tolerance": 1e-5,
        },
        # 1/2 |w|^2 + C N / sum s, weights below a twentieth of their regressor's largest dropped.
        "release": _SHARED
        | {
            "cost": 10.0,
            "cost_power": 1.0,
            "max_epochs": 20,
            "min_weight_share": 0.05,
            "missing": "zero",
        },
        # 1/2 |w|^2 + C sum of squared hinge losses, of labels that are relevant or not.
        "parabel": _SHARED
        | {
            "relevance": "binary",
            "loss": "hinge",
            "cost": 1.0,
            "max_epochs": 20,
            "min_weight": 0.1,
            "missing": "zero",
        },
    }
)


def preset_settings(preset: str) -> dict[str, Any]:
    """Return the parameters of a preset that are not the defaults, or raise `ArgumentError`.

    >>> preset_settings("parabel")["loss"], preset_settings("paper")["objective"]
    ('hinge', 'mean')
    """
    known: PresetName = checks.choice("preset", preset, get_args(PresetName))
    return dict(_PRESETS[known])
