"""What one run of the benchmark was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Options:
    """The command line of `benchmarks/batch.py`, checked."""

    data: Path
    sets: tuple[str, ...] = ("bibtex", "delicious", "yso-en")
    limit: int | None = None
    full: bool = False
    with_peers: bool = True
    threads: int = 2
    plots: Path = Path(__file__).parents[1] / "plots"
