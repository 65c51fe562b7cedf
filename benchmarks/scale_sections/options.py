"""What one run of the benchmark was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Options:
    """The command line of `benchmarks/scale.py`, checked."""

    data: Path | None
    results: Path
    limit: int | None = None
    quick: bool = False
    with_peers: bool = True
    max_memory: int = 6_000_000_000
    plots: Path = Path(__file__).parents[1] / "plots"

    def rows(self, most: int) -> int:
        """The number of rows to read of a stream that has this many, or to make."""
        return min(most, self.limit or most)
