"""`labeltrees explain`: why a row gives a label its probability."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from labeltrees.cli.inputs import FormatOption, Input, InputArgument, LineOption
from labeltrees.cli.methods import as_options
from labeltrees.cli.opening import ModelArgument, open_model
from labeltrees.cli.report import JsonOption, say, say_json
from labeltrees.data.readers.source import MAX_LINE_BYTES
from labeltrees.errors import ArgumentError
from labeltrees.models.capabilities import Explains, demand

if TYPE_CHECKING:
    from labeltrees.data.rows import Rows
    from labeltrees.models.model import FittedModel


def explain(
    model: ModelArgument,
    data: InputArgument,
    row: Annotated[int, typer.Option(min=0, help="Which row, counting from 0.")] = 0,
    label: Annotated[
        str | None, typer.Option(help="Which label; by default the row's likeliest.")
    ] = None,
    features: Annotated[int, typer.Option(min=0, help="How many features per turn.")] = 10,
    format: FormatOption = None,  # noqa: A002
    max_line_bytes: LineOption = MAX_LINE_BYTES,
    json: JsonOption = False,
) -> None:
    """Print the path of a label for one row: each turn and what supports it."""
    stored, opened = open_model(model)
    demand(opened, Explains, "explain")
    assert isinstance(opened, Explains)
    source = Input.like(stored, data, format=format, limit=row + 1, max_line_bytes=max_line_bytes)
    x = _row(source, row)
    opened.check_width(x)
    chosen = opened.top_labels(x, 1).labels[0, 0] if label is None else _as_label(opened, label)
    names = source.feature_names()
    explain_x = partial(opened.explain, x, n_features=features, feature_names=names)
    reason = as_options(explain_x, {"label": chosen})
    if json:
        say_json(reason.to_dict())
    else:
        say(reason.to_text())


def _row(source: Input, row: int) -> Rows:
    n_before = 0
    for chunk in source.chunks():
        if row < n_before + chunk.n_rows:
            return chunk.rows.take(np.array([row - n_before]))
        n_before += chunk.n_rows
    raise ArgumentError.of("--row", row, f"below the {n_before} rows of {source.path}")


def _as_label(model: FittedModel, text: str) -> int | str:
    if model.vocabulary.is_text:
        return text
    try:
        return int(text)
    except ValueError:
        raise ArgumentError.of("--label", text, "an integer, as this model's labels are") from None
