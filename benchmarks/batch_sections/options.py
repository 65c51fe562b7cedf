"""What one run of the benchmark was asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


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
    #: What sections found, for the table of claims at the end.
    found: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
