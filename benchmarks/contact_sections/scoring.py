"""How good answers are."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from contact_sections.person_files import PersonRows
from contact_sections.program import KS, Answer, precision
from online_sections.scores import Answers


@dataclass(frozen=True)
class Score:
    """Accuracy is P@1; the log loss (floor 1e-9) exists for rows with one label."""

    precision: dict[int, float]
    calibration_error: float | None
    log_loss: float | None

    @property
    def main(self) -> float:
        """Accuracy, or P@1."""
        return self.precision[1]


def score(rows: PersonRows, answers: list[Answer], *, several: bool) -> Score:
    """Return the score of the answers to the rows, of which all count."""
    found = [[str(label) for label in answer["labels"]] for answer in answers]
    p_top = np.array([max(answer["probabilities"][:1], default=0.0) for answer in answers])
    correct = np.array(
        [own[:1] != [] and own[0] in t for own, t in zip(found, rows.labels, strict=True)]
    )
    p_truth = None if several else np.clip([answer["p_truth"] for answer in answers], 0, 1)
    judged = Answers("", correct, p_truth, p_top, np.zeros(len(correct), bool))
    precisions = {k: precision(rows.labels, found, k) for k in KS}
    return Score(precisions, judged.calibration_error, judged.log_loss_seen)


def read_answers(path: Path) -> list[Answer]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]
