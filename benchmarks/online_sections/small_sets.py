"""Our trees, multinomial logistic regression and one-against-all on small multiclass sets."""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from harness import peers
from harness.benchmark import Options
from harness.peers import noting
from harness.processes import Measured
from harness.report import Block, left_out, notes, number, table
from labeltrees import ConditionalTreeClassifier, OneAgainstAllClassifier
from labeltrees.metrics import log_loss, squared_loss
from online_sections.peer_runs import run_vw
from online_sections.small_data import SmallSet, small_sets

STRUCTURES = ("online", "random", "balanced", "huffman", "kmeans")
N_TREES = 8
OUR_PASSES = (1, 3)
PASSES = (5, 20)
OUR_RATES = (0.3, 1.0, 3.0)
MIXING = (True, False)
VW_RATES = (0.2, 0.5, 2.0)
STRENGTHS = (1.0, 10.0, 100.0)
HEADER = [
    *(
        "learner",
        "passes / rate / mixing, or C",
        "error %",
        "log loss",
        "squared loss",
        "train CPU s",
    ),
]
DEFAULTS = ConditionalTreeClassifier()

#: P(label) of all labels for the rows to choose by and to test, and the seconds of learning.
Learned = tuple[np.ndarray, np.ndarray, float]


@dataclass(frozen=True)
class Result:
    """The scores of the settings that did best on the rows to choose by."""

    chosen: tuple[float, ...]
    error: float
    log_loss: float
    squared_loss: float
    seconds: float


def section(options: Options) -> list[Block]:
    """Return a table for each set in the folder of data."""
    title = "Small sets"
    if options.data is None:
        return left_out(title, "folder of data")
    sets = small_sets(options.data, options.limit)
    tables = [block for each in sets for block in one_set(each, options.with_peers)]
    said = (
        "Settings are chosen by the log loss (floor 1e-9) on held-out rows, from which the tested "
        f"models do not learn. Ours take passes from {OUR_PASSES}, VW from {PASSES}. Ours take the "
        f"learning rate from {OUR_RATES}, VW `-l` from {VW_RATES}, scikit-learn C from "
        f"{STRENGTHS}. Trees mix or not (1 or 0). The pool with default settings has no choices, "
        "and the other pool all but the rate. One-against-all makes the same number of passes. "
        "Seconds are of the processor, with all threads, and for VW of its whole program."
    )
    return [f"### {title}", said, *tables]


def one_set(data: SmallSet, with_peers: bool) -> list[Block]:
    grid = list(itertools.product(OUR_PASSES, OUR_RATES, MIXING))
    rows = [
        row(f"labeltrees, {structure}", best(data, grid, tree_learner(structure)))
        for structure in STRUCTURES
    ]
    default = (1, DEFAULTS.learning_rate, DEFAULTS.mixing)
    pool = tree_learner("kmeans", N_TREES)
    chosen = best(data, list(itertools.product(OUR_PASSES, [default[1]], MIXING)), pool)
    rows.append(
        row(f"labeltrees, {N_TREES} kmeans trees, default settings", best(data, [default], pool))
    )
    rows.append(row(f"labeltrees, {N_TREES} kmeans trees", chosen))
    for n_passes in sorted({int(default[0]), int(chosen.chosen[0])}):
        several = [(n_passes, rate) for rate in OUR_RATES]
        rows.append(row("labeltrees, one against all", best(data, several, every_label)))
    rows.append(row("multinomial logistic", best(data, [(c,) for c in STRENGTHS], multinomial)))
    missing: list[str] = []
    if with_peers:
        with noting(missing, "VW"):
            chosen = best(data, list(itertools.product(PASSES, VW_RATES)), one_against_all)
            rows.append(row(f"VW `--oaa` ({peers.peer('vw').version})", chosen))
    return [f"#### {data.name}", f"{data.sizes}.", table(HEADER, rows), notes(*missing)]


def best(data: SmallSet, grid: list[tuple[float, ...]], learn: Callable[..., Learned]) -> Result:
    """Return the test scores of the settings with the least log loss on the rows to choose by."""
    tried = []
    for settings in grid:
        p_valid, p_test, seconds = learn(data, *settings)
        truth = data.valid[1]
        tried.append((log_loss(of_truth(p_valid, truth)), p_test, seconds, settings))
    _, p_test, seconds, settings = min(tried, key=lambda each: each[0])
    truth = data.test[1]
    p = of_truth(p_test, truth)
    return Result(
        chosen=settings,
        error=float((p_test.argmax(axis=1) != truth).mean()),
        log_loss=log_loss(p),
        squared_loss=squared_loss(p),
        seconds=seconds,
    )


