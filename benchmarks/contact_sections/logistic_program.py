"""Logistic regression by scikit-learn: multinomial, or one for each label; see program.py."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from contact_sections import program
from contact_sections.features import Features
from contact_sections.person_files import PersonRows
from harness.programs.one_vs_rest import OneVsRest

#: To choose from, for rows of one label and of several.
COSTS = {False: (0.1, 1.0, 10.0, 100.0), True: (0.3, 1.0, 3.0, 10.0)}


def train(rows: PersonRows, model: Path, settings: dict[str, Any]) -> dict[str, Any]:
    fit = one_vs_rest if settings["several"] else multinomial
    with program.Stopwatch() as tuning:
        learn, valid = program.apart(rows)
        features = Features.fitted(learn)
        X, X_valid = features.of(learn), features.of(valid)

        def attempt(cost: float) -> list[program.Answer]:
            p = fit(features, X, learn, cost).predict_proba(X_valid)
            return features.answers(p, valid, program.N_ANSWERS)

        cost = program.tuned(COSTS[settings["several"]], attempt, valid)
    features = Features.fitted(rows)
    learned = fit(features, features.of(rows), rows, cost)
    joblib.dump((features, learned), model / "model.joblib")
    return {"chosen": f"C={cost:g}", "tuning_s": tuning.seconds}


def multinomial(features: Features, X: Any, rows: PersonRows, cost: float) -> LogisticRegression:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # More than 200 steps change nothing.
        return LogisticRegression(C=cost, max_iter=200).fit(X, features.label_numbers(rows))


def one_vs_rest(features: Features, X: Any, rows: PersonRows, cost: float) -> OneVsRest:
    # Its solver would turn single numbers into double ones for each label again.
    return OneVsRest.fitted(X.astype(np.float64), features.label_matrix(rows), cost)


def predict(rows: PersonRows, model: Path, _: dict[str, Any]) -> list[program.Answer]:
    features, learned = joblib.load(model / "model.joblib")
    return features.answers(learned.predict_proba(features.of(rows)), rows, program.N_ANSWERS)
