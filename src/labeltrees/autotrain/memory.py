"""How much memory is free, and what of it goes to rows, shuffle buffers and weights."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labeltrees.data.chunk import Chunk

__all__ = ["buffer_rows", "bytes_to_train", "free_memory", "kept_within_memory", "room_for_data"]

_ROOT = Path("/")
# Limit, usage and pages that can be given up, in the two versions of control groups.
_FIRST = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_SECOND = ("memory.max", "memory.current", "inactive_file")
_UNKNOWN = 2**33
"""What is taken to be free where the system does not tell."""
_PROGRAM_BYTES = 2**27
"""What the program itself takes by the time it learns."""
_ENTRY_BYTES, _LABEL_BYTES, _ROW_BYTES = 40, 64, 400
"""What training takes for each feature of a row, each label of a row, and each row: the rows, those
to learn from, and what extreme regression makes of them (docs/scale.md, memory per worker)."""
_CHARACTER_BYTES = 24
"""The same for each character of a text: as text, as features and while features are made."""
_BUFFER_SHARE = 1 / 16
"""Of a shuffle buffer, which is held up to three times while it is emptied."""
_LEAST_BUFFER = 1000
_WEIGHTS_SHARE = 0.5
"""Of weights in memory: saving them takes two thirds as much again."""
_NO_LIMIT = 2**63 - 1


def room_for_data() -> int:
    """Return how many bytes training may take with all rows in memory, as `bytes_to_train` says."""
    return max(0, _free() - _PROGRAM_BYTES)


def bytes_to_train(chunk: Chunk) -> int:
    """Return how many bytes training takes for these rows, besides the model."""
    size = _ENTRY_BYTES * len(chunk.rows.indices) + _LABEL_BYTES * len(chunk.labels)
    if chunk.texts is not None:
        size += _CHARACTER_BYTES * sum(map(len, chunk.texts))
    return size + _ROW_BYTES * chunk.n_rows


def buffer_rows(chunk: Chunk, most: int) -> int:
    """Return how many rows like these a shuffle buffer may hold, at most as many as given."""
    own = 8 * (len(chunk.rows.indices) + len(chunk.labels)) / max(chunk.n_rows, 1)
    return min(most, max(_LEAST_BUFFER, int(_BUFFER_SHARE * _free() / max(own, 8))))


@contextmanager
def kept_within_memory(model: Any) -> Iterator[None]:
    """Keep the weights that a model learns in the block within half of the memory that is free.

    A model whose settings limit them keeps its limit, and one that needs less is as it would be
    without. One that gets full has ``max_memory`` in its settings afterwards. Where the system does
    not tell what is free, there is no limit.
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
    """Return the bytes that are free to this process; None if the system does not tell.

    On Linux that is what programs can have without swapping, pages of files that the system would
    give up included, and at most what the limits of the process's control groups leave.

    Parameters
    ----------
    root : path
        Where the system's files are.
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
    """Return what the limits of the process's groups, and of those that hold them, leave."""
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
    """Return what the limit of a group leaves; pages that the system gives up count as free."""
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
