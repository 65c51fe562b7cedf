"""The command `labeltrees card`, which writes a model card, with scores on held-out rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labeltrees.cards import About, card_of
from labeltrees.cli.reading_options import (
    FormatOption,
    LimitOption,
    LineOption,
    ModelArgument,
    open_model,
)
from labeltrees.cli.report import JsonOption, QuietOption, say, say_json
from labeltrees.data.readers.source import MAX_LINE_BYTES
from labeltrees.errors import ArgumentError
from labeltrees.evaluation import Evaluator
from labeltrees.input import Input
from labeltrees.progress import Progress

if TYPE_CHECKING:
    from labeltrees import store
    from labeltrees.evaluation import Evaluation
    from labeltrees.models.model import FittedModel


def card(
    model: ModelArgument,
    data: Annotated[
        str | None, typer.Argument(help="Rows that the model was not trained on, to measure it.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for README.md and the picture.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Title of the card.")] = None,
    about: Annotated[str | None, typer.Option(help="Paragraph below the title.")] = None,
    license: Annotated[  # noqa: A002
        str | None, typer.Option(help="License, such as mit. By default the card has none.")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="Name of the data.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="Additional tag. You can repeat this option.")
    ] = None,
    format: FormatOption = None,  # noqa: A002
    limit: LimitOption = None,
    max_line_bytes: LineOption = MAX_LINE_BYTES,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write a model card: data, quality, settings, checksums, and how to load the model.

    Example:
        labeltrees card intents.safetensors test.tsv --out intents-card

    Without --out the card is printed as Markdown, or with --json as JSON.
    """
    if out is not None and out.exists() and not out.is_dir():
        raise ArgumentError.of("--out", str(out), "a folder")
    if data is None and (limit is not None or format is not None):
        raise ArgumentError("--limit and --format need DATA, a file of rows.")
    stored, opened = open_model(model)
    said = About(
        name=name,
        about=about,
        license=license,
        dataset=dataset,
        tags=tuple(tag or ()),
        file=model,
        transform=_text_transform(stored),
    )
    evaluation = None
    if data is not None:
        more: dict[str, Any] = {"limit": limit, "max_line_bytes": max_line_bytes}
        source = Input.like(stored, data, format=format, **more).joined_as_learned(stored)
        evaluation = _evaluated(opened, source, quiet=quiet)
    found = card_of(opened, evaluation, said)
    if out is not None:
        for path in found.save(out):
            say(str(path))
    elif json:
        say_json(found.facts)
    else:
        say(str(found).rstrip())


def _evaluated(model: FittedModel, source: Input, *, quiet: bool) -> Evaluation:
    """Return the scores of a model on the rows of a file."""
    evaluator = Evaluator()
    with Progress("evaluating", total=source.limit, enabled=not quiet) as progress:
        for chunk in source.whole():
            model.check_width(chunk.rows)
            evaluator.add(model, chunk)
            progress.advance(chunk.n_rows)
    return evaluator.evaluation()


def _text_transform(stored: store.StoredModel) -> str | None:
    """Return what makes features of texts, if the file has that."""
    if stored.transform is None:
        return None
    from labeltrees.transforms import takes_text, transform_of

    transformer = transform_of(stored)
    return type(transformer).__name__ if takes_text(transformer) else None
