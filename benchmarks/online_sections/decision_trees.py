"""LOMtree and the filter tree beside VW's `--log_multi` and `--ect`: Table 4 of the paper, anew."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness import peers
from harness.benchmark import Options
from harness.peers import noting
from harness.report import Block, notes, number, table
from labeltrees import ConditionalTreeClassifier, FilterTreeClassifier, LOMTreeClassifier
from labeltrees.data.python_source import PythonSource
from labeltrees.metrics import log_loss
from online_sections import our_runs, peer_runs
from online_sections.peer_runs import run_vw
from online_sections.small_data import SmallSet, small_sets
from online_sections.small_sets import write_rows
from online_sections.stream_file import StreamFile, short_length, stream_file, tail_start

RATES = (0.2, 0.5, 2.0)
PASSES = (5, 20)
SPLITS_PER_LABEL = (4, 16)
RESISTANCES = (4,)
TREE_GRID = list(itertools.product(RATES, PASSES))
LOM_GRID = list(itertools.product(RATES, PASSES, SPLITS_PER_LABEL, RESISTANCES))
OUR_LOM_GRID = list(itertools.product(RATES, PASSES, SPLITS_PER_LABEL, RESISTANCES, (0, 1)))
HEADER = ["learner", "rate / passes / T / R_S", "valid error %", "test error %", "log loss",
          "leaf histogram alone", "grid s"]  # fmt: skip
STREAM_HEADER = ["learner", "accuracy", "log loss (seen)", "ECE@1", "examples/s", "times VW's"]
FLOOR = 1e-9
SCALED_BIAS, VW_BIAS = 0.25, 1.0


@dataclass(frozen=True)
class Run:
    """Predictions on the rows to choose by and to test, and P(true label) of the latter."""

    valid: np.ndarray
    test: np.ndarray
    p_test: np.ndarray | None = None
    p_alone: np.ndarray | None = None
    """The same by the leaf's histogram without back-off."""


def section(options: Options) -> list[Block]:
    """Return a table of the stream and, if a folder is given, one of each small set."""
    title = "### LOMtree and filter tree"
    sets = small_sets(options.data, options.limit) if options.data else []
    if not sets:
        return [title, *on_stream(options)]
    several = [on_small_set(data, with_peers=options.with_peers) for data in reversed(sets)]
    tables = [block for blocks in several for block in blocks]
    said = (
        "Settings have the least error on validation rows, from one grid for all. It has rates "
        f"{RATES}, passes {PASSES}, and for LOMtree and `--log_multi` T of {SPLITS_PER_LABEL} "
        f"times the labels and R_S {RESISTANCES}. VW has no T, so it is started with that number "
        "of labels. "
        "Every learner is given the same rows; ours scale them to length 1, which LOMtree also "
        "tries without (last setting 0) and then with VW's constant of 1; VW has its normalised "
        "updates. "
        "Intervals are 95 % of the binomial, as in the paper. Log loss has floor 1e-9."
    )
    return [title, said, *tables, *on_stream(options)]


def on_small_set(data: SmallSet, *, with_peers: bool) -> list[Block]:
    learners: list[tuple[str, list[Any], Callable[..., Run]]] = [
        ("LOMtree", OUR_LOM_GRID, lomtree),
        ("Rtree", TREE_GRID, rtree),
        ("filter tree", TREE_GRID, fitted(FilterTreeClassifier)),
        ("filter tree, random pairs", TREE_GRID, fitted(FilterTreeClassifier, structure="random")),
    ]
    if with_peers:
        learners += [
            ("VW `--log_multi`", LOM_GRID, vw_log_multi),
            ("VW `--ect`", TREE_GRID, vw_ect),
        ]
    rows: list[list[str]] = []
    missing: list[str] = []
    for name, grid, learn in learners:
        with noting(missing, name):
            rows.append(best_row(name, data, grid, learn))
    return [f"#### {data.name}", f"{data.sizes}.", table(HEADER, rows), notes(*missing)]


def best_row(name: str, data: SmallSet, grid: list[Any], learn: Callable[..., Run]) -> list[str]:
    started = time.perf_counter()
    tried = []
    for settings in grid:
        run = learn(data, *settings)
        tried.append((float((run.valid != data.valid[1]).mean()), settings, run))
    error_valid, settings, run = min(tried, key=lambda each: each[0])
    error = float((run.test != data.test[1]).mean())
    interval = 1.96 * np.sqrt(error * (1 - error) / len(data.test[1]))
    losses = [None if p is None else log_loss(np.minimum(p, 1), floor=FLOOR)
              for p in (run.p_test, run.p_alone)]  # fmt: skip
    row = [
        name,
        " / ".join(f"{value:g}" for value in settings),
        number(100 * error_valid, 2),
        f"{100 * error:.2f} ± {100 * interval:.2f}",
        *(number(loss, 3) for loss in losses),
        number(time.perf_counter() - started, 1),
    ]
    print(data.name, *row, sep=" | ", file=sys.stderr, flush=True)
    return row


def lomtree(
    data: SmallSet, rate: float, passes: int, per_label: int, resistance: int, normalize: int
) -> Run:
    model = LOMTreeClassifier(
        learning_rate=rate, n_passes=passes, swap_resistance=resistance,
        max_splits=per_label * data.n_labels - 1, normalize=bool(normalize),
        bias=SCALED_BIAS if normalize else VW_BIAS,
    ).fit(*data.train)  # fmt: skip
    p_test = model.predict_label_proba(*data.test)
    valid, test = model.predict(data.valid[0]), model.predict(data.test[0])
    model.model_.core.back_off = 0.0
    return Run(valid, test, p_test, model.predict_label_proba(*data.test))


