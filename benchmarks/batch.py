"""Compare batch training of label trees with Omikuji, PECOS and napkinXC by cost and quality.

    python benchmarks/batch.py --data DIR                    # every section; yso-en: 100,000 rows
    python benchmarks/batch.py --data DIR --full             # all of yso-en as well
    python benchmarks/batch.py --data DIR --only comparison --sets bibtex

The last section is a table of claims, and pictures go to benchmarks/plots/. Each peer is installed
into its own virtual environment under benchmarks/work/ (or $LABELTREES_BENCHMARK_WORK), and the
report names peers that cannot be installed. DIR has some of bibtex and delicious in XC format,
yso-en as `label ids<TAB>text`, and movielens-latest-small.
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
