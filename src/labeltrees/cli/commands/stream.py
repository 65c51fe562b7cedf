"""The command `labeltrees stream`, which predicts each row and then learns it."""

from __future__ import annotations

from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labeltrees.autotrain._options import MethodOptions, streaming_methods
from labeltrees.cli.answers import AnswerFile, form_of
from labeltrees.cli.method_options import with_stream_options
from labeltrees.cli.reading_options import (
    FormatOption,
    InputArgument,
    LabelsOption,
    LimitOption,
    LineOption,
    OrderOption,
    with_columns,
)
from labeltrees.cli.report import (
    JsonOption,
    QuietOption,
    progressive_pairs,
    reporting_to_stderr,
    say,
    say_curve,
    say_json,
    say_pairs,
)
from labeltrees.cli.streaming.loop import Every, PredictionWriter, Pulse, Stream, every
from labeltrees.cli.streaming.signals import Stopping, StopRequested
from labeltrees.cli.streaming.state import (
    Learner,
    Position,
    checked_options,
    fingerprint,
    opened_model,
)
from labeltrees.data.readers.source import MAX_LINE_BYTES
from labeltrees.errors import ArgumentError, DataError
from labeltrees.input import Input
from labeltrees.metrics import ProgressiveValidation
from labeltrees.progress import Progress
from labeltrees.store import check_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labeltrees.store import StoredModel

_WHAT = "Each row was predicted before it was learned, in the order of the stream."


@with_columns
@with_stream_options
def stream(
    data: InputArgument,
    model: Annotated[
        str,
        typer.Option(
            help="Method: auto is conditional, or multilabel if rows have several labels. Others "
            f"are {', '.join(streaming_methods())}."
        ),
    ] = "auto",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="File for the model, which is saved at the end and when stopped."
        ),
    ] = None,
    checkpoint_every: Annotated[
        str | None,
        typer.Option(help="Interval between saves: 10000 (rows), 30s, 5m or 2h. Needs --out."),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Continue where the model at --out stopped, if that file exists."
        ),
    ] = False,
    init: Annotated[
        Path | None,
        typer.Option(help="Saved model that continues learning, from the start of DATA."),
    ] = None,
    predictions: Annotated[
        str | None,
        typer.Option(
            help="File for the predictions, or '-' for stdout. Each row has its label or labels, "
            "their probability, and the most likely labels with their probabilities."
        ),
    ] = None,
    predictions_top: Annotated[
        int,
        typer.Option(
            min=1,
            help="Number of most likely labels in the predictions. Values above 1 are slower.",
        ),
    ] = 1,
    predictions_format: Annotated[
        str | None,
        typer.Option(
            help="Format of the predictions: tsv, csv or jsonl. By default the suffix decides."
        ),
    ] = None,
    max_memory: Annotated[
        str | None, typer.Option(help="Maximum memory of the weights, such as 500MB or 2GB.")
    ] = None,
    forget: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Number of rows after which the weight of older rows has halved. For conditional.",
        ),
    ] = None,
    heartbeat: Annotated[
        float,
        typer.Option(
            min=0,
            help="Seconds between progress lines if stderr is not a terminal, or 0 for no lines.",
        ),
    ] = 60.0,
    format: FormatOption = None,  # noqa: A002
    one_label: LabelsOption = None,
    limit: LimitOption = None,
    max_line_bytes: LineOption = MAX_LINE_BYTES,
    order: OrderOption = None,
    top: Annotated[
        bool, typer.Option(help="Predict the most likely label of each row, for accuracy.")
    ] = True,
    json: JsonOption = False,
    quiet: QuietOption = False,
    *,
    columns: dict[str, Any],
    options: MethodOptions,
) -> None:
    """Predict each row, then update the model with it, and report the scores.

    Example:
        labeltrees stream events.tsv --out model.safetensors

    Rows of a pipe are processed as soon as they arrive. Ctrl-C and SIGTERM save the model and print
    the report.
    """
    often = _checked_times(checkpoint_every, out, resume=resume)
    options = checked_options(options, model, max_memory, forget)
    check_out(out)
    resumed = out if resume and out is not None and out.exists() else None
    begun = resumed or init
    reading: dict[str, Any] = {
        "format": format,
        "one_label": one_label,
        "limit": limit,
        "order": order,
        "seed": options.seed,
        "max_line_bytes": max_line_bytes,
    }
    with Stopping() as stopping:
        opened, stored = (None, None) if begun is None else opened_model(begun, model, options)
        with _exiting(stopping):
            source = _source(data, stored, columns, reading)
        learner = Learner.of(opened, model, options, source, one_label)
        _check_forget(forget, learner, begun)
        if not quiet:
            _say_notes(source, learner)
        position = _position(source, learner, stored, resumed, limit)
        writer = _writer(predictions, predictions_format, predictions_top, position)
        with Progress("streaming", total=limit, enabled=not quiet) as progress:
            running = Stream(
                source=source,
                position=position,
                learner=learner,
                model=opened,
                out=out,
                extra=_input_facts(source, stored),
                checkpoint=often,
                writer=writer,
                n_top=int(top) if writer is None else writer.n_top,
                pulse=Pulse(progress, 0.0 if quiet else heartbeat),
                stopping=stopping,
                forget=forget,
            )
            with nullcontext() if writer is None else closing(writer.file):
                running.run()
    if not running.unread:
        with reporting_to_stderr(predictions == "-"):
            _report(running, json=json)
    if stopping.exit_code:
        raise typer.Exit(stopping.exit_code)


