"""Time, accuracy and memory of two programs from start to end, with the same file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from harness import peers
from harness.benchmark import Options
from harness.peers import noting
from harness.processes import Measured
from harness.report import Block, notes, number, table
from online_sections import our_runs, peer_runs
from online_sections.stream_file import WHOLE_STREAM, StreamFile, lengths, stream_file

HEADER = [
    "program", "accuracy", "wall s", "CPU s", "peak MB", "µs/example", "wall / default",
    "CPU / default",
]  # fmt: skip
#: Number of times that each program runs over the short stream.
ROUNDS = 3


@dataclass(frozen=True)
class Program:
    """One program, how it runs once, and its command."""

    name: str
    run: Callable[[], tuple[Measured, float]]
    command: str


def section(options: Options) -> Iterator[Block]:
    """Return a table for each length of the stream."""
    yield "### End to end from one file"
    for length in lengths(options):
        yield f"#### First {length:,} examples"
        file = stream_file("files", length, peers.WORK)
        yield from one_length(file, with_peers=options.with_peers)


def one_length(file: StreamFile, *, with_peers: bool) -> Iterator[Block]:
    """Run all programs on one file in turn, and return the medians."""
    n_rounds = 1 if file.n_examples >= WHOLE_STREAM else ROUNDS
    missing: list[str] = []
    programs = our_programs(file)
    if with_peers:
        with noting(missing, "VW"):
            programs += vw_programs(file)
    before = os.getloadavg()[0]
    found = in_turn(programs, n_rounds, missing)
    load = f"{before:.1f} before and {os.getloadavg()[0]:.1f} after"
    default, accuracy = found[programs[0]]
    direct = our_runs.progressive("files", file.n_examples)
    direct = direct.tail(file.n_examples - file.tail_start)
    start_up = our_runs.start_up().wall_seconds
    yield f"In file order, {file.n_labels:,} labels."
    yield table(
        HEADER, [row(program.name, *each, default, file) for program, each in found.items()]
    )
    yield notes(
        *(program.command for program in found),
        f"{times(n_rounds)} The load average of the machine was {load}. Compare ratios only.",
        f"Accuracy is measured on the last fifth of the rows. Of our time, {start_up:.2f} s is "
        "starting up (`labeltrees --help`). One thread learns, a second one reads ahead.",
        f"With the default, accuracy is {accuracy:.4f} from the file and {direct.accuracy:.4f} "
        "without a file.",
        *missing,
    )


def in_turn(
    programs: list[Program], n_rounds: int, missing: list[str]
) -> dict[Program, tuple[Measured, float]]:
    """Return each program's typical cost and its accuracy, without the programs that fail."""
    runs: dict[Program, list[tuple[Measured, float]]] = {program: [] for program in programs}
    for _ in range(n_rounds):
        for program, done in runs.items():
            with noting(missing, program.name):
                done.append(program.run())
    return {
        program: (typical([measured for measured, _ in done]), done[0][1])
        for program, done in runs.items()
        if done
    }


def times(n_rounds: int) -> str:
    """Return a sentence that says how often the programs ran."""
    if n_rounds == 1:
        return "Each program ran once."
    return f"Each program ran {n_rounds} times in turn; the table has medians."


def our_programs(file: StreamFile) -> list[Program]:
    """Return our command with its defaults, and without refinement."""
    settings: dict[str, tuple[str, ...]] = {"default": (), "refine=0": ("--refine", "0")}
    command = f"labeltrees stream {Path(file.path).name} --json --quiet"
    return [
        Program(
            f"labeltrees, {name}",
            lambda options=options: our_runs.run_stream(file, *options),  # type: ignore[misc]
            f"labeltrees, {name}: `{' '.join([command, *options])}`",
        )
        for name, options in settings.items()
    ]


def vw_programs(file: StreamFile) -> list[Program]:
    """Return VW with each size of its table, or raise `MissingPeerError`."""
    version = peers.peer("vw").version

    def run(bits: int) -> tuple[Measured, float]:
        done = peer_runs.run_vw_progressive("log_multi", file, bits)
        tail = done.answers.tail(file.n_examples - file.tail_start)
        return done.measured, tail.accuracy

    return [
        Program(
            f"VW --log_multi -b {bits}",
            lambda bits=bits: run(bits),  # type: ignore[misc]
            f"{version}: `{peer_runs.vw_command('log_multi', file, bits)}`; its parser runs in a "
            "second thread.",
        )
        for bits in table_bits(file)
    ]


def table_bits(file: StreamFile) -> tuple[int, ...]:
    """Return the sizes of VW's table; over the whole stream, only the smallest to save time."""
    small, large = peer_runs.SMALL_TABLE_BITS, peer_runs.TABLE_BITS
    return (small,) if file.n_examples >= WHOLE_STREAM else (small, (small + large) // 2, large)


def typical(runs: list[Measured]) -> Measured:
    """Return the medians of some runs.

    >>> typical([Measured(3.0, 1.0, 9.0, ""), Measured(1.0, 2.0, 8.0, "")])
    Measured(wall_seconds=2.0, cpu_seconds=1.5, peak_mb=8.5, output='')
    """
    return Measured(
        median(run.wall_seconds for run in runs),
        median(run.cpu_seconds for run in runs),
        median(run.peak_mb for run in runs),
        runs[0].output,
    )


def row(
    name: str, run: Measured, accuracy: float, default: Measured, file: StreamFile
) -> list[str]:
    """Return the cells of a program."""
    return [
        name,
        number(accuracy),
        number(run.wall_seconds, 2),
        number(run.cpu_seconds, 2),
        number(run.peak_mb, 0),
        number(run.wall_seconds / file.n_examples * 1e6, 1),
        number(run.wall_seconds / default.wall_seconds, 1),
        number(run.cpu_seconds / default.cpu_seconds, 1),
    ]
