"""VW's learners of label sets, from its command line, over text files.

Times are processor times minus the time of reading the same file without learning (`--noop`),
because a second thread reads.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from harness import peers
from harness.data_sets import Split
from harness.processes import Measured
from online_sections.peer_runs import run_vw
from online_sections.small_sets import read_probabilities, row_words

FOLDER = peers.WORK / "multilabel" / "vw"
#: Bits of the weight table, more where there are many labels: 2 GB, or 0.5 GB with `--sgd`.
BITS, MANY_BITS, MANY_LABELS = 24, 27, 2_000
NONE = np.empty((0, 0), np.int64)
N_TOP = 5
#: Labels less likely than this are not printed where only the top ones are scored.
THRESHOLD = 0.002
#: It prints six decimals, so a 0 stands for anything below half of the last.
LEAST_PRINTED = 5e-7


@dataclass(frozen=True, eq=False)
class Answers:
    """The top five labels of each row with their scores, and all labels of the first rows.

    Label -1 is none. Arrays are empty if no row was sampled.
    """

    labels: np.ndarray
    scores: np.ndarray
    all_labels: np.ndarray
    all_scores: np.ndarray
    train_s: float
    ask_us: float
    added_mb: float


def measured(kind: str, split: Split, rate: float | None, n_sample: int, *given: str) -> Answers:
    """Train on a set in one pass and query its rows; without sampled rows, query only the top 5."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    n_rows, n_labels = split.X_test.shape[0], split.Y.shape[1]
    learn, ask, sample = (FOLDER / f"{name}.vw" for name in ("learn", "ask", "sample"))
    write_rows(split.X, split.Y, learn)
    write_rows(split.X_test, split.Y_test, ask)
    write_rows(split.X_test[:n_sample], split.Y_test[:n_sample], sample)
    bits = ("-b", str(MANY_BITS if n_labels > MANY_LABELS else BITS))
    asked = ("--probabilities",) if kind == "multilabel_oaa" else ()
    options = (f"--{kind}", str(n_labels), *asked, "--loss_function", "logistic", *bits, *given)
    learned = run_vw(*on(learn), *options, "-l", str(rate), "-f", str(FOLDER / "model"))
    asking = tree_answers if kind == "plt" else all_answers
    labels, scores, ask_s, all_labels, all_scores = asking(ask, sample, n_rows, n_sample)
    read_s = reading_seconds(learn, *bits) if n_sample else 0.0
    return Answers(
        labels,
        scores,
        all_labels,
        all_scores,
        train_s=max(learned.cpu_seconds - read_s, 1e-3),
        ask_us=1e6 * ask_s / n_rows,
        added_mb=learned.peak_mb - start_up().peak_mb,
    )


Told = tuple[np.ndarray, np.ndarray, float, np.ndarray, np.ndarray]


def tree_answers(ask: Path, sample: Path, n_rows: int, n_sample: int) -> Told:
    """Return the top 5 of `--plt`, their probabilities, and all labels of the sample."""
    out = FOLDER / "out"
    top = ("--top_k", str(N_TOP))
    ask_s = asking_seconds(ask, out, *top) if n_sample else question(ask, out, *top).cpu_seconds
    labels = padded([line.strip().split(",") for line in out.read_text().splitlines()])
    order = 1e-9 * np.arange(labels.shape[1], 0, -1)
    if not n_sample:
        return labels, np.tile(order, (n_rows, 1)), ask_s, NONE, NONE
    # `--top_k` with `--probabilities` crashes, so each is queried separately.
    question(ask, out, "--threshold", str(THRESHOLD), "--probabilities")
    scores = np.array([
        [found.get(label, 0.0) for label in row]
        for row, found in zip(labels.tolist(), printed_pairs(out), strict=True)
    ])  # fmt: skip
    # Printed digits tie, and unlikely labels are not printed, so the top 5 give the order.
    scores = np.maximum(scores, 1e-6) + order
    question(sample, out, "--threshold", "0", "--probabilities")
    every = list(printed_pairs(out))
    all_labels = padded([list(found) for found in every])
    all_scores = np.zeros(all_labels.shape)
    for row, found in enumerate(every):
        all_scores[row, : len(found)] = list(found.values())
    return labels, scores, ask_s, all_labels, np.maximum(all_scores, LEAST_PRINTED)


def all_answers(ask: Path, sample: Path, n_rows: int, n_sample: int) -> Told:
    """Return the predictions of `--multilabel_oaa`, which always computes all labels."""
    out = FOLDER / "out"
    # Its 9.11 writes answers to wrong rows once its ring of rows is full.
    ring = ("--ring_size", str(n_rows + 1))
    ask_s = asking_seconds(ask, out, "--probabilities", *ring)
    p = read_probabilities(out)
    labels = np.argsort(-p, axis=1, kind="stable")[:, :N_TOP]
    scores = np.take_along_axis(p, labels, axis=1)
    every = np.broadcast_to(np.arange(p.shape[1]), (n_sample, p.shape[1]))
    return labels, scores, ask_s, every, np.maximum(p[:n_sample], LEAST_PRINTED)


def question(rows: Path, out: Path, *options: str) -> Measured:
    asked = ("-t", "-i", str(FOLDER / "model"), "--loss_function", "logistic")
    return run_vw(*on(rows), *asked, *options, "-p", str(out))


def asking_seconds(rows: Path, out: Path, *options: str) -> float:
    """Query; return the seconds without loading the model and reading the rows."""
    nothing = FOLDER / "empty.vw"
    nothing.write_text("")
    loaded = question(nothing, FOLDER / "no-out", *options)
    read = run_vw(*on(rows), "--noop").cpu_seconds - start_up().cpu_seconds
    asked = question(rows, out, *options)
    return max(asked.cpu_seconds - loaded.cpu_seconds - max(read, 0.0), 1e-6)


def reading_seconds(rows: Path, *bits: str) -> float:
    """Return the seconds of reading rows and saving an empty table of weights."""
    return run_vw(*on(rows), "--noop", *bits, "-f", str(FOLDER / "nothing")).cpu_seconds


@functools.cache
def start_up() -> Measured:
    """Run VW on no rows: what Python and it take to start."""
    nothing = FOLDER / "empty.vw"
    nothing.write_text("")
    return run_vw(*on(nothing), "--noop")


def on(rows: Path) -> tuple[str, ...]:
    return ("-d", str(rows), "--quiet")


def printed_pairs(path: Path) -> list[dict[int, float]]:
    """Return VW's lines of ``label:p,label:p``, a row each."""
    rows = []
    for line in path.read_text().splitlines():
        pairs = (pair.split(":") for pair in line.strip().split(",") if pair)
        rows.append({int(label): float(p) for label, p in pairs})
    return rows


def padded(rows: list[list[str]] | list[list[int]]) -> np.ndarray:
    """Return lists of labels as an array; a row with fewer ends in -1."""
    width = max(1, max(map(len, rows)))
    labels = np.full((len(rows), width), -1)
    for row, named in enumerate(rows):
        here = [int(label) for label in named if label != ""]
        labels[row, : len(here)] = here
    return labels


def write_rows(X: csr_array, Y: csr_array, path: Path) -> None:
    """Write rows with values; labels start from 0."""
    starts = Y.indptr.tolist()
    with path.open("w") as file:
        for row, words in enumerate(row_words(X)):
            named = Y.indices[starts[row] : starts[row + 1]].tolist()
            file.write(f"{','.join(map(str, named))} | {words}\n")
