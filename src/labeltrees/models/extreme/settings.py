"""The parameters of extreme regression, and presets of papers and their programs."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, get_args

from labeltrees import _core, checks
from labeltrees.checks import Choice, Flag, Integer, Number, Threads, setting
from labeltrees.errors import ArgumentError
from labeltrees.metrics._propensity import PROPENSITY_A, PROPENSITY_B
from labeltrees.models.settings import RandomState, Settings, check_verbose

if TYPE_CHECKING:
    from collections.abc import Mapping

NodeLossName = Literal["logistic", "hinge"]
ObjectiveName = Literal["sum", "mean"]
RelevanceName = Literal["propensity", "binary"]
MissingName = Literal["fill", "zero"]
TailName = Literal["xreg", "pfastrexml"]
PresetName = Literal["paper", "release", "parabel"]
LOSSES = {name: getattr(_core.NodeLoss, name) for name in get_args(NodeLossName)}


@dataclass(frozen=True, kw_only=True)
class ExtremeSettings(Settings):
    """The checked parameters of `ExtremeRegressor`, which describes them.

    Examples
    --------
    >>> ExtremeSettings(calibrate="no")
    Traceback (most recent call last):
    ...
    labeltrees.errors.ArgumentError: calibrate must be True or False, got 'no'.
    """

    n_trees: int = setting(3, Integer(1, 10_000))
    arity: int = setting(16, Integer(2, 64))
    max_leaf: int = setting(100, Integer(2, 256))
    loss: NodeLossName = setting("logistic", Choice(get_args(NodeLossName)))
    objective: ObjectiveName = setting("sum", Choice(get_args(ObjectiveName)))
    cost: float | None = setting(None, Number(1e-6, 1e6, optional=True))
    cost_power: float = setting(0.4, Number(0, 1))
    inner_power: float = setting(0.75, Number(0.01, 1))
    relevance: RelevanceName | None = setting(None, Choice((None, *get_args(RelevanceName))))
    propensity_a: float = setting(PROPENSITY_A, Number(0, 100))
    propensity_b: float = setting(PROPENSITY_B, Number(0, 1e6, open_low=True))
    tail: TailName | None = setting(None, Choice((None, *get_args(TailName))))
    tail_weight: float = setting(0.5, Number(0, 1))
    beam_width: int | None = setting(None, Integer(1, 2**31 - 1, optional=True))
    missing: MissingName = setting("fill", Choice(get_args(MissingName)))
    threshold: float = setting(0.5, Number(0, 1, open_low=True))
    calibrate: bool = setting(True, Flag())
    max_epochs: int = setting(12, Integer(1, 10_000))
    tolerance: float = setting(1e-3, Number(0, 1))
    min_weight: float = setting(0.15, Number(0, 1e6))
    min_weight_share: float = setting(0.0, Number(0, 1))
    n_jobs: int | None = setting(None, Threads())
    max_memory: int | None = setting(None, Integer(1, 2**62, optional=True))
    random_state: int = setting(0, RandomState(2**32))
    verbose: int = setting(0, check_verbose)
    warm_start: bool = setting(False, Flag())

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.warm_start and self.max_memory is not None:
            raise ArgumentError.of("max_memory", self.max_memory, "None with warm_start")

    @property
    def n_threads(self) -> int:
        """Number of threads for training and predictions."""
        return checks.threads("n_jobs", self.n_jobs)

    @property
    def width(self) -> int:
        """The width of the beam. None is 10, and 6 in each of three or more trees.

        It was chosen on held-out rows of yso-en, bibtex and delicious. From 6 to 10, nDCG@5 changes
        by at most 0.01 points with three trees, and by 0.6 with one tree.
        """
        if self.beam_width is not None:
            return self.beam_width
        return 10 if self.n_trees < 3 else 6

    def cost_of(self, n_rows: int) -> float:
        """Return the cost. None is 3 for up to 100,000 rows, and less for more.

        It was chosen on held-out rows. The best P@1 has cost 3 and 4 on bibtex (5,000 rows), 2.5
        and 3 on the first 100,000 rows of yso-en, and 1.5 on all its 633,682 rows (36.13 against
        35.89 with 3).

        >>> [round(ExtremeSettings().cost_of(n), 2) for n in (1_000, 100_000, 633_682)]
        [3.0, 3.0, 1.72]
        """
        if self.cost is not None:
            return self.cost
        return float(3 * min(1, 100_000 / max(n_rows, 1)) ** 0.3)


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
        # Equation 13 to its optimum, with all weights, and the mean of all trees.
        "paper": _SHARED
        | {
            "objective": "mean",
            "cost": 10.0,
            "max_epochs": 100,
            "tolerance": 1e-5,
        },
        # 1/2 |w|^2 + C N / sum s, without weights below a twentieth of their regressor's largest.
        "release": _SHARED
        | {
            "cost": 10.0,
            "cost_power": 1.0,
            "max_epochs": 20,
            "min_weight_share": 0.05,
            "missing": "zero",
        },
        # 1/2 |w|^2 + C sum of squared hinge losses, with binary relevance.
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
    """Return the parameters of a preset that differ from the defaults, or raise `ArgumentError`.

    >>> preset_settings("parabel")["loss"], preset_settings("paper")["objective"]
    ('hinge', 'mean')
    """
    known: PresetName = checks.choice("preset", preset, get_args(PresetName))
    return dict(_PRESETS[known])
