"""Training data in files that are mapped into memory, so that it may be larger than memory."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees import _core

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.models.extreme.relevance import Relevance

__all__ = ["GrowingFile", "label_ranges", "ranges_of", "spilled_data", "spilled_features"]

_ENTRIES_AT_ONCE = 2**19


class GrowingFile:
    """Numbers that are written to a file one after the other, and then mapped."""

    def __init__(self, folder: Path, name: str, dtype: type[np.generic]) -> None:
        self.path = folder / name
        self.dtype = dtype
        self.path.touch()

    def append(self, values: NDArray[Any]) -> None:
        """Write more numbers."""
        with self.path.open("ab") as file:
            np.ascontiguousarray(values, dtype=self.dtype).tofile(file)

    def finish(self) -> NDArray[Any]:
        """Return all of them, mapped."""
        if self.path.stat().st_size == 0:
            return np.empty(0, self.dtype)
        return np.memmap(self.path, dtype=self.dtype, mode="r")


def label_ranges(counts: NDArray[np.int64], n_ranges: int) -> list[tuple[int, int]]:
    """Return ranges of labels with about as many rows each.

    >>> label_ranges(np.array([5, 1, 1, 3]), 2)
    [(0, 1), (1, 4)]
    """
    ends = np.cumsum(counts)
    wanted = ends[-1] * np.arange(1, n_ranges) / n_ranges
    cuts = np.searchsorted(ends, wanted, side="left") + 1
    edges = np.unique(np.concatenate(([0], np.minimum(cuts, len(counts)), [len(counts)])))
    return [(int(a), int(b)) for a, b in pairwise(edges)]


def ranges_of(rows: Rows, relevance: Relevance) -> list[tuple[int, int]]:
    """Return ranges of labels whose rows have not too many entries."""
    return _ranges(relevance, len(rows.indices))


def _ranges(relevance: Relevance, n_entries: int) -> list[tuple[int, int]]:
    counts = np.bincount(relevance.labels, minlength=len(relevance.vocabulary))
    n_met = len(relevance.labels) * n_entries / max(relevance.n_rows, 1)
    return label_ranges(counts, int(n_met // _ENTRIES_AT_ONCE) + 1)


def spilled_data(rows: Rows, relevance: Relevance, folder: Path) -> _core.RelevanceData:
    """Return what trees learn from, with the rows of length 1 in files of the folder."""
    slabs, names = _slabs(rows), np.empty(0, np.int32)
    for begin, end in slabs:
        entries = slice(rows.starts[begin], rows.starts[end])
        features = rows.indices[entries][rows.values[entries] != 0]
        names = np.union1d(names, features).astype(np.int32)
    starts = np.zeros(rows.n_rows + 1, np.int64)
    indices = GrowingFile(folder, "indices", np.int32)
    values = GrowingFile(folder, "values", np.float32)
    for begin, end in slabs:
        entries = slice(rows.starts[begin], rows.starts[end])
        own = rows.starts[begin : end + 1] - rows.starts[begin]
        given = np.array(rows.indices[entries]), np.array(rows.values[entries])
        unit = _core.unit_rows(own, given[0], given[1])
        starts[begin + 1 : end + 1] = starts[begin] + unit[0][1:]
        indices.append(np.searchsorted(names, unit[1]))
        values.append(unit[2])
    return _core.RelevanceData.mapped(
        starts, indices.finish(), values.finish(), names, *relevance.arrays,
        len(relevance.vocabulary), str(folder),
    )  # fmt: skip


def _slabs(rows: Rows) -> list[tuple[int, int]]:
    """Return ranges of rows with not too many entries each."""
    wanted = np.arange(_ENTRIES_AT_ONCE, rows.starts[-1], _ENTRIES_AT_ONCE)
    cuts = np.searchsorted(rows.starts, wanted)
    edges = np.unique(np.concatenate(([0], cuts, [rows.n_rows])))
    return [(int(a), int(b)) for a, b in pairwise(edges)]


def spilled_features(
    data: _core.RelevanceData, relevance: Relevance, folder: Path, n_threads: int
) -> tuple[NDArray[Any], ...]:
    """Return the labels of some row and the mean features of each, in files of the folder."""
    used: list[NDArray[Any]] = []
    lengths: list[NDArray[Any]] = []
    indices = GrowingFile(folder, "features", np.int32)
    values = GrowingFile(folder, "means", np.float32)
    for begin, end in _ranges(relevance, data.n_entries):
        labels, starts, features, means = data.label_features(n_threads, begin, end)
        used.append(labels)
        lengths.append(np.diff(starts))
        indices.append(features)
        values.append(means)
    starts = np.concatenate(([0], np.cumsum(np.concatenate(lengths)))).astype(np.int64)
    return np.concatenate(used), starts, indices.finish(), values.finish()
