"""Choosing a self-terminating tree's penalty on held-out rows."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from labeltrees.self_terminating import GrowthOptions, Targets, bin_rows, grow_core

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labeltrees import _core
    from labeltrees.data.checks import Rows

__all__ = ["Fold", "choose_penalty", "held_out_loss", "hold_out", "largest_good", "penalty_losses"]

_N_FOLDS = 5
_LARGE = 10_000  # with as many rows one fold is enough to tell penalties apart


@dataclass(frozen=True)
class Fold:
    """Rows to grow on, cut into bins, and rows held out."""

    binned: _core.BinnedColumns
    targets: Targets
    held_out: Rows
    held_out_targets: Targets


def choose_penalty(
    rows: Rows,
    targets: Targets,
    options: GrowthOptions,
    *,
    seed: int,
    powers: Sequence[float] | None = None,
    tolerance: float = 0.05,
) -> tuple[float, float]:
    """Return the constant penalty and the weight power with the least loss on held-out rows.

    Every one of ``powers`` (by default only that of ``options``) is tried with `penalty_losses`. Of
    the best power's penalties within ``tolerance`` of the least loss the largest wins: its tree is
    the smallest.
    """
    powers = [options.weight_power] if powers is None else powers
    if rows.n_rows < 2 * _N_FOLDS:
        return 1.0, powers[0]
    folds = hold_out(rows, targets, options, seed=seed)
    losses = {
        power: penalty_losses(folds, replace(options, weight_power=power)) for power in powers
    }
    power = min(powers, key=lambda power: min(losses[power].values()))
    return largest_good(losses[power], tolerance), power


def largest_good(losses: dict[float, float], tolerance: float) -> float:
    """Return the largest penalty whose loss is within tolerance of the least."""
    least = min(losses.values())
    return max(penalty for penalty, loss in losses.items() if loss <= (1 + tolerance) * least)


def hold_out(rows: Rows, targets: Targets, options: GrowthOptions, *, seed: int) -> list[Fold]:
    """Return a fifth of the rows held out; with fewer than 10,000 rows up to all five fifths."""
    order = np.random.default_rng(seed).permutation(rows.n_rows)
    folds = []
    for number in range(min(-(-_LARGE // rows.n_rows), _N_FOLDS)):
        is_held_out = np.zeros(rows.n_rows, dtype=bool)
        is_held_out[order[number::_N_FOLDS]] = True
        grown_on, left_out = np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)
        binned = bin_rows(rows.take(grown_on), options)
        folds.append(
            Fold(binned, targets.take(grown_on), rows.take(left_out), targets.take(left_out))
        )
    return folds


def penalty_losses(folds: Sequence[Fold], options: GrowthOptions) -> dict[float, float]:
    """Return the held-out loss of penalties about the best one.

    Penalties fall by powers of 2, in units of an example of mean weight, until three in a row are
    no better than the best so far; then the best's neighbours by sqrt(2) are tried. The loss is
    log loss.
    """
    n_rows = sum(fold.held_out.n_rows for fold in folds) / len(folds) * _N_FOLDS
    masses = folds[0].targets.masses
    mean_weight = float(masses.sum() / folds[0].targets.n_rows) if len(masses) else 1.0
    unit = mean_weight ** (1 - options.weight_power)

    @functools.cache
    def loss(exponent: float) -> float:
        return sum(
            held_out_loss(
                grow_core(fold.binned, fold.targets, [unit * 2.0**exponent], options),
                fold.held_out,
                fold.held_out_targets,
            )
            for fold in folds
        )

    # No branch is farther from its parent than twice its weight.
    best = exponent = float(np.floor(np.log2(n_rows ** (1 - options.weight_power) / 2)))
    while exponent > max(best - 3, -4):
        exponent -= 1
        if loss(exponent) <= loss(best):
            best = exponent
    return {unit * 2.0**tried: loss(tried) for tried in best + np.arange(-0.5, 2, 0.5)}


def held_out_loss(core: _core.SelfTerminatingTree, rows: Rows, targets: Targets) -> float:
    """Return the summed log loss of the rows."""
    leaves = core.leaves(*rows.arrays)
    nodes = np.repeat(leaves, np.diff(targets.starts) if len(targets.starts) else 1)
    masses = targets.masses if len(targets.masses) else np.ones(len(nodes))
    p = core.probabilities_at(nodes, targets.labels)
    return float(-np.log(np.maximum(p, np.finfo(float).tiny)) @ masses)
