"""Real streams of tens of millions of rows, and up to a million labels, beside other programs.

    python benchmarks/scale.py --data DIR                     # everything; hours
    python benchmarks/scale.py --data DIR --only identifiers --limit 20000000
    python benchmarks/scale.py --report                       # tables and picture of the last runs
    python benchmarks/scale.py --project                      # what 100 M labels would need
    python benchmarks/scale.py --quick --no-peers             # seconds; needs no download

Measurements are appended to the file --measured, one JSON object per line. The tables, the picture
and the projection are made from that file, so a run that was stopped has some. --report and
--project read benchmarks/results/measured/scale.jsonl unless another file is named. DIR gets the
packages and the file lists that are downloaded, 6 GB; growth needs 8 GB of memory. Each peer is
installed into its own virtual environment under benchmarks/work/ (or $LABELTREES_BENCHMARK_WORK),
and the report names peers that cannot be installed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

from harness import peers
from harness.benchmark import Benchmark, Options
from harness.report import Block
from harness.results import RESULTS
from scale_sections import (
    batch_growth,
    label_growth,
    measurements,
    projection,
    report,
    streams,
)

MEASURES: dict[str, Callable[[Options], None]] = {
    "identifiers": streams.identifiers,
    "debian": streams.debian,
    "growth": label_growth.run,
    "batch": batch_growth.run,
}
#: The names of a section's records, where they differ from the section's.
RECORDS = {
    "identifiers": ("identifiers", "identifiers-prefix"),
    "debian": ("debian", "debian-prefix"),
    "growth": label_growth.RECORDS,
}
RECORDED = RESULTS / "measured" / "scale.jsonl"
MAX_MEMORY = 6_000_000_000


def choose_file(options: Options) -> list[Block]:
    """Choose the file of measurements where the command line names none."""
    own = options.own
    if own.measured is None:
        name = "scale-quick.jsonl" if options.quick else "scale.jsonl"
        own.measured = RECORDED if own.report or own.project else peers.WORK / name
    return []


def measure(name: str, options: Options) -> list[Block]:
    """Replace the measurements of a section, unless only a report of them is wanted."""
    if not (options.own.report or options.own.project):
        measurements.forget(options.own.measured, RECORDS.get(name, (name,)))
        MEASURES[name](options)
    return []


def show(options: Options) -> list[Block]:
    """Return the projection, or draw the picture and return the tables."""
    if options.own.project:
        return ["### Projection", *projection.section(options.own.measured)]
    is_default = options.plots == type(options).plots
    folder = peers.WORK if options.quick and is_default else options.plots
    report.draw(options.own.measured, folder)
    return report.section(options.own.measured)


def arguments(parser: argparse.ArgumentParser) -> None:
    text = "bytes of a stream's tables"
    parser.add_argument("--max-memory", type=int, default=MAX_MEMORY, help=text)
    parser.add_argument("--measured", type=Path, help="file of measurements")
    parser.add_argument("--report", action="store_true", help="only show what was measured")
    parser.add_argument("--project", action="store_true", help="only show the projection")


def refuse(options: Options) -> str | None:
    """Return what is wrong where a download has no folder."""
    own = options.own
    downloads = not (options.quick or own.report or own.project)
    if downloads and options.data is None and {"identifiers", "debian"} & set(own.only):
        return "--data must name a folder for downloads, unless --quick is given"
    return None


BENCHMARK = Benchmark(
    "scale",
    __doc__,
    {name: partial(measure, name) for name in MEASURES},
    takes=("data", "limit", "quick", "no-peers", "plots"),
    downloads=True,
    before=choose_file,
    after=show,
    arguments=arguments,
    refuse=refuse,
)

if __name__ == "__main__":
    BENCHMARK.main()
