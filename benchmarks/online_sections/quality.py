"""How good the answers are over the last fifth of the stream, in both orders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness import peers
from harness.peers import noting
from harness.report import Block, notes, number, table
from online_sections import our_runs, peer_runs, plots
from online_sections.peer_runs import TABLE_BITS
from online_sections.stream_file import (
    ORDERS,
    SHORT_STREAM,
    StreamFile,
    lengths,
    short_length,
    stream_file,
    tail_start,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.benchmark import Options
    from online_sections.scores import Answers

HEADER = ["learner", "accuracy", "log loss (seen)", "ECE@1", "squared loss", "wall s"]
SLOW_LENGTH = 20_000  # for learners whose time grows with the number of labels
RIVER_LENGTH = 2_000


def section(options: Options) -> list[Block]:
    """Return tables for each order and length, and draw the curves of the longest."""
    tables: list[Block] = []
    for length in lengths(options):
        answers = {}
        for order in ORDERS:
            answers[order], blocks = one_stream(order, length, with_peers=options.with_peers)
            tables += blocks
        plots.learning_curves(answers, options.plots)
        plots.reliability(answers, options.plots)
    slow = min(SLOW_LENGTH, short_length(options))
    tables += slow_peers(slow, with_peers=options.with_peers)
    said = (
        "Log loss counts rows whose label was learned before, floor 1e-9; ECE@1 has 15 bins of "
        "equal mass. *Progressive* predicts each row, then learns it; *frozen* learns the first "
        "80 % and only predicts the rest. In file order code repeats itself, and the cache, which "
        "learns nothing, shows by how much. "
        "Seconds are of the whole program, from the file; VW's frozen ones learn and save, "
        "fastText's learn and predict."
    )
    pictures = plots.links("learning_curves", "reliability")
    return ["### Quality over the last 20 %", said, *pictures, *tables]


def one_stream(order: str, length: int, *, with_peers: bool) -> tuple[list[Answers], list[Block]]:
    """Return every learner's answers on a stream, and the table of their scores."""
    answers = [
        runner(order, length)
        for runner in (
            our_runs.progressive,
            our_runs.frozen,
            our_runs.cache,
            our_runs.frequencies,
        )
    ]
    seconds: list[float | None] = [None] * len(answers)
    lines: list[str] = []
    if with_peers:
        file = stream_file(order, length, peers.WORK)
        seconds[0] = our_runs.stream_command(file)[0].wall_seconds
        runs = vw_runs(file)
        runs += [
            ("fasttext", lambda settings=settings: peer_runs.fasttext_frozen(file, *settings))
            for settings in peer_runs.FASTTEXT_SETTINGS
        ]
        add_peers(runs, answers, seconds, lines)
    named = {"files": "File order", "shuffled": "Shuffled"}[order]
    return answers, titled_table(f"#### {named}, {length:,} examples", answers, seconds, lines)


def vw_runs(file: StreamFile) -> list[tuple[str, Callable[[], peer_runs.PeerRun]]]:
    """Return VW's runs over a stream; over the whole of it (8 minutes each) only the best."""
    progressive, frozen = peer_runs.vw_progressive, peer_runs.vw_frozen
    ways = [("log_multi", progressive)]
    if file.n_examples <= SHORT_STREAM:
        ways += [("log_multi", frozen), ("recall_tree", progressive), ("recall_tree", frozen)]
    return [("vw", lambda way=way, kind=kind: way(kind, file, TABLE_BITS)) for kind, way in ways]


def slow_peers(length: int, *, with_peers: bool) -> list[Block]:
    """Return the tables of the learners that are too slow for the whole stream."""
    blocks: list[Block] = []
    for n_rows, kinds in ((length, ("oaa", "ect")), (min(length, RIVER_LENGTH), ("oaa",))):
        order = "shuffled"
        answers = [our_runs.progressive(order, n_rows), our_runs.cache(order, n_rows)]
        seconds: list[float | None] = [None, None]
        lines: list[str] = []
        if with_peers:
            file = stream_file(order, n_rows, peers.WORK)
            seconds[0] = our_runs.stream_command(file)[0].wall_seconds
            runs = [
                (
                    "vw",
                    lambda kind=kind, file=file: peer_runs.vw_progressive(kind, file, TABLE_BITS),
                )
                for kind in ("log_multi", *kinds)
            ]
            if n_rows <= RIVER_LENGTH:
                runs.append(("river", lambda file=file: peer_runs.river_progressive(file)))
            add_peers(runs, answers, seconds, lines)
        title = f"#### Beside learners that look at every label: shuffled, {n_rows:,} examples"
        blocks += titled_table(title, answers, seconds, lines)
    return blocks


def add_peers(
    runs: list[tuple[str, Callable[[], peer_runs.PeerRun]]],
    answers: list[Answers],
    seconds: list[float | None],
    lines: list[str],
) -> None:
    """Run the peers and append what they answered, what they took, and how they were called."""
    for name, run_peer in runs:
        with noting(lines, name):
            run = run_peer()
            answers.append(run.answers)
            seconds.append(run.measured.wall_seconds)
            lines.append(f"{peers.peer(name).version}: `{run.command}`")


def titled_table(
    title: str, answers: list[Answers], seconds: list[float | None], lines: list[str]
) -> list[Block]:
    n_rows = max(len(each.correct) for each in answers)
    n_tail = n_rows - tail_start(n_rows)
    rows = [score_row(each.tail(n_tail), wall) for each, wall in zip(answers, seconds, strict=True)]
    return [title, table(HEADER, rows), notes(*lines)]


def score_row(answers: Answers, wall: float | None) -> list[str]:
    return [
        answers.name,
        number(answers.accuracy),
        number(answers.log_loss_seen, 3),
        number(answers.calibration_error, 3),
        number(answers.squared_loss),
        number(wall, 1),
    ]
