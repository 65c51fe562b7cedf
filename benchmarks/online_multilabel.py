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

import argparse
import re
import shlex
import sys
import time
from pathlib import Path

from machine import described
from multilabel_sections import comparison, growth
from multilabel_sections.options import STREAM, Options

SECTIONS = {"comparison": comparison.section, "growth": growth.section}


def parse_arguments() -> tuple[list[str], Options]:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder of multi-label sets")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--sets", nargs="+", choices=Options.sets, help="some of the sets")
    parser.add_argument("--limit", type=int, help="most rows of a set, and in growth most labels")
    parser.add_argument("--no-peers", action="store_true", help="only what needs no network")
    chosen = parser.parse_args()
    if chosen.data is not None and not chosen.data.is_dir():
        parser.error(f"--data must be a folder that exists, got {chosen.data}")
    if chosen.limit is not None and chosen.limit < 100:
        parser.error("--limit must be at least 100")
    there = tuple(
        name
        for name in chosen.sets or Options.sets
        if name == STREAM or (chosen.data is not None and (chosen.data / name).is_dir())
    )
    if not there:
        parser.error("--sets needs --data with a folder of each name")
    options = Options(chosen.data, there, chosen.limit, not chosen.no_peers)
    return chosen.only, options


def main() -> None:
    names, options = parse_arguments()
    words = sys.argv[1:]
    shown = [
        "DIR" if before == "--data" else word
        for before, word in zip(["", *words], words, strict=False)
    ]
    print(f"{described()}.\n\n`python benchmarks/online_multilabel.py {shlex.join(shown)}`\n")
    for name in names:
        said = f"online_multilabel: {name} at {time.strftime('%H:%M:%S')}"
        print(said, file=sys.stderr, flush=True)
        for part in SECTIONS[name](options):
            print(re.sub(r"\n{3,}", "\n\n", part), flush=True)


if __name__ == "__main__":
    main()
