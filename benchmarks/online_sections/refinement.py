"""Refined trees beside the plain tree and the peers: quality, time and memory in one table."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import vstack

from harness import peers
from harness.benchmark import Options
from harness.peers import noting
from harness.report import Block, left_out, notes, number, table
from harness.timing import timed
from online_sections import growth, our_runs, peer_runs, refinement_small_sets
from online_sections.peer_runs import TABLE_BITS, Costs
from online_sections.queries import N_ROWS, N_RUNS
from online_sections.scores import Answers
from online_sections.stream_file import SHORT_STREAM, StreamFile, lengths, stream_file, tail_start

#: Our contestants on the stream and in growth, by what is not the default of `partial_fit`.
OURS: dict[str, dict[str, Any]] = {
    "plain tree": {"refine": 0},
    "refine=4": {"refine": 4},
    "refine=8": {"refine": 8},
    "refine=16": {"refine": 16},
    "default": {},
}
GROWING = ("plain tree", "default")
ADAPTIVE_EPOCHS = (1, 5)
VW_KINDS = ("log_multi", "recall_tree")
HEADER = ["learner", "accuracy", "log loss (seen)", "ECE@1", "train s", "top 1 µs", "P(label) µs",
          "MB"]  # fmt: skip
GROWTH_HEADER = ["learner", *growth.HEADER]
ORDER = "shuffled"


def section(options: Options) -> list[Block]:
    """Return a table of each length of the stream."""
    blocks: list[Block] = ["### Refined trees"]
    for length in lengths(options):
        blocks += on_stream(length, with_peers=options.with_peers)
    return blocks


def small_sets(options: Options) -> list[Block]:
    """Return a table of each small set."""
    title = "Refined trees, small sets"
    if options.data is None:
        return left_out(title, "folder of data")
    return [f"### {title}", *refinement_small_sets.tables(options)]


def on_stream(length: int, *, with_peers: bool) -> list[Block]:
    """Return the table of the shuffled stream, frozen after four fifths or progressive."""
    rows: list[list[str]] = []
    lines: list[str] = []
    for name, make in our_runs.makers(OURS).items():
        rows.append(row(*frozen(f"labeltrees, {name}, frozen", make, length)))
    for name, make in our_runs.makers(OURS).items():
        told, seconds = our_runs.timed_progressive(f"labeltrees, {name}", make, ORDER, length)
        n_rows = len(told.correct)
        rows.append(row(told.tail(n_rows - tail_start(n_rows)), Costs(seconds)))
        lines.append(f"{told.name}: {n_rows / seconds:,.0f} examples/s predicted and learned.")
    if with_peers:
        for name, run_peer in peer_contestants(stream_file(ORDER, length, peers.WORK)):
            with noting(lines, name):
                run = run_peer()
                rows.append(row(run.answers, run.costs))
                lines.append(f"{peers.peer(name).version}: `{run.command}`")
    said = (
        "*Frozen* learns the first 80 %, in one pass if no epochs are named, and predicts "
        "the rest; *progressive* "
        "predicts each row, then learns it, and is scored on the same rows. Log loss counts rows "
        "whose label was learned before, floor 1e-9; ECE@1 has 15 bins of equal mass. Seconds are "
        "of one thread. Ours and PyTorch's are of rows in memory, fastText's and VW's from their "
        "files; VW's queries do not include the loading of the model. MB is all that learning "
        "needs to continue, for fastText its two matrices, for VW its peak. Adaptive softmax knows "
        "all labels of the 80 % and their frequencies before it starts, and its rate, one of "
        f"{peer_runs.ADAPTIVE_RATES}, is chosen on the first tenth of the stream."
    )
    title = f"#### First {length:,} examples"
    what = "Built-in stream, shuffled; scores of the last 20 %."
    return [title, what, table(HEADER, rows), notes(said, *lines)]


def frozen(name: str, make: Callable[[], Any], length: int) -> tuple[Answers, Costs]:
    """Return what a model of ours says after four fifths of the stream, and what that costs."""
    model, rest, seconds = our_runs.timed_head(ORDER, length, make)
    X = vstack([features for features, _ in rest], format="csr")[:N_ROWS]
    y = np.concatenate([labels for _, labels in rest])[:N_ROWS]
    top = timed(lambda: model.predict_top_k(X, 1), repeat=N_RUNS)[1] / len(y) * 1e6
    label = timed(lambda: model.predict_label_proba(X, y), repeat=N_RUNS)[1] / len(y) * 1e6
    costs = Costs(seconds, top, label, our_runs.megabytes(model))
    return our_runs.told(name, model, rest), costs


def peer_contestants(
    file: StreamFile,
) -> list[tuple[str, Callable[[], peer_runs.PeerRun]]]:
    """Return each peer's runs; over the whole stream, for time's sake, only some.

    VW's `--oaa` looks at every label and is left to the small sets.
    """
    is_short = file.n_examples <= SHORT_STREAM
    runs: list[tuple[str, Callable[[], peer_runs.PeerRun]]] = [
        ("fasttext", functools.partial(peer_runs.fasttext_frozen, file, *settings))
        for settings in peer_runs.FASTTEXT_SETTINGS
    ]
    runs += [
        ("torch", functools.partial(peer_runs.adaptive_softmax_frozen, file, epochs))
        for epochs in (ADAPTIVE_EPOCHS if is_short else ADAPTIVE_EPOCHS[:1])
    ]
    runs += [
        ("vw", functools.partial(peer_runs.vw_frozen, kind, file, TABLE_BITS))
        for kind in (VW_KINDS if is_short else VW_KINDS[:1])
    ]
    return runs


def row(answers: Answers, costs: Costs | None) -> list[str]:
    costs = costs or Costs()
    cells = [
        answers.name,
        number(answers.accuracy),
        number(answers.log_loss_seen, 3),
        number(answers.calibration_error, 3),
        number(costs.train_seconds, 1),
        *(number(each, 1) for each in (costs.top_us, costs.label_us)),
        number(costs.megabytes, 0),
    ]
    print(*cells, sep=" | ", file=sys.stderr, flush=True)
    return cells


def growing_labels(options: Options) -> list[Block]:
    """Return what questions cost at more and more labels, with and without refinement."""
    sizes = [size for size in growth.SIZES if size <= (options.limit or growth.SIZES[-1])]
    blocks: list[Block] = []
    for title, make_rows in (("Windows", growth.window_rows), ("Single bits", growth.bit_rows)):
        rows = []
        for name, make in our_runs.makers({name: OURS[name] for name in GROWING}).items():
            points = [growth.measure(size, make_rows, make) for size in sizes or [options.limit]]
            rows += [[name, *growth.row(point)] for point in points]
            rows.append([name, *growth.ratios(points)])
        blocks += [f"{title}: cost by the number of labels.", table(GROWTH_HEADER, rows)]
    title = "### Refined trees, growth with the number of labels"
    return [title, *blocks, notes("Data and calls are those of *growth*.")]
