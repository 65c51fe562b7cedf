"""`labeltrees stream`: progressive validation over any reader."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from labeltrees.cli.inputs import (
    FormatOption,
    Input,
    InputArgument,
    LabelsOption,
    LimitOption,
    OrderOption,
)
from labeltrees.cli.learner import Learner, with_learner
from labeltrees.cli.report import (
    JsonOption,
    QuietOption,
    progressive_pairs,
    say,
    say_curve,
    say_json,
    say_pairs,
)
from labeltrees.errors import DataError
from labeltrees.metrics import ProgressiveValidation
from labeltrees.progress import Progress


@with_learner
def stream(
    data: InputArgument,
    format: FormatOption = None,  # noqa: A002
    labels: LabelsOption = "each",
    limit: LimitOption = None,
    order: OrderOption = "files",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where to save the model afterwards.")
    ] = None,
    top: Annotated[
        bool, typer.Option(help="Whether to find each row's likeliest label (for accuracy).")
    ] = True,
    json: JsonOption = False,
    quiet: QuietOption = False,
    *,
    learner: Learner,
) -> None:
    """Predict each row, then learn from it; report how good the predictions were."""
    source = Input.choose(
        data,
        format=format,
        labels=labels,
        limit=limit,
        order=order,
        seed=learner.seed,
    )
    validation = ProgressiveValidation(n_expected=limit)
    with Progress("streaming", total=limit, enabled=not quiet) as progress:
        seconds = run(learner, source, validation, progress, top=top)
    if validation.n_rows == 0:
        raise DataError(f"{data} has no row with a label.")
    if out is not None:
        learner.save(out, extra=source.facts())
    summary = validation.summary()
    rate = validation.n_rows / seconds
    if json:
        say_json(summary.to_dict() | {"seconds": seconds, "examples_per_second": rate})
        return
    say_curve(summary.curve)
    say()
    say_pairs(progressive_pairs(summary) | {"examples/s": round(rate)})


def run(
    learner: Learner,
    source: Input,
    validation: ProgressiveValidation,
    progress: Progress,
    *,
    top: bool = True,
) -> float:
    """Predict, then learn, every row of the source; return the seconds that the model took."""
    seconds = 0.0
    for X, y, weights in source.examples():
        started = time.perf_counter()
        seen = learner.progressive_fit(X, y, sample_weight=weights, top=top)
        seconds += time.perf_counter() - started
        answers: dict[str, Any] = {}
        if top:
            answers = {"correct": seen.top == y, "p_top": seen.p_top}
        validation.update(seen.p_label, is_new=seen.is_new, sample_weight=weights, **answers)
        scores = validation.summary()
        shown = {"acc": scores.accuracy} if top else {}
        progress.advance(len(y), loss=scores.log_loss_seen or 0.0, labels=learner.n_labels, **shown)
    return seconds