@contextmanager
def _exiting(stopping: Stopping) -> Iterator[None]:
    """Exit if a signal comes while the first line of a pipe is awaited."""
    try:
        with stopping.waiting():
            yield
    except StopRequested:
        raise typer.Exit(stopping.exit_code) from None


def _source(
    data: Any, stored: StoredModel | None, columns: dict[str, Any], reading: dict[str, Any]
) -> Input:
    """Return the input, which is read like the data of the saved model if there is one."""
    if stored is None:
        return Input.choose(data, columns=columns, **reading)
    return Input.like(stored, data, **reading)


def _input_facts(source: Input, stored: StoredModel | None) -> dict[str, Any]:
    """Return the facts about the input for the model file."""
    if stored is not None and "input" in stored.extra:
        return {"input": stored.extra["input"]}
    return source.facts()


def _check_forget(forget: int | None, learner: Learner, begun: Path | None) -> None:
    """Raise `ArgumentError` for `--forget` unless the model can fade."""
    if forget is None or learner.model_class.fades:
        return
    if begun is not None:
        raise ArgumentError(
            f"--forget: {begun} has a {learner.name}, which cannot forget. Remove --forget."
        )
    raise ArgumentError(f"--forget is not an option of {learner.name}. Remove it.")


def _say_notes(source: Input, learner: Learner) -> None:
    """Write notes about the input to stderr."""
    if source.profile is not None:
        with reporting_to_stderr():
            for note in (*source.profile.notes, *learner.notes):
                say(f"labeltrees: {note}")


def _position(
    source: Input,
    learner: Learner,
    stored: StoredModel | None,
    resumed: Path | None,
    limit: int | None,
) -> Position:
    """Return the position of a new or of a resumed stream."""
    sets = learner.model_class.takes_label_sets
    if resumed is not None and stored is not None:
        return Position.resumed(stored.extra, source, str(resumed), label_sets=sets)
    validation = ProgressiveValidation(label_sets=sets, n_expected=limit)
    return Position(fingerprint(source), validation)


def _writer(
    predictions: str | None, form: str | None, n_top: int, position: Position
) -> PredictionWriter | None:
    """Return the writer of predictions, or None without predictions."""
    if predictions is None:
        return None
    found = form_of(predictions, form, "--predictions-format")
    file = AnswerFile(predictions, "--predictions", position.predictions_bytes)
    return PredictionWriter(file, found, n_top)


def _checked_times(checkpoint_every: str | None, out: Path | None, *, resume: bool) -> Every:
    if out is None and (checkpoint_every is not None or resume):
        option = "--resume" if resume else "--checkpoint-every"
        raise ArgumentError(f"{option} needs --out, the file of the model.")
    return Every() if checkpoint_every is None else every("--checkpoint-every", checkpoint_every)


def _report(running: Stream, *, json: bool) -> None:
    position, path = running.position, running.source.path
    if running.model is None and running.stopping.caught is None:
        raise DataError(f"No row of {path} has a label.")
    summary = position.validation.summary()
    if json:
        rates = {"seconds": running.pulse.seconds, "examples_per_second": running.pulse.rate}
        place = {"input_rows": position.rows, "unlabelled": position.unlabelled}
        say_json(summary.to_dict() | rates | place | {"measured": _WHAT})
        return
    say_curve(summary)
    say(f"\n  {_WHAT}")
    pairs = progressive_pairs(summary) | {"examples/s": round(running.pulse.rate)}
    if position.unlabelled:
        pairs["rows without a label"] = position.unlabelled
    say_pairs(pairs)
    if running.out is not None and running.model is not None:
        say(f"\n  The model is saved to {running.out} after {position.rows:,} rows of {path}.")
