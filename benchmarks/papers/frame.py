"""The command line that the five papers' scripts share."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import paths

from machine import described

if TYPE_CHECKING:
    from collections.abc import Sequence

Section = "Callable[[Options], str]"


@dataclass(frozen=True)
class Options:
    """What one run was asked for."""

    data: Path | None = None
    quick: bool = False
    full: bool = False
    threads: int = 2
    plots: Path = paths.BENCHMARKS / "plots"

    def folder(self, name: str) -> Path | None:
        """Return the folder of a set, None if there is none."""
        if self.data is None or not (self.data / name).is_dir():
            return None
        return self.data / name

    def some(self, values: Sequence, n: int = 1) -> tuple:
        """Return the values to try: only the first few where the run is to be quick."""
        return tuple(values[:n] if self.quick else values)


def parser(doc: str, sections: dict[str, Section]) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--data", type=Path, help="folder of data sets")
    made.add_argument("--only", nargs="+", choices=sections, default=list(sections))
    made.add_argument("--quick", action="store_true", help="few settings, for a first look")
    made.add_argument("--full", action="store_true", help="the paper's whole grids; hours")
    made.add_argument("--threads", type=int, default=Options.threads, help="of models that learn")
    made.add_argument("--plots", type=Path, default=Options.plots, help="where pictures go")
    return made


def run(doc: str, sections: dict[str, Section], arguments: list[str] | None = None) -> None:
    """Print the sections that were asked for as Markdown."""
    words = sys.argv[1:] if arguments is None else arguments
    made = parser(doc, sections)
    chosen = made.parse_args(words)
    if chosen.data is not None and not chosen.data.is_dir():
        made.error(f"--data must be a folder that exists, got {chosen.data}")
    if chosen.threads < 1:
        made.error(f"--threads must be at least 1, got {chosen.threads}")
    options = Options(chosen.data, chosen.quick, chosen.full, chosen.threads, chosen.plots)
    before = ["", *words]
    shown = [
        "DIR" if last in ("--data", "--plots") else word
        for last, word in zip(before, words, strict=False)
    ]
    script = f"benchmarks/papers/{Path(sys.argv[0]).name}" if arguments is None else "script"
    print(f"{described()}.\n\n`python {script} {shlex.join(shown)}`\n", flush=True)
    for name in chosen.only:
        started = time.perf_counter()
        print(f"{name} at {time.strftime('%H:%M:%S')}", file=sys.stderr, flush=True)
        text = sections[name](options)
        print(re.sub(r"\n{3,}", "\n\n", text), flush=True)
        print(f"{name}: {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)


def left_out(title: str, name: str) -> str:
    """Return what a section says that has no data."""
    return f"{title}\nLeft out: no folder `{name}` was given (`--data DIR`).\n"
