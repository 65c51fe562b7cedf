"""Omikuji over the features of features.py, by its program of `batch_sections/`; see program.py."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np

from batch_sections.contestants import COSTS, PROGRAMS
from batch_sections.data_sets import Split, written
from contact_sections import program
from contact_sections.features import Features
from harness.processes import run_measured

if TYPE_CHECKING:
    from pathlib import Path

    from contact_sections.person_files import PersonRows


def train(rows: PersonRows, model: Path, settings: dict[str, Any]) -> dict[str, Any]:
    with program.Stopwatch() as tuning:
        learn, valid = program.apart(rows)
        features = Features.fitted(learn)
        split = split_of("contact-choosing", features, learn, valid)

        def attempt(cost: float) -> list[program.Answer]:
            # Trees share the best C of one of them.
            learned(split, model, settings | {"cost": cost, "n_trees": 1})
            return answers(split, features, model, settings)

        cost = program.tuned(COSTS, attempt, valid)
    features = Features.fitted(rows)
    learned(split_of("contact", features, rows, rows.first(1)), model, settings | {"cost": cost})
    joblib.dump(features, model / "features.joblib")
    return {"chosen": f"C={cost:g}", "tuning_s": tuning.seconds}


def predict(rows: PersonRows, model: Path, settings: dict[str, Any]) -> list[program.Answer]:
    features = joblib.load(model / "features.joblib")
    split = split_of("contact-asked", features, rows.first(1), rows)
    return answers(split, features, model, settings)


def split_of(name: str, features: Features, learn: PersonRows, asked: PersonRows) -> Split:
    """Return both parts as matrices, written as the programs read them."""
    parts = [
        part for rows in (learn, asked) for part in (features.of(rows), features.label_matrix(rows))
    ]
    return written(name, *parts)


def learned(split: Split, model: Path, settings: dict[str, Any]) -> None:
    shutil.rmtree(model / "learned", ignore_errors=True)
    (model / "learned").mkdir()
    run_measured([*_command("train", split, model, settings), json.dumps(settings)])


def answers(
    split: Split, features: Features, model: Path, settings: dict[str, Any]
) -> list[program.Answer]:
    out = model / "answers.npz"
    asked = settings | {"timed": False}
    run_measured([*_command("predict", split, model, asked), json.dumps(asked), str(out)])
    with np.load(out) as found:
        labels, scores = found["labels"], found["scores"]
    return [
        {
            "labels": [features.names[each] for each in own[: program.N_ANSWERS] if each >= 0],
            "probabilities": p[: program.N_ANSWERS],
        }
        for own, p in zip(labels.tolist(), scores.tolist(), strict=True)
    ]


def _command(action: str, split: Split, model: Path, settings: dict[str, Any]) -> list[str]:
    path = PROGRAMS / "omikuji_program.py"
    return [settings["python"], str(path), action, str(split.folder), str(model / "learned")]