def of_truth(p: np.ndarray, truth: np.ndarray) -> np.ndarray:
    return np.clip(p[np.arange(len(truth)), truth], 0, 1)


def tree_learner(structure: str, n_trees: int = 1) -> Callable[..., Learned]:
    def learn(data: SmallSet, n_passes: int, rate: float, mixing: bool) -> Learned:
        model = ConditionalTreeClassifier(
            structure=structure,
            n_trees=n_trees,
            refine=0,
            n_passes=n_passes,
            learning_rate=rate,
            mixing=mixing,
        )
        return learned(model, data)

    return learn


def every_label(data: SmallSet, n_passes: int, rate: float) -> Learned:
    return learned(OneAgainstAllClassifier(n_passes=n_passes, learning_rate=rate), data)


def multinomial(data: SmallSet, strength: float) -> Learned:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # More than 200 steps change nothing.
        return learned(LogisticRegression(C=strength, max_iter=200), data)


def learned(model: Any, data: SmallSet) -> Learned:
    started = time.process_time()
    model.fit(*data.train)
    seconds = time.process_time() - started
    answers = []
    for X, _ in (data.valid, data.test):
        p = np.zeros((X.shape[0], data.n_labels))
        p[:, model.classes_.astype(np.int64)] = model.predict_proba(X)
        answers.append(p)
    return answers[0], answers[1], seconds


def one_against_all(data: SmallSet, n_passes: int, rate: float) -> Learned:
    """VW's ``--oaa`` with probabilities."""
    model, measured = vw_every_label(data, n_passes, rate)
    path, out = peers.WORK / "small-asked.vw", peers.WORK / "small-out"
    answers = []
    for part in (data.valid, data.test):
        write_rows(*part, path)
        asked = ("-t", "-i", str(model), "--probabilities", "--quiet", "-p", str(out))
        run_vw("-d", str(path), *asked)
        answers.append(read_probabilities(out))
    return answers[0], answers[1], measured.cpu_seconds


def vw_every_label(data: SmallSet, n_passes: int, rate: float) -> tuple[Path, Measured]:
    """Return the file of a model that VW learned; its cache is made anew each time."""
    path, model = peers.WORK / "small-train.vw", peers.WORK / "small-model"
    write_rows(*data.train, path)
    measured = run_vw(
        *("-d", str(path), "--oaa", str(data.n_labels), "--loss_function", "logistic"),
        *("--probabilities", "-b", "24", "-l", str(rate), "--passes", str(n_passes)),
        *("--holdout_off", "--cache_file", str(peers.WORK / "small-cache"), "-k", "--quiet"),
        *("-f", str(model)),
    )
    return model, measured


def read_probabilities(path: Path) -> np.ndarray:
    """Return VW's lines of ``label:p`` as a matrix; `--multilabel_oaa` puts blanks between them."""
    lines = [line.split() for line in path.read_text().splitlines() if line.strip()]
    return np.array([[float(pair.split(":")[1]) for pair in line] for line in lines])


def write_rows(X: Any, y: np.ndarray, path: Any) -> None:
    """Write rows with values; VW's labels start from 1."""
    with path.open("w") as file:
        for label, words in zip(y.tolist(), row_words(X), strict=True):
            file.write(f"{label + 1} | {words}\n")


def row_words(X: Any) -> Iterator[str]:
    """Return each row's features and values as VW reads them."""
    for begin, end in itertools.pairwise(X.indptr.tolist()):
        pairs = zip(X.indices[begin:end].tolist(), X.data[begin:end].tolist(), strict=True)
        yield " ".join(f"f{column}:{value:.6g}" for column, value in pairs)


def row(name: str, result: Result) -> list[str]:
    return [
        name,
        " / ".join(f"{value:g}" for value in result.chosen),
        number(100 * result.error, 2),
        number(result.log_loss),
        number(result.squared_loss),
        number(result.seconds, 2),
    ]
