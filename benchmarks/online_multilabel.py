"""Compare online trees for several labels per row with OPLT, VW, Omikuji and our batch model.

    python benchmarks/online_multilabel.py --data DIR
    python benchmarks/online_multilabel.py --data DIR --only comparison --sets bibtex
    python benchmarks/online_multilabel.py --limit 2000 --no-peers    # the built-in stream alone

Each peer is installed into its own virtual environment under benchmarks/work/ (or
$LABELTREES_BENCHMARK_WORK), and the report names peers that cannot be installed. DIR has some of
bibtex, rcv1-sub1 and delicious in XC format and yso-en as `label ids<TAB>text`, of which the first
100,000 rows are learned.
"""

from __future__ import annotations

from harness.benchmark import Benchmark
from multilabel_sections import comparison, growth
from multilabel_sections.data_sets import STREAM

SECTIONS = {"comparison": comparison.section, "growth": growth.section}

BENCHMARK = Benchmark(
    "online_multilabel",
    __doc__,
    SECTIONS,
    takes=("data", "limit", "no-peers"),
    sets=("bibtex", "rcv1-sub1", "delicious", "yso-en", STREAM),
    built_in=(STREAM,),
)


if __name__ == "__main__":
    BENCHMARK.main()
