"""Refined trees at the defaults of `fit` beside tuned peers, on the small sets."""

from __future__ import annotations

import itertools
import re
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import vstack
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from harness import peers
from harness.benchmark import Options
from harness.peers import noting
from harness.report import Block, notes, number, table
from harness.timing import timed
from online_sections import our_runs
from online_sections.peer_runs import Costs, Told, run_program, vw_costs
from online_sections.queries import N_RUNS
from online_sections.scores import Answers
from online_sections.small_data import SmallSet, small_sets
from online_sections.small_sets import read_probabilities, vw_every_label, write_rows

#: Our contestants, by what is not the default of `fit`; nothing of them is chosen.
OURS: dict[str, dict[str, Any]] = {
    "plain tree": {"refine": 0},
    "default": {},
    "n_trees=4": {"n_trees": 4},
}
STRENGTHS = (1.0, 10.0, 100.0)
PASSES = (5, 20)
VW_RATES = (0.2, 0.5, 2.0)
FASTTEXT_RATES = (0.5, 1.0, 2.0)
ADAPTIVE_PASSES = (2, 5, 20)
ADAPTIVE_RATES = (0.02, 0.05, 0.2)
HEADER = ["learner", "C, or passes / rate", "error %", "log loss", "ECE@1", "train CPU s",
          "top 1 µs", "MB"]  # fmt: skip


@dataclass(frozen=True, eq=False)
class SmallRun:
    """Answers on the rows to choose by and on those to test, and what they cost."""

    valid: Answers
    test: Answers
    costs: Costs


def tables(options: Options) -> list[Block]:
    """Return a table for each set in the folder of data."""
    assert options.data is not None
    sets = small_sets(options.data, options.limit)
    said = (
        "Ours are at their defaults. Of the others the settings with the least log loss (floor "
        f"1e-9) on rows kept apart are taken: C from {STRENGTHS}, passes from {PASSES} "
        f"(adaptive softmax {ADAPTIVE_PASSES}), rates from "
        f"{VW_RATES} (VW), {FASTTEXT_RATES} (fastText), {ADAPTIVE_RATES} (adaptive softmax); "
        "choosing is not counted in the seconds, which are of the processor, for VW of its whole "
        "program. fastText is given which features a row has, without values. Adaptive softmax "
        "over so few labels is a whole softmax of rank 256. MB: as above; weights of scikit-learn."
    )
    several = [one_set(data, with_peers=options.with_peers) for data in sets]
    return [notes(said), *(block for blocks in several for block in blocks)]


def one_set(data: SmallSet, *, with_peers: bool) -> list[Block]:
    rows = [
        row(f"labeltrees, {name}", (), ours(data, make))
        for name, make in our_runs.makers(OURS).items()
    ]
    rows.append(row("multinomial logistic", *best(data, [(c,) for c in STRENGTHS], multinomial)))
    lines: list[str] = []
    for name, title, grid, learn in peers_of(data) if with_peers else []:
        with noting(lines, title):
            rows.append(row(f"{title} ({peers.peer(name).version})", *best(data, grid, learn)))
    if not has_words(data):
        lines.append("fastText is left out because it takes no values.")
    return [f"#### {data.name}", f"{data.sizes}.", table(HEADER, rows), notes(*lines)]


def peers_of(data: SmallSet) -> list[tuple[str, str, list[Any], Callable[..., SmallRun]]]:
    """Return of each peer its name, its title, its settings and how it learns."""
    found: list[tuple[str, str, list[Any], Callable[..., SmallRun]]] = [
        ("vw", "VW `--oaa`", list(itertools.product(PASSES, VW_RATES)), every_label)
    ]
    if has_words(data):
        grid = list(itertools.product(PASSES, FASTTEXT_RATES))
        found += [
            ("fasttext", f"fastText `{loss}`", grid, fasttext(loss)) for loss in ("softmax", "hs")
        ]
    grid = list(itertools.product(ADAPTIVE_PASSES, ADAPTIVE_RATES))
    return [*found, ("torch", "PyTorch adaptive softmax", grid, adaptive_softmax)]


def has_words(data: SmallSet) -> bool:
    """Return whether values are weights of words, which can be left out."""
    return bool(data.train[0].data.min() > 0)


def best(
    data: SmallSet, grid: list[tuple[float, ...]], learn: Callable[..., SmallRun]
) -> tuple[tuple[float, ...], SmallRun]:
    """Return the settings with the least log loss on the rows to choose by, and their run."""
    runs = {settings: learn(data, *settings) for settings in grid}
    return min(runs.items(), key=lambda each: each[1].valid.log_loss_seen or 0.0)


def answers(truth: np.ndarray, top: np.ndarray, p_top: np.ndarray, p_label: np.ndarray) -> Answers:
    """Return answers whose log loss counts every row."""
    return Answers("", top == truth, np.clip(p_label, 0, 1), p_top, np.zeros(len(truth), bool))


