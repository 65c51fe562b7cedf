"""The parameters of online label trees for many labels per row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

from labeltrees import _core, checks
from labeltrees.checks import Choice, Flag, Integer, Number, Threads, setting
from labeltrees.models.online.settings import OPTIMIZERS, PassSettings

SetStructureName = Literal["kmeans", "online"]

MIN_TABLES = 2**22
"""The least memory, in bytes, that the tables can be kept within."""
LEAST_SHARE = 0.01
"""Minimum probability of a candidate, as a share of the largest probability."""
MOST_TOP = 10_000
"""Maximum number of most likely labels that an update finds where all labels are candidates."""
LATER_RATE = 0.5
"""Each pass of `fit` over the same rows has this share of the learning rate of the one before."""


@dataclass(frozen=True, kw_only=True)
class MultiLabelSettings(PassSettings):
    """The checked parameters of `MultiLabelTreeClassifier`, which says what they mean.

    Examples
    --------
    >>> MultiLabelSettings(refine=-1)
    Traceback (most recent call last):
    ...
    labeltrees.errors.ArgumentError: refine must be an integer in [0, 1000], got -1.
    """

    structure: SetStructureName = setting("kmeans", Choice(get_args(SetStructureName)))
    refine: int = setting(16, Integer(0, 1000))
    branching_threshold: float = setting(0.3, Number(0, 1))
    learning_rate: float = setting(1.0, Number(0, 1e6, open_low=True))
    mixing: bool = setting(True, Flag())
    sharpness: float = setting(1.0, Number(0, 100, open_low=True))
    threshold: float = setting(0.5, Number(0, 1, open_low=True))
    n_passes: int = setting(3, Integer(1))
    max_memory: int | None = setting(None, Integer(MIN_TABLES, 2**63 - 1, optional=True))
    n_jobs: int | None = setting(None, Threads())

    @classmethod
    def from_dict(cls, values: Any, *, n_labels: int | None = None) -> Self:
        """Return the settings that `to_dict` wrote down, or raise `ModelFormatError`."""
        if isinstance(values, dict) and "openness" in values:  # its name until 0.2.0
            values = dict(values)
            values["branching_threshold"] = values.pop("openness")
        return super().from_dict(values, n_labels=n_labels)

    @property
    def batch_k(self) -> int:
        """The largest ``k`` for batches in `update`, which is the number of candidates."""
        return self.refine or MOST_TOP

    @property
    def n_threads(self) -> int:
        """How many threads answer."""
        return checks.threads("n_jobs", self.n_jobs)

    @property
    def reading(self) -> _core.Reading:
        """How the core reads rows."""
        return _core.Reading(
            loss=_core.Loss.logistic,
            normalize=self.normalize,
            bias=self.bias,
            mixing=self.mixing,
            sharpness=self.sharpness,
        )

    def learning(self, *, number: int = 0) -> _core.MultilabelLearning:
        """Return how the core learns rows for the first time, or in a later pass over them."""
        learning = _core.Learning(
            reading=self.reading,
            optimizer=OPTIMIZERS[self.optimizer],
            learning_rate=self.learning_rate * LATER_RATE**number,
            again=number > 0,
        )
        return _core.MultilabelLearning(learning, self.branching_threshold)

    def fresh_core(self, tree: Any) -> _core.MultilabelTree:
        """Return a core without rows: on this tree, or on one that will grow."""
        core = _core.MultilabelTree(tree, self.refine, LEAST_SHARE)
        if self.max_memory is not None:
            core.limit_bytes(self.max_memory)
        return core
