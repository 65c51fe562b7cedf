"""Wall time, CPU time and peak memory of another program.

On Linux a child's peak memory starts at its parent's, so a small process starts each program. It
is this file, run as a script.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


@dataclass(frozen=True)
class Measured:
    """One finished program; ``cpu_seconds`` counts all its threads."""

    wall_seconds: float
    cpu_seconds: float
    peak_mb: float
    output: str


def run_measured(command: list[str], most_seconds: int | None = None) -> Measured:
    """Run a program to its end, or raise `RuntimeError` with the end of what it complained.

    ``most_seconds`` of the processor, summed over its threads, are where it is stopped.
    """
    with tempfile.TemporaryDirectory() as folder:
        facts = Path(folder) / "facts.json"
        done = subprocess.run(
            [sys.executable, "-I", "-S", __file__, str(facts), str(most_seconds or 0), *command],
            capture_output=True,
            text=True,
            env=os.environ | ONE_THREAD,
        )
        measured = json.loads(facts.read_text()) if facts.exists() else {"code": done.returncode}
    code = measured.pop("code")
    if most_seconds is not None and code == -signal.SIGXCPU:
        said = f"stopped after {most_seconds:,} seconds of the processor"
        raise RuntimeError(f"{' '.join(command)} failed: {said}")
    if code != 0:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.strip()[-400:]}")
    return Measured(**measured, output=done.stdout)


def start_and_wait(facts: Path, most_seconds: int, command: list[str]) -> None:
    if most_seconds:
        # The hard limit is later, because reaching it would look like any other kill.
        resource.setrlimit(resource.RLIMIT_CPU, (most_seconds, most_seconds + 60))
    started = time.perf_counter()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    measured = {
        "code": os.waitstatus_to_exitcode(status),
        "wall_seconds": seconds,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_mb": usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10),
    }
    facts.write_text(json.dumps(measured))


if __name__ == "__main__":
    start_and_wait(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
