"""Run benchmarks one after the other, record what they measure and render the pages of results.

    make bench                        # what needs no folder of data
    python benchmarks/run.py --data DIR --full
    python benchmarks/run.py --only online batch --data DIR
    python benchmarks/run.py --render

Records are the JSON lines of benchmarks/results/. A run replaces the sections that it measured and
keeps all others, so the pages never lose what was not run. Run nothing else on the machine.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from harness import results

HERE = Path(__file__).parent
#: The benchmarks in their order, and which of the options ``--data`` and ``--full`` they take.
RUNS: dict[str, tuple[str, ...]] = {
    "parsing": (),
    "stream_generation": (),
    "stream_learning": (),
    "online": ("data", "full"),
    "online_multilabel": ("data",),
    "batch": ("data", "full"),
    "first_contact": ("data",),
    "calibration": ("data",),
    "self_terminating": ("data",),
    "boosting": ("data",),
    **{f"papers/paper{number}": ("data",) for number in range(1, 6)},
}
#: The benchmarks that measure nothing without a folder of data.
NEED_DATA = ("batch", "self_terminating", *(name for name in RUNS if name.startswith("papers/")))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=RUNS, default=list(RUNS), metavar="NAME")
    parser.add_argument("--data", type=Path, help="folder of data sets")
    parser.add_argument("--full", action="store_true", help="the largest data as well; hours")
    parser.add_argument("--xc", help="an XC repository file for parsing.py")
    parser.add_argument("--render", action="store_true", help="only render the pages")
    parser.add_argument("--results", type=Path, default=results.RESULTS, help="folder of records")
    return parser.parse_args()


def command(name: str, chosen: argparse.Namespace) -> list[str]:
    """Return the command of a benchmark."""
    words = [sys.executable, str(HERE / f"{name}.py"), "--results", str(chosen.results)]
    if name == "parsing" and chosen.xc:
        words.append(chosen.xc)
    if chosen.data and "data" in RUNS[name]:
        words += ["--data", str(chosen.data)]
    if chosen.full and "full" in RUNS[name]:
        words.append("--full")
    return words


def main() -> None:
    chosen = parse_arguments()
    for name in [] if chosen.render else chosen.only:
        if name in NEED_DATA and chosen.data is None:
            print(f"== {name} is left out: it needs --data", flush=True)
            continue
        print(f"== {name}", flush=True)
        subprocess.run(command(name, chosen), check=True)
    results.render(chosen.results)


if __name__ == "__main__":
    main()
