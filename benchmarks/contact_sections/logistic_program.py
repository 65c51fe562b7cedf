"""Multinomial logistic regression by scikit-learn, for rows of one label; see program.py."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import joblib
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from contact_sections import program
from contact_sections.features import Features

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

    from contact_sections.person_files import PersonRows

COSTS = (0.1, 1.0, 10.0, 100.0)


def train(rows: PersonRows, model: Path, _: dict[str, Any]) -> dict[str, Any]:
    with program.Stopwatch() as tuning:
        learn, valid = program.apart(rows)
        features = Features.fitted(learn)
        X, y, X_valid = features.of(learn), features.label_numbers(learn), features.of(valid)

        def attempt(cost: float) -> list[program.Answer]:
            p = fitted(X, y, cost).predict_proba(X_valid)
            return features.answers(p, valid, program.N_ANSWERS)

        cost = program.tuned(COSTS, attempt, valid)
    features = Features.fitted(rows)
    learned = fitted(features.of(rows), features.label_numbers(rows), cost)
    joblib.dump((features, learned), model / "model.joblib")
    return {"chosen": f"C={cost:g}", "tuning_s": tuning.seconds}


def fitted(X: Any, y: np.ndarray, cost: float) -> LogisticRegression:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 200 steps: no better after
        return LogisticRegression(C=cost, max_iter=200).fit(X, y)


def predict(rows: PersonRows, model: Path, _: dict[str, Any]) -> list[program.Answer]:
    features, learned = joblib.load(model / "model.joblib")
    return features.answers(learned.predict_proba(features.of(rows)), rows, program.N_ANSWERS)
