"""Run every benchmark, one after the other, and write what they print to benchmarks/RESULTS.md.

    make bench                        # data made up where no file is given
    python benchmarks/run.py --xc FILE

Run nothing else on the machine meanwhile.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def processor() -> str:
    facts = Path("/proc/cpuinfo")
    for line in facts.read_text().splitlines() if facts.exists() else []:
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--xc", help="an XC repository file for the parsing benchmark")
    parser.add_argument("--data", help="a folder for benchmarks/self_terminating.py")
    chosen = parser.parse_args()
    runs = [
        ["parsing.py", *([chosen.xc] if chosen.xc else [])],
        ["stream_generation.py"],
        ["stream_learning.py"],
        *([["self_terminating.py", "--data", chosen.data]] if chosen.data else []),
    ]
    report = [
        "# Results\n",
        f"{datetime.date.today()}, {processor()}, {os.cpu_count()} cores, "
        f"CPython {platform.python_version()}. Written by `benchmarks/run.py`.\n",
    ]
    for script, *arguments in runs:
        print(f"== {script}", flush=True)
        done = subprocess.run(
            [sys.executable, HERE / script, *arguments], capture_output=True, text=True, check=True
        )
        print(done.stdout, flush=True)
        report.append(f"## {script}\n\n{done.stdout}")
    (HERE / "RESULTS.md").write_text("\n".join(report))


if __name__ == "__main__":
    main()
