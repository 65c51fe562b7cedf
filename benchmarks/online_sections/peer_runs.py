"""The peers on the built-in stream, each as a program that reads the same file."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness import peers
from harness.processes import Measured, run_measured
from online_sections.scores import Answers
from online_sections.stream_file import StreamFile, copy_rows, tail_start

PROGRAMS = Path(__file__).parent

#: Bits of VW's weight table; the rest are its defaults. Collisions cost it much: --log_multi on the
#: first 50,000 examples, shuffled, has accuracy 0.251 at 24 bits and 0.359 at 28; in file order it
#: has 0.309, 0.353 (26) and 0.372 (28). There, -l 1, -l 2 and logistic loss were no better at 28
#: bits than its defaults. 29 bits would take 9 GB.
TABLE_BITS = 28
SMALL_TABLE_BITS = 24
MOST_LABELS = 64_000  # VW needs the number in advance; the whole stream has 63,931.

#: fastText's epochs and learning rates. On the first 200,000 examples, shuffled, its default of
#: (5, 0.1) has accuracy 0.338, (5, 0.5) has 0.411 and (10, 0.5) has 0.421. In file order they have
#: 0.255, 0.262 and 0.246. On 50,000 examples (5, 1) was no better than (10, 0.5), and a rate of 2
#: diverged on more.
FASTTEXT_SETTINGS = ((1, 0.5), (5, 0.5), (10, 0.5))

#: Adaptive softmax's learning rates, of which the best on the first tenth of the stream is taken.
ADAPTIVE_RATES = (0.02, 0.05, 0.1, 0.2)
APART = 0.1


@dataclass(frozen=True)
class Costs:
    """Seconds of learning, microseconds of a question per row, and megabytes of the model."""

    train_seconds: float | None = None
    top_us: float | None = None
    label_us: float | None = None
    megabytes: float | None = None


@dataclass(frozen=True, eq=False)
class PeerRun:
    """A peer's answers, what they cost, and the command, without the machine's folders."""

    answers: Answers
    measured: Measured
    command: str
    costs: Costs | None = None


def vw_learner(kind: str, file: StreamFile, bits: int) -> tuple[str, ...]:
    """Return VW's options for one of its multiclass reductions."""
    # oaa and ect make a predictor for each label, so they get the true number of labels.
    n_labels = file.n_labels if kind in ("oaa", "ect") else max(MOST_LABELS, file.n_labels)
    return (f"--{kind}", str(n_labels), "-b", str(bits))


def run_vw_progressive(kind: str, file: StreamFile, bits: int) -> PeerRun:
    """Run VW, which predicts each line of the file and then learns from it."""
    answers = peers.WORK / f"predictions-{kind}.txt"
    options = (*vw_learner(kind, file, bits), "--quiet")
    measured = run_vw("-d", file.path, *options, "-p", str(answers))
    correct = read_labels(answers) == file.labels()
    name = f"VW `--{kind} -b {bits}`, progressive"
    return PeerRun(Answers(name, correct), measured, vw_command(kind, file, bits))


def vw_command(kind: str, file: StreamFile, bits: int) -> str:
    """Return the command of `run_vw_progressive` without the machine's folders."""
    return shown(file.path, *vw_learner(kind, file, bits), "--quiet", "-p OUT")


#: The same, run once for all sections.
vw_progressive = functools.cache(run_vw_progressive)


@functools.cache
def vw_frozen(kind: str, file: StreamFile, bits: int) -> PeerRun:
    """VW learns four fifths, is saved, loaded, and only predicts the last fifth."""
    head, tail, model, answers = (
        peers.WORK / f"vw-{part}" for part in ("head", "tail", "model", "out")
    )
    copy_rows(file.path, head, 0, file.tail_start)
    copy_rows(file.path, tail, file.tail_start, file.n_examples)
    options = (*vw_learner(kind, file, bits), "--quiet")
    measured = run_vw("-d", str(head), *options, "-f", str(model))
    costs = vw_costs(measured, model, tail, answers, file.n_examples - file.tail_start)
    correct = read_labels(answers) == file.labels()[file.tail_start :]
    command = f"{shown('head.vw', *options, '-f MODEL')} && {shown('tail.vw', '-t -i MODEL')}"
    answers_told = Answers(f"VW `--{kind} -b {bits}`, frozen", correct)
    return PeerRun(answers_told, measured, command, costs)


def vw_costs(
    learned: Measured, model: Path, rows: Path, answers: Path, n_rows: int, *options: str
) -> Costs:
    """Query a saved model with a file; the time of loading the model is subtracted."""
    nothing = peers.WORK / "vw-nothing"
    nothing.write_text("")
    asking = ("-t", "-i", str(model), "--quiet", "-p", str(answers), *options)
    loaded = run_vw("-d", str(nothing), *asking)
    asked = run_vw("-d", str(rows), *asking)
    seconds = max(asked.wall_seconds - loaded.wall_seconds, 0.0)
    return Costs(learned.wall_seconds, seconds / n_rows * 1e6, megabytes=learned.peak_mb)


