"""Gather the rows of a file in memory or in files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from labeltrees.autotrain.memory import bytes_to_train
from labeltrees.data.chunk import UNBOUNDED_WIDTH
from labeltrees.data.shuffle import joined
from labeltrees.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from labeltrees.data.chunk import Chunk


@dataclass(frozen=True)
class GatheredRows:
    """Rows that were read from a file."""

    data: Chunk
    """The rows that have a label."""
    n_unlabelled: int
    """The number of rows without a label, which were left out."""
    rest: Iterator[Chunk] | None
    """The rest of the file, if memory has no room for all of it."""


def gather(chunks: Iterable[Chunk], room: int, *, name: str) -> GatheredRows:
    """Return the rows with labels until the room for them is used up.

    Parameters
    ----------
    chunks : chunks of a file
    room : int
        Maximum number of bytes that training on them may need (`bytes_to_train`).
    name : str
        The name of the file for errors.
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
            return GatheredRows(joined(held), n_unlabelled, rest)
    if not held:
        raise DataError(f"No row of {name} has a label.")
    return GatheredRows(joined(held), n_unlabelled, None)


def gather_in_files(chunks: Iterable[Chunk], folder: Path) -> GatheredRows:
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
    return GatheredRows(data, n_unlabelled, None)


def narrowed(data: Chunk) -> Chunk:
    """Return rows of unknown width with the width that their last feature needs.

    With a width, a table in such a format can be distinguished from sparse rows.
    """
    if data.rows.n_features != UNBOUNDED_WIDTH:
        return data
    width = int(data.rows.indices.max(initial=0)) + 1
    return replace(data, rows=replace(data.rows, n_features=width))


def given_up(held: list[Chunk]) -> Iterator[Chunk]:
    """Yield the chunks of a list and remove them, so that each is freed after its next reader."""
    while held:
        yield held.pop(0)
