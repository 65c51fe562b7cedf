"""`labeltrees evaluate`: a saved model's answers against the truth."""

from __future__ import annotations

import time
from typing import Annotated, Any

import numpy as np
import typer

from labeltrees import metrics, store
from labeltrees.cli.inputs import FormatOption, Input, InputArgument, LabelsOption, LimitOption
from labeltrees.cli.predict import ModelArgument
from labeltrees.cli.report import JsonOption, QuietOption, say_json, say_pairs
from labeltrees.errors import DataError
from labeltrees.estimators import from_stored
from labeltrees.progress import Progress


def evaluate(
    model: ModelArgument,
    data: InputArgument,
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="The k of the @k metrics.")] = 5,
    labels: LabelsOption = "each",
    format: FormatOption = None,  # noqa: A002
    limit: LimitOption = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of --labels draw.")] = 0,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Print losses, accuracies and calibration errors of a saved model on a data file."""
    stored = store.read(model)
    estimator = from_stored(stored)
    source = Input.like(stored.extra, data, format=format, limit=limit, labels=labels, seed=seed)
    k = min(top, len(estimator.classes_))
    p_label, truth, found, p_found, weight = [], [], [], [], []
    seconds = 0.0
    with Progress("evaluating", total=limit, enabled=not quiet) as progress:
        for X, y, weights in source.examples():
            started = time.perf_counter()
            answer = estimator.predict_top_k(X, k)
            p_label.append(estimator.predict_label_proba(X, y))
            seconds += time.perf_counter() - started
            truth.append(y)
            found.append(answer.labels)
            p_found.append(answer.probabilities)
            weight.append(weights)
            progress.advance(len(y))
    if not truth:
        raise DataError(f"{data} has no row with a label.")
    result = _scores(
        *(np.concatenate(part) for part in (p_label, truth, found, p_found, weight)), k=k
    )
    result["microseconds_per_row"] = 1e6 * seconds / result["examples"]
    if json:
        say_json(result)
    else:
        say_pairs({name.replace("_", " "): value for name, value in result.items()})


def _scores(
    p_label: Any, truth: Any, found: Any, p_found: Any, weight: Any, *, k: int
) -> dict[str, Any]:
    seen = p_label > 0
    weights = {"sample_weight": weight}
    squared = metrics.squared_loss(p_label, **weights)
    low, high = metrics.brier_from_top_k(p_label, p_found, **weights)
    return {
        "examples": len(truth),
        "labels_never_learned": int((~seen).sum()),
        "squared_loss": squared,
        "squared_loss_radius": metrics.hoeffding_radius(len(truth)),
        "equivalent_labels": metrics.equivalent_labels(squared) if squared < 1 else None,
        "log_loss_seen": (
            metrics.log_loss(p_label[seen], sample_weight=weight[seen]) if seen.any() else None
        ),
        "brier_at_least": low,
        "brier_at_most": high,
        "accuracy": metrics.top_k_accuracy(truth, found[:, :1], **weights),
        f"top_{k}_accuracy": metrics.top_k_accuracy(truth, found, **weights),
        "calibration_error@1": metrics.expected_calibration_error(
            truth, found[:, :1], p_found[:, :1], **weights
        ),
        f"calibration_error@{k}": metrics.expected_calibration_error(
            truth, found, p_found, **weights
        ),
    }
