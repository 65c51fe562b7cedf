"""Our online trees beside VW, fastText, River and PyTorch: cost and quality, measured in one run.

    python benchmarks/online.py                         # every section, 200,000 examples
    python benchmarks/online.py --full --data DIR       # 1.5 million as well, and small sets
    python benchmarks/online.py --only growth --limit 20000

Prints Markdown and draws benchmarks/plots/*.png. Each peer is installed by name in a virtual
environment of its own under benchmarks/work/ (or $LABELTREES_BENCHMARK_WORK); one that cannot be
installed is left out with a line that says so. DIR has rcv1-sub1/{train,test}.txt.gz (XC),
clinc150/{train,valid,test}.tsv.gz and letter/letter.csv.gz, or some of them.
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from pathlib import Path

from machine import described
from online_sections import (
    arity,
    decision_trees,
    end_to_end,
    growth,
    quality,
    queries,
    refinement,
    small_sets,
    threads,
)
from online_sections.options import Options

SECTIONS = {
    "end_to_end": end_to_end.section,
    "quality": quality.section,
    "queries": queries.section,
    "growth": growth.section,
    "threads": threads.section,
    "small_sets": small_sets.section,
    "decision_trees": decision_trees.section,
    "arity": arity.section,
    "refinement": refinement.section,
    "refinement_small_sets": refinement.small_sets,
    "refinement_growth": refinement.growing_labels,
}


def parse_arguments() -> tuple[list[str], Options]:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--limit", type=int, help="most examples, and in growth most labels")
    parser.add_argument("--full", action="store_true", help="the whole stream as well")
    parser.add_argument("--no-peers", action="store_true", help="only what needs no network")
    parser.add_argument("--data", type=Path, help="folder of small multiclass sets")
    parser.add_argument("--plots", type=Path, default=Options.plots, help="where pictures go")
    chosen = parser.parse_args()
    if chosen.limit is not None and chosen.limit < 100:
        parser.error("--limit must be at least 100")
    if chosen.data is not None and not chosen.data.is_dir():
        parser.error(f"--data must be a folder that exists, got {chosen.data}")
    options = Options(
        limit=chosen.limit,
        full=chosen.full,
        with_peers=not chosen.no_peers,
        data=chosen.data,
        plots=chosen.plots,
    )
    return chosen.only, options


def main() -> None:
    names, options = parse_arguments()
    shown = ["DIR" if before in ("--data", "--plots") else word for before, word in arguments()]
    print(f"{described()}.\n\n`python benchmarks/online.py {shlex.join(shown)}`\n")
    for name in names:
        print(f"online: {name}", file=sys.stderr, flush=True)
        print(re.sub(r"\n{3,}", "\n\n", SECTIONS[name](options)), flush=True)


def arguments() -> list[tuple[str, str]]:
    """Return the words of the command line, each with the one before it."""
    return list(zip(["", *sys.argv[1:]], sys.argv[1:], strict=False))


if __name__ == "__main__":
    main()
