"""Rows of a partition with their labels, and the parts of a partition that a task needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from labeltrees import _core
from labeltrees.data.ragged import joined_starts, starts_of
from labeltrees.data.rows import Rows, stacked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Block", "joined", "pick"]


@dataclass(frozen=True)
class Block:
    """Features, relevant labels and held-out numbers of rows in their order.

    Row ``r`` has the labels ``labels[label_starts[r]:label_starts[r + 1]]``, whose relevance is in
    ``shares``; ``held[r]`` is its number among the held-out rows, or -1.
    """

    rows: Rows
    label_starts: NDArray[np.int64]
    labels: NDArray[np.int32]
    shares: NDArray[np.float32]
    held: NDArray[np.int32]

    @property
    def targets(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
        """The three arrays of labels, in the order the core takes them."""
        return self.label_starts, self.labels, self.shares

    def unit(self) -> Block:
        """Return the block with rows of length 1, as trees learn from them."""
        rows = Rows(*_core.unit_rows(*self.rows.arrays), self.rows.n_features)
        return Block(rows, *self.targets, self.held)

    def take(self, rows: NDArray[np.int64], kept: NDArray[np.bool_]) -> Block:
        """Return these rows with the entries of the labels to keep."""
        row_of = np.repeat(np.arange(self.rows.n_rows), np.diff(self.label_starts))
        counts = np.bincount(row_of[kept], minlength=self.rows.n_rows)[rows]
        taken = self.rows.take(rows)
        return Block(
            taken, starts_of(counts), self.labels[kept], self.shares[kept], self.held[rows]
        )


def pick(block: Block, begin: int, end: int, places: NDArray[np.int32] | None = None) -> Block:
    """Return the rows with a label whose place is in [begin, end), and only these labels of them.

    ``places`` has the place of each label; by default the place is the label's id.
    """
    place = block.labels if places is None else places[block.labels]
    kept = (place >= begin) & (place < end)
    row_of = np.repeat(np.arange(block.rows.n_rows), np.diff(block.label_starts))
    return block.take(np.unique(row_of[kept]), kept)


def joined(blocks: Sequence[Block]) -> Block:
    """Return the rows of blocks, one block below the other."""
    if len(blocks) == 1:
        return blocks[0]
    return Block(
        stacked([block.rows for block in blocks]),
        joined_starts([block.label_starts for block in blocks]),
        np.concatenate([block.labels for block in blocks]),
        np.concatenate([block.shares for block in blocks]),
        np.concatenate([block.held for block in blocks]),
    )
