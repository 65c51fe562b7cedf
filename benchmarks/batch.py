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

import argparse
import re
import shlex
import sys
import time
from pathlib import Path

from batch_sections import claims, comparison, filtering, movielens, propensity, synthetic
from batch_sections.options import Options
from machine import described

SECTIONS = {
    "comparison": comparison.section,
    "propensity": propensity.section,
    "filtering": filtering.section,
    "movielens": movielens.section,
    "labelwise": synthetic.labelwise,
    "growth": synthetic.growth,
}


def parse_arguments() -> tuple[list[str], Options]:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of multi-label sets")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--sets", nargs="+", choices=Options.sets, help="some of the sets")
    parser.add_argument("--limit", type=int, help="most rows, points and labels of anything")
    parser.add_argument("--full", action="store_true", help="all 633,682 rows of yso-en as well")
    parser.add_argument("--no-peers", action="store_true", help="only what needs no network")
    parser.add_argument("--threads", type=int, default=Options.threads, help="while learning")
    parser.add_argument("--plots", type=Path, default=Options.plots, help="where pictures go")
    chosen = parser.parse_args()
    if not chosen.data.is_dir():
        parser.error(f"--data must be a folder that exists, got {chosen.data}")
    if chosen.limit is not None and chosen.limit < 100:
        parser.error("--limit must be at least 100")
    if chosen.threads < 1:
        parser.error("--threads must be at least 1")
    there = tuple(name for name in Options.sets if (chosen.data / name).is_dir())
    options = Options(
        data=chosen.data,
        sets=tuple(chosen.sets or there),
        limit=chosen.limit,
        full=chosen.full,
        with_peers=not chosen.no_peers,
        threads=chosen.threads,
        plots=chosen.plots,
    )
    return chosen.only, options


def main() -> None:
    names, options = parse_arguments()
    before = ["", *sys.argv[1:]]
    shown = [
        "DIR" if last in ("--data", "--plots") else word
        for last, word in zip(before, sys.argv[1:], strict=False)
    ]
    print(f"{described()}.\n\n`python benchmarks/batch.py {shlex.join(shown)}`\n", flush=True)
    for name in names:
        print(f"batch: {name} at {time.strftime('%H:%M:%S')}", file=sys.stderr, flush=True)
        show(SECTIONS[name](options))
    show(claims.section(options))


def show(text: str) -> None:
    print(re.sub(r"\n{3,}", "\n\n", text), flush=True)


if __name__ == "__main__":
    main()
