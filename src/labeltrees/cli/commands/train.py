"""`labeltrees train`: the model that suits a file, measured on rows held out, and saved."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from labeltrees import checks
from labeltrees.cli.inputs import (
    FormatOption,
    Input,
    InputArgument,
    LabelsOption,
    LimitOption,
    LineOption,
    OrderOption,
    with_columns,
)
from labeltrees.cli.methods import Wanted, method_names, stream_names, with_wanted
from labeltrees.cli.opening import open_model
from labeltrees.cli.outputs import check_out, default_out
from labeltrees.cli.report import JsonOption, QuietOption, say_json
from labeltrees.cli.streaming.learner import CHOOSES_ONLINE
from labeltrees.cli.training.trained import say_trained
from labeltrees.cli.training.training_run import CHOOSES, TrainingRun
from labeltrees.data.readers.source import MAX_LINE_BYTES
from labeltrees.errors import ArgumentError

_VECTORIZERS = ("tfidf", "counts", "hashing")


@with_columns
@with_wanted
def train(
    data: InputArgument,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Where to save the model. By default DATA.safetensors."),
    ] = None,
    model: Annotated[
        str,
        typer.Option("--model", help=f"auto, or one of {', '.join(method_names())}."),
    ] = "auto",
    fast: Annotated[
        bool, typer.Option("--fast", help="One tree: quicker, a little worse.")
    ] = False,
    best: Annotated[
        bool, typer.Option("--best", help="More trees: slower, a little better.")
    ] = False,
    online: Annotated[
        bool,
        typer.Option("--online", help="Learn row by row at constant memory, in mixed order."),
    ] = False,
    in_order: Annotated[
        bool, typer.Option("--in-order", help="The same, in the order of the file.")
    ] = False,
    init: Annotated[
        Path | None, typer.Option(help="Go on from this model: learn row by row.")
    ] = None,
    format: FormatOption = None,  # noqa: A002
    vectorizer: Annotated[
        str | None,
        typer.Option(
            help="For text: 'tfidf' of words and pairs of words, 'counts' of words (bm25 takes "
            "them), or 'hashing'."
        ),
    ] = None,
    labels: LabelsOption = None,
    join_rows: Annotated[
        bool | None,
        typer.Option(
            help="Whether rows of one text become one row with all their labels; by default if "
            "each row rates a label."
        ),
    ] = None,
    limit: LimitOption = None,
    max_line_bytes: LineOption = MAX_LINE_BYTES,
    order: OrderOption = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            help="Where --model xreg keeps rows that memory has no room for: about four times "
            "their size, on a disk. By default the system's folder for temporary files."
        ),
    ] = None,
    keep_state: Annotated[
        bool, typer.Option(help="Whether the saved model can go on learning.")
    ] = True,
    json: JsonOption = False,
    quiet: QuietOption = False,
    *,
    columns: dict[str, Any],
    wanted: Wanted,
) -> None:
    """Learn the model that suits a data file, measure it on rows held out, and save it."""
    started = time.perf_counter()
    checks.choice("--model", model, ["auto", *method_names()])
    if vectorizer is not None:
        checks.choice("--vectorizer", vectorizer, _VECTORIZERS)
    if fast and best:
        raise ArgumentError("--fast and --best exclude each other.")
    one_by_one = online or in_order or init is not None
    possible = _possible(model, one_by_one=one_by_one)
    wanted.check(possible)
    if folder is not None:
        _check_folder(folder, possible)
    if data == "-" and one_by_one and wanted.n_passes > 1:
        raise ArgumentError("the standard input can be read only once: use --passes 1.")
    target = default_out(data) if out is None else out
    check_out(target)
    reading: dict[str, Any] = {
        "format": format,
        "labels": labels,
        "limit": limit,
        "order": order,
        "seed": wanted.seed,
        "max_line_bytes": max_line_bytes,
    }
    begun = None
    if init is None:
        source = Input.choose(data, columns=columns, **reading)
    else:
        if columns or vectorizer is not None:
            option = next(iter(columns), "vectorizer").replace("_", "-")
            raise ArgumentError(f"--{option}: --init reads the data as the model's own were.")
        stored, begun = open_model(init)
        source = Input.like(stored, data, **reading)
    run = TrainingRun(
        source, target, model, wanted,
        effort="fast" if fast else "best" if best else "usual",
        labels=labels, join_rows=join_rows, vectorizer=vectorizer, folder=folder,
        keep_state=keep_state, quiet=quiet,
    )  # fmt: skip
    if init is not None:
        trained = run.go_on(init, begun, in_order=in_order)
    elif one_by_one or source.format == "python":
        trained = run.online(in_order=in_order or source.format == "python")
    else:
        trained = run.choose()
    trained.seconds = time.perf_counter() - started
    if json:
        say_json(trained.to_dict())
    else:
        say_trained(trained)


def _check_folder(folder: Path, possible: tuple[str, ...]) -> None:
    """Raise `ArgumentError` if no method would keep rows in files, or not there."""
    from labeltrees.models.extreme.spilling import checked_folder

    if "xreg" not in possible:
        names = " and ".join(possible)
        raise ArgumentError(f"--folder is for --model xreg; {names} would keep nothing there.")
    checked_folder(folder)


def _possible(model: str, *, one_by_one: bool) -> tuple[str, ...]:
    """Return the methods that may be meant, before the data are known."""
    if model == "auto":
        return CHOOSES_ONLINE if one_by_one else CHOOSES
    if one_by_one and model not in stream_names():
        allowed = ", ".join(stream_names())
        raise ArgumentError(
            f"--model {model} needs the whole file; --online, --in-order and --init are for "
            f"{allowed}."
        )
    return (model,)
