"""Makes the other benchmarks importable; the scripts here import this first."""

from __future__ import annotations

import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[1]

if str(BENCHMARKS) not in sys.path:
    sys.path.insert(1, str(BENCHMARKS))
