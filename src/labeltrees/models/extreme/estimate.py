"""Estimate time and memory of training on many rows by training on a sample."""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from labeltrees import _core, checks
from labeltrees.errors import ArgumentError
from labeltrees.models.extreme.tail import TailClassifier
from labeltrees.models.extreme.training import (
    TrainingSize,
    as_learned,
    calibrated,
    clustered,
    held_count,
    held_numbers,
    joined_tree,
    train_nodes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.models.extreme.model import RelevanceTreeArrays
    from labeltrees.models.extreme.relevance import RawRelevance, Relevance
    from labeltrees.models.extreme.settings import ExtremeSettings

_LEAST_ROWS = 100
_SHARES = (0.25, 0.5, 1.0)
_MOST_POWER = 1.2  # largest power of the number of rows; faster growth is noise
_MOST_STEP_POWER = _MOST_POWER - 1
_MOST_FILLED = 0.99
_HELD_BYTES = 12 * 20 * 8  # memory of a held-out row, 12 numbers for each of 20 labels
_FILE_BYTES, _ARRAY_BYTES = 1500, 200  # size of the file's description, and of each array's
_ARRAYS_OF_TREE, _OTHER_ARRAYS = 10, 2
_NEARLY_ALL = 0.9  # share of the known labels from which all are assumed; estimates err by a tenth
_LEAST_SECONDS = 0.2  # minimum time that each part is measured, against noise of the clock
_MOST_TIMES = 50
_MOST_TREES = 3
_LEAST_HELD = 50
_LANES, _MOST_VECTORS = 16, 4  # children per vector, and vectors trained at once; see lockstep.hpp
T = TypeVar("T")


class TrainingEstimate(NamedTuple):
    """The time and memory that `ExtremeRegressor.fit` is likely to take."""

    seconds: float
    """Time of one thread; several threads share it."""
    memory_bytes: int
    """The peak memory in addition to the data, with one thread."""
    model_bytes: int
    """The size of the model file."""


def estimate_training(
    rows: Rows, relevance: RawRelevance, n_rows: int, settings: ExtremeSettings
) -> TrainingEstimate:
    """Return an estimate of training on ``n_rows`` rows like these.

    Trees are trained on a quarter, on half and on all of the sample. The growth of time and sizes
    between these is extrapolated. More rows have more labels, and so their trees have more nodes.
    The sample's trees get as many nodes by smaller leaves. Work that is done once, such as
    calibration, is measured separately from the work for each tree.
    """
    if rows.n_rows < _LEAST_ROWS:
        allowed = f"a sample of at least {_LEAST_ROWS} rows"
        raise ArgumentError.of("X", f"{rows.n_rows} rows", allowed)
    n_rows = checks.integer("n_rows", n_rows, rows.n_rows)
    relevance.scaled()  # raises DataError if no row has a label
    counts = np.bincount(relevance.labels)
    n_known = len(relevance.vocabulary)
    n_labels = _expected_labels(counts[counts > 0], rows.n_rows, n_rows, n_known)
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
    """Return trials on shares of the sample, each with at least one labelled row."""
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


def _expected_labels(counts: NDArray[np.int64], n_sampled: int, n_rows: int, n_known: int) -> int:
    """Return the expected number of labels in ``n_rows`` rows, from the labels' sample counts.

    Two estimates err in opposite directions. One is a lower bound by the labels that one or two
    rows have (Chao et al., 2014, eq. 12). The other is `_labels_of`, by the mean number of labels
    in parts of the sample. The result is their geometric mean, or the number of known labels if
    the mean is close to it.
    """
    met = [_mean_labels(counts, n_sampled, int(share * n_sampled)) for share in _SHARES]
    more = _labels_of(met, math.log2(n_rows / n_sampled), n_known)
    found = math.sqrt(more * _chao(counts, n_sampled, n_rows))
    are_more_known = n_rows > n_sampled and n_known > len(counts)
    if are_more_known and found > _NEARLY_ALL * n_known:
        return n_known
    return max(round(found), len(counts))


def _mean_labels(counts: NDArray[np.int64], n_rows: int, n_drawn: int) -> float:
    """Return the mean number of labels in ``n_drawn`` rows drawn at random."""
    from scipy.special import gammaln

    without = n_rows - counts  # number of rows without each label
    logs = gammaln(without + 1) - gammaln(np.maximum(without - n_drawn, 0) + 1)
    logs += gammaln(n_rows - n_drawn + 1) - gammaln(n_rows + 1)
    missed = np.where(without >= n_drawn, np.exp(logs), 0.0)
    return float((1 - missed).sum())


def _chao(counts: NDArray[np.int64], n_sampled: int, n_rows: int) -> float:
    """Return a lower bound of the number of labels in ``n_rows`` rows."""
    once, twice = np.count_nonzero(counts == 1), np.count_nonzero(counts == 2)
    unmet = once * once / (2 * twice) if twice else once * (once - 1) / 2
    if not unmet:
        return len(counts)
    met = 1 - (1 - once / (n_sampled * unmet + once)) ** (n_rows - n_sampled)
    return float(len(counts) + unmet * met)


def _labels_of(counts: Sequence[float], n_doublings: float, n_known: int) -> float:
    """Return the number of labels after ``n_doublings`` doublings of the rows.

    Each doubling so far brought a smaller power of new labels than the doubling before, which is
    extrapolated. The number of known labels is an upper bound.
    """
    before, last = (math.log2(max(b, 1) / max(a, 1)) for a, b in pairwise(counts))
    share = min(last / before, 1.0) if before > 0 else 1.0
    found: float = counts[-1] * 2 ** _powers(last, share, n_doublings)
    return min(found, n_known) if n_known > counts[-1] else found


def _with_leaves_of(settings: ExtremeSettings, share: float) -> ExtremeSettings:
    """Return the settings with leaves of this share of their labels.

    Trees over that share of the labels then have as many nodes. Rounding up could change that.
    """
    return replace(settings, max_leaf=max(2, math.floor(share * settings.max_leaf + 1e-9)))


def _seconds(trials: Sequence[Trial], n_rows: int, settings: ExtremeSettings) -> float:
    last = trials[-1]
    growth = n_rows / last.n_rows
    once = growth * (last.preparing + last.tail)
    clustering = last.clustering * _mean_growth(trials, n_rows)
    # More rows separate similar labels, so that a row reaches more nodes.
    visits = [t.tree.visits for t in trials[-2:]]
    work = n_rows * last.tree.grown_work * growth ** _power(trials[-2:], visits, _MOST_STEP_POWER)
    steps = [t.training / max(t.n_rows * t.tree.work, 1) for t in trials]
    training: float = work * steps[-1] * growth ** _step_power(trials, steps)
    calibrating: float = 0.0
    if last.n_held:
        held = [t.calibrating / t.n_held for t in trials]
        n_queried = held_count(n_rows, settings) * settings.n_trees / trees_of(settings)
        calibrating = n_queried * held[-1] * growth ** _step_power(trials, held)
    return float(once + settings.n_trees * (clustering + training) + calibrating)


def _step_power(trials: Sequence[Trial], seconds: Sequence[float]) -> float:
    """Return the power by which a step gets slower as its data outgrows the caches."""
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
    """Return the peak memory in addition to the trees."""
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
    """Return the growth of the number of features in all labels' means together."""
    values = [t.n_mean_entries for t in trials]
    return _continued(trials, values, n_rows) / max(values[-1], 1)


def _tree_bytes(trials: Sequence[Trial], n_rows: int, n_labels: int) -> float:
    """Return the bytes of a tree.

    A tree has one cell for each feature and child. If weights are placed in cells at random, some
    cells get several and count once. The number of placed weights is extrapolated.
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
    """Return the extrapolation of a value that was measured in each trial.

    It grew by one power of the rows from the first trial to the second, and by another power to
    the third. The result is half way between a constant power and a power that keeps falling.
    """
    first, second, third = trials
    early = _power([first, second], values[:2], _MOST_POWER)
    late = _power([second, third], values[1:], _MOST_POWER)
    n_doublings = math.log2(n_rows / third.n_rows)
    falling = _powers(late, min(late / early, 1.0) if early > 0 else 1.0, n_doublings)
    return float(values[-1] * 2 ** ((late * n_doublings + falling) / 2))


def _powers(last: float, share: float, n: float) -> float:
    """Return the sum of the next n powers, each of which is this share of the power before."""
    return last * n if share == 1 else last * share * (1 - share**n) / (1 - share)


@dataclass(frozen=True)
class Trial:
    """Training times and tree sizes of some rows. Times are processor seconds of one thread."""

    n_rows: int
    n_held: int
    n_features: int
    """Number of features that occur."""
    n_mean_entries: int
    """Number of entries of the labels' mean features."""
    preparing: float
    """Seconds to prepare rows, labels and mean features, once for all trees."""
    tail: float
    """Seconds to train the tail classifier, 0 if there is none."""
    tail_bytes: int
    clustering: float
    """Seconds to cluster the labels of a tree."""
    training: float
    """Seconds to train the regressors of a tree."""
    calibrating: float
    """Seconds to calibrate, with `trees_of` trees."""
    tree: TreeSize

    @classmethod
    def of(
        cls,
        rows: Rows,
        raw: RawRelevance,
        settings: ExtremeSettings,
        *,
        held_share: float,
        leaf_growth: float,
    ) -> Trial:
        """Train up to three trees and return the measurements.

        ``held_share`` of the rows are held out, because fewer training rows need fewer epochs. See
        `TreeSize` for ``leaf_growth``.
        """
        settings = replace(
            settings, n_trees=trees_of(settings), n_jobs=1, max_memory=None, warm_start=False
        )
        n_held = 0
        if settings.calibrate:
            n_held = min(rows.n_rows // 5, max(_LEAST_HELD, round(held_share * rows.n_rows)))
        held = held_numbers(rows.n_rows, settings, n_held)
        preparing, (prepared,) = _timed(lambda _: _prepared(rows, raw, settings))
        relevance, data, features = prepared
        size = TrainingSize.of(rows, relevance)
        size = size.met(n_features=data.n_features, n_entries=data.n_entries)
        clustering, shapes = _timed(lambda i: clustered(features, settings, i, 1), settings.n_trees)

        def train(number: int) -> tuple[RelevanceTreeArrays, _core.HeldMargins]:
            shape = shapes[number]
            inner = np.flatnonzero(shape.child_counts()).astype(np.int32)
            part = train_nodes(data, shape, inner, held, size, settings, number, 1)
            return joined_tree(shape, [part], n_held)

        training, trained = _timed(train, settings.n_trees)
        calibrating = 0.0
        if n_held:
            calibrating, _ = _timed(lambda _: _calibrate(rows, relevance, held, trained, settings))
        tail_seconds, tail_bytes = _of_tail(rows, relevance, settings)
        return cls(
            n_rows=rows.n_rows,
            n_held=n_held,
            n_features=data.n_features,
            n_mean_entries=len(features[2]),
            preparing=preparing,
            tail=tail_seconds,
            tail_bytes=tail_bytes,
            clustering=clustering,
            training=training,
            calibrating=calibrating,
            tree=TreeSize.of(trained[0][0], leaf_growth),
        )


@dataclass(frozen=True)
class TreeSize:
    """The sizes of one tree."""

    n_inner: int
    """Number of nodes that have regressors."""
    n_children: int
    n_weights: int
    n_bytes: int
    visits: float
    """Mean number of nodes that a row reaches."""
    work: float
    """Cost of a row in an epoch. Each visit costs one, and each vector of children one."""
    grown_work: float
    """The same with ``leaf_growth`` times as many labels in the leaves."""
    width: float
    """Lanes of the widest panel of a node, times the share of all rows that reach it."""

    @classmethod
    def of(cls, trained: RelevanceTreeArrays, leaf_growth: float) -> TreeSize:
        """Return the sizes; leaves are expected to get ``leaf_growth`` times the labels."""
        tree, reach = trained.tree, trained.reach
        n_children = tree.child_counts()
        inner = np.flatnonzero(n_children)
        children, reach = n_children[inner], reach[inner]
        vectors = np.ceil(children / _LANES)
        grown = vectors
        if leaf_growth > 1:
            # The number of labels is uncertain, and rounding up adds a half in the mean.
            above_leaves = n_children[tree.first_children()[inner]] == 0
            grown = np.where(above_leaves, leaf_growth * children / _LANES + 0.5, vectors)
        arrays = (*trained.arrays, tree.parents(), tree.labels())
        return cls(
            n_inner=len(inner),
            n_children=tree.n_nodes - 1,
            n_weights=trained.n_weights,
            n_bytes=sum(a.nbytes for a in arrays),
            visits=float(reach.sum()),
            work=float((reach * (1 + vectors)).sum()),
            grown_work=float((reach * (1 + grown)).sum()),
            width=float((reach * _LANES * np.minimum(grown, _MOST_VECTORS)).max(initial=0)),
        )


def trees_of(settings: ExtremeSettings) -> int:
    """Return the number of trees in a trial, several because calibration queries all of them."""
    return min(settings.n_trees, _MOST_TREES)


def _prepared(rows: Rows, raw: RawRelevance, settings: ExtremeSettings) -> tuple[Any, Any, Any]:
    relevance = as_learned(raw.scaled(), settings)
    data = _core.RelevanceData(*rows.arrays, *relevance.arrays, len(relevance.vocabulary))
    return relevance, data, data.label_features(1)


def _calibrate(
    rows: Rows,
    relevance: Relevance,
    held: NDArray[np.int32],
    trained: list[tuple[RelevanceTreeArrays, _core.HeldMargins]],
    settings: ExtremeSettings,
) -> None:
    chosen = np.flatnonzero(held >= 0)
    truth, shares = relevance.to_csr()[chosen], relevance.label_shares
    trees, margins = (list(each) for each in zip(*trained, strict=True))
    calibrated(rows.take(chosen), truth, relevance.is_graded, shares, trees, margins, settings)


def _of_tail(rows: Rows, relevance: Relevance, settings: ExtremeSettings) -> tuple[float, int]:
    """Return the seconds and bytes of the tail classifier."""
    name = settings.tail
    if name is None:
        return 0.0, 0
    weight = settings.tail_weight
    seconds, (tail,) = _timed(lambda _: TailClassifier.fit(rows, relevance, name, weight))
    return seconds, sum(array.nbytes for array in tail.to_tensors().values())


def _timed(work: Callable[[int], T], n_times: int = 1) -> tuple[float, list[T]]:
    """Return the median processor seconds of ``work`` over several calls, and its results.

    It is called at least ``n_times``, each time with its number.

    Only the time of this thread counts, because threads of other libraries, such as NumPy's BLAS,
    may spin.
    """
    seconds: list[float] = []
    results: list[T] = []
    while len(seconds) < n_times or (sum(seconds) < _LEAST_SECONDS and len(seconds) < _MOST_TIMES):
        start = time.thread_time()
        result = work(len(seconds) % n_times)
        seconds.append(time.thread_time() - start)
        if len(results) < n_times:
            results.append(result)
    return statistics.median(seconds), results