def run_vw(*arguments: str) -> Measured:
    return run_measured([peers.peer("vw").python, "-m", "vowpalwabbit", *arguments])


def shown(path: str, *options: str) -> str:
    """Return VW's command without the machine's folders."""
    return " ".join(["python -m vowpalwabbit -d", Path(path).name, *options])


def read_labels(path: Path) -> np.ndarray:
    return np.array([int(float(line.split()[0])) for line in path.read_text().splitlines()])


@functools.cache
def fasttext_frozen(file: StreamFile, epochs: int, rate: float) -> PeerRun:
    """fastText learns four fifths by hierarchical softmax; the last fifth is predicted."""
    head, tail = (peers.WORK / f"fasttext-{part}.txt" for part in ("head", "tail"))
    copy_rows(file.path, head, 0, file.tail_start, label="__label__{}")
    copy_rows(file.path, tail, file.tail_start, file.n_examples, label="__label__{}")
    told = run_program("fasttext", "fasttext_program.py", head, tail, epochs, rate, "hs")
    labels = file.labels()
    name = f"fastText `hs`, {passes(epochs)}, frozen"
    command = f"train_supervised({head.name}, loss='hs', epoch={epochs}, lr={rate}, thread=1)"
    answers = told.answers(name, labels[file.tail_start :], labels[: file.tail_start])
    return PeerRun(answers, told.measured, command, told.costs)


@functools.cache
def adaptive_softmax_frozen(file: StreamFile, epochs: int) -> PeerRun:
    """Train PyTorch's adaptive softmax on four fifths, whose labels it knows in advance."""
    rate = adaptive_rate(file, epochs)
    told = adaptive_softmax(file, file.tail_start, file.n_examples, epochs, rate)
    labels = file.labels()
    name = f"PyTorch adaptive softmax, {passes(epochs)}, frozen"
    command = f"AdaptiveLogSoftmaxWithLoss over EmbeddingBag, Adagrad(lr={rate}), {passes(epochs)}"
    answers = told.answers(name, labels[file.tail_start :], labels[: file.tail_start])
    return PeerRun(answers, told.measured, command, told.costs)


def adaptive_rate(file: StreamFile, epochs: int) -> float:
    """Return the rate with the least log loss on the last fifth of the first tenth of the file."""
    n_apart = max(round(APART * file.n_examples), 10)
    cut = tail_start(n_apart)
    labels = file.labels()[:n_apart]

    def loss(rate: float) -> float:
        told = adaptive_softmax(file, cut, n_apart, epochs, rate)
        return told.answers("", labels[cut:], labels[:cut]).log_loss_seen or float("inf")

    return min(ADAPTIVE_RATES, key=loss)


def adaptive_softmax(file: StreamFile, cut: int, stop: int, epochs: int, rate: float) -> Told:
    head, tail = (peers.WORK / f"adaptive-{part}.vw" for part in ("head", "tail"))
    copy_rows(file.path, head, 0, cut)
    copy_rows(file.path, tail, cut, stop)
    return run_program("torch", "adaptive_softmax_program.py", head, tail, epochs, rate)


@dataclass(frozen=True, eq=False)
class Told:
    """The top label of each queried row, its P, and P of the true label, with the costs."""

    top: np.ndarray
    p_top: np.ndarray
    p_label: np.ndarray
    measured: Measured
    costs: Costs

    def answers(self, name: str, truth: np.ndarray, learned: np.ndarray) -> Answers:
        is_new = ~np.isin(truth, learned)
        return Answers(name, self.top == truth, self.p_label, self.p_top, is_new)


def run_program(name: str, program: str, train: Path, asked: Path, *settings: object) -> Told:
    """Run a program of this folder in a peer's environment."""
    out = peers.WORK / f"{name}-out.txt"
    command = [peers.peer(name).python, str(PROGRAMS / program), str(train), str(asked), str(out)]
    measured = run_measured([*command, *map(str, settings)])
    top, p_top, p_label = np.loadtxt(out, ndmin=2).T
    costs = Costs(**json.loads(measured.output.splitlines()[-1]))
    return Told(top.astype(np.int64), p_top, np.minimum(p_label, 1), measured, costs)


def passes(epochs: int) -> str:
    return "1 epoch" if epochs == 1 else f"{epochs} epochs"


@functools.cache
def river_progressive(file: StreamFile) -> PeerRun:
    """River predicts, then learns, each line; one logistic regression per label."""
    answers = peers.WORK / "river-out.txt"
    program = str(PROGRAMS / "river_program.py")
    measured = run_measured([peers.peer("river").python, program, file.path, str(answers)])
    correct, p_label, p_top, is_new = np.loadtxt(answers, ndmin=2).T
    name = "River `OneVsRestClassifier`, progressive"
    return PeerRun(
        Answers(name, correct > 0, p_label, p_top, is_new > 0),
        measured,
        "OneVsRestClassifier(LogisticRegression(AdaGrad(0.3)))",
    )
