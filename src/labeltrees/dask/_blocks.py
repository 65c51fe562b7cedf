"""Rows of a partition with their labels, and the parts of a partition that a task needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from labeltrees import _core
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.ragged import starts_of
from labeltrees.data.rows import Rows, stacked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True)
class Block:
    """Features, relevant labels and held-out numbers of rows in their order.

    ``targets`` has ids of labels with their relevance as shares; ``held[r]`` is the number of row r
    among the held-out rows, or -1.
    """

    rows: Rows
    targets: RaggedLabels
    held: NDArray[np.int32]

    def unit(self) -> Block:
        """Return the block with rows of length 1, as trees learn from them."""
        rows = Rows(*_core.unit_rows(*self.rows.arrays), self.rows.n_features)
        return Block(rows, self.targets, self.held)

    def take(self, rows: NDArray[np.int64], kept: NDArray[np.bool_]) -> Block:
        """Return these rows with the entries of the labels to keep."""
        own = self.targets.keep(kept)
        targets = RaggedLabels(own.labels, starts_of(own.counts[rows]), own.relevance)
        return Block(self.rows.take(rows), targets, self.held[rows])


def pick(block: Block, begin: int, end: int, places: NDArray[np.int32] | None = None) -> Block:
    """Return the rows with a label whose place is in [begin, end), and only these labels of them.

    ``places`` has the place of each label; by default the place is the label's id.
    """
    labels = block.targets.labels
    place = labels if places is None else places[labels]
    kept = (place >= begin) & (place < end)
    return block.take(np.unique(block.targets.row_of[kept]), kept)


def joined(blocks: Sequence[Block]) -> Block:
    """Return the rows of blocks, one block below the other."""
    if len(blocks) == 1:
        return blocks[0]
    return Block(
        stacked([block.rows for block in blocks]),
        RaggedLabels.joined([block.targets for block in blocks]),
        np.concatenate([block.held for block in blocks]),
    )
