"""The command `labeltrees evaluate`, which scores a model or a file of its predictions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from labeltrees.cli.reading_options import (
    FormatOption,
    InputArgument,
    LimitOption,
    LineOption,
    ModelArgument,
    open_model,
)
from labeltrees.cli.report import JsonOption, QuietOption, say, say_json
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.readers.source import MAX_LINE_BYTES
from labeltrees.data.same_rows import Ratings
from labeltrees.data.shuffle import joined
from labeltrees.errors import ArgumentError, DataError
from labeltrees.evaluation import Evaluator
from labeltrees.evaluation._saved import add_saved, as_text
from labeltrees.input import Input
from labeltrees.metrics._propensity import checked_constants
from labeltrees.models.settings import ClassifierSettings
from labeltrees.progress import Progress

if TYPE_CHECKING:
    from pathlib import Path

    from labeltrees.models.model import FittedModel


def evaluate(
    model: ModelArgument,
    data: InputArgument,
    top: Annotated[
        int, typer.Option("--top", "-k", min=1, help="The k of metrics such as P@k.")
    ] = 5,
    labels: Annotated[
        str | None,
        typer.Option(
            help="Compare with one label of each row: 'each' in turn, with equal shares of the "
            "weight, 'draw' for a random label, or the 'first'. By default all labels count."
        ),
    ] = None,
    format: FormatOption = None,  # noqa: A002
    limit: LimitOption = None,
    max_line_bytes: LineOption = MAX_LINE_BYTES,
    seed: Annotated[int, typer.Option(min=0, help="Seed of --labels draw.")] = 0,
    multilabel: Annotated[
        bool,
        typer.Option(
            "--multilabel", help="Print metrics of all labels of a row: P@k, nDCG@k, XMAD@k ..."
        ),
    ] = False,
    labelwise: Annotated[
        bool,
        typer.Option(
            "--labelwise", help="Print the same metrics for the most likely rows of each label."
        ),
    ] = False,
    predictions: Annotated[
        bool, typer.Option("--predictions", help="Read MODEL as a file that `predict` wrote.")
    ] = False,
    join_rows: Annotated[
        bool | None,
        typer.Option(
            "--join-rows/--no-join-rows",
            help="Join rows with the same text (a table of ratings). By default this follows the "
            "training of the model, or with --predictions the profile of the rows.",
        ),
    ] = None,
    train: Annotated[
        str | None,
        typer.Option(
            help="Training data, whose labels give the propensities of PSP@k and PSnDCG@k."
        ),
    ] = None,
    propensity_a: Annotated[
        float | None,
        typer.Option(help="A of propensities: 0.5 for Wikipedia, 0.6 for Amazon, otherwise 0.55."),
    ] = None,
    propensity_b: Annotated[
        float | None,
        typer.Option(help="B of propensities: 0.4 for Wikipedia, 2.6 for Amazon, otherwise 1.5."),
    ] = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Print the scores of a saved model, or of a file of predictions, on a data file.

    Example:
        labeltrees evaluate intents.safetensors test.tsv

    Rows with one label have accuracy, losses and calibration. Rows with several labels, or with
    relevances, have a table of the metrics at k. Rows with distributions have distances.
    """
    lines: dict[str, Any] = {"max_line_bytes": max_line_bytes}
    constants = _constants(propensity_a, propensity_b, train)
    task = "labels" if multilabel or train else "label" if labels is not None else None
    evaluator = Evaluator(k=top, task=cast("Any", task), labelwise=labelwise)
    for option, is_given in (
        ("predictions", predictions),
        ("multilabel", multilabel),
        ("labelwise", labelwise),
        ("train", train),
    ):
        if labels is not None and is_given:
            raise _labels_refused(f"with --{option}")
    learned = None
    if predictions:
        source = Input.choose(data, format=format, limit=limit, **lines)
        _add_saved(evaluator, model, source, join=join_rows)
        if train:
            learned = _labels_of(Input.choose(train, format=format, **lines), as_names=True)
    else:
        stored, opened = open_model(model)
        source = Input.like(
            stored, data, format=format, limit=limit, one_label=labels, seed=seed, **lines
        )
        source = source.joined_as_learned(stored)
        if join_rows is not None:
            source = replace(source, join_rows=join_rows)
        _check_labels(labels, opened, source)
        if train:
            learned = _labels_of(Input.like(stored, train, format=None, **lines))
        _add(evaluator, opened, source, one_label=labels, quiet=quiet)
    found = evaluator.evaluation(learned=learned, **constants)
    if json:
        per_row = {} if predictions else {"microseconds_per_row": _microseconds(evaluator)}
        say_json(found.to_dict() | per_row)
        return
    say(str(found))
    if not predictions:
        say(f"  Predictions took {_microseconds(evaluator):,.1f} microseconds per row.")


def _add(
    evaluator: Evaluator, model: FittedModel, source: Input, *, one_label: str | None, quiet: bool
) -> None:
    """Let a model predict for the rows of a file."""
    with Progress("evaluating", total=source.limit, enabled=not quiet) as progress:
        for chunk in source.whole():
            model.check_width(chunk.rows)
            progress.advance(chunk.n_rows)
            if one_label is not None:
                chunk = chunk.with_one_label(source.one_label, source.seed)
            evaluator.add(model, chunk)


def _add_saved(evaluator: Evaluator, path: Path, source: Input, *, join: bool | None) -> None:
    """Read predictions, and join rows of ratings as a model of such rows would."""
    chunks = list(source.chunks())
    if not chunks:
        raise DataError(f"{source.path} has no rows.")
    chunk = joined(chunks)
    if join is None:
        ratings = Ratings()
        ratings.add(chunk)
        join = ratings.found
    add_saved(
        evaluator, path, chunk, name=source.path, join=join, limit=source.limit,
        max_line_bytes=source.max_line_bytes,
    )  # fmt: skip


def _labels_of(source: Input, *, as_names: bool = False) -> RaggedLabels:
    """Return the labels of all rows of a file."""
    chunks = list(source.whole())
    chunk = joined(chunks)
    return replace(chunk.targets, labels=as_text(chunk.labels)) if as_names else chunk.targets


def _check_labels(labels: str | None, model: FittedModel, source: Input) -> None:
    """Raise `ArgumentError` if one label of each row is requested, but all labels count."""
    if labels is None:
        return
    if not issubclass(model.settings_class, ClassifierSettings):
        raise _labels_refused("with such a model")
    if source.profile is not None and source.profile.distributions:
        raise _labels_refused("with distributions")


def _labels_refused(why: str) -> ArgumentError:
    return ArgumentError(f"--labels cannot be used {why}, where all labels count. Remove --labels.")


def _microseconds(evaluator: Evaluator) -> float:
    return 1e6 * evaluator.seconds / max(1, evaluator.n_rows)


def _constants(a: float | None, b: float | None, train: str | None) -> dict[str, float]:
    """Return the constants of propensities that were given, checked."""
    given = {name: value for name, value in (("a", a), ("b", b)) if value is not None}
    if given and train is None:
        raise ArgumentError(f"--propensity-{min(given)} needs --train, the training data.")
    try:
        checked_constants(**given)
    except ArgumentError as error:
        raise error.renamed(f"--propensity-{error.argument}") from None
    return given
