"""`labeltrees evaluate`: a saved model's answers against the truth."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from labeltrees import metrics
from labeltrees.autotrain.scores import Answers, ask, scores
from labeltrees.cli.inputs import (
    FormatOption,
    Input,
    InputArgument,
    LabelsOption,
    LimitOption,
    LineOption,
    remembered_input,
)
from labeltrees.cli.methods import as_options
from labeltrees.cli.multilabel import from_file, from_model, read_truth, say_scores
from labeltrees.cli.opening import ModelArgument, open_model
from labeltrees.cli.report import JsonOption, QuietOption, say_json, say_pairs
from labeltrees.data.readers.source import MAX_LINE_BYTES
from labeltrees.data.shuffle import joined
from labeltrees.errors import ArgumentError, DataError
from labeltrees.metrics.propensity import checked_constants
from labeltrees.models.settings import ClassifierSettings
from labeltrees.progress import Progress

if TYPE_CHECKING:
    from labeltrees.models.model import FittedModel

#: Errors count on labels that are not among the first k too: a few more are predicted.
_LEAST_PREDICTED = 20


def evaluate(
    model: ModelArgument,
    data: InputArgument,
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="The k of the @k metrics.")] = 5,
    labels: LabelsOption = None,
    format: FormatOption = None,  # noqa: A002
    limit: LimitOption = None,
    max_line_bytes: LineOption = MAX_LINE_BYTES,
    seed: Annotated[int, typer.Option(min=0, help="Seed of --labels draw.")] = 0,
    multilabel: Annotated[
        bool,
        typer.Option("--multilabel", help="Count all labels of a row: P@k, nDCG@k, XMAD@k ..."),
    ] = False,
    labelwise: Annotated[
        bool, typer.Option("--labelwise", help="The same for the best rows of each label.")
    ] = False,
    predictions: Annotated[
        bool, typer.Option("--predictions", help="MODEL is a file that `predict` wrote.")
    ] = False,
    train: Annotated[
        str | None, typer.Option(help="Training data, for PSP@k and PSnDCG@k by its labels.")
    ] = None,
    propensity_a: Annotated[
        float | None,
        typer.Option(help="A of propensities: .5 for Wikipedia, .6 for Amazon, else .55."),
    ] = None,
    propensity_b: Annotated[
        float | None,
        typer.Option(help="B of propensities: .4 for Wikipedia, 2.6 for Amazon, else 1.5."),
    ] = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Print losses, accuracies and calibration errors of a saved model on a data file.

    With --multilabel, --labelwise or --predictions, and for an xreg model: a table of the
    metrics of many labels per row.
    """
    lines: dict[str, Any] = {"max_line_bytes": max_line_bytes}
    weighing = _constants(propensity_a, propensity_b, train)

    def refuse_labels(why: str) -> None:
        if labels is not None:
            raise ArgumentError(f"--labels: {why}, all labels of a row count.")

    if predictions:
        refuse_labels("with --predictions")
        source = Input.choose(data, format=format, limit=limit, **lines)
        counts = read_truth(Input.choose(train, format=format, **lines), str) if train else None
        answers = from_file(model, source, labelwise=labelwise)
        say_scores(
            *answers, top=top, train=counts, labelwise=labelwise, json=json, constants=weighing
        )
        return
    stored, opened = open_model(model)
    source = Input.like(stored, data, format=format, limit=limit, labels=labels, seed=seed, **lines)
    if remembered_input(stored.extra).get("join_rows") is True:
        source = replace(source, join_rows=True)
    several = not issubclass(opened.settings_class, ClassifierSettings)
    if multilabel or labelwise or several:
        by = "--multilabel" if multilabel else "--labelwise" if labelwise else "such a model"
        refuse_labels(f"with {by}")
        counts = None
        if train:
            counts = read_truth(Input.like(stored, train, format=None, **lines))
        k = max(2 * top, _LEAST_PREDICTED)
        answers = from_model(opened, source, k, labelwise=labelwise, quiet=quiet)
        say_scores(
            *answers, top=top, train=counts, labelwise=labelwise, json=json, constants=weighing
        )
        return
    if source.profile is not None and source.profile.distributions:
        refuse_labels("of distributions")
        _say_distances(opened, source, json=json, quiet=quiet)
        return
    if train is not None:
        raise ArgumentError("--train is used with --multilabel, --labelwise or --predictions.")
    k = min(top, len(opened.vocabulary))
    p_label, truth, found, p_found, weight = [], [], [], [], []
    seconds = 0.0
    with Progress("evaluating", total=limit, enabled=not quiet) as progress:
        for rows, y, weights in source.examples():
            opened.check_width(rows)
            started = time.perf_counter()
            answer = opened.top_labels(rows, k)
            p_label.append(opened.label_probabilities(rows, y))
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


def _constants(a: float | None, b: float | None, train: str | None) -> dict[str, float]:
    """Return the constants of propensities that were given, checked."""
    given = {name: value for name, value in (("a", a), ("b", b)) if value is not None}
    if given and train is None:
        raise ArgumentError(f"--propensity-{min(given)} is used with --train.")
    typed = {"a": "propensity-a", "b": "propensity-b"}
    as_options(checked_constants, given, typed)
    return given


def _say_distances(model: FittedModel, source: Input, *, json: bool, quiet: bool) -> None:
    """Print how far the model's distributions are from those of the rows."""
    answers, asked = [], []
    with Progress("evaluating", total=source.limit, enabled=not quiet) as progress:
        for chunk in source.chunks():
            model.check_width(chunk.rows)
            labelled = chunk.take(np.flatnonzero(np.diff(chunk.label_starts)))
            if labelled.n_rows:
                answers.append(ask(model, labelled, several=True))
                asked.append(labelled)
            progress.advance(chunk.n_rows)
    if not asked:
        raise DataError(f"{source.path} has no row with a label.")
    whole = joined(asked)
    found: dict[str, Any] = {"rows": whole.n_rows, "labels": len(model.vocabulary)}
    found |= scores(Answers.joined(answers), whole, several=True)
    if json:
        say_json({name.replace(" ", "_"): value for name, value in found.items()})
    else:
        say_pairs(found)


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
