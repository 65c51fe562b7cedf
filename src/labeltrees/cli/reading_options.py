"""The options by which commands read data files and model files."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labeltrees import store
from labeltrees.cli.method_options import with_options
from labeltrees.errors import ArgumentError
from labeltrees.input import ALL_FORMATS
from labeltrees.models.registry import model_from

if TYPE_CHECKING:
    from labeltrees.models.model import FittedModel

ModelArgument = Annotated[Path, typer.Argument(help="Model file.")]
InputArgument = Annotated[
    str,
    typer.Argument(
        help="Data file, gzipped or not, or '-' for stdin. For Python code a folder, or 'stdlib'."
    ),
]
FormatOption = Annotated[
    str | None,
    typer.Option(help=f"Format of the file: {', '.join(ALL_FORMATS)}. By default it is detected."),
]
LabelsOption = Annotated[
    str | None,
    typer.Option(
        "--labels",
        help="What a model of one label per row learns from a row with several labels: 'each' "
        "label (the default), 'draw' for a random label, or the 'first' label.",
    ),
]
LimitOption = Annotated[
    int | None,
    typer.Option(min=1, help="Read at most this many rows."),
]
LineOption = Annotated[
    int,
    typer.Option(
        "--max-line-bytes",
        min=1,
        help="Maximum number of bytes of a line. Longer lines are an error.",
    ),
]
OrderOption = Annotated[
    str | None,
    typer.Option(
        help="Order of examples with --format python: 'files' (the default) or 'shuffled'."
    ),
]


def _column_options(
    label_separator: Annotated[
        str | None,
        typer.Option(
            help="Separator of labels in TSV and CSV, or 'none'. By default it is detected."
        ),
    ] = None,
    label_column: Annotated[
        str | None,
        typer.Option(help="Column of labels, by name or number from 1. By default it is detected."),
    ] = None,
    text_column: Annotated[
        list[str] | None,
        typer.Option(help="Column of text in CSV, by name or number. You can repeat this option."),
    ] = None,
    rating_column: Annotated[
        str | None,
        typer.Option(help="Column of relevance in CSV, by name or number."),
    ] = None,
    quoted_labels: Annotated[
        bool,
        typer.Option(
            "--quoted-labels",
            help="In VW files, read a first word such as 's as a label instead of a tag.",
        ),
    ] = False,
) -> None:
    """Hold the options of `profile_file` for columns and separators, which have the same names."""


def with_columns(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of columns, and pass the options that were set as ``columns``.

    >>> import inspect
    >>> @with_columns
    ... def learn(data: str, columns: dict): ...
    >>> list(inspect.signature(learn).parameters)[:2]
    ['data', 'label_separator']
    """

    def given(arguments: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in arguments.items() if value}

    return with_options(command, (_column_options,), "columns", given)


def expanded(paths: Sequence[str]) -> list[str]:
    """Return the files with these names. A pattern such as 'part-*.tsv' gives sorted files."""
    found: list[str] = []
    for path in paths:
        if path == "-" or os.path.exists(path) or not glob.has_magic(path):
            found.append(path)
            continue
        matches = sorted(glob.glob(path, recursive=True))
        if not matches:
            raise ArgumentError(f"DATA: no file matches {path!r}.")
        found += matches
    if found.count("-") > 1:
        raise ArgumentError("DATA has '-' twice, but the standard input can be read only once.")
    return found


def open_model(path: Path) -> tuple[store.StoredModel, FittedModel]:
    """Return the content of a model file, and the model, which does not need scikit-learn."""
    stored = store.read(path)
    return stored, model_from(stored)
