"""Online trees for rows with many labels beside OPLT, VW, Omikuji and our batch model, in one run.

    python benchmarks/online_multilabel.py --data DIR
    python benchmarks/online_multilabel.py --data DIR --only comparison --sets bibtex
    python benchmarks/online_multilabel.py --limit 2000 --no-peers    # the built-in stream alone

Prints Markdown. Each peer is installed by name in a virtual environment of its own under
benchmarks/work/ (or $LABELTREES_BENCHMARK_WORK); one that cannot be installed is left out with a
line that says so. DIR has bibtex, rcv1-sub1 and delicious in XC format and yso-en as
`label ids<TAB>text`, or some of them; the first 100,000 rows of yso-en are learned.
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
