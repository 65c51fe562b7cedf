"""Makes the other benchmarks importable; the papers' scripts import this first."""

from __future__ import annotations

import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[1]
#: The options that all papers' scripts take.
OPTIONS = ("data", "quick", "full", "threads", "plots")

if str(BENCHMARKS) not in sys.path:
    sys.path.insert(1, str(BENCHMARKS))
