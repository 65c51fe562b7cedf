"""What one run of the benchmark was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

WHOLE_STREAM = 1_500_000
SHORT_STREAM = 200_000


@dataclass(frozen=True)
class Options:
    """The command line of `benchmarks/online.py`, checked."""

    limit: int | None = None
    full: bool = False
    with_peers: bool = True
    data: Path | None = None
    plots: Path = Path(__file__).parents[1] / "plots"

    @property
    def short(self) -> int:
        """The number of examples of the shorter stream."""
        return min(SHORT_STREAM, self.limit or SHORT_STREAM)

    @property
    def lengths(self) -> list[int]:
        """The numbers of examples of the streams that are run."""
        return [self.short] + ([WHOLE_STREAM] if self.full and self.limit is None else [])
