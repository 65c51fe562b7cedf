"""Choosing a self-terminating tree's penalty and least gain on held-out rows."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from labeltrees.models.self_terminating.growing import Targets, bin_rows, grow_core

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labeltrees import _core
    from labeltrees.data.rows import Rows
    from labeltrees.models.self_terminating.settings import Growth

__all__ = [
    "Fold",
    "Trial",
    "choose_growth",
    "held_out_losses",
    "hold_out",
    "penalty_trials",
    "smallest_good",
]

TOLERANCE = 0.05  # by which a smaller tree may have more loss than the best
_N_FOLDS = 5
_LARGE = 10_000  # with as many rows one fold is enough to tell penalties apart


@dataclass(frozen=True)
class Fold:
    """Rows to grow on, cut into bins, and rows held out."""

    binned: _core.BinnedColumns
    targets: Targets
    held_out: Rows
    held_out_targets: Targets


@dataclass(frozen=True)
class Trial:
    """A penalty and a least gain, with the held-out log loss and the leaves of their trees."""

    penalty: float
    min_gain: float
    loss: float
    leaves: float


def choose_growth(
    rows: Rows,
    targets: Targets,
    growth: Growth,
    *,
    seed: int,
    powers: Sequence[float],
    gains: Sequence[float] | None = None,
    tolerance: float = TOLERANCE,
) -> tuple[float, Growth]:
    """Return a constant penalty, and the growth with weight power and least gain chosen.

    Every one of ``powers`` is tried with `penalty_trials`. Of the best power's trials within
    ``tolerance`` of the least loss the one with the fewest leaves wins. ``gains`` increase and are
    in units of a row's mean weight; without them the least gain is that of ``growth``.
    """
    unit = targets.mean_weight
    gains = [growth.min_gain] if gains is None else [gain * unit for gain in gains]
    if rows.n_rows < 2 * _N_FOLDS:
        return 1.0, replace(growth, weight_power=powers[0], min_gain=gains[0])
    folds = hold_out(rows, targets, growth, seed=seed)
    trials = {
        power: penalty_trials(folds, replace(growth, weight_power=power), gains) for power in powers
    }
    power = min(powers, key=lambda power: min(trial.loss for trial in trials[power]))
    chosen = smallest_good(trials[power], tolerance)
    return chosen.penalty, replace(growth, weight_power=power, min_gain=chosen.min_gain)


def smallest_good(trials: Sequence[Trial], tolerance: float) -> Trial:
    """Return the trial with the fewest leaves of those within tolerance of the least loss."""
    least = min(trial.loss for trial in trials)
    good = [trial for trial in trials if trial.loss <= (1 + tolerance) * least]
    return min(good, key=lambda trial: (trial.leaves, trial.loss))


def hold_out(rows: Rows, targets: Targets, growth: Growth, *, seed: int) -> list[Fold]:
    """Return a fifth of the rows held out; with fewer than 10,000 rows up to all five fifths."""
    order = np.random.default_rng(seed).permutation(rows.n_rows)
    folds = []
    for number in range(min(-(-_LARGE // rows.n_rows), _N_FOLDS)):
        is_held_out = np.zeros(rows.n_rows, dtype=bool)
        is_held_out[order[number::_N_FOLDS]] = True
        grown_on, left_out = np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)
        binned = bin_rows(rows.take(grown_on), growth)
        folds.append(
            Fold(binned, targets.take(grown_on), rows.take(left_out), targets.take(left_out))
        )
    return folds


def penalty_trials(folds: Sequence[Fold], growth: Growth, gains: Sequence[float]) -> list[Trial]:
    """Return trials of penalties about the best one, with each of the least gains.

    Penalties fall by powers of 2, in units of an example of mean weight, until three in a row are
    no better than the best so far; then the best's neighbours by sqrt(2) are tried. A tree of a
    larger least gain is a part of one of a smaller, so one tree tells of all.
    """
    n_rows = sum(fold.held_out.n_rows for fold in folds) / len(folds) * _N_FOLDS
    unit = folds[0].targets.mean_weight ** (1 - growth.weight_power)
    least = replace(growth, min_gain=min(gains))

    @functools.cache
    def trials(exponent: float) -> list[Trial]:
        penalty = unit * 2.0**exponent
        losses, leaves = np.zeros(len(gains)), np.zeros(len(gains))
        for fold in folds:
            core = grow_core(fold.binned, fold.targets, [penalty], least)
            some = held_out_losses(core, fold.held_out, fold.held_out_targets, gains)
            losses += some[0]
            leaves += some[1]
        found = zip(gains, losses.tolist(), leaves.tolist(), strict=True)
        return [Trial(penalty, *trial) for trial in found]

    def loss(exponent: float) -> float:
        return min(trial.loss for trial in trials(exponent))

    # No branch is farther from its parent than twice its weight.
    best = exponent = float(np.floor(np.log2(n_rows ** (1 - growth.weight_power) / 2)))
    tried = {best}
    while exponent > max(best - 3, -4):
        exponent -= 1
        tried.add(exponent)
        if loss(exponent) <= loss(best):
            best = exponent
    tried.update(best + np.arange(-0.5, 2, 0.5))
    return [trial for exponent in sorted(tried) for trial in trials(exponent)]


def held_out_losses(
    core: _core.SelfTerminatingTree, rows: Rows, targets: Targets, gains: Sequence[float]
) -> tuple[list[float], list[int]]:
    """Return the rows' summed log loss, and the leaves, of the tree's parts by least gain.

    ``gains`` increase; the tree was grown with the first.
    """
    parent, gain = core.parent(), core.gain()
    reached, is_leaf = _least_gain_above(parent, gain), core.left() < 0
    ends = core.leaves(*rows.arrays)
    sizes = np.diff(targets.starts) if len(targets.starts) else 1
    masses = targets.masses if len(targets.masses) else np.ones(len(targets.labels))
    losses, leaves = [], []
    for least in gains:
        while (beyond := reached[ends] < least).any():
            ends = np.where(beyond, parent[ends], ends)
        p = core.probabilities_at(np.repeat(ends, sizes), targets.labels)
        losses.append(float(-np.log(np.maximum(p, np.finfo(float).tiny)) @ masses))
        leaves.append(int(((reached >= least) & ((gain < least) | is_leaf)).sum()))
    return losses, leaves


def _least_gain_above(parent: NDArray[np.int32], gain: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for every node the least gain of the splits on the way to it."""
    reached = [np.inf]
    gains = gain.tolist()
    for above in parent[1:].tolist():  # a parent's id is smaller than its child's
        reached.append(min(reached[above], gains[above]))
    return np.array(reached)
