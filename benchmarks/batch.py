"""Label trees learned in batch beside Omikuji, PECOS and napkinXC: cost and quality in one run.

    python benchmarks/batch.py --data DIR                    # every section; yso-en: 100,000 rows
    python benchmarks/batch.py --data DIR --full             # all of yso-en as well
    python benchmarks/batch.py --data DIR --only comparison --sets bibtex

Prints Markdown, a table of claims at its end, and draws benchmarks/plots/*.png. Each peer is
installed by name in a virtual environment of its own under benchmarks/work/ (or
$LABELTREES_BENCHMARK_WORK); one that cannot be installed is left out with a line that says so. DIR
has bibtex and delicious in XC format, yso-en as `label ids<TAB>text`, and movielens-latest-small,
or some of them.
"""

from __future__ import annotations

from batch_sections import claims, comparison, filtering, movielens, propensity, synthetic
from harness.benchmark import Benchmark

SECTIONS = {
    "comparison": comparison.section,
    "propensity": propensity.section,
    "filtering": filtering.section,
    "movielens": movielens.section,
    "labelwise": synthetic.labelwise,
    "growth": synthetic.growth,
}

BENCHMARK = Benchmark(
    "batch",
    __doc__,
    SECTIONS,
    takes=("data", "limit", "full", "no-peers", "threads", "plots"),
    sets=("bibtex", "delicious", "yso-en"),
    needs_data=True,
    after=claims.section,
)


if __name__ == "__main__":
    BENCHMARK.main()
