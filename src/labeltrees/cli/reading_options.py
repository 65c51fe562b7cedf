"""The options by which commands read data files."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from labeltrees.cli.method_options import with_options
from labeltrees.errors import ArgumentError
from labeltrees.input import ALL_FORMATS

__all__ = [
    "FormatOption",
    "InputArgument",
    "LabelsOption",
    "LimitOption",
    "LineOption",
    "OrderOption",
    "expanded",
    "with_columns",
]

InputArgument = Annotated[
    str,
    typer.Argument(
        help="Data file (gzipped or not), '-' for stdin, or with --format python a "
        "folder of Python code or 'stdlib'."
    ),
]
FormatOption = Annotated[
    str | None,
    typer.Option(help=f"{', '.join(ALL_FORMATS)}; by default what is in the file decides."),
]
LabelsOption = Annotated[
    str | None,
    typer.Option(
        "--labels",
        help="Rows with several labels, for models of one: learn 'each' (the default), 'draw' "
        "one, or the 'first'.",
    ),
]
LimitOption = Annotated[
    int | None,
    typer.Option(min=1, help="Read at most this many rows."),
]
LineOption = Annotated[
    int,
    typer.Option("--max-line-bytes", min=1, help="Refuse longer lines than this."),
]
OrderOption = Annotated[
    str | None,
    typer.Option(
        help="With --format python: the order of examples, 'files' (the default) or 'shuffled'."
    ),
]


def _column_options(
    label_separator: Annotated[
        str | None,
        typer.Option(help="What separates labels in TSV and CSV, or 'none'; by default found out."),
    ] = None,
    label_column: Annotated[
        str | None,
        typer.Option(help="The column of labels, by name or number from 1; by default found out."),
    ] = None,
    text_column: Annotated[
        list[str] | None,
        typer.Option(help="A column of text in CSV, by name or number; may be repeated."),
    ] = None,
    rating_column: Annotated[
        str | None,
        typer.Option(help="A column of relevance in CSV, by name or number."),
    ] = None,
    quoted_labels: Annotated[
        bool,
        typer.Option("--quoted-labels", help="In VW: a first word such as 's is a label, no tag."),
    ] = False,
) -> None:
    """Hold the options of `profile_file` for columns and separators, which have the same names."""


def with_columns(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of columns, and pass those that were set as ``columns``.

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
    """Return the files with these names. Patterns such as 'part-*.tsv' stand for sorted files."""
    found: list[str] = []
    for path in paths:
        if path == "-" or os.path.exists(path) or not glob.has_magic(path):
            found.append(path)
            continue
        matches = sorted(glob.glob(path, recursive=True))
        if not matches:
            raise ArgumentError(f"no file matches {path!r}.")
        found += matches
    if found.count("-") > 1:
        raise ArgumentError("the standard input can be read only once, got '-' twice.")
    return found
