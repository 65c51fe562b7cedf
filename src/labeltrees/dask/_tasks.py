"""The tasks of workers, which depend on their arguments only, so a lost worker costs only time.

These functions do not use Dask. Rows keep their order when they are joined. So sums over rows are
the same as on a single machine, to the last bit.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from labeltrees import _core
from labeltrees.dask._blocks import Block, joined, pick
from labeltrees.dask._planning import MeanFeatures
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import DataError
from labeltrees.models.extreme.calibration import Calibration, ProbabilityMap
from labeltrees.models.extreme.model import ExtremeModel
from labeltrees.models.extreme.relevance import propensity_weights, shares_of, weighted
from labeltrees.models.extreme.tail import TailClassifier
from labeltrees.models.extreme.training import TrainingSize, calibrated, joined_tree, train_nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from scipy import sparse

    from labeltrees.dask._partitions import Partition, PartitionFacts
    from labeltrees.dask._planning import TreePlan
    from labeltrees.models.extreme.settings import ExtremeSettings
    from labeltrees.models.model import FormName


@dataclass(frozen=True)
class Whole:
    """The facts of all partitions together."""

    vocabulary: LabelVocabulary
    counts: NDArray[np.int64]
    """The number of rows with each label."""
    rows_of_parts: tuple[int, ...]
    width: int
    n_stored: int
    scale: float
    most: float | None
    form: FormName

    @property
    def size(self) -> TrainingSize:
        """The counts that training needs."""
        return TrainingSize(
            sum(self.rows_of_parts),
            len(self.vocabulary),
            self.width,
            self.n_stored,
            int(self.counts.sum()),
        )


def merged(parts: Sequence[PartitionFacts], same_width: bool) -> Whole:
    """Return the facts of all partitions, or raise `DataError` if they do not fit together."""
    filled = [part for part in parts if part.form is not None]
    if not filled:
        raise DataError("No partition of X has a row.")
    widths = {part.width for part in parts}
    if same_width and len(widths) > 1:
        raise DataError(
            f"the partitions of X must have the same number of features, got {sorted(widths)}."
        )
    forms = {part.form for part in filled}
    if len(forms) > 1:
        raise DataError(
            f"the partitions of y must have the same form, got {sorted(map(str, forms))}."
        )
    form = filled[0].form
    assert form is not None
    vocabulary = _joined_vocabulary(filled, form)
    counts = np.zeros(len(vocabulary), np.int64)
    for part in filled:
        counts[vocabulary.ids(part.labels)] += part.counts
    if not len(vocabulary):
        raise DataError("y has no label. At least one row needs a label.")
    if not counts.any():
        raise DataError("y has no relevance above 0. At least one row needs a label.")
    caps = [part.most for part in filled if part.most is not None]
    largest = max(part.largest for part in filled)
    most = max(largest, *caps) if caps else None
    return Whole(
        vocabulary,
        counts,
        tuple(part.n_rows for part in parts),
        max(widths),
        sum(part.n_stored for part in parts),
        largest if most is None else min(largest, most),
        most,
        form,
    )


def _joined_vocabulary(parts: Sequence[PartitionFacts], form: FormName) -> LabelVocabulary:
    if form in ("matrix", "sparse"):
        first = parts[0].labels
        if not all(np.array_equal(part.labels, first) for part in parts):
            raise DataError(
                "the partitions of y have different columns, but all need the same labels."
            )
        return LabelVocabulary(first)
    every = LabelVocabulary()
    for part in parts:
        every.add(part.labels)
    return LabelVocabulary(sorted(every.labels.tolist()))


def block_of(part: Partition, whole: Whole, held: NDArray[np.int64], first_held: int,
             binary: bool) -> Block:  # fmt: skip
    """Return the rows of a partition with relevance as shares of the largest relevance.

    ``held`` has the held-out rows among them, of which the first has number ``first_held``.
    """
    raw = part.relevance
    ids = whole.vocabulary.ids(raw.vocabulary.labels)
    values = raw.relevance if whole.most is None else np.minimum(raw.relevance, whole.most)
    shares = shares_of(values, whole.scale)
    numbers = np.full(part.rows.n_rows, -1, np.int32)
    numbers[held] = np.arange(first_held, first_held + len(held), dtype=np.int32)
    labels = ids[raw.labels].astype(np.int32)  # Sorted labels keep their order.
    targets = RaggedLabels(labels, raw.starts, np.ones_like(shares) if binary else shares)
    return Block(part.rows, targets, numbers)


def unit_block(block: Block) -> Block:
    """Return the block with rows of length 1."""
    return block.unit()


def most_weighted(block: Block, whole: Whole, settings: ExtremeSettings) -> float:
    """Return the largest relevance over propensity of a block; 0 if there is none."""
    return float(_weighted(block, whole, settings).max(initial=0.0))


def reweighted(block: Block, whole: Whole, settings: ExtremeSettings, scale: float) -> Block:
    """Return the block with relevance over propensity, as shares of ``scale``."""
    shares = shares_of(_weighted(block, whole, settings), scale)
    return Block(block.rows, replace(block.targets, relevance=shares), block.held)


def _weighted(block: Block, whole: Whole, settings: ExtremeSettings) -> NDArray[np.float64]:
    """Return the relevance over propensity of each label of each row."""
    _, labels, shares = block.targets.arrays
    return weighted(shares, labels, whole.scale, _weights(whole, settings))


def _weights(whole: Whole, settings: ExtremeSettings) -> NDArray[np.float64]:
    a, b = settings.propensity_a, settings.propensity_b
    return propensity_weights(whole.counts, sum(whole.rows_of_parts), a=a, b=b)


@dataclass(frozen=True)
class BlockFacts:
    """What only the learned relevance and the unit rows of a block tell."""

    is_graded: bool
    n_entries: int
    features: NDArray[np.int32]
    """Those that occur, if somebody needs to know."""


def block_facts(block: Block, name_features: bool) -> BlockFacts:
    """Return the facts of a block of unit rows."""
    features = np.unique(block.rows.indices) if name_features else np.empty(0, np.int32)
    is_graded = bool((block.targets.arrays[2] != 1).any())
    return BlockFacts(is_graded, len(block.rows.indices), features)


def label_features(pieces: Sequence[Block], n_labels: int) -> MeanFeatures:
    """Return the labels of some unit rows and the mean features of each, summed in row order."""
    block = joined(pieces)
    data = _core.RelevanceData(*block.rows.arrays, *block.targets.arrays, n_labels, True)
    return MeanFeatures(*data.label_features(1))


def label_means(pieces: Sequence[Block], n_labels: int) -> sparse.csr_array:
    """Return what a tail classifier knows of the labels of some rows, as they were given."""
    block = joined(pieces)
    return TailClassifier.means_of(block.rows, block.targets.starts, block.targets.labels, n_labels)


def pick_group(block: Block, plan: TreePlan, group: int) -> Block:
    """Return the rows that a group of nodes learns from."""
    here = plan.groups[group]
    return pick(block, here.begin, here.end, plan.places)


def train_group(
    pieces: Sequence[Block],
    plan: TreePlan,
    group: int,
    size: TrainingSize,
    settings: ExtremeSettings,
    number: int,
) -> _core.TrainedNodes:
    """Return a group of nodes of tree ``number``, trained on its rows in their order."""
    block = joined(pieces)
    data = _core.RelevanceData(*block.rows.arrays, *block.targets.arrays, size.n_labels, True)
    held, nodes = block.held, plan.groups[group].nodes
    del block, pieces
    return train_nodes(data, plan.tree(), nodes, held, size, settings, number, 1)


def held_of(given: Block, learned: Block, held: NDArray[np.int64]) -> Block:
    """Return the held-out rows of a partition as they were given, with the learned relevance."""
    whole = Block(given.rows, learned.targets, learned.held)
    is_held = np.zeros(given.rows.n_rows, bool)
    is_held[held] = True
    return whole.take(held, np.repeat(is_held, learned.targets.counts))


def finish(
    whole: Whole,
    settings: ExtremeSettings,
    scale: float,
    is_graded: bool,
    plans: Sequence[TreePlan],
    trained: Sequence[Sequence[_core.TrainedNodes]],
    held: Sequence[Block],
    means: Sequence[tuple[tuple[int, int], sparse.csr_array]],
) -> ExtremeModel:
    """Return the model of all trees, which are calibrated in one place."""
    block = joined(held) if held else None
    n_held = 0 if block is None else block.rows.n_rows
    grown = [
        joined_tree(plan.tree(), [copy(part) for part in parts], n_held)  # joining empties them
        for plan, parts in zip(plans, trained, strict=True)
    ]
    trees, margins = [tree for tree, _ in grown], [each for _, each in grown]
    shares = None
    if settings.relevance == "propensity":
        shares = whole.scale * _weights(whole, settings) / scale
    calibration = chance = Calibration()
    if block is not None:
        truth = _matrix(block, len(whole.vocabulary))
        calibration, chance = calibrated(
            block.rows, truth, is_graded, shares, trees, margins, settings
        )
    tail = _tail(means, settings)
    probability_map = ProbabilityMap(chance, shares)
    model = ExtremeModel(
        settings, whole.vocabulary, trees, whole.width, scale, calibration, probability_map, tail
    )
    model.form = whole.form
    return model


def _matrix(block: Block, n_labels: int) -> sparse.csr_array:
    from scipy import sparse

    starts, labels, shares = block.targets.arrays
    shape = (block.rows.n_rows, n_labels)
    return sparse.csr_array((shares, labels, starts), shape=shape)


def _tail(
    means: Sequence[tuple[tuple[int, int], sparse.csr_array]],
    settings: ExtremeSettings,
) -> TailClassifier | None:
    if settings.tail is None:
        return None
    below = [matrix[begin:end] for (begin, end), matrix in means]
    return TailClassifier.of_ranges(settings.tail, settings.tail_weight, below)
