"""The contestants with their settings, and what a run of each of them measures."""

from __future__ import annotations

import functools
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from harness.contestants import Contestant, as_matrix, settings_of
from harness.data_sets import Split, choosing
from labeltrees.metrics import label_log_loss, multilabel_report, ndcg_at_k, propensities
from labeltrees.models.extreme.settings import ExtremeSettings

#: Number of labels per row whose quality is measured.
SCORED_LABELS = 100
COSTS = (0.3, 1.0, 3.0, 10.0)
MOST_LABELS_NAMED = 2_000


def default_cost(contestant: Contestant, split: Split) -> str:
    """Return a contestant's default C; ours depends on the rows."""
    return contestant.usual_cost or f"{ExtremeSettings().cost_of(split.X.shape[0]):.3g}"


def _omikuji(loss: str, n_trees: int) -> Contestant:
    trees = "1 tree" if n_trees == 1 else f"{n_trees} trees"
    return Contestant(
        f"Omikuji {loss}, {trees}",
        "omikuji_program",
        json.dumps({"loss": loss, "n_trees": n_trees}),
        "omikuji",
        usual_cost="1",
        probabilities=loss == "log",
        sibling=None if n_trees == 1 else f"Omikuji {loss}, 1 tree",
    )


def _ours(what: str, sibling: str | None = None, **options: Any) -> Contestant:
    settings = settings_of("ExtremeRegressor", mapped=True, **options)
    probable = options.get("loss", "logistic") == "logistic"
    name, program = f"labeltrees, {what}", "labeltrees_program"
    return Contestant(name, program, settings, probabilities=probable, sibling=sibling)


PEERS = (
    _omikuji("hinge", 1),
    _omikuji("log", 1),
    Contestant(
        "PECOS XR-Linear", "pecos_program", peer="pecos", usual_cost="1", probabilities=False
    ),
    Contestant("napkinXC PLT", "napkinxc_program", peer="napkinxc", usual_cost="10"),
    _omikuji("hinge", 3),
    _omikuji("log", 3),
)
OURS = (
    _ours("default", sibling="labeltrees, 1 tree"),
    _ours("1 tree", n_trees=1),
    _ours("hinge, 1 tree", n_trees=1, loss="hinge"),
)
ONE_VS_REST = Contestant("scikit-learn, one vs rest", "ovr_program", usual_cost="1")


@dataclass(frozen=True, eq=False)
class Run:
    """The cost of training and querying one contestant, and its 100 best labels per row."""

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
    """Train and query; ``named`` also requests the scores of all labels."""
    n_rows, n_labels = split.Y_test.shape
    settings = {"cost": cost, "threads": threads, "timed": timed, "n_top": SCORED_LABELS}
    n_sample = n_rows if named else 0
    facts, found = contestant.run(split, most_seconds, **settings, n_sample=n_sample)
    scores = as_matrix(found["labels"], found["scores"], n_labels)
    every = as_matrix(found["all_labels"], found["all_scores"], n_labels) if named else None
    return Run(contestant, cost, facts, scores, every)


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
