"""Learners that train in one process and answer in another, each in its own environment."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from harness import peers
from harness.data_sets import Split
from harness.processes import run_measured

PROGRAM = Path(__file__).parent / "programs" / "measuring.py"


@dataclass(frozen=True)
class Contestant:
    """A learner with its settings.

    ``program`` is a module of `harness/programs` without its ending, and ``peer`` is the
    environment that it runs in. The default is our environment.
    """

    name: str
    program: str
    settings: str = "{}"
    peer: str | None = None
    #: Whether its scores claim to be probabilities.
    probabilities: bool = True
    #: Whether it learns from one row after the other.
    online: bool = True
    #: The default C, or None if it depends on the rows.
    usual_cost: str | None = None
    #: The faster contestant whose choice of C it shares.
    sibling: str | None = None
    #: The learning rates to choose from.
    rates: tuple[float, ...] = ()

    def python(self) -> str:
        """Return the interpreter of its environment, or raise `MissingPeerError`."""
        return sys.executable if self.peer is None else peers.peer(self.peer).python

    def run(
        self, split: Split, most_seconds: int | None = None, **settings: Any
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Train and query; return what was measured, and the arrays of the answers.

        Each of both programs is stopped after ``most_seconds`` of the processor.
        """
        model = peers.WORK / "models" / self.program
        shutil.rmtree(model, ignore_errors=True)
        model.mkdir(parents=True)
        settings = json.loads(self.settings) | settings
        given = (self.python(), self.program, split.folder, model, settings, most_seconds)
        facts = train(*given)
        more, answers = query(*given)
        facts |= more
        facts["model_mb"] = sum(f.stat().st_size for f in model.rglob("*") if f.is_file()) / 1e6
        return facts, answers


def settings_of(
    estimator: str, *, passes: int | None = None, mapped: bool = False, **options: Any
) -> str:
    """Return the settings of `labeltrees_program` for one of our estimators."""
    settings = {"estimator": estimator, "mapped": mapped, "options": options}
    return json.dumps(settings | ({} if passes is None else {"passes": passes}))


def train(
    python: str,
    program: str,
    rows: Path,
    model: Path,
    settings: dict[str, Any],
    most_seconds: int | None = None,
) -> dict[str, Any]:
    """Train in a separate process; return what was measured."""
    command = [python, str(PROGRAM), program, "train", str(rows), str(model), json.dumps(settings)]
    done = run_measured(command, most_seconds)
    return json.loads(done.output.splitlines()[-1]) | {"train_mb": done.peak_mb}


def query(
    python: str,
    program: str,
    rows: Path,
    model: Path,
    settings: dict[str, Any],
    most_seconds: int | None = None,
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Load and query in a separate process; return what was measured, and the predictions."""
    out = peers.WORK / "answers.npz"
    command = [python, str(PROGRAM), program, "query", str(rows), str(model), json.dumps(settings)]
    done = run_measured([*command, str(out)], most_seconds)
    with np.load(out) as answers:
        found = dict(answers)
    return json.loads(done.output.splitlines()[-1]) | {"ask_mb": done.peak_mb}, found


def as_matrix(labels: np.ndarray, scores: np.ndarray, n_labels: int) -> csr_array:
    """Return answers as a sparse matrix; label -1 is none."""
    used = labels >= 0
    starts = np.concatenate(([0], np.cumsum(used.sum(axis=1))))
    shape = (len(labels), n_labels)
    return csr_array((scores[used].astype(np.float64), labels[used], starts), shape=shape)
