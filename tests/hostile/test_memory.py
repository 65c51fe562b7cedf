"""A small file cannot take much memory, whatever it claims."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux's limits")
@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="its shadow takes more")
def test_no_small_file_takes_much_memory():
    done = subprocess.run(
        [sys.executable, "-m", "tests.hostile.bombs"], cwd=ROOT, capture_output=True, text=True,
        check=False, timeout=300,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
