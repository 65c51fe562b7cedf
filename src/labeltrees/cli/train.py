"""`labeltrees train`: learn from a file and save the model; a tree at constant memory."""

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
from labeltrees.cli.methods import Chosen, TrainedModelOption, with_method
from labeltrees.cli.report import JsonOption, QuietOption, say_json, say_pairs
from labeltrees.cli.whole_file import BASES, train_boosted, train_extreme_regressor
from labeltrees.data.readers.source import MAX_LINE_BYTES
from labeltrees.errors import ArgumentError, DataError
from labeltrees.metrics import ProgressiveValidation
from labeltrees.progress import Progress


@with_method
def train(
    data: InputArgument,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to save the model.")],
    format: FormatOption = None,  # noqa: A002
    vectorizer: Annotated[
        str | None, typer.Option(help="For text: 'hashing' (default) or 'tfidf'.")
    ] = None,
    labels: LabelsOption = "each",
    limit: LimitOption = None,
    max_line_bytes: LineOption = MAX_LINE_BYTES,
    order: OrderOption = "files",
    passes: Annotated[int, typer.Option(min=1, help="Number of passes over the data.")] = 1,
    keep_state: Annotated[
        bool, typer.Option(help="Whether the saved model can go on learning.")
    ] = True,
    model: TrainedModelOption = "conditional",
    base: Annotated[str, typer.Option(help=f"adacond: {', '.join(BASES)}.")] = "tree",
    rounds: Annotated[int, typer.Option(min=1, help="adacond: how many rounds at most.")] = 5,
    eta: Annotated[
        str, typer.Option(help="adacond: the error a row may have, in (0, 1), 'auto' or 'median'.")
    ] = "auto",
    trees: Annotated[int, typer.Option(help="xreg: number of trees.")] = 3,
    cost: Annotated[
        float | None,
        typer.Option(help="xreg: cost of errors. By default 3, lower above 100,000 rows."),
    ] = None,
    hinge: Annotated[bool, typer.Option("--hinge", help="xreg: hinge loss (Parabel).")] = False,
    relevance: Annotated[
        str | None, typer.Option(help="xreg: 'propensity' gives rare labels more weight.")
    ] = None,
    tail: Annotated[
        str | None, typer.Option(help="xreg: rank with the tail classifier 'xreg' or 'pfastrexml'.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Threads, -1 for all cores.")] = 1,
    json: JsonOption = False,
    quiet: QuietOption = False,
    *,
    chosen: Chosen,
) -> None:
    """Learn a model from a data file and save it."""
    if data == "-" and (passes > 1 or vectorizer == "tfidf"):
        raise ArgumentError("the standard input can be read only once: use --passes 1, no tfidf.")
    source = Input.choose(
        data,
        format=format,
        vectorizer=vectorizer,
        labels=labels,
        limit=limit,
        order=order,
        seed=chosen.seed,
        max_line_bytes=max_line_bytes,
    )
    if model == "adacond":
        result = train_boosted(
            source, out, chosen, base=base, n_rounds=rounds, eta=eta, n_passes=passes,
            keep_state=keep_state,
        )  # fmt: skip
    elif model == "xreg":
        options = {
            "n_trees": trees,
            "cost": cost,
            "relevance": relevance,
            "tail": tail,
            "n_jobs": jobs,
        } | ({"loss": "hinge"} if hinge else {})
        result = train_extreme_regressor(source, out, chosen, options, quiet=quiet)
    else:
        result = _train_stream(source, out, chosen, passes, keep_state=keep_state, quiet=quiet)
    if json:
        say_json(result)
    else:
        say_pairs({name.replace("_", " "): value for name, value in result.items()})


def _train_stream(
    source: Input, out: Path, chosen: Chosen, passes: int, *, keep_state: bool, quiet: bool
) -> dict[str, Any]:
    """Learn row by row, in the file's order; save; return what there is to say."""
    started = time.perf_counter()
    validation = ProgressiveValidation()
    model = None
    for number in range(passes):
        with Progress(f"pass {number + 1} of {passes}", enabled=not quiet) as progress:
            for rows, labels, weights in source.examples():
                if model is None:
                    model = chosen.method.start(chosen.settings(), rows.n_features)
                seen = model.learn(rows, labels, weights)
                if number == 0:
                    validation.update(seen.p_label, is_new=seen.is_new, sample_weight=weights)
                loss, n_labels = validation.summary().squared_loss, len(model.vocabulary)
                progress.advance(len(labels), loss=loss, labels=n_labels)
    if model is None:
        raise DataError(f"{source.path} has no row with a label.")
    seconds = time.perf_counter() - started
    source.save(model, out, keep_state=keep_state)
    summary = validation.summary()
    return {
        "model": str(out),
        "examples": summary.n_rows,
        "passes": passes,
        "labels": len(model.vocabulary),
        "depth": model.describe()["depth"],
        "seconds": round(seconds, 3),
        "examples_per_second": round(passes * summary.n_rows / seconds),
        "progressive_squared_loss": summary.squared_loss,
        "progressive_log_loss_seen": summary.log_loss_seen,
        "file_bytes": out.stat().st_size,
    }