def rtree(data: SmallSet, rate: float, passes: int) -> Run:
    """Train the paper's balanced random tree, whose rows follow one path."""
    model = ConditionalTreeClassifier(
        structure="shuffled", mixing=False, refine=0, learning_rate=rate, n_passes=passes
    ).fit(*data.train)
    valid, test = model.predict_greedy(data.valid[0]), model.predict_greedy(data.test[0])
    return Run(valid, test, model.predict_label_proba(*data.test))


def fitted(make: Callable[..., Any], **fixed: Any) -> Callable[..., Run]:
    def learn(data: SmallSet, rate: float, passes: int) -> Run:
        model = make(learning_rate=rate, n_passes=passes, **fixed).fit(*data.train)
        p_test = model.predict_label_proba(*data.test)
        return Run(model.predict(data.valid[0]), model.predict(data.test[0]), p_test)

    return learn


def vw_log_multi(data: SmallSet, rate: float, passes: int, per_label: int, resistance: int) -> Run:
    told = str(per_label * data.n_labels)
    return vw(data, rate, passes, "--log_multi", told, "--swap_resistance", str(resistance))


def vw_ect(data: SmallSet, rate: float, passes: int) -> Run:
    return vw(data, rate, passes, "--ect", str(data.n_labels))


def vw(data: SmallSet, rate: float, passes: int, *learner: str) -> Run:
    name = data.name.split(",")[0]
    files = {part: peers.WORK / f"trees-{name}-{len(data.train[1])}-{part}.vw"
             for part in ("train", "valid", "test")}  # fmt: skip
    for part, path in files.items():
        if not path.exists():
            write_rows(*getattr(data, part), path)
    model, out = peers.WORK / "trees-model", peers.WORK / "trees-out"
    run_vw(
        *("-d", str(files["train"]), *learner, "-b", "24", "-l", str(rate)),
        *(
            "--passes",
            str(passes),
            "--holdout_off",
            "--cache_file",
            str(peers.WORK / "trees-cache"),
        ),
        *("-k", "--quiet", "-f", str(model)),
    )
    answers = []
    for part in ("valid", "test"):
        run_vw("-d", str(files[part]), "-t", "-i", str(model), "--quiet", "-p", str(out))
        answers.append(peer_runs.read_labels(out) - 1)
    return Run(*answers)


def on_stream(options: Options) -> list[Block]:
    """Accuracy over the last fifth, and examples a second, on the shuffled stream."""
    length = short_length(options)
    runs: list[tuple[Any, float]] = [
        (
            our_runs.progressive_of("LOMtree", LOMTreeClassifier, "shuffled", length),
            learning(length),
        ),
        (our_runs.frozen_of("LOMtree", LOMTreeClassifier, "shuffled", length), 0.0),
        (our_runs.winners_of("filter tree", FilterTreeClassifier, "shuffled", length), 0.0),
        (our_runs.cache("shuffled", length), 0.0),
    ]
    missing: list[str] = []
    theirs, version = None, None
    if options.with_peers:
        file = stream_file("shuffled", length, peers.WORK)
        with noting(missing, "VW"):
            for bits in (peer_runs.SMALL_TABLE_BITS, peer_runs.TABLE_BITS):
                run = peer_runs.vw_progressive("log_multi", file, bits)
                rate = file.n_examples / run.measured.cpu_seconds
                theirs = theirs or rate
                runs.append((run.answers, rate))
            runs.append(end_to_end(file))
            version = peers.peer("vw").version
    n_tail = length - tail_start(length)
    rows = [stream_row(answers.tail(n_tail), rate, theirs) for answers, rate in runs]
    for row in rows:
        print(*row, sep=" | ", file=sys.stderr, flush=True)
    said = (
        "Examples a CPU second. Our rate is that of `partial_fit` alone, on rows in memory; the "
        "command's is of the whole program, like VW's, from its file."
    )
    title = "#### Built-in stream"
    what = f"Shuffled, first {length:,} examples; scores of the last 20 %."
    return [title, what, table(STREAM_HEADER, rows), notes(said, version, *missing)]


def learning(length: int) -> float:
    """Return the examples a second that `partial_fit` learns."""
    model, seconds, n_rows = LOMTreeClassifier(), 0.0, 0
    for chunk in PythonSource(order="shuffled", limit=length):
        started = time.process_time()
        model.partial_fit(chunk.features, chunk.labels)
        seconds += time.process_time() - started
        n_rows += chunk.n_rows
    return n_rows / seconds


def end_to_end(file: StreamFile) -> tuple[Any, float]:
    measured, accuracy = our_runs.stream_command(file, "--model", "lomtree")
    hits = np.zeros(file.n_examples, dtype=bool)
    hits[file.tail_start :][: round(accuracy * (file.n_examples - file.tail_start))] = True
    answers = our_runs.Answers("`labeltrees stream --model lomtree`", hits)
    return answers, file.n_examples / measured.cpu_seconds


def stream_row(answers: Any, rate: float, theirs: float | None) -> list[str]:
    return [
        answers.name,
        number(answers.accuracy),
        number(answers.log_loss_seen, 3),
        number(answers.calibration_error, 3),
        number(rate or None, 0),
        "-" if not rate or not theirs else f"{rate / theirs:.1f}",
    ]
