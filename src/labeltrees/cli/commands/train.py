"""The command `labeltrees train`, which calls `labeltrees.train` and prints its report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

import labeltrees
from labeltrees import store
from labeltrees.autotrain._options import Effort, MethodOptions
from labeltrees.autotrain._train import VECTORIZERS
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
        typer.Option(
            "--out",
            "-o",
            help="File for the model. By default the name of DATA with the suffix .safetensors.",
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            "--model", help=f"Method: auto chooses by the data. Others are {', '.join(methods())}."
        ),
    ] = "auto",
    fast: Annotated[
        bool,
        typer.Option("--fast", help="Train one tree, which is faster and a little less accurate."),
    ] = False,
    best: Annotated[
        bool,
        typer.Option(
            "--best", help="Train more trees, which is slower and a little more accurate."
        ),
    ] = False,
    online: Annotated[
        bool,
        typer.Option("--online", help="Learn row by row, in mixed order and constant memory."),
    ] = False,
    in_order: Annotated[
        bool, typer.Option("--in-order", help="Learn row by row, in the order of the file.")
    ] = False,
    init: Annotated[
        Path | None, typer.Option(help="Saved model that continues learning, row by row.")
    ] = None,
    format: FormatOption = None,  # noqa: A002
    vectorizer: Annotated[
        str | None,
        typer.Option(
            help=f"Features of texts: {', '.join(VECTORIZERS)}. They are TF-IDF of words and pairs "
            "of words, counts of words (for bm25), and hashed words and pairs of words."
        ),
    ] = None,
    one_label: LabelsOption = None,
    join_rows: Annotated[
        bool | None,
        typer.Option(
            help="Join rows with the same text into one row with all their labels. By default rows "
            "are joined if each row rates a label."
        ),
    ] = None,
    limit: LimitOption = None,
    max_line_bytes: LineOption = MAX_LINE_BYTES,
    order: OrderOption = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            help="Folder for rows that do not fit into memory, used by --model xreg. It needs "
            "about four times the size of the rows. By default the system's temporary folder."
        ),
    ] = None,
    keep_state: Annotated[
        bool, typer.Option(help="Save what the model needs to continue learning.")
    ] = True,
    json: JsonOption = False,
    quiet: QuietOption = False,
    *,
    columns: dict[str, Any],
    options: MethodOptions,
) -> None:
    """Train the model that suits a data file, measure it on held-out rows, and save it.

    Example:
        labeltrees train intents.tsv
    """
    if fast and best:
        raise ArgumentError("--fast and --best cannot be combined. Remove one of them.")
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
                f"{target} exists but is not a model file. Use --out to save to another file."
            ) from None
    return target
