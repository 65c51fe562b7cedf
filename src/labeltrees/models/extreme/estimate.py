"""What training on many rows will take, from training on some of them."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labeltrees import checks
from labeltrees.errors import ArgumentError
from labeltrees.models.extreme.training import held_count
from labeltrees.models.extreme.trial import Trial, trees_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.models.extreme.relevance import RawRelevance
    from labeltrees.models.extreme.settings import ExtremeSettings

__all__ = ["TrainingEstimate", "estimate_training"]

_LEAST_ROWS = 100
_SHARES = (0.25, 0.5, 1.0)
_MOST_POWER = 1.2  # of the rows; faster growth is noise
_MOST_STEP_POWER = _MOST_POWER - 1
_MOST_FILLED = 0.99
_HELD_BYTES = 12 * 20 * 8  # of a held-out row: so many numbers for each label that it is asked for
_FILE_BYTES, _ARRAY_BYTES = 1500, 200  # what the file says of itself and of each array
_ARRAYS_OF_TREE, _OTHER_ARRAYS = 10, 2
_NEARLY_ALL = 0.9  # of the labels that are known: foreseen within a tenth


class TrainingEstimate(NamedTuple):
    """What `ExtremeRegressor.fit` is likely to take."""

    seconds: float
    """Of one thread; several share them out."""
    memory_bytes: int
    """The most memory besides the data given, with one thread."""
    model_bytes: int
    """The size of the model file."""


def estimate_training(
    rows: Rows, relevance: RawRelevance, n_rows: int, settings: ExtremeSettings
) -> TrainingEstimate:
    """Return what training on ``n_rows`` rows like these will take.

    Trees are trained on a quarter, on half and on all of the sample; how time and sizes grow from
    one to the next says how they grow on. More rows have more labels, and so trees of more nodes:
    the sample's trees get as many by smaller leaves. What happens once, such as calibration, is
    told apart from what each tree takes.
    """
    if rows.n_rows < _LEAST_ROWS:
        allowed = f"a sample of at least {_LEAST_ROWS} rows"
        raise ArgumentError.of("X", f"{rows.n_rows} rows", allowed)
    n_rows = checks.integer("n_rows", n_rows, rows.n_rows)
    relevance.scaled()  # raises DataError where no row has a label
    counts = np.bincount(relevance.labels)
    n_known = len(relevance.vocabulary)
    n_labels = _foreseen(counts[counts > 0], rows.n_rows, n_rows, n_known)
    trials = _trials(rows, relevance, n_rows, n_labels, settings)
    tree_bytes = _tree_bytes(trials, n_rows, n_labels)
    tail_bytes = trials[-1].tail_bytes * _mean_growth(trials, n_rows)
    names = sum(array.nbytes for array in relevance.vocabulary.to_tensors().values())
    name_bytes = names * max(1.0, n_labels / n_known)
    arrays = _ARRAYS_OF_TREE * settings.n_trees + _OTHER_ARRAYS
    model_bytes = settings.n_trees * tree_bytes + tail_bytes + name_bytes
    return TrainingEstimate(
        _seconds(trials, n_rows, settings),
        int(_data_bytes(rows, relevance, trials, n_rows, settings) + tree_bytes + model_bytes),
        int(model_bytes + _FILE_BYTES + _ARRAY_BYTES * arrays),
    )


def _trials(
    rows: Rows, relevance: RawRelevance, n_rows: int, n_labels: int, settings: ExtremeSettings
) -> list[Trial]:
    """Return what training on shares of the sample takes, each with a labelled row at least."""
    order = np.random.default_rng(settings.random_state).permutation(rows.n_rows)
    is_labelled = np.diff(relevance.starts)[order] > 0
    order = np.roll(order, -int(np.argmax(is_labelled)))
    as_all = replace(settings, cost=settings.cost_of(n_rows))
    held_share = held_count(n_rows, settings) / n_rows
    trials = []
    for share in _SHARES:
        chosen = np.sort(order[: int(share * rows.n_rows)])
        part = relevance.take(chosen)
        found = len(np.unique(part.labels)) / n_labels
        leaves = _with_leaves_of(as_all, found)
        trials.append(
            Trial.of(rows.take(chosen), part, leaves, held_share=held_share, leaf_growth=1 / found)
        )
    return trials


def _foreseen(counts: NDArray[np.int64], n_sampled: int, n_rows: int, n_known: int) -> int:
    """Return how many labels so many rows have, from how many of the sample's rows have each.

    Two ways of foreseeing them are known to err in opposite directions: a lower bound by the labels
    that one row or two have (Chao et al., 2014, eq. 12), and `_labels_of`, by the labels that parts
    of the sample have in the mean. It is their geometric mean, and all labels that are known if it
    comes close to them.
    """
    met = [_expected(counts, n_sampled, int(share * n_sampled)) for share in _SHARES]
    more = _labels_of(met, math.log2(n_rows / n_sampled), n_known)
    found = math.sqrt(more * _chao(counts, n_sampled, n_rows))
    are_more_known = n_rows > n_sampled and n_known > len(counts)
    if are_more_known and found > _NEARLY_ALL * n_known:
        return n_known
    return max(round(found), len(counts))


def _expected(counts: NDArray[np.int64], n_rows: int, n_drawn: int) -> float:
    """Return how many labels some of the rows have in the mean, drawn at random."""
    from scipy.special import gammaln

    without = n_rows - counts  # the rows without each label
    logs = gammaln(without + 1) - gammaln(np.maximum(without - n_drawn, 0) + 1)
    logs += gammaln(n_rows - n_drawn + 1) - gammaln(n_rows + 1)
    missed = np.where(without >= n_drawn, np.exp(logs), 0.0)
    return float((1 - missed).sum())


def _chao(counts: NDArray[np.int64], n_sampled: int, n_rows: int) -> float:
    """Return a lower bound of how many labels so many rows have."""
    once, twice = np.count_nonzero(counts == 1), np.count_nonzero(counts == 2)
    unmet = once * once / (2 * twice) if twice else once * (once - 1) / 2
    if not unmet:
        return len(counts)
    met = 1 - (1 - once / (n_sampled * unmet + once)) ** (n_rows - n_sampled)
    return float(len(counts) + unmet * met)


def _labels_of(counts: Sequence[float], n_doublings: float, n_known: int) -> float:
    """Return how many labels there are after so many doublings of the rows.

    Each doubling so far brought a smaller power of new ones than that before, and so it goes on.
    Labels that are known but not met are all there are.
    """
    before, last = (math.log2(max(b, 1) / max(a, 1)) for a, b in pairwise(counts))
    share = min(last / before, 1.0) if before > 0 else 1.0
    found: float = counts[-1] * 2 ** _powers(last, share, n_doublings)
    return min(found, n_known) if n_known > counts[-1] else found


def _with_leaves_of(settings: ExtremeSettings, share: float) -> ExtremeSettings:
    """Return the settings with leaves of this share of their labels.

    Trees of that share of the labels then have as many nodes, which rounding up could change.
    """
    return replace(settings, max_leaf=max(2, math.floor(share * settings.max_leaf + 1e-9)))


def _seconds(trials: Sequence[Trial], n_rows: int, settings: ExtremeSettings) -> float:
    last = trials[-1]
    growth = n_rows / last.n_rows
    once = growth * (last.preparing + last.tail)
    clustering = last.clustering * _mean_growth(trials, n_rows)
    # Similar labels part where there are more rows, so that a row comes to more nodes.
    visits = [t.tree.visits for t in trials[-2:]]
    work = n_rows * last.tree.grown_work * growth ** _power(trials[-2:], visits, _MOST_STEP_POWER)
    steps = [t.training / max(t.n_rows * t.tree.work, 1) for t in trials]
    training: float = work * steps[-1] * growth ** _step_power(trials, steps)
    calibrating: float = 0.0
    if last.n_held:
        held = [t.calibrating / t.n_held for t in trials]
        n_asked = held_count(n_rows, settings) * settings.n_trees / trees_of(settings)
        calibrating = n_asked * held[-1] * growth ** _step_power(trials, held)
    return float(once + settings.n_trees * (clustering + training) + calibrating)


def _step_power(trials: Sequence[Trial], seconds: Sequence[float]) -> float:
    """Return the power by which a step gets slower as what it reads outgrows caches."""
    ends = [0, -1]
    return _power([trials[i] for i in ends], [seconds[i] for i in ends], _MOST_STEP_POWER)


def _power(trials: Sequence[Trial], values: Sequence[float], most: float) -> float:
    """Return the power of the rows by which a value grew from one trial to another."""
    (first, last), (before, after) = trials, values
    if before <= 0 or after <= before:
        return 0.0
    return min(math.log(after / before) / math.log(last.n_rows / first.n_rows), most)


def _data_bytes(
    rows: Rows,
    relevance: RawRelevance,
    trials: Sequence[Trial],
    n_rows: int,
    settings: ExtremeSettings,
) -> float:
    """Return the most memory besides what trees keep."""
    last = trials[-1]
    growth = n_rows / last.n_rows
    entries, targets = growth * len(rows.indices), growth * len(relevance.labels)
    means = last.n_mean_entries * _mean_growth(trials, n_rows)
    features = _continued(trials, [t.n_features for t in trials], n_rows)
    width = last.tree.width
    node = (60 + 4 * width) * n_rows + (24 + 4 * width) * features
    held = _HELD_BYTES * held_count(n_rows, settings)
    return 16 * entries + 32 * targets + 8 * means + node + held


def _mean_growth(trials: Sequence[Trial], n_rows: int) -> float:
    """Return how many times as many features the labels' means have together."""
    values = [t.n_mean_entries for t in trials]
    return _continued(trials, values, n_rows) / max(values[-1], 1)


