"""Command lines of benchmarks, and the printing and recording of what they measure."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness import machine, peers, results
from harness.report import Block

SHORTEST_LIMIT = 100
#: Options whose values name places of this machine, which reports do not show.
PLACES = ("--data", "--plots", "--results", "--measured", "--folder")


@dataclass(frozen=True)
class Options:
    """The options of one run. A benchmark reads only options that its command line has."""

    data: Path | None = None
    sets: tuple[str, ...] = ()
    limit: int | None = None
    quick: bool = False
    full: bool = False
    with_peers: bool = True
    threads: int = 2
    plots: Path = results.BENCHMARKS / "plots"
    #: The values of options that only this benchmark has.
    own: argparse.Namespace = field(default_factory=argparse.Namespace)
    #: What sections measured, for a summary at the end.
    found: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def folder(self, name: str) -> Path | None:
        """Return the folder of a data set, or None if it is missing."""
        if self.data is None or not (self.data / name).is_dir():
            return None
        return self.data / name

    def some(self, values: Iterable[Any], n: int = 1) -> tuple[Any, ...]:
        """Return the values to try, which are the first n in a quick run."""
        return tuple(values)[:n] if self.quick else tuple(values)

    def rows(self, most: int) -> int:
        """Return the smaller of this number of rows and the limit."""
        return min(most, self.limit or most)


Section = Callable[[Options], Iterable[Block]]

_ARGUMENTS: dict[str, dict[str, Any]] = {
    "data": {"type": Path, "help": "folder of data sets"},
    "limit": {"type": int, "help": "maximum number of rows, and of labels where they grow"},
    "quick": {"action": "store_true", "help": "few rows and settings, in seconds"},
    "full": {"action": "store_true", "help": "the largest data and grids as well"},
    "no-peers": {"action": "store_true", "help": "only what needs no network"},
    "threads": {"type": int, "default": Options.threads, "help": "threads for training"},
    "plots": {"type": Path, "default": Options.plots, "help": "folder for pictures"},
}


@dataclass(frozen=True)
class Benchmark:
    """The sections of a benchmark, and the options that it takes."""

    name: str
    doc: str
    sections: Mapping[str, Section]
    takes: tuple[str, ...] = ()
    #: Data sets that ``--sets`` can choose from, and which of these need no folder.
    sets: tuple[str, ...] = ()
    built_in: tuple[str, ...] = ()
    needs_data: bool = False
    #: Whether the folder of data is made for downloads if it is missing.
    downloads: bool = False
    #: Text before the first section, and sections that always come last.
    before: Section | None = None
    after: Section | None = None
    #: Adds the options that only this benchmark has.
    arguments: Callable[[argparse.ArgumentParser], None] | None = None
    #: Returns what is wrong with the options, if anything is.
    refuse: Callable[[Options], str | None] | None = None

    def parser(self) -> argparse.ArgumentParser:
        """Return the command line."""
        parser = argparse.ArgumentParser(
            description=self.doc, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if len(self.sections) > 1:
            names = list(self.sections)
            parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME")
        if self.sets:
            parser.add_argument("--sets", nargs="+", choices=self.sets, help="some of the sets")
        for name in self.takes:
            required = name == "data" and self.needs_data
            more = {"required": True} if required else {}
            parser.add_argument(f"--{name}", **_ARGUMENTS[name], **more)
        parser.add_argument("--results", type=Path, help="folder of the records and pages")
        if self.arguments is not None:
            self.arguments(parser)
        return parser

    def options(self, words: list[str]) -> Options:
        """Return the checked options of a command line."""
        parser = self.parser()
        given = parser.parse_args(words)
        data, limit = getattr(given, "data", None), getattr(given, "limit", None)
        if data is not None and not data.is_dir() and not self.downloads:
            parser.error(f"--data must be a folder that exists, got {data}")
        if limit is not None and limit < SHORTEST_LIMIT:
            parser.error(f"--limit must be at least {SHORTEST_LIMIT}, got {limit}")
        if getattr(given, "threads", 1) < 1:
            parser.error(f"--threads must be at least 1, got {given.threads}")
        sets = tuple(
            name
            for name in getattr(given, "sets", None) or self.sets
            if name in self.built_in or (data is not None and (data / name).is_dir())
        )
        if self.built_in and not sets:
            parser.error("--sets needs --data with a folder of each name")
        options = Options(
            data=data,
            sets=sets,
            limit=limit,
            quick=getattr(given, "quick", False),
            full=getattr(given, "full", False),
            with_peers=not getattr(given, "no_peers", False),
            threads=getattr(given, "threads", Options.threads),
            plots=getattr(given, "plots", Options.plots),
            own=given,
        )
        wrong = None if self.refuse is None else self.refuse(options)
        if wrong:
            parser.error(wrong)
        return options

    def main(self, words: list[str] | None = None) -> Options:
        """Run the sections that the command line names, print them and record them."""
        words = sys.argv[1:] if words is None else words
        options = self.options(words)
        folder = options.own.results or peers.WORK / "results"
        run = machine.facts() | {"command": self.command(words)}
        print("\n\n".join(results.run_lines(run)) + "\n", flush=True)
        only = options.own.only if len(self.sections) > 1 else self.sections
        sections = {"": self.before, **{name: self.sections[name] for name in only}}
        for name, section in [*sections.items(), ("", self.after)]:
            if section is None:
                continue
            started = time.perf_counter()
            say(f"{self.name}: {name}" if name else f"{self.name}", at=True)
            for titles, content in results.by_section(printed(section(options))):
                results.store(folder, self.name, titles, content, run)
            say(f"{name or self.name}: {time.perf_counter() - started:.0f} s")
        results.render(folder)
        return options

    def command(self, words: list[str]) -> str:
        """Return the command of this run without the folders of this machine."""
        shown = [
            "DIR" if before in PLACES else word
            for before, word in zip(["", *words], words, strict=False)
            if "--results" not in (before, word)
        ]
        return f"python benchmarks/{self.name}.py {shlex.join(shown)}".strip()


def printed(blocks: Iterable[Block]) -> Iterator[Block]:
    """Print each block as it arrives, and yield it."""
    for block in blocks:
        text = str(block).strip("\n")
        if text:
            print(f"{text}\n", flush=True)
            yield block


def say(words: str, *, at: bool = False) -> None:
    """Tell the person who waits how far the run is."""
    when = f" at {time.strftime('%H:%M:%S')}" if at else ""
    print(f"{words}{when}", file=sys.stderr, flush=True)
