"""The peers over the built-in stream, each as a program of its own that reads the same file."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from online_sections.scores import Answers
from online_sections.stream_file import StreamFile, copy_rows
from peers import WORK, peer
from processes import Measured, run_measured

PROGRAMS = Path(__file__).parent

#: Bits of VW's weight table; the rest are its defaults. Collisions cost it much: --log_multi on the
#: first 50,000 examples, shuffled, has accuracy .251 at 24 bits, .359 at 28; in file order .309,
#: .353 (26), .372 (28). There, -l 1, -l 2 and logistic loss were no better at 28 bits than its
#: defaults. 29 bits would take 9 GB.
TABLE_BITS = 28
SMALL_TABLE_BITS = 24
MOST_LABELS = 64_000  # VW has to be told; the whole stream has 63,931

#: fastText's epochs and learning rates. On the first 200,000 examples, shuffled, its default of
#: (5, .1) has accuracy .338, (5, .5) .411, (10, .5) .421; in file order .255, .262, .246. On 50,000
#: (5, 1) was no better than (10, .5), and a rate of 2 came apart on more.
FASTTEXT_SETTINGS = ((1, 0.5), (5, 0.5), (10, 0.5))


@dataclass(frozen=True, eq=False)
class PeerRun:
    """A peer's answers, what they cost, and the command, without the machine's folders."""

    answers: Answers
    measured: Measured
    command: str


def vw_learner(kind: str, file: StreamFile, bits: int) -> tuple[str, ...]:
    """Return VW's options for one of its multiclass reductions."""
    # oaa and ect make a predictor for every label they are told of, so they are told the truth.
    n_labels = file.n_labels if kind in ("oaa", "ect") else max(MOST_LABELS, file.n_labels)
    return (f"--{kind}", str(n_labels), "-b", str(bits))


@functools.cache
def vw_progressive(kind: str, file: StreamFile, bits: int) -> PeerRun:
    """VW predicts, then learns, each line of the file."""
    answers = WORK / f"predictions-{kind}.txt"
    options = (*vw_learner(kind, file, bits), "--quiet")
    measured = run_vw("-d", file.path, *options, "-p", str(answers))
    correct = read_labels(answers) == file.labels()
    command = shown(file.path, *options, "-p OUT")
    return PeerRun(Answers(f"VW `--{kind} -b {bits}`, progressive", correct), measured, command)


@functools.cache
def vw_frozen(kind: str, file: StreamFile, bits: int) -> PeerRun:
    """VW learns four fifths, is saved, loaded, and only predicts the last fifth."""
    head, tail, model, answers = (WORK / f"vw-{part}" for part in ("head", "tail", "model", "out"))
    copy_rows(file.path, head, 0, file.tail_start)
    copy_rows(file.path, tail, file.tail_start, file.n_examples)
    options = (*vw_learner(kind, file, bits), "--quiet")
    measured = run_vw("-d", str(head), *options, "-f", str(model))
    run_vw("-d", str(tail), "-t", "-i", str(model), "--quiet", "-p", str(answers))
    correct = read_labels(answers) == file.labels()[file.tail_start :]
    command = f"{shown('head.vw', *options, '-f MODEL')} && {shown('tail.vw', '-t -i MODEL')}"
    return PeerRun(Answers(f"VW `--{kind} -b {bits}`, frozen", correct), measured, command)


def run_vw(*arguments: str) -> Measured:
    return run_measured([peer("vw").python, "-m", "vowpalwabbit", *arguments])


def shown(path: str, *options: str) -> str:
    """Return VW's command without the machine's folders."""
    return " ".join(["python -m vowpalwabbit -d", Path(path).name, *options])


def read_labels(path: Path) -> np.ndarray:
    return np.array([int(float(line.split()[0])) for line in path.read_text().splitlines()])


@functools.cache
def fasttext_frozen(file: StreamFile, epochs: int, rate: float) -> PeerRun:
    """fastText learns four fifths by hierarchical softmax; the last fifth is predicted."""
    head, tail, answers = (WORK / f"fasttext-{part}.txt" for part in ("head", "tail", "out"))
    copy_rows(file.path, head, 0, file.tail_start, label="__label__{}")
    copy_rows(file.path, tail, file.tail_start, file.n_examples, label="__label__{}")
    program = str(PROGRAMS / "fasttext_program.py")
    settings = [str(epochs), str(rate)]
    measured = run_measured(
        [peer("fasttext").python, program, str(head), str(tail), str(answers), *settings]
    )
    labels, p_top = np.loadtxt(answers, ndmin=2).T
    correct = labels.astype(np.int64) == file.labels()[file.tail_start :]
    passes = "1 epoch" if epochs == 1 else f"{epochs} epochs"
    name = f"fastText `hs`, {passes}, frozen"
    command = f"train_supervised({head.name}, loss='hs', epoch={epochs}, lr={rate}, thread=1)"
    return PeerRun(Answers(name, correct, p_top=p_top), measured, command)


@functools.cache
def river_progressive(file: StreamFile) -> PeerRun:
    """River predicts, then learns, each line; one logistic regression per label."""
    answers = WORK / "river-out.txt"
    program = str(PROGRAMS / "river_program.py")
    measured = run_measured([peer("river").python, program, file.path, str(answers)])
    correct, p_label, p_top, is_new = np.loadtxt(answers, ndmin=2).T
    name = "River `OneVsRestClassifier`, progressive"
    return PeerRun(
        Answers(name, correct > 0, p_label, p_top, is_new > 0),
        measured,
        "OneVsRestClassifier(LogisticRegression(AdaGrad(0.3)))",
    )
