"""Find the free memory, divide it between rows, shuffle buffers and weights, and gather rows."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labeltrees.data.chunk import UNBOUNDED_WIDTH
from labeltrees.data.shuffle import joined
from labeltrees.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from labeltrees.data.chunk import Chunk


_ROOT = Path("/")
# Files with the limit and the usage, and the count of reclaimable pages, by version of cgroups.
_FIRST = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_SECOND = ("memory.max", "memory.current", "inactive_file")
_UNKNOWN = 2**33
"""Number of bytes that are assumed to be free if the system does not report it."""
_PROGRAM_BYTES = 2**27
"""Number of bytes that the program itself needs by the time it trains."""
_ENTRY_BYTES, _LABEL_BYTES, _ROW_BYTES = 40, 64, 400
"""Number of bytes that training needs for each feature of a row, each label of a row, and each row.
They hold the rows, the training rows among them, and what extreme regression makes of these
(docs/scale.md, memory per worker)."""
_CHARACTER_BYTES = 24
"""Number of bytes for each character of a text, for the text, its features and the work between."""
_BUFFER_SHARE = 1 / 16
"""Share of the free memory for a shuffle buffer, which is copied twice while it is emptied."""
_LEAST_BUFFER = 1000
_WEIGHTS_SHARE = 0.5
"""Share of the free memory for weights. Saving them needs two thirds as much again."""
_NO_LIMIT = 2**63 - 1


def room_for_data() -> int:
    """Return the maximum of `bytes_to_train` for training with all rows in memory."""
    return max(0, _free() - _PROGRAM_BYTES)


def bytes_to_train(chunk: Chunk) -> int:
    """Return the number of bytes that training on these rows needs, without the model."""
    size = _ENTRY_BYTES * len(chunk.rows.indices) + _LABEL_BYTES * len(chunk.labels)
    if chunk.texts is not None:
        size += _CHARACTER_BYTES * sum(map(len, chunk.texts))
    return size + _ROW_BYTES * chunk.n_rows


def buffer_rows(chunk: Chunk, most: int) -> int:
    """Return the number of rows like these that a shuffle buffer holds, at most ``most``."""
    own = 8 * (len(chunk.rows.indices) + len(chunk.labels)) / max(chunk.n_rows, 1)
    return min(most, max(_LEAST_BUFFER, int(_BUFFER_SHARE * _free() / max(own, 8))))


@contextmanager
def kept_within_memory(model: Any) -> Iterator[None]:
    """Keep the weights that a model learns in the block within half of the free memory.

    A limit in the settings of the model stays as it is, and the limit does not change a model that
    needs less. The settings of a model that gets full have ``max_memory`` afterwards. If the system
    does not report its free memory, there is no limit.
    """
    core: Any = getattr(model, "core", None)
    free = free_memory()
    if free is None or not hasattr(core, "is_full") or model.settings.max_memory is not None:
        yield
        return
    own = core.n_bytes + core.n_pair_bytes
    limit = max(core.least_bytes, own + int(_WEIGHTS_SHARE * free))
    core.limit_bytes(limit)
    yield
    if core.is_full:
        model.settings = replace(model.settings, max_memory=limit)
    else:
        core.limit_bytes(_NO_LIMIT)


def _free() -> int:
    free = free_memory()
    return _UNKNOWN if free is None else free


def free_memory(root: Path = _ROOT) -> int | None:
    """Return the number of bytes that are free to this process, or None if it is unknown.

    On Linux these are the bytes that programs can use without swapping, which include reclaimable
    pages of files. The limits of the process's control groups apply.

    Parameters
    ----------
    root : path
        The root of the system's files.
    """
    known = [n for n in (_machine(root), *_groups(root)) if n is not None]
    return max(0, min(known)) if known else None


def _machine(root: Path) -> int | None:
    found = re.search(r"^MemAvailable: +(\d+) kB$", _text(root / "proc/meminfo"), re.MULTILINE)
    if found:
        return int(found[1]) * 1024
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _groups(root: Path) -> Iterator[int | None]:
    """Yield the free bytes of the process's control groups and of their parents."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, is_group, rest = line.partition(":")
        kinds, _, path = rest.partition(":")
        if not is_group or (kinds and "memory" not in kinds.split(",")):
            continue
        place = root / "sys/fs/cgroup" / ("memory" if kinds else "")
        own = place / path.lstrip("/")
        holders = [own, *own.parents]
        for group in holders[: holders.index(place) + 1]:
            yield _left(group, *(_FIRST if kinds else _SECOND))


def _left(group: Path, limit: str, usage: str, given_up: str) -> int | None:
    """Return the free bytes of a control group. Reclaimable pages count as free."""
    most, used = _text(group / limit).strip(), _text(group / usage).strip()
    if not most.isdigit() or not used.isdigit():
        return None  # "max", or no such group where the process is
    pages = re.search(rf"^{given_up} (\d+)$", _text(group / "memory.stat"), re.MULTILINE)
    return int(most) - int(used) + (int(pages[1]) if pages else 0)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


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

    They are one chunk whose features are mapped into memory, for `labeltrees.autotrain._held_out`.
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
