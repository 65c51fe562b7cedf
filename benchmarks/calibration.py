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

from calibration_sections import comparison
from calibration_sections.data_sets import STREAM
from harness.benchmark import Benchmark


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--learners", nargs="+", default=[], help="those whose names have a word")


BENCHMARK = Benchmark(
    "calibration",
    __doc__,
    {"calibration": comparison.section},
    takes=("data", "limit", "quick", "no-peers", "plots"),
    sets=("bibtex", "delicious", "yso-en", STREAM),
    built_in=(STREAM,),
    arguments=arguments,
)


if __name__ == "__main__":
    BENCHMARK.main()
