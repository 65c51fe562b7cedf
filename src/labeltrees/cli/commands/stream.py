"""`labeltrees stream`: predict each row, then learn from it, for as long as rows come."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from labeltrees.autotrain.options import MethodOptions, streaming_methods
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
from labeltrees.cli.streaming.checkpoint import Position, fingerprint
from labeltrees.cli.streaming.learner import Learner, checked_options, opened_model
from labeltrees.cli.streaming.loop import Answers, Pulse, Stream
from labeltrees.cli.streaming.signals import AskedToStop, Stopping
from labeltrees.cli.units import Every, every
from labeltrees.data.readers.source import MAX_LINE_BYTES
from labeltrees.errors import ArgumentError, DataError
from labeltrees.input import Input
from labeltrees.metrics import ProgressiveValidation
from labeltrees.progress import Progress
from labeltrees.store import check_out

_WHAT = "predicted before learned, in the order of the stream"


@with_columns
@with_stream_options
def stream(
    data: InputArgument,
    model: Annotated[
        str,
        typer.Option(
            help=f"auto (conditional, or multilabel if rows have several labels), "
            f"{', '.join(streaming_methods())}."
        ),
    ] = "auto",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Where to save the model: at the end, and if stopped."),
    ] = None,
    checkpoint_every: Annotated[
        str | None,
        typer.Option(help="Save so often as well: 10000 (rows), 30s, 5m or 2h. Needs --out."),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on where the model at --out stopped, if there is one."),
    ] = False,
    init: Annotated[
        Path | None, typer.Option(help="Go on from this model, with this data from its start.")
    ] = None,
    predictions: Annotated[
        str | None,
        typer.Option(
            help="Write a line for each row before it is learned: its label (or labels), their "
            "probability, the likeliest labels and theirs. A file, or '-' for stdout."
        ),
    ] = None,
    predictions_top: Annotated[
        int, typer.Option(min=1, help="How many of the likeliest labels; above 1 is slower.")
    ] = 1,
    predictions_format: Annotated[
        str | None, typer.Option(help="tsv, csv or jsonl; by default the file's suffix decides.")
    ] = None,
    max_memory: Annotated[
        str | None, typer.Option(help="Keep the weights within this size, such as 500MB or 2GB.")
    ] = None,
    forget: Annotated[
        int | None,
        typer.Option(
            min=2, help="conditional: what was learned fades by half in every so many rows."
        ),
    ] = None,
    heartbeat: Annotated[
        float,
        typer.Option(min=0, help="Where stderr is no terminal: seconds between lines, 0 for none."),
    ] = 60.0,
    format: FormatOption = None,  # noqa: A002
    one_label: LabelsOption = None,
    limit: LimitOption = None,
    max_line_bytes: LineOption = MAX_LINE_BYTES,
    order: OrderOption = None,
    top: Annotated[
        bool, typer.Option(help="Whether to find each row's likeliest labels (for accuracy).")
    ] = True,
    json: JsonOption = False,
    quiet: QuietOption = False,
    *,
    columns: dict[str, Any],
    options: MethodOptions,
) -> None:
    """Predict each row, then learn from it; report how good the predictions were.

    Rows are dealt with as they come, those of a pipe at once. Ctrl-C and SIGTERM save the model and
    print the report.
    """
    often = _checked_times(checkpoint_every, out, resume=resume)
    options = checked_options(options, model, max_memory, forget)
    check_out(out)
    reading: dict[str, Any] = {
        "format": format,
        "one_label": one_label,
        "limit": limit,
        "order": order,
        "seed": options.seed,
        "max_line_bytes": max_line_bytes,
    }
    resumed = out if resume and out is not None and out.exists() else None
    with Stopping() as stopping:
        begun, opened, extra = resumed or init, None, {}
        stored = None
        if begun is not None:
            opened, stored = opened_model(begun, model, options)
            extra = stored.extra
            if forget is not None and not opened.fades:
                raise ArgumentError(f"--forget: {begun} holds a {stored.model}, which cannot.")
        try:
            with stopping.waiting():  # the first line of a pipe may not have come yet
                source = (
                    Input.choose(data, columns=columns, **reading)
                    if stored is None
                    else Input.like(stored, data, **reading)
                )
        except AskedToStop:
            raise typer.Exit(stopping.exit_code) from None
        learner = Learner.of(opened, model, options, source, one_label)
        if forget is not None and not learner.model_class.fades:
            raise ArgumentError(f"--forget is not an option of {learner.name}.")
        if source.profile is not None and not quiet:
            with reporting_to_stderr():
                for note in (*source.profile.notes, *learner.notes):
                    say(f"labeltrees: {note}")
        facts = {"input": extra["input"]} if "input" in extra else source.facts()
        sets = learner.model_class.takes_label_sets
        if resumed is None:
            position = Position(
                fingerprint(source), ProgressiveValidation(label_sets=sets, n_expected=limit)
            )
        else:
            position = Position.resumed(extra, source, str(resumed), label_sets=sets)
        answers = None
        if predictions is not None:
            form = form_of(predictions, predictions_format, "--predictions-format")
            answers = Answers(
                AnswerFile(predictions, "--predictions", position.predictions_bytes),
                form,
                predictions_top,
            )
        with Progress("streaming", total=limit, enabled=not quiet) as progress:
            running = Stream(
                source=source,
                position=position,
                learner=learner,
                model=opened,
                out=out,
                extra=facts,
                checkpoint=often,
                answers=answers,
                n_top=int(top) if answers is None else answers.n_top,
                pulse=Pulse(progress, 0.0 if quiet else heartbeat),
                stopping=stopping,
                forget=forget,
            )
            try:
                running.run()
            finally:
                if answers is not None:
                    answers.file.close()
    if not running.unread:
        with reporting_to_stderr(predictions == "-"):
            _report(running, json=json)
    if stopping.exit_code:
        raise typer.Exit(stopping.exit_code)


def _checked_times(checkpoint_every: str | None, out: Path | None, *, resume: bool) -> Every:
    if out is None and (checkpoint_every is not None or resume):
        option = "--resume" if resume else "--checkpoint-every"
        raise ArgumentError(f"{option} needs --out, where the model is saved.")
    return Every() if checkpoint_every is None else every("--checkpoint-every", checkpoint_every)


def _report(running: Stream, *, json: bool) -> None:
    position, path = running.position, running.source.path
    if running.model is None and running.stopping.caught is None:
        raise DataError(f"{path} has no row with a label.")
    summary = position.validation.summary()
    if json:
        rates = {"seconds": running.pulse.seconds, "examples_per_second": running.pulse.rate}
        place = {"input_rows": position.rows, "unlabelled": position.unlabelled}
        say_json(summary.to_dict() | rates | place | {"measured": _WHAT})
        return
    say_curve(summary)
    say(f"\n  {_WHAT}:")
    pairs = progressive_pairs(summary) | {"examples/s": round(running.pulse.rate)}
    if position.unlabelled:
        pairs["rows without a label"] = position.unlabelled
    say_pairs(pairs)
    if running.out is not None and running.model is not None:
        say(f"\n  saved to {running.out} after {position.rows:,} rows of {path}")
