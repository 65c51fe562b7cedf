"""Train the trees of an extreme regressor: cluster labels, train nodes and calibrate scores."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from labeltrees import _core
from labeltrees.errors import ArgumentError, TooLargeError
from labeltrees.models.extreme.calibration import Calibration, ProbabilityMap
from labeltrees.models.extreme.model import (
    MASS_WIDTH,
    ExtremeModel,
    RelevanceTreeArrays,
    WarmStart,
    forest_of,
)
from labeltrees.models.extreme.settings import LOSSES
from labeltrees.models.extreme.spilling import ranges_of, spilled_data, spilled_features
from labeltrees.models.extreme.tail import TailClassifier
from labeltrees.progress import Progress

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray
    from scipy import sparse

    from labeltrees.data.rows import Rows
    from labeltrees.models.extreme.relevance import Relevance
    from labeltrees.models.extreme.settings import ExtremeSettings

_CALIBRATION_LABELS = 20
_WEIGHT_BYTES = 16  # memory per weight while nodes are joined, twice 3 bytes, its row and a reserve
# Settings that do not change a tree.
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


@dataclass(frozen=True)
class TrainingSize:
    """The counts of all training rows, in memory or in files."""

    n_rows: int
    n_labels: int
    width: int
    """The number of columns."""
    n_stored: int
    """The number of entries, including stored zeros."""
    n_targets: int
    """The number of relevant labels of all rows together."""
    n_features: int = 0
    """Number of features that are not 0 in some row, or 0 if unknown."""
    n_entries: int = 0
    """Number of entries that are not 0, or 0 if unknown."""

    @classmethod
    def of(cls, rows: Rows, relevance: Relevance) -> Self:
        """Return the counts that are known without reading the entries."""
        n_labels = len(relevance.vocabulary)
        n_stored, n_targets = len(rows.indices), len(relevance.labels)
        return cls(rows.n_rows, n_labels, rows.n_features, n_stored, n_targets)

    def met(self, *, n_features: int, n_entries: int) -> Self:
        """Return the same size with the counts of features and entries that are not 0."""
        return replace(self, n_features=n_features, n_entries=n_entries)

    @property
    def data_bytes(self) -> int:
        """The bytes of the prepared rows, the transposed relevance and the label features."""
        n_met = self.n_targets * self.n_stored / max(self.n_rows, 1)
        n_centroids = min(n_met, self.n_labels * min(self.width, self.n_stored))
        size = 8 * self.n_stored + 8 * self.n_rows + 12 * self.n_targets + 8 * n_centroids
        return int(size)

    def check(self, settings: ExtremeSettings) -> None:
        """Raise `TooLargeError` if the prepared data alone exceeds the limit."""
        if settings.max_memory is not None and self.data_bytes > settings.max_memory:
            raise TooLargeError(
                f"training on these rows needs at least {self.data_bytes:,} bytes, over "
                f"max_memory={settings.max_memory:,}."
            )

    def share_memory(self, tree: _core.LabelTree, settings: ExtremeSettings) -> tuple[int, float]:
        """Return the number of workers that fit into memory, and of weights per entry."""
        if settings.max_memory is None:
            return settings.n_threads, 1e9
        free = settings.max_memory - self.data_bytes
        worker = _core.training_worker_bytes(
            tree, self.n_rows, self.n_features, self.n_entries, self.n_targets
        )
        n_workers = min(settings.n_threads, int(free / 2 // worker))
        if n_workers < 1:
            least = settings.max_memory - free + 2 * worker
            raise TooLargeError(
                f"training needs {least:,} bytes, over max_memory={settings.max_memory:,}."
            )
        per_row = self.n_stored / max(self.n_rows, 1)
        n_entries = self.n_stored + int(tree.depths().max()) * self.n_targets * per_row
        n_weights = (free - n_workers * worker) / settings.n_trees / _WEIGHT_BYTES
        return n_workers, n_weights / max(n_entries, 1)


def train_extreme(
    rows: Rows,
    relevance: Relevance,
    settings: ExtremeSettings,
    *,
    start: ExtremeModel | None = None,
    folder: Path | None = None,
) -> ExtremeModel:
    """Return the model trained on rows. Equal arguments give equal models for any ``n_jobs``.

    ``relevance`` is the user's relevance, to which ``settings.relevance`` is applied.

    The trees of ``start`` are kept and only further trees are trained. The model is the same as if
    all trees were trained. Raises `ArgumentError` if ``start`` was trained on other data, or with
    other settings.

    With a ``folder``, data about as large as the rows is stored in files there. The system caches
    them in memory as far as they fit. ``rows`` may also be in mapped files. The model is the same.
    """
    relevance = as_learned(relevance, settings)
    size = TrainingSize.of(rows, relevance)
    size.check(settings)
    fingerprint = _fingerprint(rows, relevance, settings) if settings.warm_start else 0
    trees, margins = ([], []) if start is None else _kept(start, fingerprint, settings)
    held = held_numbers(rows.n_rows, settings)
    grown = _grow(rows, relevance, settings, held, len(trees), folder)
    trees += [tree for tree, _ in grown]
    margins += [each for _, each in grown]
    calibration = chance = Calibration()
    if settings.calibrate:
        chosen = np.flatnonzero(held >= 0)
        truth = relevance.to_csr()[chosen]
        shares = relevance.label_shares
        calibration, chance = calibrated(
            rows.take(chosen), truth, relevance.is_graded, shares, trees, margins, settings
        )
    tail = None
    if settings.tail is not None:
        ranges = [] if folder is None else ranges_of(rows, relevance)
        tail = TailClassifier.fit(
            rows, relevance, settings.tail, settings.tail_weight, ranges=ranges
        )
    warm_start = WarmStart(fingerprint, tuple(margins)) if settings.warm_start else None
    return ExtremeModel(
        settings,
        relevance.vocabulary,
        trees,
        rows.n_features,
        relevance.scale,
        calibration,
        ProbabilityMap(chance, relevance.label_shares),
        tail,
        warm_start,
    )


def as_learned(relevance: Relevance, settings: ExtremeSettings) -> Relevance:
    """Return the relevance that trees learn, by `ExtremeSettings.relevance`."""
    if settings.relevance == "propensity":
        return relevance.weighted_by_propensity(a=settings.propensity_a, b=settings.propensity_b)
    return relevance.binary() if settings.relevance == "binary" else relevance


def _grow(
    rows: Rows,
    relevance: Relevance,
    settings: ExtremeSettings,
    held: NDArray[np.int32],
    first: int,
    folder: Path | None,
) -> list[tuple[RelevanceTreeArrays, _core.HeldMargins]]:
    """Return the trees from number ``first`` on, each with its margins of held-out rows."""
    size = TrainingSize.of(rows, relevance)
    features: tuple[NDArray[Any], ...]
    if folder is None:
        data = _core.RelevanceData(*rows.arrays, *relevance.arrays, size.n_labels)
        features = data.label_features(settings.n_threads)
    else:
        data = spilled_data(rows, relevance, folder)
        features = spilled_features(data, relevance, folder, settings.n_threads)
    size = size.met(n_features=data.n_features, n_entries=data.n_entries)
    n_held = int(np.count_nonzero(held >= 0))
    grown = []
    progress = Progress("trees", total=settings.n_trees - first, enabled=settings.verbose > 0)
    with progress:
        for number in range(first, settings.n_trees):
            tree = clustered(features, settings, number, settings.n_threads)
            inner = np.flatnonzero(tree.child_counts()).astype(np.int32)
            n_workers, _ = size.share_memory(tree, settings)
            part = train_nodes(data, tree, inner, held, size, settings, number, n_workers)
            grown.append(joined_tree(tree, [part], n_held))
            progress.advance(1)
    return grown


def clustered(
    features: tuple[NDArray[Any], ...], settings: ExtremeSettings, number: int, n_workers: int
) -> _core.LabelTree:
    """Return tree ``number`` over labels with these mean features (see `label_features`)."""
    seed = _seed_of(settings, number)
    used, starts, indices, means = features
    options = _core.Clustering(
        arity=settings.arity, seed=seed, max_leaf=settings.max_leaf, n_workers=n_workers
    )
    return _core.relevance_tree(used, starts, indices, means, options)


def tree_shape(n_labels: int, settings: ExtremeSettings) -> _core.LabelTree:
    """Return the nodes of every tree over ``n_labels`` labels, which depend on no other data."""
    labels, starts = np.arange(n_labels, dtype=np.int32), np.zeros(n_labels + 1, np.int64)
    nothing = (labels, starts, np.empty(0, np.int32), np.empty(0, np.float32))
    return clustered(nothing, settings, 0, 1)


def ordered_labels(
    features: tuple[NDArray[Any], ...],
    shape: _core.LabelTree,
    node: int,
    n_levels: int | None,
    settings: ExtremeSettings,
    number: int,
) -> NDArray[np.int32]:
    """Return the labels below a node of tree ``number`` in the order of its leaves.

    ``features`` contain only these labels, and ``shape`` has the nodes of the whole tree. With
    ``n_levels``, labels are divided over this number of levels, and increase within the last level.
    """
    most = shape.n_nodes if n_levels is None else n_levels
    seed = _seed_of(settings, number)
    used, starts, indices, means = features
    options = _core.Clustering(arity=settings.arity, seed=seed, max_leaf=settings.max_leaf)
    return _core.relevance_order(used, starts, indices, means, shape, node, most, options)


def train_nodes(
    data: _core.RelevanceData,
    tree: _core.LabelTree,
    nodes: NDArray[np.int32],
    held: NDArray[np.int32],
    size: TrainingSize,
    settings: ExtremeSettings,
    number: int,
    n_workers: int,
) -> _core.TrainedNodes:
    """Return the regressors of these nodes of tree ``number``.

    ``data`` and ``held`` contain the rows with a label below the nodes, or all rows for the root.
    ``size`` counts all rows. The result for a node depends neither on the other nodes nor on
    ``n_workers``.
    """
    _, per_entry = size.share_memory(tree, settings)
    options = _core.RelevanceTraining(
        loss=LOSSES[settings.loss],
        cost=settings.cost_of(size.n_rows),
        cost_power=settings.cost_power,
        mean_error=settings.objective == "mean",
        max_epochs=settings.max_epochs,
        tolerance=settings.tolerance,
        least_weight=settings.min_weight,
        least_share=settings.min_weight_share,
        weights_per_entry=per_entry,
        seed=_seed_of(settings, number),
        n_workers=n_workers,
        n_rows=size.n_rows,
    )
    return data.train(tree, nodes, held, options)


def joined_tree(
    tree: _core.LabelTree, parts: list[_core.TrainedNodes], n_held: int
) -> tuple[RelevanceTreeArrays, _core.HeldMargins]:
    """Return the tree with the regressors of its parts, which are emptied, and its margins."""
    trained = _core.join_nodes(tree, parts, n_held)
    margins = trained.held()
    return RelevanceTreeArrays.of(tree, trained), margins


def _seed_of(settings: ExtremeSettings, number: int) -> int:
    return settings.random_state * 1_000_003 + number


def _kept(
    start: ExtremeModel, fingerprint: int, settings: ExtremeSettings
) -> tuple[list[RelevanceTreeArrays], list[_core.HeldMargins]]:
    if start.warm_start is None:
        raise ArgumentError(
            "warm_start needs an earlier fit with warm_start=True. A model that was loaded or "
            "copied does not have the state that more trees need."
        )
    if start.warm_start.fingerprint != fingerprint:
        raise ArgumentError(
            "warm_start needs the rows, labels and parameters of the earlier fit, except n_trees."
        )
    if settings.n_trees < len(start.trees):
        allowed = f"at least the {len(start.trees)} trees that warm_start keeps"
        raise ArgumentError.of("n_trees", settings.n_trees, allowed)
    return list(start.trees), list(start.warm_start.margins)


def _fingerprint(rows: Rows, relevance: Relevance, settings: ExtremeSettings) -> int:
    """Return a checksum of all data and settings that a tree depends on."""
    growing = replace(settings, **_NOT_GROWING)
    checksum = zlib.crc32(repr((growing, rows.n_features, len(relevance.vocabulary))).encode())
    for array in (*rows.arrays, *relevance.arrays):
        checksum = zlib.crc32(np.ascontiguousarray(array).data, checksum)
    return checksum


def held_count(n_rows: int, settings: ExtremeSettings) -> int:
    """Return the number of held-out rows, about a thousand and at most a fifth."""
    return min(n_rows // 5, max(1000, min(n_rows // 50, 5000))) if settings.calibrate else 0


def held_numbers(
    n_rows: int, settings: ExtremeSettings, n_held: int | None = None
) -> NDArray[np.int32]:
    """Return the number of each held-out row, -1 for others. ``n_held`` is `held_count` if None."""
    held = np.full(n_rows, -1, dtype=np.int32)
    if n_held is None:
        n_held = held_count(n_rows, settings)
    chosen = np.random.default_rng(settings.random_state).permutation(n_rows)[:n_held]
    held[np.sort(chosen)] = np.arange(n_held, dtype=np.int32)
    return held


def calibrated(
    rows: Rows,
    truth: sparse.csr_array,
    is_graded: bool,
    label_shares: NDArray[np.float64] | None,
    trees: list[RelevanceTreeArrays],
    margins: list[_core.HeldMargins],
    settings: ExtremeSettings,
) -> tuple[Calibration, Calibration]:
    """Return the maps to relevance and to probability, by the top labels of held-out rows.

    ``rows`` are the held-out rows in order, and ``truth`` is their relevance, (n_rows, n_labels).
    The trees score them like new rows.

    True labels that are not among the top labels of their row are left out, because all other
    labels with such low scores are left out too. Including only the true ones would make the least
    likely labels look relevant.
    """
    if not rows.n_rows:
        return Calibration(), Calibration()
    forest = forest_of(trees, settings, truth.shape[1], margins)
    numbers = np.arange(rows.n_rows, dtype=np.int32)
    k = min(_CALIBRATION_LABELS, trees[0].tree.n_labels)
    ids, p, mass = forest.top_labels(
        *rows.arrays,
        k,
        _core.RelevanceSearch.beam,
        settings.width,
        numbers,
        min(settings.width, MASS_WIDTH),
        settings.n_threads,
    )
    found = ids >= 0
    true = np.asarray(truth[np.repeat(numbers, k)[found.ravel()], ids[found]]).ravel()
    masses = np.repeat(mass, k)[found.ravel()]
    calibration = Calibration.fit(p[found], masses, true)
    if not is_graded:
        return calibration, calibration
    shares = ProbabilityMap(Calibration(), label_shares).shares(p[found], ids[found])
    return calibration, Calibration.fit(shares, masses, true > 0)
