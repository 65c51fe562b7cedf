"""Targets of rows, and trees grown on them; labels are ids, without their names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from labeltrees import _core
from labeltrees.models.self_terminating.settings import CRITERIA, NORMS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.models.self_terminating.settings import Growth

__all__ = ["Targets", "bin_rows", "grow_core"]


@dataclass(frozen=True)
class Targets:
    """What each row should be: label ids, or several labels with their masses.

    Row ``r`` has ``labels[starts[r]:starts[r + 1]]``. Empty ``starts``: one label per row; empty
    ``masses`` as well: each of mass 1.
    """

    labels: NDArray[np.int32]
    masses: NDArray[np.float64]
    starts: NDArray[np.int64]
    n_labels: int

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.starts) - 1 if len(self.starts) else len(self.labels)

    @property
    def mean_weight(self) -> float:
        """The mean weight of a row."""
        return float(self.masses.sum() / self.n_rows) if len(self.masses) else 1.0

    def take(self, rows: NDArray[np.intp]) -> Targets:
        """Return the targets of these rows, in their order."""
        if not len(self.starts):
            masses = self.masses[rows] if len(self.masses) else self.masses
            return Targets(self.labels[rows], masses, self.starts, self.n_labels)
        sizes = np.diff(self.starts)[rows]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        entries = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], sizes)
        return Targets(self.labels[entries], self.masses[entries], starts, self.n_labels)

    def root(self) -> NDArray[np.float64]:
        """Return the distribution of all rows, half a count added to each label (KT)."""
        masses = self.masses if len(self.masses) else None
        counts = np.bincount(self.labels, weights=masses, minlength=self.n_labels) + 0.5
        return np.asarray(counts / counts.sum())


def bin_rows(rows: Rows, growth: Growth) -> _core.BinnedColumns:
    """Return the features cut into bins; they may be grown on again and again."""
    return _core.bin_columns(*rows.arrays, growth.max_bins, growth.n_jobs)


def grow_core(
    binned: _core.BinnedColumns,
    targets: Targets,
    penalties: Sequence[float],
    growth: Growth,
) -> _core.SelfTerminatingTree:
    """Return the tree grown on binned rows, without its labels' names."""
    return _core.SelfTerminatingTree.grow(
        binned,
        targets.starts,
        targets.labels,
        targets.masses,
        targets.root(),
        _core.Growing(
            penalties=penalties,
            weight_power=growth.weight_power,
            min_gain=growth.min_gain,
            norm=NORMS[growth.norm],
            criterion=CRITERIA[growth.criterion],
            split_terminated=growth.split_terminated,
            categorical=growth.categorical,
            n_workers=growth.n_jobs,
        ),
    )
