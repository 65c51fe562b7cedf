"""The command line: `labeltrees train`, `predict`, `explain`, `stream` and others.

Results go to stdout, as text or with ``--json`` as JSON; progress and errors go to stderr. The
exit code is 0, 1 for a failure, 2 for a wrong call; either way one line says what is wrong. After
SIGINT it is 130, after SIGTERM 143. With LABELTREES_TRACEBACK=1 in the environment, failures show
where they arose.

A command's module is imported when the command is called: the list of commands needs none of them.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from labeltrees.cli.help import fitting_context, grouped, markup_mode
from labeltrees.cli.report import say, say_all, stop_writing
from labeltrees.errors import ArgumentError, LabelTreesError

__all__ = ["COMMANDS", "app", "main"]

COMMANDS = {
    "demo": "Learn which identifier comes next in Python code, then complete some.",
    "train": "Learn the model that suits a data file, measure it, and save it.",
    "which": "Profile a data file, and print the model that suits it.",
    "predict": "Print a line for every row: labels and probabilities, separated by tabs, or JSON.",
    "evaluate": "Print the scores of a saved model, or of a file of predictions, on a data file.",
    "explain": "Say which features of a row speak for a label and which against it.",
    "stream": "Predict each row, then learn from it; report how good the predictions were.",
    "serve": "Ask and teach models over HTTP; what was acknowledged survives a crash, exactly.",
    "keys": "Make, list and remove the keys of a server.",
    "replay": "Learn the examples of a server's log with other settings, or export them.",
    "card": "Write a model's card: its data, quality, settings, checksums, and how to load it.",
    "inspect": "Print a model's shape, sizes, vocabulary, settings, checksums and tree statistics.",
}
"""What each command does; its module in `cli.commands` and its function have its name."""


_STOPPED = (130, 143)  # by SIGINT, by SIGTERM
_HELP = {"help_option_names": ["--help", "-h"]}


class _Commands(TyperGroup):
    """The commands, each imported when it is called; for the list of all, their names suffice."""

    context_class = fitting_context(TyperGroup.context_class)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return the names."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Return what the list of commands shows of one: its name and its first line of help."""
        if cmd_name not in COMMANDS:
            return None

        def command() -> None: ...

        command.__doc__ = COMMANDS[cmd_name]
        return _alone(cmd_name, command)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return name, command and further arguments of a call, importing the command."""
        name, _, rest = super().resolve_command(ctx, args)
        assert name is not None
        function = getattr(import_module(f"labeltrees.cli.commands.{name}"), name)
        is_shown = any(word in _HELP["help_option_names"] for word in rest)
        return name, _alone(name, function, is_shown=is_shown), rest


def _alone(name: str, function: Any, *, is_shown: bool = False) -> Any:
    single = typer.Typer(
        add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=markup_mode()
    )
    single.command(name, context_settings=_HELP)(function)
    return grouped(typer.main.get_command(single), is_shown=is_shown)


app = typer.Typer(
    name="labeltrees",
    cls=_Commands,
    help="Probabilities over millions of labels, in logarithmic time.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=_HELP,
    rich_markup_mode=markup_mode(),
)


def _say_version(asked: bool) -> None:
    if asked:
        from labeltrees import __version__

        say(f"labeltrees {__version__}")
        raise typer.Exit(0)


@app.callback()
def _labeltrees(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Probabilities over millions of labels, in logarithmic time."""


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code; without one, show the help and return 2.

    A process that runs it (without ``arguments``) and is stopped by a signal ends here.

    >>> main(["inspect", "no-such-model"])
    1
    """
    code = _run(arguments)
    if arguments is None and code in _STOPPED:
        _end(code)
    return code


def _end(code: int) -> NoReturn:
    """End the process without tidying its memory, which takes longer than to save a model."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _run(arguments: list[str] | None) -> int:
    given = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that has no bars shows something else
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app(args=given or ["--help"], prog_name="labeltrees", standalone_mode=False)
        say_all()
    except KeyboardInterrupt:
        return _complain("interrupted", 130)
    except Exception as error:
        if os.environ.get("LABELTREES_TRACEBACK"):
            raise
        return _complain(*_said(error, given))
    return int(code or 0) if given else 2


def _said(error: Exception, arguments: list[str]) -> tuple[str, int]:
    """Return the sentence that tells a user what went wrong, and the exit code."""
    message = str(error)
    if hasattr(error, "format_message"):  # typer's, whichever of its copies of click it is from
        return error.format_message(), 2
    if isinstance(error, ArgumentError):
        return str(_as_typed(error, arguments)), 2
    if isinstance(error, OSError) and error.strerror:
        where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        return f"{where}{error.strerror}.", 1
    if isinstance(error, (LabelTreesError, OSError, MemoryError, ImportError)):
        return message or type(error).__name__, 1
    return (
        f"{type(error).__name__}: {message} This should have been a better message; "
        "LABELTREES_TRACEBACK=1 shows where it comes from."
    ), 1


def _as_typed(error: ArgumentError, arguments: list[str]) -> ArgumentError:
    """Return the error about a parameter as one about the option of the command that was called.

    >>> str(_as_typed(ArgumentError.of("max_nodes", 0, "an integer >= 1"), ["inspect"]))
    'max_nodes must be an integer >= 1, got 0.'
    >>> wrong = ArgumentError.of("order", "x", "'files' or 'shuffled'")
    >>> str(_as_typed(wrong, ["stream", "stdlib"]))
    "--order must be 'files' or 'shuffled', got 'x'."
    """
    name = next((word for word in arguments if word in COMMANDS), None)
    if error.argument is None or name is None:
        return error
    command = _alone(name, getattr(import_module(f"labeltrees.cli.commands.{name}"), name))
    for parameter in command.params:
        if parameter.name == error.argument and parameter.param_type_name == "option":
            return error.renamed(parameter.opts[0])
    return error


def _complain(message: str, code: int) -> int:
    try:
        sys.stdout.flush()
    except OSError:  # a full disk: what is left would fail again at the end
        stop_writing()
    line = " ".join(message.split()).encode("utf-8", "backslashreplace").decode()
    sys.stderr.write(f"labeltrees: {line}\n")
    return code
