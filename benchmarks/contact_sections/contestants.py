"""The contestants of a set, and the cost and predictions of each, in separate processes."""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contact_sections.person_files import PersonRows
from contact_sections.program import Answer
from contact_sections.scoring import Score, read_answers, score
from harness import peers
from harness.processes import run_measured

PEER_PROGRAM = Path(__file__).parents[1] / "contact_peer.py"
FOLDER = peers.WORK / "contact"

#: Labels times stored features that one regressor per label is given; more takes too long.
MOST_PAIRS = 4e8


@dataclass(frozen=True, eq=False)
class Question:
    """The rows to test, and the file that has them."""

    path: Path
    rows: PersonRows
    several: bool

    def score(self, answers: list[Answer]) -> Score:
        return score(self.rows, answers, several=self.several)


@dataclass(frozen=True, eq=False)
class Run:
    """A contestant's score, and the seconds of its training process."""

    name: str
    order: str
    chosen: str
    score: Score
    seconds: float
    tuning_seconds: float = 0.0
    probabilities: bool = True


@dataclass(frozen=True)
class Peer:
    """A peer's program, its environment (None is ours), and its settings."""

    title: str
    program: str
    environment: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    probabilities: bool = True

    def run(self, train: Path, question: Question) -> Run:
        """Train on a file in any order and predict, or raise `MissingPeerError`."""
        installed = None if self.environment is None else peers.peer(self.environment)
        python = installed.python if installed else sys.executable
        # The other programs make features with scikit-learn, and start their peer themselves.
        start = [python if self.program == "fasttext" else sys.executable]
        start += [str(PEER_PROGRAM), self.program]
        model, out = _empty(FOLDER / "models" / self.program), FOLDER / "answers.jsonl"
        settings = self.settings | {"python": python, "several": question.several}
        rest = [str(model), json.dumps(settings)]
        learned = run_measured([*start, "train", str(train), *rest])
        run_measured([*start, "predict", str(question.path), *rest, str(out)])
        facts = json.loads(learned.output.splitlines()[-1])
        return Run(
            f"{self.title} ({installed.version})" if installed else self.title,
            "any order",
            facts["chosen"],
            question.score(read_answers(out)),
            learned.wall_seconds,
            facts["tuning_s"],
            self.probabilities,
        )


LOGISTIC = Peer("scikit-learn, logistic regression", "logistic")
ONE_VS_REST = Peer("scikit-learn, one vs rest", "logistic")
FASTTEXT = Peer("fastText", "fasttext", "fasttext")
VW_ONE = Peer("VW `--oaa`", "vw", "vw")
VW_SEVERAL = Peer("VW `--multilabel_oaa`", "vw", "vw")
OMIKUJI = tuple(
    Peer(
        f"Omikuji {loss}, 3 trees",
        "omikuji",
        "omikuji",
        {"loss": loss, "n_trees": 3, "threads": os.cpu_count() or 1},
        probabilities=loss == "log",
    )
    for loss in ("log", "hinge")
)
REGRESSIONS = (LOGISTIC, ONE_VS_REST)


def taking_part(rows: PersonRows) -> tuple[list[Peer], list[str]]:
    """Return the peers that suit the rows, and why others do not."""
    if not rows.several:
        if rows.kind == "table":
            return [LOGISTIC, VW_ONE], ["fastText is left out because it takes no values."]
        return [LOGISTIC, FASTTEXT, VW_ONE], []
    n_pairs = len(rows.label_names) * sum(len(each.split()) for each in rows.inputs)
    chosen, reasons = [FASTTEXT, *OMIKUJI], []
    for each in (ONE_VS_REST, VW_SEVERAL):
        if n_pairs <= MOST_PAIRS:
            chosen.append(each)
        else:
            reasons.append(
                f"{each.title} is left out: a regressor for each of {len(rows.label_names):,} "
                "labels takes too long to tune."
            )
    return chosen, reasons


def ours(train: Path, order: str, question: Question) -> Run:
    """Return the run of `labeltrees train FILE` without options."""
    command = [sys.executable, "-m", "labeltrees"]
    model = str(_empty(FOLDER / "models" / "labeltrees") / "model.safetensors")
    learned = run_measured([*command, "train", str(train), "-o", model, "--json"])
    ask = [*command, "predict", model, str(question.path), "--json"]
    answers = _lines([*ask, "--top", "5" if question.several else "1"])
    if not question.several:
        named = _lines([*ask, "--named"])
        truths = ({"p_truth": truth["probabilities"][0]} for truth in named)
        answers = [top | truth for top, truth in zip(answers, truths, strict=True)]
    chosen = str(json.loads(learned.output)["method"])
    return Run("labeltrees", order, chosen, question.score(answers), learned.wall_seconds)


def _lines(command: list[str]) -> list[Answer]:
    return [json.loads(line) for line in run_measured(command).output.splitlines()]


def _empty(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
