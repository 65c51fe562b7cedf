"""The command line, with `labeltrees train`, `predict`, `explain`, `stream` and others.

Results go to stdout, as text or with ``--json`` as JSON. Progress and errors go to stderr. The exit
code is 0 for success, 1 for a failure, 2 for a wrong call, 130 after SIGINT and 143 after SIGTERM.
An error is one line that describes the problem. With LABELTREES_TRACEBACK=1 in the environment,
errors have a traceback.

The module of a command is imported when the command is called, so that other commands are fast.
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

from labeltrees.cli.help import HELP_NAMES, HelpfulCommand, lines_of_groups, wrapped
from labeltrees.cli.report import say, say_all, stop_writing
from labeltrees.errors import ArgumentError, LabelTreesError

COMMANDS = {
    "demo": "Train on Python code to predict the next identifier, and complete some lines.",
    "train": "Train the model that suits a data file, measure it on held-out rows, and save it.",
    "which": "Profile a data file, and print the model that `train` would choose for it, and why.",
    "predict": "Print the most likely labels of every row, with their probabilities.",
    "evaluate": "Print the scores of a saved model, or of a file of predictions, on a data file.",
    "explain": "Print which features of a row are evidence for a label, and which against it.",
    "stream": "Predict each row, then update the model with it, and report the scores.",
    "serve": "Serve models over HTTP, with predictions and with updates that survive a crash.",
    "keys": "Create, list and remove the keys of a server.",
    "replay": "Train a model on the log of a server, for example with other settings.",
    "card": "Write a model card: data, quality, settings, checksums, and how to load the model.",
    "inspect": "Print a model's size, vocabulary, settings, checksums and tree statistics.",
}
"""What each command does. Its module in `cli.commands` and its function have its name."""

_ABOUT = "Train and use models that predict probabilities over very many labels."
_STOPPED = (130, 143)  # by SIGINT, by SIGTERM


class _Commands(TyperGroup):
    """The commands, each imported when it is called; for the list of all, their names suffice."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return the names."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Return a stand-in for a command, which is not imported yet, or None if it is unknown."""
        if cmd_name not in COMMANDS:
            return None

        def command() -> None: ...

        return _command_of(cmd_name, command)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return name, command and further arguments of a call, importing the command."""
        name, _, rest = super().resolve_command(ctx, args)
        assert name is not None
        return name, command_named(name), rest

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write the list of commands."""
        options = [("--version", "Print the version."), ("--help, -h", "Print this help.")]
        groups = lines_of_groups({"Commands": list(COMMANDS.items()), "Options": options})
        example = ["Example:", "  labeltrees train YOUR_DATA.tsv"]
        lines = ["Usage: labeltrees COMMAND", "", *wrapped(_ABOUT), "", *example, *groups]
        more = "For the options of a command: labeltrees COMMAND --help"
        formatter.write("\n".join([*lines, "", *wrapped(more)]))


def command_named(name: str) -> Any:
    """Return a command with its options."""
    return _command_of(name, getattr(import_module(f"labeltrees.cli.commands.{name}"), name))


def _command_of(name: str, function: Any) -> Any:
    single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    single.command(name, cls=HelpfulCommand, context_settings={"help_option_names": HELP_NAMES})(
        function
    )
    return typer.main.get_command(single)


app = typer.Typer(
    name="labeltrees",
    cls=_Commands,
    help=_ABOUT,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": HELP_NAMES},
)


def _say_version(requested: bool) -> None:
    if requested:
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
    """Hold the options before a command."""


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
        if isinstance(stream, io.TextIOWrapper):  # Terminals without Unicode show escapes.
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
    """Return the message about an error, and the exit code."""
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
        f"{type(error).__name__}: {message} This is a bug in labeltrees. Please "
        "report it with the traceback, which LABELTREES_TRACEBACK=1 prints."
    ), 1


def _as_typed(error: ArgumentError, arguments: list[str]) -> ArgumentError:
    """Return an error about a parameter as an error about the option of the called command.

    >>> str(_as_typed(ArgumentError.of("max_nodes", 0, "an integer >= 1"), ["inspect"]))
    'max_nodes must be an integer >= 1, got 0.'
    >>> wrong = ArgumentError.of("order", "x", "'files' or 'shuffled'")
    >>> str(_as_typed(wrong, ["stream", "stdlib"]))
    "--order must be 'files' or 'shuffled', got 'x'."
    """
    name = next((word for word in arguments if word in COMMANDS), None)
    if error.argument is None or name is None:
        return error
    for parameter in command_named(name).params:
        if parameter.name == error.argument and parameter.param_type_name == "option":
            return error.renamed(parameter.opts[0])
    return error


def _complain(message: str, code: int) -> int:
    try:
        sys.stdout.flush()
    except OSError:  # The disk is full, so a later write would fail as well.
        stop_writing()
    line = " ".join(message.split()).encode("utf-8", "backslashreplace").decode()
    sys.stderr.write(f"labeltrees: {line}\n")
    return code
