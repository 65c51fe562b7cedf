"""Learners of paper 1: training passes, and progressive validation of the rows after them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from labeltrees import (
    ConditionalTreeClassifier,
    FrequencyTableClassifier,
    OneAgainstAllClassifier,
)
from labeltrees.data.rows import as_rows
from labeltrees.metrics import squared_loss

REGRESSORS = {"loss": "squared", "optimizer": "sgd"}
#: The paper's tree: rule (5) by labels, one tree, nothing besides.
PAPER = REGRESSORS | {"balance": "labels", "refine": 0, "n_trees": 1}


@dataclass(frozen=True, eq=False)
class Learned:
    """A model, its progressive loss in the last training pass, and what training took."""

    model: Any
    training_loss: float
    seconds: float
    n_regressors: float | None = None
    """How many regressors learn from a training row, on average."""


def tree(rate: float, *, alpha: float = 0.6, structure: str = "online") -> Any:
    """Return the paper's tree; "random" has uniform decisions until a leaf is met."""
    return ConditionalTreeClassifier(
        **PAPER, structure=structure, alpha=alpha, learning_rate=rate, n_passes=1
    )


def learned(model: Any, train: tuple[Any, np.ndarray], n_passes: int) -> Learned:
    """Learn in passes; the structure is that of the first."""
    X, y = train
    started, seen = time.process_time(), None
    for number in range(n_passes):
        if number == 0 and model.structure != "online":
            model.fit(X, y)
        else:
            seen = model.progressive_fit(X, y, k=0)
    seconds = time.process_time() - started
    p = model.predict_label_proba(X, y) if seen is None else seen.p_label
    tree_ = model.tree_
    depths = dict(zip(tree_.label.tolist(), tree_.depths.tolist(), strict=True))
    place = {label: i for i, label in enumerate(model.classes_.tolist())}
    n_regressors = float(np.mean([depths[place[label]] for label in y.tolist()]))
    return Learned(model, squared_loss(np.clip(p, 0, 1)), seconds, n_regressors)


def every_label(rate: float, train: tuple[Any, np.ndarray]) -> Learned:
    """Learn one-against-all in one pass; what it says of a row is f_y(x), not normalised."""
    X, y = train
    model = OneAgainstAllClassifier(**REGRESSORS, learning_rate=rate, n_passes=1)
    started = time.process_time()
    said = model.progressive_scores(X, y)
    seconds = time.process_time() - started
    loss = squared_loss(np.clip(said, 0, 1))
    return Learned(model, loss, seconds, float(len(np.unique(y))))


def table_of(train: tuple[Any, np.ndarray]) -> Learned:
    """Count the labels of each row; a row never seen has probability 0 of any."""
    model = FrequencyTableClassifier(back_off=0)
    started = time.process_time()
    seen = model.progressive_fit(*train, k=0)
    return Learned(model, squared_loss(seen.p_label), time.process_time() - started)


def scores(run: Learned, test: tuple[Any, np.ndarray]) -> tuple[float, float]:
    """Return the squared loss of test rows not learned, and of the same learned one by one."""
    X, y = test
    if isinstance(run.model, OneAgainstAllClassifier):
        frozen = run.model.model_.label_scores(as_rows(X), y)
        progressive = run.model.progressive_scores(X, y)
    else:
        frozen = run.model.predict_label_proba(X, y)
        progressive = run.model.progressive_fit(X, y, k=0).p_label
    return squared_loss(np.clip(frozen, 0, 1)), squared_loss(np.clip(progressive, 0, 1))
