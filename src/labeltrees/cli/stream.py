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
    LineOption,
    OrderOption,
)
from labeltrees.cli.methods import Chosen, with_method
from labeltrees.cli.report import (
    JsonOption,
    QuietOption,
    progressive_pairs,
    say,
    say_curve,
    say_json,
    say_pairs,
)
from labeltrees.data.readers.source import MAX_LINE_BYTES
from labeltrees.errors import DataError
from labeltrees.metrics import ProgressiveValidation
from labeltrees.progress import Progress


@with_method
def stream(
    data: InputArgument,
    format: FormatOption = None,  # noqa: A002
    labels: LabelsOption = "each",
    limit: LimitOption = None,
    max_line_bytes: LineOption = MAX_LINE_BYTES,
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
    chosen: Chosen,
) -> None:
    """Predict each row, then learn from it; report how good the predictions were."""
    source = Input.choose(
        data,
        format=format,
        labels=labels,
        limit=limit,
        order=order,
        seed=chosen.seed,
        max_line_bytes=max_line_bytes,
    )
    validation = ProgressiveValidation(n_expected=limit)
    with Progress("streaming", total=limit, enabled=not quiet) as progress:
        model, seconds = run(chosen, source, validation, progress, top=top)
    if out is not None:
        source.save(model, out)
    summary = validation.summary()
    rate = validation.n_rows / seconds
    if json:
        say_json(summary.to_dict() | {"seconds": seconds, "examples_per_second": rate})
        return
    say_curve(summary.curve)
    say()
    say_pairs(progressive_pairs(summary) | {"examples/s": round(rate)})


def run(
    chosen: Chosen,
    source: Input,
    validation: ProgressiveValidation,
    progress: Progress,
    *,
    top: bool = True,
) -> tuple[Any, float]:
    """Predict, then learn, every row of the source; return the model and the seconds it took."""
    model, seconds = None, 0.0
    for rows, labels, weights in source.examples():
        if model is None:
            model = chosen.method.start(chosen.settings(), rows.n_features)
        started = time.perf_counter()
        seen = model.learn(rows, labels, weights, foresee_top=top)
        seconds += time.perf_counter() - started
        answers = {"correct": seen.top == labels, "p_top": seen.p_top} if top else {}
        validation.update(seen.p_label, is_new=seen.is_new, sample_weight=weights, **answers)
        scores = validation.summary()
        shown = {"acc": scores.accuracy} if top else {}
        loss, n_labels = scores.log_loss_seen or 0.0, len(model.vocabulary)
        progress.advance(len(labels), loss=loss, labels=n_labels, **shown)
    if model is None:
        raise DataError(f"{source.path} has no row with a label.")
    return model, seconds
