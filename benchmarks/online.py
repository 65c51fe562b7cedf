"""Compare our online trees with VW, fastText, River and PyTorch by cost and quality, in one run.

    python benchmarks/online.py                         # every section, 200,000 examples
    python benchmarks/online.py --full --data DIR       # 1.5 million as well, and small sets
    python benchmarks/online.py --only growth --limit 20000

Pictures go to benchmarks/plots/. Each peer is installed into its own virtual environment under
benchmarks/work/ (or $LABELTREES_BENCHMARK_WORK), and the report names peers that cannot be
installed. DIR has some of rcv1-sub1/{train,test}.txt.gz (XC), clinc150/{train,valid,test}.tsv.gz
and letter/letter.csv.gz.
"""

from __future__ import annotations

from harness.benchmark import Benchmark
from online_sections import (
    arity,
    decision_trees,
    end_to_end,
    growth,
    quality,
    queries,
    refinement,
    small_sets,
)

SECTIONS = {
    "end_to_end": end_to_end.section,
    "quality": quality.section,
    "queries": queries.queries,
    "growth": growth.section,
    "threads": queries.threads,
    "small_sets": small_sets.section,
    "decision_trees": decision_trees.section,
    "arity": arity.section,
    "refinement": refinement.section,
    "refinement_small_sets": refinement.small_sets,
    "refinement_growth": refinement.growing_labels,
}

BENCHMARK = Benchmark(
    "online", __doc__, SECTIONS, takes=("limit", "full", "no-peers", "data", "plots")
)


if __name__ == "__main__":
    BENCHMARK.main()
