"""How well calibrated label trees and their peers are, before and after isotonic calibration.

    python benchmarks/calibration.py --data DIR
    python benchmarks/calibration.py --data DIR --sets bibtex --learners fastText VW
    python benchmarks/calibration.py --quick         # a few rows of the built-in stream, no peer

Prints Markdown and draws benchmarks/plots/calibration.png. It follows "Labels in Extremes: How Well
Calibrated are Extreme Multi-label Classifiers?" (arXiv 2411.04276): ECE@k over the first k labels
of all rows, pooled, and isotonic regression on the scores of held-out rows. Each peer is installed
by name in a virtual environment of its own under benchmarks/work/ (or
$LABELTREES_BENCHMARK_WORK); one that cannot be installed is left out with a line that says so. DIR
has bibtex and delicious in XC format and yso-en as `label ids<TAB>text`, or some of them; the first
100,000 rows of yso-en are used.
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from pathlib import Path

from calibration_sections import comparison
from calibration_sections.options import STREAM, Options
from machine import described

QUICK_ROWS = 500


def parse_arguments() -> Options:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder of multi-label sets")
    parser.add_argument("--sets", nargs="+", choices=Options.sets, help="some of the sets")
    parser.add_argument("--limit", type=int, help="most rows of a set")
    parser.add_argument("--no-peers", action="store_true", help="only what needs no network")
    parser.add_argument("--learners", nargs="+", default=[], help="those whose names have a word")
    parser.add_argument("--quick", action="store_true", help="one of ours on few rows, no picture")
    parser.add_argument("--plots", type=Path, default=Options.plots, help="where the picture goes")
    chosen = parser.parse_args()
    if chosen.data is not None and not chosen.data.is_dir():
        parser.error(f"--data must be a folder that exists, got {chosen.data}")
    if chosen.limit is not None and chosen.limit < 100:
        parser.error("--limit must be at least 100")
    there = tuple(
        name
        for name in chosen.sets or Options.sets
        if name == STREAM or (chosen.data is not None and (chosen.data / name).is_dir())
    )
    if not there:
        parser.error("--sets needs --data with a folder of each name")
    return Options(
        data=chosen.data,
        sets=there,
        limit=min(QUICK_ROWS, chosen.limit or QUICK_ROWS) if chosen.quick else chosen.limit,
        with_peers=not chosen.no_peers,
        quick=chosen.quick,
        learners=tuple(chosen.learners),
        plots=chosen.plots,
    )


def main() -> None:
    options = parse_arguments()
    words = sys.argv[1:]
    shown = [
        "DIR" if before in ("--data", "--plots") else word
        for before, word in zip(["", *words], words, strict=False)
    ]
    print(f"{described()}.\n\n`python benchmarks/calibration.py {shlex.join(shown)}`\n")
    for part in comparison.section(options):
        print(re.sub(r"\n{3,}", "\n\n", part), flush=True)


if __name__ == "__main__":
    main()
