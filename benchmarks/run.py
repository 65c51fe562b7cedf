"""Run every benchmark, one after the other, and write what they print to benchmarks/RESULTS.md.

    make bench                        # data made up where no file is given
    python benchmarks/run.py --xc FILE --data DIR --full

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

from machine import processor

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--xc", help="an XC repository file for the parsing benchmark")
    parser.add_argument(
        "--data",
        help="a folder of data for all that need one: online.py, batch.py, papers/ and others",
    )
    parser.add_argument(
        "--full", action="store_true", help="the largest data of online.py and batch.py as well"
    )
    chosen = parser.parse_args()
    runs = [
        ["parsing.py", *([chosen.xc] if chosen.xc else [])],
        ["stream_generation.py"],
        ["stream_learning.py"],
        [
            "online.py",
            *(["--data", chosen.data] if chosen.data else []),
            *(["--full"] if chosen.full else []),
        ],
        *([["self_terminating.py", "--data", chosen.data]] if chosen.data else []),
        ["online_multilabel.py", *(["--data", chosen.data] if chosen.data else [])],
        ["first_contact.py", *(["--data", chosen.data] if chosen.data else [])],
        ["boosting.py", *(["--data", chosen.data] if chosen.data else [])],
        *(
            [["batch.py", "--data", chosen.data, *(["--full"] if chosen.full else [])]]
            if chosen.data
            else []
        ),
        *(
            [[f"papers/paper{number}.py", "--data", chosen.data] for number in range(1, 6)]
            if chosen.data
            else []
        ),
    ]
    report = [
        "# Results\n",
        f"{datetime.date.today()}, {processor()}, {os.cpu_count()} cores, "
        f"CPython {platform.python_version()}. Written by `benchmarks/run.py`.\n",
    ]
    for script, *arguments in runs:
        print(f"== {script}", flush=True)
        done = subprocess.run(
            [sys.executable, HERE / script, *arguments],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        print(done.stdout, flush=True)
        report.append(f"## {script}\n\n{done.stdout}")
    (HERE / "RESULTS.md").write_text("\n".join(report))


if __name__ == "__main__":
    main()
