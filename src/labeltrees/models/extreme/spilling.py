"""Training data in files that are mapped into memory, so that it may be larger than memory."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from contextlib import closing, contextmanager
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from labeltrees import _core
from labeltrees.data.chunk import UNBOUNDED_WIDTH, Chunk
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.ragged import starts_of
from labeltrees.data.rows import Rows
from labeltrees.data.shuffle import joined_numbers
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ArgumentError, DataError, NoSpaceError
from labeltrees.models.extreme.relevance import RawRelevance, relevance_of_ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from labeltrees.models.extreme.relevance import Relevance

CAN_SPILL = os.name == "posix"
"""Whether training can keep rows in files on this system."""
_ENTRIES_AT_ONCE = 2**19
_ENTRY_BYTES = 8  # a feature and its value
_SPILLED_BYTES = 2 * _ENTRY_BYTES  # size of an entry in rows of length 1 and in rows by node
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def checked_folder(folder: str | os.PathLike[str] | None) -> Path:
    """Return a folder for training files, by default the system's folder for temporary files.

    Raises `ArgumentError` if files cannot be created there, or `CAN_SPILL` is False.
    """
    if not CAN_SPILL:
        raise ArgumentError(
            "rows cannot be kept in files on this system. Train in memory with fit, or row by row "
            "with MultiLabelTreeClassifier, as labeltrees train does without --folder."
        )
    path = Path(tempfile.gettempdir() if folder is None else folder)
    if not path.is_dir() or not os.access(path, os.W_OK | os.X_OK):
        raise ArgumentError.of("folder", os.fspath(path), "a folder in which files can be created")
    return path


@contextmanager
def space_in(folder: str | os.PathLike[str] | None) -> Iterator[Path]:
    """Return `checked_folder`. Raise `NoSpaceError` if the folder gets full in the block."""
    path = checked_folder(folder)
    try:
        yield path
    except OSError as error:
        if error.errno not in _FULL or isinstance(error, NoSpaceError):
            raise
        raise _no_space(path, error.errno, "has no space left for training files") from None


def check_space(folder: Path, n_entries: int, *, n_copies: int = 0) -> None:
    """Raise `NoSpaceError` if the folder is too small for training on this number of entries.

    ``n_copies`` is the number of copies of the original rows that are also stored there.
    """
    needed = (_SPILLED_BYTES + n_copies * _ENTRY_BYTES) * n_entries
    free = shutil.disk_usage(folder).free
    if needed > free:
        what = f"has {free / 1e6:,.0f} MB free, and training needs {needed / 1e6:,.0f} MB more"
        raise _no_space(folder, errno.ENOSPC, what)


def _no_space(folder: Path, number: int, what: str) -> NoSpaceError:
    message = f"{what}. Choose a folder with more space"
    return NoSpaceError(number, message, os.fspath(folder))


class _GrowingFile:
    """Numbers that are appended to a file, and then mapped.

    The file has no name, so the system deletes it with its last mapping, even after a crash.
    """

    def __init__(self, folder: Path, dtype: type[np.generic]) -> None:
        self.dtype = dtype
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115

    def append(self, values: NDArray[Any]) -> None:
        """Append numbers."""
        left = np.ascontiguousarray(values, dtype=self.dtype).view(np.uint8).data
        while left:
            left = left[self._file.write(left) :]

    def finish(self) -> NDArray[Any]:
        """Return all numbers, mapped."""
        if self._file.tell() == 0:
            return np.empty(0, self.dtype)
        return np.memmap(self._file, dtype=self.dtype, mode="r")

    def close(self) -> None:
        """Close the file. The array that `finish` returned stays valid."""
        self._file.close()


class _Memory:
    """Numbers that are appended in memory, with the interface of `_GrowingFile`."""

    def __init__(self) -> None:
        self.parts: list[NDArray[Any]] = []

    def append(self, values: NDArray[Any]) -> None:
        self.parts.append(values)

    def finish(self) -> NDArray[Any]:
        return np.concatenate(self.parts)

    def close(self) -> None: ...


@contextmanager
def growing_entries(
    folder: Path | None,
) -> Iterator[tuple[_GrowingFile | _Memory, _GrowingFile | _Memory]]:
    """Yield two growing arrays for features and values, in files of the folder or in memory."""
    if folder is None:
        yield _Memory(), _Memory()
        return
    with (
        closing(_GrowingFile(folder, np.int32)) as indices,
        closing(_GrowingFile(folder, np.float32)) as values,
    ):
        yield indices, values


def n_slabs(n_entries: float) -> int:
    """Return the number of parts that keep rows with this number of entries small enough."""
    return int(n_entries // _ENTRIES_AT_ONCE) + 1


def label_ranges(counts: NDArray[np.int64], n_ranges: int) -> list[tuple[int, int]]:
    """Return ranges of labels with about the same number of rows each.

    >>> label_ranges(np.array([5, 1, 1, 3]), 2)
    [(0, 1), (1, 4)]
    """
    ends = np.cumsum(counts)
    targets = ends[-1] * np.arange(1, n_ranges) / n_ranges
    cuts = np.searchsorted(ends, targets, side="left") + 1
    edges = np.unique(np.concatenate(([0], np.minimum(cuts, len(counts)), [len(counts)])))
    return [(int(a), int(b)) for a, b in pairwise(edges)]


def ranges_of(rows: Rows, relevance: Relevance) -> list[tuple[int, int]]:
    """Return ranges of labels whose rows have a limited number of entries."""
    return _ranges(relevance, len(rows.indices))


def _ranges(relevance: Relevance, n_entries: int) -> list[tuple[int, int]]:
    counts = np.bincount(relevance.labels, minlength=len(relevance.vocabulary))
    n_met = len(relevance.labels) * n_entries / max(relevance.n_rows, 1)
    return label_ranges(counts, n_slabs(n_met))


def spilled_data(rows: Rows, relevance: Relevance, folder: Path) -> _core.RelevanceData:
    """Return the training data of trees, with rows of length 1 in files of the folder."""
    check_space(folder, len(rows.indices))
    slabs, names = _slabs(rows), np.empty(0, np.int32)
    for begin, end in slabs:
        entries = slice(rows.starts[begin], rows.starts[end])
        features = rows.indices[entries][rows.values[entries] != 0]
        names = np.union1d(names, features).astype(np.int32)
    starts = np.zeros(rows.n_rows + 1, np.int64)
    with growing_entries(folder) as (indices, values):
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
    """Return ranges of rows with a limited number of entries each."""
    targets = np.arange(_ENTRIES_AT_ONCE, rows.starts[-1], _ENTRIES_AT_ONCE)
    cuts = np.searchsorted(rows.starts, targets)
    edges = np.unique(np.concatenate(([0], cuts, [rows.n_rows])))
    return [(int(a), int(b)) for a, b in pairwise(edges)]


def spilled_features(
    data: _core.RelevanceData, relevance: Relevance, folder: Path, n_threads: int
) -> tuple[NDArray[Any], ...]:
    """Return the labels that some row has and their mean features, in files of the folder."""
    used: list[NDArray[Any]] = []
    lengths: list[NDArray[Any]] = []
    with growing_entries(folder) as (indices, values):
        for begin, end in _ranges(relevance, data.n_entries):
            labels, starts, features, means = data.label_features(n_threads, begin, end)
            used.append(labels)
            lengths.append(np.diff(starts))
            indices.append(features)
            values.append(means)
        starts = starts_of(np.concatenate(lengths))
        return np.concatenate(used), starts, indices.finish(), values.finish()


def rows_and_relevance(chunks: Iterable[Chunk], folder: Path | None) -> tuple[Rows, RawRelevance]:
    """Return all rows, their entries in files of the folder or, if that is None, in memory."""
    found = _gathered(chunks, folder)
    return found.rows, _relevance(found.label_starts, found.ids, found.vocabulary, found.relevance)


def chunk_in_files(chunks: Iterable[Chunk], folder: Path | None) -> Chunk:
    """Return all rows as one chunk, their entries in files of the folder or, if None, in memory.

    The chunk has their features, labels and weights.
    """
    found = _gathered(chunks, folder)
    return Chunk(
        found.rows,
        RaggedLabels(found.vocabulary.labels[found.ids], found.label_starts, found.relevance),
        found.weights,
        1,
        is_distribution=found.is_distribution,
    )


class _Gathered(NamedTuple):
    """All rows of a stream of chunks."""

    rows: Rows
    label_starts: NDArray[np.int64]
    ids: NDArray[np.int32]
    vocabulary: LabelVocabulary
    relevance: NDArray[np.float32] | None
    weights: NDArray[np.float32] | None
    is_distribution: bool


def _gathered(chunks: Iterable[Chunk], folder: Path | None) -> _Gathered:
    lengths: list[NDArray[np.int64]] = []
    label_lengths: list[NDArray[np.int64]] = []
    ids: list[NDArray[np.int32]] = []
    relevance: list[NDArray[np.float32] | None] = []
    weights: list[NDArray[np.float32] | None] = []
    vocabulary, width, is_distribution = LabelVocabulary(), 0, False
    with growing_entries(folder) as (indices, values):
        for chunk in _some(chunks):
            lengths.append(np.diff(chunk.rows.starts))
            indices.append(chunk.rows.indices)
            values.append(chunk.rows.values)
            own = chunk.rows.n_features
            if own == UNBOUNDED_WIDTH:
                own = int(chunk.rows.indices.max(initial=0)) + 1
            width = max(width, own)
            label_lengths.append(np.diff(chunk.label_starts))
            ids.append(vocabulary.add(chunk.labels))
            relevance.append(chunk.relevance)
            weights.append(chunk.weights)
            is_distribution = is_distribution or chunk.is_distribution
        return _Gathered(
            Rows(starts_of(np.concatenate(lengths)), indices.finish(), values.finish(), width),
            starts_of(np.concatenate(label_lengths)),
            np.concatenate(ids),
            vocabulary,
            joined_numbers(relevance, [len(part) for part in ids]),
            joined_numbers(weights, [len(part) for part in lengths]),
            is_distribution,
        )


def taken_in_files(data: Chunk, rows: NDArray[np.int64], folder: Path) -> Chunk:
    """Return these rows of a chunk, in their order and without texts, in files of the folder."""
    n_entries = int(np.diff(data.rows.starts)[rows].sum())
    parts = np.array_split(rows, n_slabs(n_entries))
    return chunk_in_files((data.take(part) for part in parts), folder)


def relevance_of_chunk(data: Chunk) -> RawRelevance:
    """Return the relevance of a chunk's rows; without one, each label of a row has 1."""
    vocabulary = LabelVocabulary()
    ids = vocabulary.add(data.labels)
    return _relevance(data.label_starts, ids, vocabulary, data.relevance)


def _relevance(
    starts: NDArray[np.int64],
    ids: NDArray[np.int32],
    vocabulary: LabelVocabulary,
    relevance: NDArray[np.float32] | None,
) -> RawRelevance:
    values = np.ones(len(ids)) if relevance is None else relevance.astype(np.float64)
    return relevance_of_ids(starts, ids, vocabulary, values, once_each=relevance is not None)


def _some(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    left = iter(chunks)
    first = next(left, None)
    if first is None:
        raise DataError("The files have no rows.")
    return chain([first], left)
