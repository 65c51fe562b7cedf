"""Choose open settings of a self-terminating tree on held-out rows, and grow the tree.

Labels are ids, without their names.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from labeltrees import _core
from labeltrees.errors import ArgumentError, DataError
from labeltrees.models.self_terminating.model import SelfTerminatingTreeModel
from labeltrees.models.self_terminating.settings import CRITERIA, GAINS, NORMS, POWERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.data.vocabulary import LabelVocabulary
    from labeltrees.models.self_terminating.settings import Growth, SelfTerminatingSettings

MOST_CATEGORY = 2**22
"""Largest value of a category. Up to it, halves between whole numbers are exact."""
TOLERANCE = 0.05  # share by which the loss of a smaller tree may exceed the best loss
_N_FOLDS = 5
_LARGE = 10_000  # number of rows from which one fold is enough to compare penalties


@dataclass(frozen=True)
class Targets:
    """The targets of each row, a label id or several labels with their masses.

    Row ``r`` has ``labels[starts[r]:starts[r + 1]]``. If ``starts`` is empty, each row has one
    label; if ``masses`` is empty too, each label has mass 1.
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
        """Return the distribution of all rows with half a count added to each label (KT)."""
        masses = self.masses if len(self.masses) else None
        counts = np.bincount(self.labels, weights=masses, minlength=self.n_labels) + 0.5
        return np.asarray(counts / counts.sum())


def bin_rows(rows: Rows, growth: Growth) -> _core.BinnedColumns:
    """Return the features cut into bins, on which several trees can be grown."""
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


def train_self_terminating(
    settings: SelfTerminatingSettings, rows: Rows, targets: Targets, vocabulary: LabelVocabulary
) -> SelfTerminatingTreeModel:
    """Return the tree grown on rows."""
    check_categories(settings, rows)
    if settings.form == "scalar" and len(vocabulary) > 2:
        raise ArgumentError.of("form", "scalar", f"'vector' for {len(vocabulary)} labels, not two")
    growth, penalties = settings.growth(), settings.penalties(rows.n_rows)
    scale = settings.penalty_scale
    if penalties is None:
        powers = POWERS if settings.weight_power == "auto" else (growth.weight_power,)
        gains = GAINS[settings.criterion] if settings.min_gain == "auto" else None
        penalty, growth = choose_growth(
            rows, targets, growth, seed=settings.random_state, powers=powers, gains=gains
        )
        penalties = [penalty / scale]
    in_core = [penalty * scale for penalty in penalties]
    core = grow_core(bin_rows(rows, growth), targets, in_core, growth)
    model = SelfTerminatingTreeModel(
        settings, vocabulary, core, rows.n_features, penalties,
        growth.weight_power, growth.min_gain,
    )  # fmt: skip
    model.penalties = penalties[: int(model.depths().max()) + 1]
    if callable(settings.penalty):  # a file cannot store code
        model.settings = replace(settings, penalty=model.penalties)
    return model


def check_categories(settings: SelfTerminatingSettings, rows: Rows) -> None:
    """Raise an error unless categorical features exist and have few whole values."""
    _, features, values = rows.arrays
    most = settings.max_bins - 1  # zero has a separate bin
    for feature in settings.categories:
        if feature >= rows.n_features:
            allowed = f"features below {rows.n_features}"
            raise ArgumentError.of("categorical", settings.categorical, allowed)
        own = values[features == feature]
        own = np.unique(own[~np.isnan(own) & (own != 0)])
        is_category = (own == np.floor(own)) & (own >= 0) & (own <= MOST_CATEGORY)
        if not is_category.all():
            raise DataError(
                f"feature {feature} is categorical. Its values must be whole numbers in "
                f"[0, {MOST_CATEGORY}] or NaN, got {own[~is_category][0]:g}."
            )
        if len(own) > most:
            raise DataError(
                f"feature {feature} is categorical and has {len(own)} "
                "values other than 0, but at most "
                f"{most} fit (max_bins={settings.max_bins})."
            )


@dataclass(frozen=True)
class Fold:
    """Rows to grow on, cut into bins, and rows held out."""

    binned: _core.BinnedColumns
    targets: Targets
    held_out: Rows
    held_out_targets: Targets


@dataclass(frozen=True)
class PenaltyTrial:
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
    """Return a constant penalty, and the growth with the best weight power and least gain.

    All ``powers`` are tried with `penalty_trials`. Among the best power's trials within
    ``tolerance`` of the least loss, the one with the fewest leaves wins. ``gains`` increase and are
    in units of a row's mean weight. Without them the least gain of ``growth`` is kept.
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


def smallest_good(trials: Sequence[PenaltyTrial], tolerance: float) -> PenaltyTrial:
    """Return the trial with the fewest leaves whose loss is within tolerance of the least."""
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


def penalty_trials(
    folds: Sequence[Fold], growth: Growth, gains: Sequence[float]
) -> list[PenaltyTrial]:
    """Return trials of penalties near the best one, with each of the least gains.

    Penalties fall by powers of 2, in units of an example of mean weight, until three in a row are
    no better than the best so far. Then the neighbours of the best by sqrt(2) are tried. A tree
    with a larger least gain is a part of a tree with a smaller one, so one tree is enough for all.
    """
    n_rows = sum(fold.held_out.n_rows for fold in folds) / len(folds) * _N_FOLDS
    unit = folds[0].targets.mean_weight ** (1 - growth.weight_power)
    least = replace(growth, min_gain=min(gains))

    @functools.cache
    def trials(exponent: float) -> list[PenaltyTrial]:
        penalty = unit * 2.0**exponent
        losses, leaves = np.zeros(len(gains)), np.zeros(len(gains))
        for fold in folds:
            core = grow_core(fold.binned, fold.targets, [penalty], least)
            some = held_out_losses(core, fold.held_out, fold.held_out_targets, gains)
            losses += some[0]
            leaves += some[1]
        found = zip(gains, losses.tolist(), leaves.tolist(), strict=True)
        return [PenaltyTrial(penalty, *trial) for trial in found]

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
    """Return the summed log loss and the number of leaves for each least gain.

    ``gains`` increase. The tree was grown with the first, and larger gains use a part of it.
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
    """Return for every node the least gain of the splits above it."""
    reached = [np.inf]
    gains = gain.tolist()
    for above in parent[1:].tolist():  # a parent's id is smaller than its child's
        reached.append(min(reached[above], gains[above]))
    return np.array(reached)
