"""The command `labeltrees train`, which calls `labeltrees.train` and prints its report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

import labeltrees
from labeltrees import store
from labeltrees.autotrain.options import Effort, MethodOptions
from labeltrees.autotrain.train import VECTORIZERS
from labeltrees.cli.method_options import with_method_options
from labeltrees.cli.reading_options import (
    FormatOption,
    InputArgument,
    LabelsOption,
    LimitOption,
    LineOption,
    OrderOption,
    with_columns,
)
from labeltrees.cli.report import JsonOption, QuietOption, say, say_json
from labeltrees.data.readers.source import MAX_LINE_BYTES
from labeltrees.errors import ArgumentError, ModelFormatError
from labeltrees.models.registry import methods


@with_columns
@with_method_options
def train(
    data: InputArgument,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Where to save the model. By default DATA.safetensors."),
    ] = None,
    method: Annotated[
        str,
        typer.Option("--model", help=f"auto, or one of {', '.join(methods())}."),
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
            help=f"For text, one of {', '.join(VECTORIZERS)}: TF-IDF of words and pairs of words, "
            "counts of words (bm25 takes them), or hashed words and pairs of words."
        ),
    ] = None,
    one_label: LabelsOption = None,
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
        bool, typer.Option(help="Whether the saved model can continue learning.")
    ] = True,
    json: JsonOption = False,
    quiet: QuietOption = False,
    *,
    columns: dict[str, Any],
    options: MethodOptions,
) -> None:
    """Learn the model that suits a data file, measure it on rows held out, and save it."""
    if fast and best:
        raise ArgumentError("--fast and --best exclude each other.")
    effort: Effort = "fast" if fast else "best" if best else "usual"
    target = _default_out(data) if out is None else out
    store.check_out(target)
    try:
        report = labeltrees.train(
            data, out=target, method=method, effort=effort, settings=options.settings,
            seed=options.seed, n_jobs=options.n_jobs, online=online, in_order=in_order, init=init,
            one_label=cast("Any", one_label), vectorizer=vectorizer, join_rows=join_rows,
            folder=folder, keep_state=keep_state, format=format, columns=columns, limit=limit,
            order=order, max_line_bytes=max_line_bytes, progress=not quiet,
        )  # fmt: skip
    except ArgumentError as error:
        raise (error.renamed(f"--{effort}") if error.argument == "effort" else error) from None
    if json:
        say_json(report.to_dict())
    else:
        say(str(report))


def _default_out(data: str) -> Path:
    """Return the default path of a model, which is in this folder and named after the data.

    A file of that name is replaced only if it is a model, or raises `ArgumentError`.

    >>> str(_default_out("/data/intents.tsv.gz")), str(_default_out("-"))
    ('intents.safetensors', 'model.safetensors')
    """
    name = Path(data).name.split(".")[0] if data != "-" else ""
    target = Path(f"{name or 'model'}.safetensors")
    if target.exists():
        try:
            store.read(target, mapped=True)
        except (ModelFormatError, OSError):
            raise ArgumentError(
                f"{target} is there and is no model: say with --out where to save."
            ) from None
    return target
