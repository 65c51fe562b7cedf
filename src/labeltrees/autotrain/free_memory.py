"""How much memory there is for data: what the machine has free, or a limit set to the process."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["free_memory"]

_ROOT = Path("/")
# Limit, usage and pages that can be given up, in the two versions of control groups.
_FIRST = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_SECOND = ("memory.max", "memory.current", "inactive_file")


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
