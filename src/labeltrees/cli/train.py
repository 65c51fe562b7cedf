"""`labeltrees train`: learn from a file and save the model; a tree at constant memory."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from labeltrees.cli.boosting import BaseOption, EtaOption, RoundsOption, train_boosted
from labeltrees.cli.extreme import train_on_file
from labeltrees.cli.inputs import (
    FormatOption,
    Input,
    InputArgument,
    LabelsOption,
    LimitOption,
    OrderOption,
)
from labeltrees.cli.learner import Learner, TrainedModelOption, with_learner
from labeltrees.cli.report import JsonOption, QuietOption, say_json, say_pairs
from labeltrees.errors import ArgumentError, DataError
from labeltrees.metrics import ProgressiveValidation
from labeltrees.progress import Progress


@with_learner
def train(
    data: InputArgument,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to save the model.")],
    format: FormatOption = None,  # noqa: A002
    vectorizer: Annotated[
        str | None, typer.Option(help="Of text: 'hashing' (default) or 'tfidf'.")
    ] = None,
    labels: LabelsOption = "each",
    limit: LimitOption = None,
    order: OrderOption = "files",
    passes: Annotated[int, typer.Option(min=1, help="Times to go over the data.")] = 1,
    keep_state: Annotated[
        bool, typer.Option(help="Whether the saved model can go on learning.")
    ] = True,
    model: TrainedModelOption = "conditional",
    base: BaseOption = "tree",
    rounds: RoundsOption = 5,
    eta: EtaOption = "auto",
    trees: Annotated[int, typer.Option(help="Of xreg: trees of the ensemble.")] = 3,
    cost: Annotated[
        float | None,
        typer.Option(help="Of xreg: what errors cost; by default 3, less of many rows."),
    ] = None,
    hinge: Annotated[bool, typer.Option("--hinge", help="Of xreg: hinge loss (Parabel).")] = False,
    relevance: Annotated[
        str | None, typer.Option(help="Of xreg: 'propensity' makes rare labels count.")
    ] = None,
    tail: Annotated[
        str | None, typer.Option(help="Of xreg: rank with 'xreg' or 'pfastrexml' tails.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Threads, -1 for all cores.")] = 1,
    json: JsonOption = False,
    quiet: QuietOption = False,
    *,
    learner: Learner,
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
        seed=learner.seed,
    )
    if model == "adacond":
        train_boosted(
            source, out, learner.estimator(), base=base, n_rounds=rounds, eta=eta, n_passes=passes,
            keep_state=keep_state, json=json,
        )  # fmt: skip
        return
    if model == "xreg":
        params = {
            "n_trees": trees,
            "cost": cost,
            "loss": "hinge" if hinge else "logistic",
            "relevance": relevance,
            "tail": tail,
            "n_jobs": jobs,
            "random_state": learner.seed,
        }
        _say(train_on_file(source, out, params, quiet=quiet), json=json)
        return
    started = time.perf_counter()
    validation = ProgressiveValidation()
    for number in range(passes):
        with Progress(f"pass {number + 1} of {passes}", enabled=not quiet) as progress:
            for X, y, weights in source.examples():
                seen = learner.progressive_fit(X, y, sample_weight=weights, top=False)
                if number == 0:
                    validation.update(seen.p_label, is_new=seen.is_new, sample_weight=weights)
                loss_now = validation.summary().squared_loss
                progress.advance(len(y), loss=loss_now, labels=learner.n_labels)
    if validation.n_rows == 0:
        raise DataError(f"{data} has no row with a label.")
    seconds = time.perf_counter() - started
    learner.save(out, keep_state=keep_state, extra=source.facts())
    summary = validation.summary()
    result = {
        "model": str(out),
        "examples": summary.n_rows,
        "passes": passes,
        "labels": learner.n_labels,
        "depth": learner.model.describe()["depth"],
        "seconds": round(seconds, 3),
        "examples_per_second": round(passes * summary.n_rows / seconds),
        "progressive_squared_loss": summary.squared_loss,
        "progressive_log_loss_seen": summary.log_loss_seen,
        "file_bytes": out.stat().st_size,
    }
    _say(result, json=json)


def _say(result: dict[str, Any], *, json: bool) -> None:
    if json:
        say_json(result)
    else:
        say_pairs({name.replace("_", " "): value for name, value in result.items()})
