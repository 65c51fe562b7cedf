"""What one run of the benchmark was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

YSO_ROWS = 100_000


@dataclass(frozen=True)
class Options:
    """The command line of `benchmarks/first_contact.py`, checked."""

    sets: tuple[str, ...]
    data: Path | None = None
    limit: int | None = None
    with_peers: bool = True
