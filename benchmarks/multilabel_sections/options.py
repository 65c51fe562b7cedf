"""What one run of the benchmark was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

#: The built-in stream's sets of identifiers, beside the folders of data.
STREAM = "identifiers"


@dataclass(frozen=True)
class Options:
    """The command line of `benchmarks/online_multilabel.py`, checked."""

    data: Path | None = None
    sets: tuple[str, ...] = ("bibtex", "rcv1-sub1", "delicious", "yso-en", STREAM)
    limit: int | None = None
    with_peers: bool = True
