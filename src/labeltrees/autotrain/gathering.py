"""The rows of a file in memory, or as many as there is room for, or in files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from labeltrees.autotrain.memory import bytes_to_train
from labeltrees.data.chunk import UNBOUNDED_WIDTH
from labeltrees.data.shuffle import joined
from labeltrees.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from labeltrees.data.chunk import Chunk

__all__ = [
    "Gathered",
    "gather",
    "gather_in_files",
    "given_up",
    "label_lists",
    "narrowed",
]


@dataclass(frozen=True)
class Gathered:
    """What was read of a file."""

    data: Chunk
    """The rows that have a label."""
    n_unlabelled: int
    """How many had none, and were left out."""
    rest: Iterator[Chunk] | None
    """What is left of the file where there was no room for all of it."""


def gather(chunks: Iterable[Chunk], room: int, *, name: str) -> Gathered:
    """Return the rows with labels, as many as there is room for.

    Parameters
    ----------
    chunks : chunks of a file
    room : int
        How many bytes training on them may take (`bytes_to_train`).
    name : str
        The file, for errors.
    """
    rest = iter(chunks)
    held: list[Chunk] = []
    n_unlabelled, size = 0, 0
    for chunk in rest:
        n_unlabelled += chunk.n_unlabelled
        if chunk.n_unlabelled < chunk.n_rows:
            held.append(chunk.labelled())
            size += bytes_to_train(chunk)
        if size > room:
            return Gathered(joined(held), n_unlabelled, rest)
    if not held:
        raise DataError(f"{name} has no row with a label.")
    return Gathered(joined(held), n_unlabelled, None)


def gather_in_files(chunks: Iterable[Chunk], folder: Path) -> Gathered:
    """Return all rows with labels, without their texts, in files of a folder.

    They are one chunk whose features are mapped into memory, for `labeltrees.autotrain.held_out`.
    """
    from labeltrees.models.extreme.spilling import chunk_in_files

    n_unlabelled = 0

    def known() -> Iterator[Chunk]:
        nonlocal n_unlabelled
        for chunk in chunks:
            n_unlabelled += chunk.n_unlabelled
            yield chunk.labelled()

    data = chunk_in_files(known(), folder)
    return Gathered(data, n_unlabelled, None)


def narrowed(data: Chunk) -> Chunk:
    """Return rows of a file that does not tell its width, as wide as their last feature needs.

    So a table in such a format can be told from sparse rows.
    """
    if data.rows.n_features != UNBOUNDED_WIDTH:
        return data
    width = int(data.rows.indices.max(initial=0)) + 1
    return replace(data, rows=replace(data.rows, n_features=width))


def label_lists(data: Chunk) -> list[Any]:
    """Return the labels of each row: lists, or dictionaries to relevance."""
    if data.relevance is None:
        return list(data.targets.lists())
    graded = replace(data.targets, labels=data.relevance).lists()
    pairs = zip(data.targets.lists(), graded, strict=True)
    return [dict(zip(labels, values, strict=True)) for labels, values in pairs]


def given_up(held: list[Chunk]) -> Iterator[Chunk]:
    """Return the chunks of a list, which no longer has them: their next reader is their last."""
    while held:
        yield held.pop(0)
