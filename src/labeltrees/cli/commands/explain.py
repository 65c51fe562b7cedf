"""`labeltrees explain`: why a row gives a label its probability."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from labeltrees.cli.explanation_text import in_words
from labeltrees.cli.opening import ModelArgument, open_model
from labeltrees.cli.reading_options import FormatOption, LineOption
from labeltrees.cli.report import JsonOption, say, say_json
from labeltrees.data.readers.source import MAX_LINE_BYTES
from labeltrees.errors import ArgumentError
from labeltrees.input import Input
from labeltrees.models.capabilities import Explains, demand

if TYPE_CHECKING:
    from labeltrees.data.chunk import Chunk
    from labeltrees.models.model import FittedModel

_N_OTHERS = 4


def explain(
    model: ModelArgument,
    data: Annotated[
        str | None, typer.Argument(help="Data file, gzipped or not, or '-' for stdin.")
    ] = None,
    text: Annotated[
        str | None, typer.Option("--text", "-t", help="Text to explain instead of a row of a file.")
    ] = None,
    row: Annotated[int, typer.Option(min=0, help="Number of the row, counted from 0.")] = 0,
    label: Annotated[
        str | None, typer.Option(help="Label to explain. By default the most likely label.")
    ] = None,
    features: Annotated[int, typer.Option(min=0, help="Maximum number of features to list.")] = 10,
    full: Annotated[
        bool,
        typer.Option(
            "--full", help="Print every step of the path through the tree and its features."
        ),
    ] = False,
    format: FormatOption = None,  # noqa: A002
    max_line_bytes: LineOption = MAX_LINE_BYTES,
    json: JsonOption = False,
) -> None:
    """Print which features of a row are evidence for a label, and which against it.

    Example: labeltrees explain intents.safetensors --text "wake me at six"
    """
    stored, opened = open_model(model)
    demand(opened, Explains, "explain")
    assert isinstance(opened, Explains)
    if (data is None) == (text is None):
        raise ArgumentError("name a data file, '-' for stdin, or give --text: one of them.")
    if text is not None:
        source = Input.of_texts(stored, [text])
    else:
        source = Input.like(
            stored, data or "", format=format, limit=row + 1, max_line_bytes=max_line_bytes
        )
    chunk = _row(source, row)
    x = chunk.rows
    opened.check_width(x)
    n_labels = getattr(opened, "n_tree_labels", len(opened.vocabulary))
    likeliest = opened.top_labels(x, min(_N_OTHERS, n_labels))
    chosen = likeliest.labels[0, 0] if label is None else _as_label(opened, label)
    own = text if chunk.texts is None else chunk.texts[0]
    names = source.feature_names(own)
    n_listed = features if full or json else len(x.indices) + 1
    reason = opened.explain(x, chosen, n_features=n_listed, feature_names=names)
    if json:
        say_json(reason.to_dict())
    elif full:
        say(reason.to_text())
    else:
        others = zip(likeliest.labels[0].tolist(), likeliest.probabilities[0].tolist(), strict=True)
        for line in in_words(reason, others, len(opened.vocabulary), n_features=features):
            say(line)


def _row(source: Input, row: int) -> Chunk:
    n_before = 0
    for chunk in source.chunks():
        if row < n_before + chunk.n_rows:
            return chunk.take(np.array([row - n_before]))
        n_before += chunk.n_rows
    raise ArgumentError.of("--row", row, f"below the {n_before} rows of {source.path}")


def _as_label(model: FittedModel, text: str) -> int | str:
    if model.vocabulary.is_text:
        return text
    try:
        return int(text)
    except ValueError:
        raise ArgumentError.of("--label", text, "an integer, as this model's labels are") from None
