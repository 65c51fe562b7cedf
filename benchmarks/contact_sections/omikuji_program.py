"""Omikuji over the features of features.py, by its program of `batch_sections/`; see program.py."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import joblib

from batch_sections.contestants import COSTS
from contact_sections import program
from contact_sections.features import Features
from contact_sections.person_files import PersonRows
from harness import contestants
from harness.data_sets import Split, written


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
    contestants.train(*_program(split, model, settings))


def answers(
    split: Split, features: Features, model: Path, settings: dict[str, Any]
) -> list[program.Answer]:
    asked = settings | {"timed": False, "n_top": program.N_ANSWERS, "n_sample": 0}
    _, found = contestants.query(*_program(split, model, asked))
    return [
        {
            "labels": [features.names[each] for each in own if each >= 0],
            "probabilities": p,
        }
        for own, p in zip(found["labels"].tolist(), found["scores"].tolist(), strict=True)
    ]


def _program(split: Split, model: Path, settings: dict[str, Any]) -> tuple[Any, ...]:
    return settings["python"], "omikuji_program", split.folder, model / "learned", settings
