"""What one run of the benchmark was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

#: The built-in stream, beside the folders of data.
STREAM = "next identifier"


@dataclass(frozen=True)
class Options:
    """The command line of `benchmarks/calibration.py`, checked."""

    data: Path | None = None
    sets: tuple[str, ...] = ("bibtex", "delicious", "yso-en", STREAM)
    limit: int | None = None
    with_peers: bool = True
    quick: bool = False
    learners: tuple[str, ...] = ()
    plots: Path = Path(__file__).parents[1] / "plots"
