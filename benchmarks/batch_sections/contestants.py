"""Who takes part, with which settings, and what a run of one measures."""

from __future__ import annotations

import functools
import json
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from batch_sections.data_sets import Split, choosing
from harness.peers import WORK, peer
from harness.processes import run_measured
from labeltrees.metrics import label_log_loss, multilabel_report, ndcg_at_k, propensities
from labeltrees.models.extreme.settings import ExtremeSettings

PROGRAMS = Path(__file__).parent
COSTS = (0.3, 1.0, 3.0, 10.0)
MOST_LABELS_NAMED = 2_000


@dataclass(frozen=True)
class Contestant:
    """A learner with its settings; its C may be chosen, or taken from a faster sibling's choice."""

    name: str
    program: str
    settings: str
    usual_cost: str | None
    probabilities: bool = True
    sibling: str | None = None

    def default_cost(self, split: Split) -> str:
        """Return the C that it takes by itself; ours depends on the rows."""
        return self.usual_cost or f"{ExtremeSettings().cost_of(split.X.shape[0]):.3g}"

    def python(self) -> str:
        """Return the interpreter of its environment, or raise `MissingPeerError`."""
        return (
            sys.executable if self.program in ("labeltrees", "ovr") else peer(self.program).python
        )


def _omikuji(loss: str, n_trees: int) -> Contestant:
    trees = "1 tree" if n_trees == 1 else f"{n_trees} trees"
    return Contestant(
        f"Omikuji {loss}, {trees}",
        "omikuji",
        json.dumps({"loss": loss, "n_trees": n_trees}),
        "1",
        probabilities=loss == "log",
        sibling=None if n_trees == 1 else f"Omikuji {loss}, 1 tree",
    )


def _ours(what: str, sibling: str | None = None, **options: Any) -> Contestant:
    settings = json.dumps({"options": options})
    probable = options.get("loss", "logistic") == "logistic"
    return Contestant(f"labeltrees, {what}", "labeltrees", settings, None, probable, sibling)


PEERS = (
    _omikuji("hinge", 1),
    _omikuji("log", 1),
    Contestant("PECOS XR-Linear", "pecos", "{}", "1", probabilities=False),
    Contestant("napkinXC PLT", "napkinxc", "{}", "10"),
    _omikuji("hinge", 3),
    _omikuji("log", 3),
)
OURS = (
    _ours("default", sibling="labeltrees, 1 tree"),
    _ours("1 tree", n_trees=1),
    _ours("hinge, 1 tree", n_trees=1, loss="hinge"),
)
ONE_VS_REST = Contestant("scikit-learn, one vs rest", "ovr", "{}", "1")


@dataclass(frozen=True, eq=False)
class Run:
    """One contestant, learned and asked: what it cost, and its 100 best labels a row."""

    contestant: Contestant
    cost: float | None
    facts: dict[str, Any]
    scores: csr_array
    every_label: csr_array | None = field(repr=False)


def measured(
    contestant: Contestant,
    split: Split,
    cost: float | None,
    *,
    threads: int,
    timed: bool = True,
    named: bool = False,
    most_seconds: int | None = None,
) -> Run:
    """Train in one process, load and ask in another, each in the contestant's environment.

    Each is stopped after ``most_seconds`` of the processor.
    """
    python, program = contestant.python(), str(PROGRAMS / f"{contestant.program}_program.py")
    model = WORK / "batch" / "models" / f"{contestant.program}"
    shutil.rmtree(model, ignore_errors=True)
    model.mkdir(parents=True)
    settings = json.loads(contestant.settings)
    settings |= {"cost": cost, "threads": threads, "timed": timed, "named": named}
    command = [python, program, "train", str(split.folder), str(model), json.dumps(settings)]
    trained = run_measured(command, most_seconds)
    out = WORK / "batch" / "answers.npz"
    command = [python, program, "predict", str(split.folder), str(model), json.dumps(settings)]
    asked = run_measured([*command, str(out)], most_seconds)
    facts = {
        **json.loads(trained.output.splitlines()[-1]),
        **json.loads(asked.output.splitlines()[-1]),
        "train_mb": trained.peak_mb,
        "ask_mb": asked.peak_mb,
        "model_mb": sum(f.stat().st_size for f in model.rglob("*") if f.is_file()) / 1e6,
    }
    with np.load(out) as answers:
        scores = as_matrix(answers["labels"], answers["scores"], split.Y_test.shape[1])
        every = (
            as_matrix(answers["all_labels"], answers["all_scores"], split.Y_test.shape[1])
            if named
            else None
        )
    return Run(contestant, cost, facts, scores, every)


def as_matrix(labels: np.ndarray, scores: np.ndarray, n_labels: int) -> csr_array:
    """Return a contestant's answers as a sparse matrix; label -1 is none."""
    used = labels >= 0
    starts = np.concatenate(([0], np.cumsum(used.sum(axis=1))))
    shape = (len(labels), n_labels)
    return csr_array((scores[used].astype(np.float64), labels[used], starts), shape=shape)


@functools.cache
def chosen_cost(
    contestant: Contestant, data: Path, name: str, limit: int | None, threads: int
) -> float:
    """Return the C with the best nDCG@5 on rows kept apart from the training rows."""
    split = choosing(data, name, limit)
    tried = []
    for cost in COSTS:
        run = measured(contestant, split, cost, threads=threads, timed=False)
        tried.append(ndcg_at_k(split.Y_test, run.scores, 5))
        said = f"  {contestant.name}, {name}, C={cost:g}: nDCG@5 {100 * tried[-1]:.2f}"
        print(said, file=sys.stderr, flush=True)
    return COSTS[int(np.argmax(tried))]


def quality(run: Run, split: Split) -> dict[str, float]:
    """Return the scores of a run's answers; log loss where every label has a probability."""
    report = multilabel_report(
        split.Y_test, run.scores, ks=(1, 3, 5), propensity=propensities(split.Y)
    )
    found = {f"{name}@{k}": value for name, values in report.items() for k, value in values.items()}
    if run.every_label is not None and run.contestant.probabilities:
        every = run.every_label.copy()
        every.data = every.data.clip(0, 1)  # rounding of float32
        found["log loss"] = label_log_loss(split.Y_test, every)
    return found
