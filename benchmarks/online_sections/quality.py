"""How good the answers are over the last fifth of the stream, in both orders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from harness import peers, plots
from harness.benchmark import Options
from harness.peers import noting
from harness.report import Block, notes, number, table
from online_sections import our_runs, peer_runs
from online_sections.peer_runs import TABLE_BITS
from online_sections.scores import Answers
from online_sections.stream_file import (
    ORDERS,
    SHORT_STREAM,
    StreamFile,
    lengths,
    short_length,
    stream_file,
    tail_start,
)

HEADER = ["learner", "accuracy", "log loss (seen)", "ECE@1", "squared loss", "wall s"]
SLOW_LENGTH = 20_000  # for learners whose time grows with the number of labels
RIVER_LENGTH = 2_000

TITLES = {"files": "file order", "shuffled": "shuffled"}
#: One colour for each learner in all pictures, from a palette that colour-blind readers can tell;
#: the first that a name starts with.
COLOURS = {
    "labeltrees": "#0072B2",
    "VW `--log_multi": "#D55E00",
    "cache": "#7F7F7F",
    "fastText": "#009E73",
}


def section(options: Options) -> list[Block]:
    """Return tables for each order and length, and draw the curves of the longest."""
    tables: list[Block] = []
    for length in lengths(options):
        answers = {}
        for order in ORDERS:
            answers[order], blocks = one_stream(order, length, with_peers=options.with_peers)
            tables += blocks
        learning_curves(answers, options.plots)
        reliability(answers, options.plots)
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


def learning_curves(answers: dict[str, list[Answers]], folder: Path) -> None:
    """Draw accuracy by block of the stream, of everything that answered the whole stream."""
    figure, (axes,) = plots.figure(len(answers), size=(4.6, 4.2), sharey=True)
    for axis, (order, several) in zip(axes, answers.items(), strict=True):
        n_rows = max(len(each.correct) for each in several)
        for each in several:
            if len(each.correct) == n_rows and _style(each.name):
                at, accuracy = each.curve()
                axis.plot(at / 1e3, accuracy, **_style(each.name))
        axis.set(title=TITLES[order], xlabel="thousand examples seen", ylim=(0, None))
        axis.set_xlim(0, n_rows / 1e3)
    axes[0].set_ylabel("accuracy of each 4 % of the stream")
    plots.finish(figure, axes, folder / "learning_curves.png")


def reliability(answers: dict[str, list[Answers]], folder: Path) -> None:
    """Draw how often the top label was true against its predicted probability."""
    figure, (axes,) = plots.figure(len(answers), size=(4.6, 5.2), sharey=True)
    for axis, (order, several) in zip(axes, answers.items(), strict=True):
        n_rows = max(len(each.correct) for each in several)
        axis.plot([0, 1], [0, 1], ":", color="#7F7F7F", label="perfect")
        for each in _best_of_each_peer(several):
            curve = each.tail(n_rows - tail_start(n_rows)).reliability
            if curve is not None and _style(each.name):
                axis.plot(
                    curve.mean_probability, curve.frequency, marker="o", ms=4, **_style(each.name)
                )
        axis.set(title=TITLES[order], xlabel="probability of the most likely label")
        axis.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes[0].set_ylabel("how often it was true")
    plots.finish(figure, axes, folder / "reliability.png")


def _best_of_each_peer(several: list[Answers]) -> list[Answers]:
    """Return the answers, of fastText's only the most accurate."""
    other = [each for each in several if not each.name.startswith("fastText")]
    fasttext = [each for each in several if each.name.startswith("fastText")]
    return other + sorted(fasttext, key=lambda each: each.accuracy)[-1:]


def _style(name: str) -> dict[str, str] | None:
    """Return how to draw a learner, or None for one that is only in the tables."""
    colour = next((each for word, each in COLOURS.items() if name.startswith(word)), None)
    if colour is None:
        return None
    label = name.replace("`", "").removesuffix(", progressive").removesuffix(", no learning")
    if label.startswith("fastText"):
        label = "fastText hs, its best, frozen"
    return {"color": colour, "ls": "--" if "frozen" in name else "-", "label": label}
