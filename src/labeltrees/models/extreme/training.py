"""How the trees of an extreme regressor are made: clustered, trained, calibrated."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees import _core
from labeltrees.errors import ArgumentError, TooLargeError
from labeltrees.models.extreme.calibration import Calibration, Chances
from labeltrees.models.extreme.model import (
    MASS_WIDTH,
    ExtremeModel,
    Growth,
    RelevanceTreeArrays,
    forest_of,
)
from labeltrees.models.extreme.settings import LOSSES
from labeltrees.models.extreme.tail import TailClassifier
from labeltrees.progress import Progress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.models.extreme.relevance import Relevance
    from labeltrees.models.extreme.settings import ExtremeSettings

__all__ = ["train_extreme"]

_CALIBRATION_LABELS = 20
# What trees do not depend on.
_NOT_GROWING: dict[str, Any] = {
    "n_trees": 1,
    "inner_power": 1.0,
    "tail": None,
    "tail_weight": 0.0,
    "beam_width": 1,
    "missing": "fill",
    "threshold": 1.0,
    "n_jobs": 1,
    "verbose": 0,
}
_WEIGHT_BYTES = 16  # of a weight while nodes are joined: twice 3 bytes, its row, and room to spare


def train_extreme(
    rows: Rows,
    relevance: Relevance,
    settings: ExtremeSettings,
    *,
    start: ExtremeModel | None = None,
) -> ExtremeModel:
    """Return the model trained on rows. Equal arguments give equal models for any ``n_jobs``.

    ``relevance`` is as the user has it: that of ``settings.relevance`` is made of it.

    The trees of ``start`` are kept and only further ones grown: the model is the one that growing
    all of them would give. `ArgumentError` if ``start`` was made of other data, or otherwise.
    """
    relevance = _as_learned(relevance, settings)
    _check_memory(rows, relevance, settings)
    fingerprint = _fingerprint(rows, relevance, settings) if settings.warm_start else 0
    trees, margins = ([], []) if start is None else _kept(start, fingerprint, settings)
    held = _held_rows(rows.n_rows, settings)
    grown = _grow(rows, relevance, settings, held, len(trees))
    trees += [tree for tree, _ in grown]
    margins += [each for _, each in grown]
    calibration = chance = Calibration()
    if settings.calibrate:
        calibration, chance = _calibrate(rows, relevance, trees, margins, held, settings)
    tail = None
    if settings.tail is not None:
        tail = TailClassifier.fit(rows, relevance, settings.tail, settings.tail_weight)
    growth = Growth(fingerprint, tuple(margins)) if settings.warm_start else None
    return ExtremeModel(
        settings,
        relevance.vocabulary,
        trees,
        rows.n_features,
        relevance.scale,
        calibration,
        Chances(chance, relevance.label_shares),
        tail,
        growth,
    )


def _as_learned(relevance: Relevance, settings: ExtremeSettings) -> Relevance:
    if settings.relevance == "propensity":
        return relevance.weighted_by_propensity(a=settings.propensity_a, b=settings.propensity_b)
    return relevance.binary() if settings.relevance == "binary" else relevance


def _grow(
    rows: Rows,
    relevance: Relevance,
    settings: ExtremeSettings,
    held: NDArray[np.int32],
    first: int,
) -> list[tuple[RelevanceTreeArrays, _core.HeldMargins]]:
    """Return the trees from number ``first`` on, and what each gave to held-out rows."""
    n_labels = len(relevance.vocabulary)
    data = _core.RelevanceData(*rows.arrays, *relevance.arrays, n_labels, settings.n_threads)
    grown = []
    progress = Progress("trees", total=settings.n_trees - first, enabled=settings.verbose > 0)
    with progress:
        for number in range(first, settings.n_trees):
            grown.append(_grown(data, rows, relevance, settings, held, number))
            progress.advance(1)
    return grown


def _grown(
    data: _core.RelevanceData,
    rows: Rows,
    relevance: Relevance,
    settings: ExtremeSettings,
    held: NDArray[np.int32],
    number: int,
) -> tuple[RelevanceTreeArrays, _core.HeldMargins]:
    """Return one tree, and what it gave to held-out rows."""
    seed = settings.random_state * 1_000_003 + number
    tree = data.tree(settings.arity, settings.max_leaf, seed, settings.n_threads)
    n_workers, per_entry = _share_memory(data, tree, rows, relevance, settings)
    trained = data.train(
        tree,
        held,
        LOSSES[settings.loss],
        settings.cost_of(rows.n_rows),
        settings.cost_power,
        settings.objective == "mean",
        settings.max_epochs,
        settings.tolerance,
        settings.min_weight,
        settings.min_weight_share,
        per_entry,
        seed,
        n_workers,
    )
    margins = trained.held()
    return RelevanceTreeArrays.of(tree, trained), margins


def _kept(
    start: ExtremeModel, fingerprint: int, settings: ExtremeSettings
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
    if settings.n_trees < len(start.trees):
        allowed = f"at least the {len(start.trees)} trees that warm_start keeps"
        raise ArgumentError.of("n_trees", settings.n_trees, allowed)
    return list(start.trees), list(start.growth.margins)


def _fingerprint(rows: Rows, relevance: Relevance, settings: ExtremeSettings) -> int:
    """Return a checksum of all that a tree depends on."""
    growing = replace(settings, **_NOT_GROWING)
    checksum = zlib.crc32(repr((growing, rows.n_features, len(relevance.vocabulary))).encode())
    for array in (*rows.arrays, *relevance.arrays):
        checksum = zlib.crc32(np.ascontiguousarray(array).data, checksum)
    return checksum


def _held_rows(n_rows: int, settings: ExtremeSettings) -> NDArray[np.int32]:
    """Return the number of each held-out row, -1 for others: about a thousand, at most a fifth."""
    held = np.full(n_rows, -1, dtype=np.int32)
    if settings.calibrate:
        n_held = min(n_rows // 5, max(1000, min(n_rows // 50, 5000)))
        chosen = np.random.default_rng(settings.random_state).permutation(n_rows)[:n_held]
        held[np.sort(chosen)] = np.arange(n_held, dtype=np.int32)
    return held


def _calibrate(
    rows: Rows,
    relevance: Relevance,
    trees: list[RelevanceTreeArrays],
    margins: list[_core.HeldMargins],
    held: NDArray[np.int32],
    settings: ExtremeSettings,
) -> tuple[Calibration, Calibration]:
    """Return the maps to relevance and to probability, by the top labels of held-out rows.

    The trees see these as they see rows that are new to them.

    Labels that a row has but that are not among its top ones are left out, as are all others so
    unlikely: with them, and without their like, the least likely labels would seem to be true.
    """
    chosen = np.flatnonzero(held >= 0)
    if not len(chosen):
        return Calibration(), Calibration()
    forest = forest_of(trees, settings, len(relevance.vocabulary), margins)
    numbers = np.arange(len(chosen), dtype=np.int32)
    k = min(_CALIBRATION_LABELS, trees[0].tree.n_labels)
    ids, p, mass = forest.top_labels(
        *rows.take(chosen).arrays,
        k,
        _core.RelevanceSearch.beam,
        settings.width,
        numbers,
        min(settings.width, MASS_WIDTH),
        settings.n_threads,
    )
    matrix = relevance.to_csr()
    found = ids >= 0
    truth = np.asarray(matrix[np.repeat(chosen, k)[found.ravel()], ids[found]]).ravel()
    masses = np.repeat(mass, k)[found.ravel()]
    calibration = Calibration.fit(p[found], masses, truth)
    if not relevance.is_graded:
        return calibration, calibration
    shares = Chances(Calibration(), relevance.label_shares).shares(p[found], ids[found])
    return calibration, Calibration.fit(shares, masses, truth > 0)


def _check_memory(rows: Rows, relevance: Relevance, settings: ExtremeSettings) -> None:
    """Raise `TooLargeError` if not even the data, in the layouts of training, has room."""
    if settings.max_memory is None:
        return
    least = _data_bytes(rows, relevance)
    if least > settings.max_memory:
        raise TooLargeError(
            f"training on these rows needs at least {least:,} bytes, over "
            f"max_memory={settings.max_memory:,}."
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
    settings: ExtremeSettings,
) -> tuple[int, float]:
    """Return how many workers there is room for, and how many weights an entry may leave."""
    if settings.max_memory is None:
        return settings.n_threads, 1e9
    free = settings.max_memory - _data_bytes(rows, relevance)
    worker = data.worker_bytes(tree)
    n_workers = min(settings.n_threads, int(free / 2 // worker))
    if n_workers < 1:
        least = settings.max_memory - free + 2 * worker
        raise TooLargeError(
            f"training needs {least:,} bytes, over max_memory={settings.max_memory:,}."
        )
    per_row = len(rows.indices) / max(rows.n_rows, 1)
    n_entries = len(rows.indices) + int(tree.depths().max()) * len(relevance.labels) * per_row
    n_weights = (free - n_workers * worker) / settings.n_trees / _WEIGHT_BYTES
    return n_workers, n_weights / max(n_entries, 1)
