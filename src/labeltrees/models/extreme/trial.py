"""Measure the time and sizes of training on some rows, part by part."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from labeltrees import _core
from labeltrees.models.extreme.tail import TailClassifier
from labeltrees.models.extreme.training import (
    TrainingSize,
    as_learned,
    calibrated,
    clustered,
    held_numbers,
    joined_tree,
    train_nodes,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.models.extreme.model import RelevanceTreeArrays
    from labeltrees.models.extreme.relevance import RawRelevance, Relevance
    from labeltrees.models.extreme.settings import ExtremeSettings

_LEAST_SECONDS = 0.2  # minimum time that each part is measured, against noise of the clock
_MOST_TIMES = 50
_MOST_TREES = 3
_LEAST_HELD = 50
_LANES, _MOST_VECTORS = 16, 4  # children per vector, and vectors trained at once; see lockstep.hpp

T = TypeVar("T")


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
