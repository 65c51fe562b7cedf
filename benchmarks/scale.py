"""Real streams of tens of millions of rows, and up to a million labels, beside other programs.

    python benchmarks/scale.py --data DIR                     # everything; hours
    python benchmarks/scale.py --data DIR --only identifiers --limit 20000000
    python benchmarks/scale.py --report                       # tables and picture of the last runs
    python benchmarks/scale.py --project                      # what 100 M labels would need
    python benchmarks/scale.py --quick --no-peers             # seconds; needs no download

What is measured goes, as it comes, to the file --results, one JSON object per line; tables,
picture and projection are made from it, so a run that was cut off has some. --report and --project
take the numbers in benchmarks/scale_results.jsonl unless another file is named. DIR gets the
packages and the file lists that are fetched by name, 6 GB; growth needs 8 GB of memory. Each peer
is installed by name in a virtual environment of its own under benchmarks/work/ (or
$LABELTREES_BENCHMARK_WORK); one that cannot be installed is left out with a line that says so.
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
import time
from pathlib import Path

from machine import described
from scale_sections import (
    batch_growth,
    label_growth,
    plots,
    projection,
    report,
    results,
    streams,
)
from scale_sections.options import Options

SECTIONS = {
    "identifiers": streams.identifiers,
    "debian": streams.debian,
    "growth": label_growth.run,
    "batch": batch_growth.run,
}
#: What the records of a section are called in the file of results, where not as the section.
RECORDS = {
    "identifiers": ("identifiers", "identifiers-prefix"),
    "debian": ("debian", "debian-prefix"),
    "growth": label_growth.RECORDS,
}
FOLDERS = ("--data", "--plots", "--results")
RESULTS = Path(__file__).parent / "work" / "scale.jsonl"
QUICK = RESULTS.with_name("scale-quick.jsonl")
RECORDED = Path(__file__).with_name("scale_results.jsonl")


def parse_arguments() -> tuple[argparse.Namespace, Options]:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder for what is downloaded")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--limit", type=int, help="most rows of anything")
    parser.add_argument("--quick", action="store_true", help="a few thousand rows, no download")
    parser.add_argument("--no-peers", action="store_true", help="ours alone")
    parser.add_argument(
        "--max-memory", type=int, default=Options.max_memory, help="bytes of a stream's tables"
    )
    parser.add_argument("--results", type=Path, help="file of what is measured")
    parser.add_argument("--report", action="store_true", help="only show what is there already")
    parser.add_argument("--project", action="store_true", help="only the projection from it")
    parser.add_argument("--plots", type=Path, help="where the picture goes")
    chosen = parser.parse_args()
    if chosen.limit is not None and chosen.limit < 100:
        parser.error("--limit must be at least 100")
    downloads = not (chosen.quick or chosen.report or chosen.project)
    if downloads and chosen.data is None and {"identifiers", "debian"} & set(chosen.only):
        parser.error("--data must name a folder for what is downloaded, unless --quick is given")
    here = QUICK if chosen.quick else RESULTS
    if chosen.report or chosen.project:
        here = RECORDED
    options = Options(
        data=chosen.data,
        results=chosen.results or here,
        limit=chosen.limit,
        quick=chosen.quick,
        with_peers=not chosen.no_peers,
        max_memory=chosen.max_memory,
        plots=chosen.plots or (QUICK.parent if chosen.quick else Options.plots),
    )
    return chosen, options


def main() -> None:
    chosen, options = parse_arguments()
    if not (chosen.report or chosen.project):
        for name in chosen.only:
            print(f"scale: {name} at {time.strftime('%H:%M:%S')}", file=sys.stderr, flush=True)
            results.forget(options.results, RECORDS.get(name, (name,)))
            SECTIONS[name](options)
    if chosen.project:
        show(projection.section(options.results))
        return
    words = sys.argv[1:]
    shown = ["DIR" if a in FOLDERS else b for a, b in zip(["", *words], words, strict=False)]
    print(f"{described()}.\n\n`python benchmarks/scale.py {shlex.join(shown)}`\n")
    plots.draw(options.results, options.plots)
    show(report.section(options.results))


def show(text: str) -> None:
    print(re.sub(r"\n{3,}", "\n\n", text), flush=True)


if __name__ == "__main__":
    main()