def _tree_bytes(trials: Sequence[Trial], n_rows: int, n_labels: int) -> float:
    """Return the bytes of a tree.

    It has cells, one for each feature and child. Were its weights strewn over them, some would fall
    on others and count once; how many were strewn is what goes on to grow.
    """
    last = trials[-1].tree
    n_features = _continued(trials, [t.n_features for t in trials], n_rows)
    n_cells = max(n_features * (last.n_inner + n_labels), 1.0)
    strewn = []
    for trial in trials:
        own_cells = max(trial.n_features * trial.tree.n_children, 1)
        filled = min(trial.tree.n_weights / own_cells, _MOST_FILLED)
        strewn.append(-own_cells * math.log1p(-filled))
    n_weights = n_cells * -math.expm1(-_continued(trials, strewn, n_rows) / n_cells)
    return last.n_bytes * (n_weights / last.n_weights if last.n_weights else 1.0)


def _continued(trials: Sequence[Trial], values: Sequence[float], n_rows: int) -> float:
    """Return what becomes of a value that grew so far as the trials have it.

    It grew by a power of the rows from the first to the second and by another one to the third.
    Half way is taken between the latter going on and its falling on as it fell.
    """
    first, second, third = trials
    early = _power([first, second], values[:2], _MOST_POWER)
    late = _power([second, third], values[1:], _MOST_POWER)
    n_doublings = math.log2(n_rows / third.n_rows)
    falling = _powers(late, min(late / early, 1.0) if early > 0 else 1.0, n_doublings)
    return float(values[-1] * 2 ** ((late * n_doublings + falling) / 2))


def _powers(last: float, share: float, n: float) -> float:
    """Return the sum of the next n powers, each of which is this share of that before."""
    return last * n if share == 1 else last * share * (1 - share**n) / (1 - share)
