"""Measure how reliable our and peers' probabilities are, with and without isotonic regression.

    python benchmarks/calibration.py --data DIR
    python benchmarks/calibration.py --data DIR --sets bibtex --learners fastText VW
    python benchmarks/calibration.py --quick         # a few rows of the built-in stream, no peer

The method is from "Labels in Extremes: How Well Calibrated are Extreme Multi-label Classifiers?"
(arXiv 2411.04276). It pools the first k labels of all rows for ECE@k and fits isotonic regression
on the scores of held-out rows. Each peer is installed into its own virtual environment under
benchmarks/work/ (or $LABELTREES_BENCHMARK_WORK), and the report names peers that cannot be
installed. DIR has some of bibtex and delicious in XC format and yso-en as `label ids<TAB>text`, of
which the first 100,000 rows are used.
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
