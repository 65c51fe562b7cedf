"""Time and memory of two programs from start to end, with the same file."""

from __future__ import annotations

from pathlib import Path

from harness import peers
from harness.benchmark import Options
from harness.peers import noting
from harness.processes import Measured
from harness.report import Block, notes, number, table
from online_sections import our_runs, peer_runs
from online_sections.stream_file import WHOLE_STREAM, StreamFile, lengths, stream_file

HEADER = ["program", "accuracy", "wall s", "CPU s", "peak MB", "µs/example", "wall / first row"]


def section(options: Options) -> list[Block]:
    """Return a table for each length of the stream."""
    blocks: list[Block] = ["### End to end from one file"]
    for length in lengths(options):
        file = stream_file("files", length, peers.WORK)
        blocks += one_length(file, with_peers=options.with_peers)
    return blocks


def one_length(file: StreamFile, *, with_peers: bool) -> list[Block]:
    ours, _ = our_runs.stream_command(file, top=False)
    searched, accuracy = our_runs.stream_command(file)
    rows = [
        row("labeltrees stream --no-top", None, ours, ours, file),
        row("labeltrees stream", accuracy, searched, ours, file),
    ]
    commands = [
        f"labeltrees: `labeltrees stream {Path(file.path).name} --json --quiet`, of which "
        f"{our_runs.start_up().wall_seconds:.2f} s is starting up (`labeltrees --help`). It prints "
        "the progressive log loss of whole distributions; without `--no-top` it also searches the "
        "likeliest label of every example before it is learned. One thread learns; another reads "
        "ahead, and one makes memory ready."
    ]
    missing: list[str] = []
    if with_peers:
        with noting(missing, "VW"):
            for bits in table_bits(file):
                run = peer_runs.vw_progressive("log_multi", file, bits)
                tail = run.answers.tail(file.n_examples - file.tail_start)
                rows.append(row(f"VW -b {bits}", tail.accuracy, run.measured, ours, file))
                commands.append(f"VW: `{run.command}`")
            commands.append(f"{peers.peer('vw').version}; its parser runs in a second thread.")
    direct = our_runs.progressive("files", file.n_examples)
    direct = direct.tail(file.n_examples - file.tail_start)
    said = (
        f"Through the file our accuracy is {accuracy:.4f}, straight from the stream "
        f"{direct.accuracy:.4f}."
    )
    title = f"#### First {file.n_examples:,} examples"
    size = f"In file order, {file.n_labels:,} labels."
    return [title, size, table(HEADER, rows), notes(*commands, *missing, said)]


def table_bits(file: StreamFile) -> tuple[int, ...]:
    """Return the sizes of VW's table; over the whole stream, for time's sake, only the ends."""
    small, large = peer_runs.SMALL_TABLE_BITS, peer_runs.TABLE_BITS
    between = () if file.n_examples >= WHOLE_STREAM else ((small + large) // 2,)
    return (small, *between, large)


def row(
    name: str, accuracy: float | None, run: Measured, ours: Measured, file: StreamFile
) -> list[str]:
    return [
        name,
        number(accuracy),
        number(run.wall_seconds, 2),
        number(run.cpu_seconds, 2),
        number(run.peak_mb, 0),
        number(run.wall_seconds / file.n_examples * 1e6, 1),
        number(run.wall_seconds / ours.wall_seconds, 1),
    ]