def of_matrix(truth: np.ndarray, p: np.ndarray) -> Answers:
    rows = np.arange(len(truth))
    return answers(truth, p.argmax(axis=1), p.max(axis=1), p[rows, truth])


def ours(data: SmallSet, make: Callable[[], Any]) -> SmallRun:
    started = time.process_time()
    model = make().fit(*data.train)
    seconds = time.process_time() - started

    def told(X: Any, y: np.ndarray) -> Answers:
        top, p_top = model.predict_top_k(X, 1)
        return answers(y, top[:, 0], p_top[:, 0], model.predict_label_proba(X, y))

    X, y = data.test
    top_us = timed(lambda: model.predict_top_k(X, 1), repeat=N_RUNS)[1] / len(y) * 1e6
    costs = Costs(seconds, top_us, megabytes=our_runs.megabytes(model))
    return SmallRun(told(*data.valid), told(*data.test), costs)


def multinomial(data: SmallSet, strength: float) -> SmallRun:
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # More than 200 steps change nothing.
        model = LogisticRegression(C=strength, max_iter=200).fit(*data.train)
    seconds = time.process_time() - started

    def told(X: Any, y: np.ndarray) -> Answers:
        p = np.zeros((X.shape[0], data.n_labels))
        p[:, model.classes_] = model.predict_proba(X)
        return of_matrix(y, p)

    X, y = data.test
    top_us = timed(lambda: model.predict(X), repeat=N_RUNS)[1] / len(y) * 1e6
    costs = Costs(seconds, top_us, megabytes=model.coef_.nbytes / 1e6)
    return SmallRun(told(*data.valid), told(*data.test), costs)


def every_label(data: SmallSet, n_passes: int, rate: float) -> SmallRun:
    """VW's ``--oaa``."""
    model, measured = vw_every_label(data, n_passes, rate)
    path, out, truth = asked_rows(data), peers.WORK / "small-out", asked_labels(data)
    costs = vw_costs(measured, model, path, out, len(truth), "--probabilities")
    costs = Costs(measured.cpu_seconds, costs.top_us, megabytes=costs.megabytes)
    p, n_valid = read_probabilities(out), len(data.valid[1])
    parts = (of_matrix(truth[part], p[part]) for part in (slice(n_valid), slice(n_valid, None)))
    return SmallRun(*parts, costs)


def fasttext(loss: str) -> Callable[..., SmallRun]:
    def learn(data: SmallSet, n_epochs: int, rate: float) -> SmallRun:
        train, asked = peers.WORK / "small-train.txt", peers.WORK / "small-asked.txt"
        write_words(train_rows(data), train)
        write_words(asked_rows(data), asked)
        settings = (n_epochs, rate, loss)
        return told_run(
            data, run_program("fasttext", "fasttext_program.py", train, asked, *settings)
        )

    return learn


def adaptive_softmax(data: SmallSet, n_epochs: int, rate: float) -> SmallRun:
    paths = (train_rows(data), asked_rows(data))
    settings = (n_epochs, rate)
    return told_run(data, run_program("torch", "adaptive_softmax_program.py", *paths, *settings))


def told_run(data: SmallSet, told: Told) -> SmallRun:
    truth, top, n_valid = asked_labels(data), told.top - 1, len(data.valid[1])
    parts = (
        answers(truth[part], top[part], told.p_top[part], told.p_label[part])
        for part in (slice(n_valid), slice(n_valid, None))
    )
    return SmallRun(*parts, told.costs)


def train_rows(data: SmallSet) -> Path:
    write_rows(*data.train, peers.WORK / "small-train.vw")
    return peers.WORK / "small-train.vw"


def asked_rows(data: SmallSet) -> Path:
    """Write the rows to choose by and those to test after one another."""
    X = vstack([data.valid[0], data.test[0]], format="csr")
    write_rows(X, asked_labels(data), peers.WORK / "small-asked.vw")
    return peers.WORK / "small-asked.vw"


def asked_labels(data: SmallSet) -> np.ndarray:
    return np.concatenate([data.valid[1], data.test[1]])


def write_words(source: Path, target: Path) -> None:
    """Write VW's rows as fastText reads them: a label, then the features without values."""
    text = re.sub(r":\S+", "", source.read_text())
    target.write_text(re.sub(r"^(\d+) \|", r"__label__\1", text, flags=re.MULTILINE))


def row(name: str, chosen: tuple[float, ...], run: SmallRun) -> list[str]:
    cells = [
        name,
        " / ".join(f"{value:g}" for value in chosen) or "-",
        number(100 * (1 - run.test.accuracy), 2),
        number(run.test.log_loss_seen),
        number(run.test.calibration_error, 3),
        number(run.costs.train_seconds, 2),
        number(run.costs.top_us, 1),
        number(run.costs.megabytes, 1),
    ]
    print(*cells, sep=" | ", file=sys.stderr, flush=True)
    return cells
