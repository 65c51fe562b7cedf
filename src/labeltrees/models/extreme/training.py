"""How the trees of an extreme regressor are made: clustered, trained, calibrated."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from labeltrees import _core
from labeltrees.errors import ArgumentError, TooLargeError
from labeltrees.models.extreme.calibration import Calibration
from labeltrees.models.extreme.model import (
    LOSSES,
    MASS_WIDTH,
    ExtremeModel,
    Growth,
    RelevanceTreeArrays,
    forest_of,
)
from labeltrees.models.extreme.tail import TailClassifier

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.models.extreme.relevance import Relevance

__all__ = ["ExtremeOptions", "default_cost", "train_extreme"]

_CALIBRATION_LABELS = 20
# What trees do not depend on.
_NOT_GROWING: dict[str, Any] = {
    "n_trees": 1,
    "inner_power": 1.0,
    "tail": None,
    "tail_weight": 0.0,
    "beam_width": 1,
    "n_jobs": 1,
}
_WEIGHT_BYTES = 16  # of a weight while nodes are joined: twice 3 bytes, its row, and room to spare


@dataclass(frozen=True)
class ExtremeOptions:
    """How an extreme regressor is trained; ranges are checked by the estimator."""

    n_trees: int = 3
    arity: int = 16
    max_leaf: int = 100
    loss: str = "logistic"
    inner_power: float = 0.75
    cost: float | None = None
    cost_power: float = 0.4
    max_epochs: int = 12
    tolerance: float = 1e-3
    least_weight: float = 0.15
    calibrate: bool = True
    tail: str | None = None
    tail_weight: float = 0.5
    beam_width: int = 10
    n_jobs: int = 1
    max_memory: int | None = None
    seed: int = 0
    warm_start: bool = False


def train_extreme(
    rows: Rows,
    relevance: Relevance,
    options: ExtremeOptions,
    *,
    start: ExtremeModel | None = None,
) -> ExtremeModel:
    """Return the model trained on rows. Equal arguments give equal models for any ``n_jobs``.

    The trees of ``start`` are kept and only further ones grown: the model is the one that growing
    all of them would give. `ArgumentError` if ``start`` was made of other data, or otherwise.
    """
    _check_memory(rows, relevance, options)
    fingerprint = _fingerprint(rows, relevance, options) if options.warm_start else 0
    trees, margins = ([], []) if start is None else _kept(start, fingerprint, options)
    held = _held_rows(rows.n_rows, options)
    grown = _grow(rows, relevance, options, held, len(trees))
    trees += [tree for tree, _ in grown]
    margins += [each for _, each in grown]
    calibration = Calibration()
    if options.calibrate:
        calibration = _calibrate(rows, relevance, trees, margins, held, options)
    tail = None
    if options.tail is not None:
        tail = TailClassifier.fit(rows, relevance, options.tail, options.tail_weight)
    return ExtremeModel(
        relevance.vocabulary, trees, rows.n_features, options.loss, options.inner_power,
        relevance.scale, calibration, tail, options.beam_width, options.n_jobs,
        Growth(fingerprint, tuple(margins)) if options.warm_start else None,
    )  # fmt: skip


def _grow(
    rows: Rows,
    relevance: Relevance,
    options: ExtremeOptions,
    held: NDArray[np.int32],
    first: int,
) -> list[tuple[RelevanceTreeArrays, _core.HeldMargins]]:
    """Return the trees from number ``first`` on, and what each gave to held-out rows."""
    n_labels = len(relevance.vocabulary)
    data = _core.RelevanceData(*rows.arrays, *relevance.arrays, n_labels, options.n_jobs)
    grown = []
    for number in range(first, options.n_trees):
        seed = options.seed * 1_000_003 + number
        tree = data.tree(options.arity, options.max_leaf, seed, options.n_jobs)
        n_workers, per_entry = _share_memory(data, tree, rows, relevance, options)
        trained = data.train(
            tree,
            held,
            LOSSES[options.loss],
            default_cost(rows.n_rows) if options.cost is None else options.cost,
            options.cost_power,
            options.max_epochs,
            options.tolerance,
            options.least_weight,
            per_entry,
            seed,
            n_workers,
        )
        margins = trained.held()
        grown.append((RelevanceTreeArrays.of(tree, trained), margins))
    return grown


def default_cost(n_rows: int) -> float:
    """Return 3, and less of more than 100,000 rows.

    Chosen on held-out rows: of bibtex (5,000 rows) 3 and 4 have the best P@1, of yso-en's first
    100,000 rows 2.5 and 3, of all its 633,682 1.5 (36.13; 35.89 with 3).

    >>> [round(default_cost(n), 2) for n in (1_000, 100_000, 633_682)]
    [3.0, 3.0, 1.72]
    """
    return float(3 * min(1, 100_000 / max(n_rows, 1)) ** 0.3)


def _kept(
    start: ExtremeModel, fingerprint: int, options: ExtremeOptions
) -> tuple[list[RelevanceTreeArrays], list[_core.HeldMargins]]:
    if start.growth is None:
        raise ArgumentError(
            "warm_start needs a fit with warm_start=True before; a model that was loaded or copied "
            "has not kept what more trees need."
        )
    if start.growth.fingerprint != fingerprint:
        raise ArgumentError(
            "warm_start needs the rows, labels and parameters of the fit before, but for n_trees."
        )
    if options.n_trees < len(start.trees):
        allowed = f"at least the {len(start.trees)} trees that warm_start keeps"
        raise ArgumentError.of("n_trees", options.n_trees, allowed)
    return list(start.trees), list(start.growth.margins)


def _fingerprint(rows: Rows, relevance: Relevance, options: ExtremeOptions) -> int:
    """Return a checksum of all that a tree depends on."""
    growing = replace(options, **_NOT_GROWING)
    checksum = zlib.crc32(repr((growing, rows.n_features, len(relevance.vocabulary))).encode())
    for array in (*rows.arrays, *relevance.arrays):
        checksum = zlib.crc32(np.ascontiguousarray(array).data, checksum)
    return checksum


def _held_rows(n_rows: int, options: ExtremeOptions) -> NDArray[np.int32]:
    """Return the number of each held-out row, -1 for others: about a thousand, at most a fifth."""
    held = np.full(n_rows, -1, dtype=np.int32)
    if options.calibrate:
        n_held = min(n_rows // 5, max(1000, min(n_rows // 50, 5000)))
        chosen = np.random.default_rng(options.seed).permutation(n_rows)[:n_held]
        held[np.sort(chosen)] = np.arange(n_held, dtype=np.int32)
    return held


def _calibrate(
    rows: Rows,
    relevance: Relevance,
    trees: list[RelevanceTreeArrays],
    margins: list[_core.HeldMargins],
    held: NDArray[np.int32],
    options: ExtremeOptions,
) -> Calibration:
    """Return the map fitted on the top labels of held-out rows, as the trees see such rows.

    Labels that a row has but that are not among its top ones are left out, as are all others so
    unlikely: with them, and without their like, the least likely labels would seem to be true.
    """
    chosen = np.flatnonzero(held >= 0)
    if not len(chosen):
        return Calibration()
    forest = forest_of(trees, options.loss, options.inner_power, len(relevance.vocabulary), margins)
    numbers = np.arange(len(chosen), dtype=np.int32)
    k = min(_CALIBRATION_LABELS, trees[0].tree.n_labels)
    ids, p, mass = forest.top_labels(
        *rows.take(chosen).arrays,
        k,
        _core.RelevanceSearch.beam,
        options.beam_width,
        numbers,
        min(options.beam_width, MASS_WIDTH),
        options.n_jobs,
    )
    shape = (relevance.n_rows, len(relevance.vocabulary))
    matrix = sparse.csr_array((relevance.values, relevance.labels, relevance.starts), shape=shape)
    found = ids >= 0
    truth = matrix[np.repeat(chosen, k)[found.ravel()], ids[found]]
    return Calibration.fit(p[found], np.repeat(mass, k)[found.ravel()], np.asarray(truth).ravel())


def _check_memory(rows: Rows, relevance: Relevance, options: ExtremeOptions) -> None:
    """Raise `TooLargeError` if not even the data, in the layouts of training, has room."""
    if options.max_memory is None:
        return
    least = _data_bytes(rows, relevance)
    if least > options.max_memory:
        raise TooLargeError(
            f"training on these rows needs at least {least:,} bytes, over "
            f"max_memory={options.max_memory:,}."
        )


def _data_bytes(rows: Rows, relevance: Relevance) -> int:
    """Return the bytes of the prepared rows, the transposed relevance and the label features."""
    n_entries, n_targets = len(rows.indices), len(relevance.labels)
    n_met = n_targets * n_entries / max(rows.n_rows, 1)
    n_centroids = min(n_met, len(relevance.vocabulary) * min(rows.n_features, n_entries))
    return int(8 * n_entries + 8 * rows.n_rows + 12 * n_targets + 8 * n_centroids)


def _share_memory(
    data: _core.RelevanceData,
    tree: _core.LabelTree,
    rows: Rows,
    relevance: Relevance,
    options: ExtremeOptions,
) -> tuple[int, float]:
    """Return how many workers there is room for, and how many weights an entry may leave."""
    if options.max_memory is None:
        return options.n_jobs, 1e9
    free = options.max_memory - _data_bytes(rows, relevance)
    worker = data.worker_bytes(tree)
    n_workers = min(options.n_jobs, int(free / 2 // worker))
    if n_workers < 1:
        least = options.max_memory - free + 2 * worker
        raise TooLargeError(
            f"training needs {least:,} bytes, over max_memory={options.max_memory:,}."
        )
    per_row = len(rows.indices) / max(rows.n_rows, 1)
    n_entries = len(rows.indices) + int(tree.depths().max()) * len(relevance.labels) * per_row
    n_weights = (free - n_workers * worker) / options.n_trees / _WEIGHT_BYTES
    return n_workers, n_weights / max(n_entries, 1)
