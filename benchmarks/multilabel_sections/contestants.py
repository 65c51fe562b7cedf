"""The contestants with their settings, and what a run of each of them measures."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.contestants import Contestant, as_matrix, settings_of
from harness.data_sets import Split
from labeltrees.metrics import (
    calibration_error_at_k,
    label_log_loss,
    ndcg_at_k,
    precision_at_k,
)
from multilabel_sections import vw
from multilabel_sections.data_sets import choosing
from multilabel_sections.vw import Answers

#: Number of labels requested per row.
N_TOP = 5
#: Maximum number of rows with probabilities of all labels, and of such probabilities in total.
N_SAMPLE, MOST_SAMPLED = 1_000, 6_000_000
#: Maximum number of labels for methods with one predictor per label.
MOST_ONE_AGAINST_ALL = 1_000


def _tree(what: str, passes: int, **options: Any) -> Contestant:
    settings = settings_of("MultiLabelTreeClassifier", passes=passes, **options)
    return Contestant(f"labeltrees, {what}", "labeltrees_program", settings, online=passes == 1)


OURS = _tree("one pass", 1)
OURS_IN_PASSES = _tree("`fit`, 3 passes", 3)
BATCH = Contestant(
    "labeltrees, `ExtremeRegressor`",
    "labeltrees_program",
    settings_of("ExtremeRegressor", mapped=True),
    online=False,
)
VW_TREE = Contestant(
    "VW `--plt`", "vw", '{"kind": "plt", "given": []}', "vw", rates=(0.5, 2.0, 8.0)
)
OUR_OWN = (OURS, _tree("one pass, `refine=0`", 1, refine=0), OURS_IN_PASSES, BATCH)
PEERS = (
    Contestant("napkinXC OPLT", "oplt_program", peer="napkinxc", rates=(0.3, 1.0, 3.0)),
    VW_TREE,
    Contestant(
        "VW `--plt --sgd`",
        "vw",
        '{"kind": "plt", "given": ["--sgd", "--power_t", "0"]}',
        "vw",
        rates=(0.2, 1.0, 5.0),
    ),
    Contestant(
        "VW `--multilabel_oaa`",
        "vw",
        '{"kind": "multilabel_oaa", "given": []}',
        "vw",
        rates=(0.2, 0.5, 2.0),
    ),
    Contestant(
        "Omikuji, log loss, 1 tree",
        "omikuji_program",
        '{"loss": "log", "n_trees": 1}',
        "omikuji",
        online=False,
    ),
)


def taking_part(split: Split, *, with_peers: bool) -> list[Contestant]:
    """Return the contestants of a set."""
    few = split.Y.shape[1] <= MOST_ONE_AGAINST_ALL
    peers = [each for each in PEERS if few or "oaa" not in each.name] if with_peers else []
    return [*OUR_OWN, *peers]


@dataclass(frozen=True, eq=False)
class Run:
    """The measurements of one contestant."""

    contestant: Contestant
    rate: float | None
    answers: Answers

    def scores(self, split: Split) -> dict[str, float | None]:
        """Return quality and cost by column of the table."""
        n_labels, told = split.Y.shape[1], self.answers
        top = as_matrix(told.labels, told.scores, n_labels)
        found: dict[str, float | None] = {
            f"P@{k}": 100 * precision_at_k(split.Y_test, top, k) for k in (1, 3, 5)
        }
        found["nDCG@5"] = 100 * ndcg_at_k(split.Y_test, top, 5)
        every = as_matrix(told.all_labels, told.all_scores.clip(0, 1), n_labels)
        sampled = split.Y_test[: every.shape[0]]
        found["label log loss"] = n_labels * label_log_loss(sampled, every)
        learned = np.flatnonzero(split.Y.sum(axis=0))
        found["of labels learned"] = len(learned) * label_log_loss(
            sampled[:, learned], every[:, learned]
        )
        found["ECE@1"] = calibration_error_at_k(split.Y_test, top, 1)
        found["rows/s"] = split.X.shape[0] / told.train_s
        found["top 5 µs/row"] = told.ask_us
        found["MB"] = told.added_mb
        return found


def n_sampled(split: Split) -> int:
    """Return the number of rows whose probabilities of all labels are requested."""
    return max(1, min(N_SAMPLE, split.X_test.shape[0], MOST_SAMPLED // split.Y.shape[1]))


def run(contestant: Contestant, split: Split) -> Run:
    """Choose the rate where there are several, then train once and query."""
    contestant.python()  # or raise before anything is measured
    rate = chosen_rate(contestant, split) if contestant.rates else None
    return Run(contestant, rate, measured(contestant, split, rate, n_sampled(split)))


def chosen_rate(contestant: Contestant, split: Split) -> float:
    """Return the rate with the best nDCG@5 on training rows kept apart."""
    apart, tried = choosing(split), []
    for rate in contestant.rates:
        told = measured(contestant, apart, rate, 0)
        top = as_matrix(told.labels, told.scores, split.Y.shape[1])
        tried.append(ndcg_at_k(apart.Y_test, top, 5))
        said = f"    {contestant.name}, rate {rate:g}: nDCG@5 {100 * tried[-1]:.2f}"
        print(said, file=sys.stderr, flush=True)
    return contestant.rates[int(np.argmax(tried))]


def measured(contestant: Contestant, split: Split, rate: float | None, n_sample: int) -> Answers:
    """Train in one process, then load and query in another."""
    settings = json.loads(contestant.settings)
    if contestant.program == "vw":
        return vw.measured(settings["kind"], split, rate, n_sample, *settings["given"])
    given = {"rate": rate, "cost": None, "threads": 1, "timed": False}
    facts, found = contestant.run(split, **given, n_top=N_TOP, n_sample=n_sample)
    costs = {"train_s": facts["train_cpu_s"]} | {key: facts[key] for key in ("ask_us", "added_mb")}
    return Answers(**costs, **found)
