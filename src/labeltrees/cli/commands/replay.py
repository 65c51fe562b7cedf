"""The command `labeltrees replay`, which trains a model on the log of a server."""

from __future__ import annotations

import ast
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labeltrees import store
from labeltrees.cli.commands.serve import demand_serve_extra
from labeltrees.cli.report import JsonOption, QuietOption, say, say_json, say_pairs
from labeltrees.errors import ArgumentError
from labeltrees.progress import Progress
from labeltrees.store import check_out

if TYPE_CHECKING:
    from labeltrees.serve.learning.log import ExampleLog


_SCORES = ("log_loss", "accuracy", "precision_at_1", "precision_at_5", "calibration_error")
"""Names of the reported scores; models of several labels have precision instead of accuracy."""


def replay(
    folder: Annotated[Path, typer.Argument(help="Folder of the server, which may be running.")],
    name: Annotated[str, typer.Argument(help="Name of the served model.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File for the model.")] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="Update this model file instead of a new model."),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Setting of the new model, as NAME=VALUE. You can repeat this option."
        ),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            help="Write the examples as JSON lines instead, to a file or to stdout ('-')."
        ),
    ] = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train a model on the log of a server, for example with other settings.

    Example:
        labeltrees replay served intents --out again.safetensors

    The report has the quality of the predictions made before each example was learned.
    """
    demand_serve_extra()
    from labeltrees.serve.learning.folder import LOG
    from labeltrees.serve.learning.log import ExampleLog

    log_path = folder / LOG
    if not log_path.is_file():
        raise FileNotFoundError(
            f"{log_path} does not exist. FOLDER must be the folder of a server."
        )
    if out is None and export is None:
        raise ArgumentError("Give --out FILE for the model, or --export FILE for the examples.")
    if out is not None:
        check_out(out)
    with closing(ExampleLog(log_path, read_only=True)) as log:
        known = log.model_id(name)
        if known is None:
            raise ArgumentError.of("NAME", name, f"one of {', '.join(log.model_names()) or 'none'}")
        if export is not None:
            _export(log, known, export)
            return
        settings = dict(_setting(each) for each in setting or ())
        if model is not None and settings:
            raise ArgumentError("--model keeps the settings of its file. Remove --set.")
        stored = _fresh(folder, name, settings) if model is None else store.read(model)
        assert out is not None
        result = _learned(log, known, name, stored, out, quiet=quiet)
    if json:
        say_json(result)
        return
    say_pairs({key.replace("_", " "): value for key, value in result.items()})
    say("Each example was predicted before it was learned.")


def _learned(
    log: ExampleLog, known: int, name: str, stored: store.StoredModel, out: Path, *, quiet: bool
) -> dict[str, Any]:
    """Learn the examples, save the model, and return the facts of the report."""
    from labeltrees.serve.learning.folder import replay as learn_all
    from labeltrees.serve.learning.served import ServedModel

    served = ServedModel(name, stored)
    served.check_can_learn()
    begin = time.perf_counter()
    after, link = log.trimmed(known)
    total = log.last(known)[0] - after
    with Progress("learning", total=total, enabled=not quiet) as progress:
        n = learn_all(served, log.examples(known, after=after, link=link), progress.advance)
    store.write(out, served.stored()[1])
    scores = served.quality.summary()["all"]
    return {
        "examples": n, "trimmed": after, "labels": served.n_labels,
        **{each: scores[each] for each in _SCORES if each in scores},
        "seconds": round(time.perf_counter() - begin, 3), "model": str(out),
    }  # fmt: skip


def _setting(text: str) -> tuple[str, Any]:
    """Return a setting's name and value.

    >>> _setting("learning_rate=0.5"), _setting("loss=squared")
    (('learning_rate', 0.5), ('loss', 'squared'))
    """
    name, equals, value = text.partition("=")
    if not equals:
        raise ArgumentError.of("--set", text, "NAME=VALUE")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def _fresh(folder: Path, name: str, settings: dict[str, Any]) -> store.StoredModel:
    from labeltrees.serve.learning.folder import models_in
    from labeltrees.serve.learning.new_models import new_model_like
    from labeltrees.serve.learning.snapshots import Snapshots

    homes = models_in(folder)
    if name not in homes:
        raise ArgumentError.of(
            "NAME", name, "a model with snapshots. Use --model to start from a model file"
        )
    return new_model_like(Snapshots(homes[name]).newest()[1], settings)


def _export(log: ExampleLog, known: int, path: Path) -> None:
    after, link = log.trimmed(known)
    lines = (each.example.decode() for each in log.examples(known, after=after, link=link))
    if str(path) == "-":
        for line in lines:
            say(line)
        return
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
