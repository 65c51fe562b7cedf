"""The command line: `labeltrees demo | train | predict | evaluate | explain | stream | inspect`.

Results go to stdout, as text or with ``--json`` as JSON; progress and errors go to stderr. The
exit code is 0, 1 for a failure, 2 for a wrong call; either way one line says what is wrong.

A command's module is imported when the command is called: the list of commands needs none of them.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from labeltrees.cli.report import say_all
from labeltrees.errors import ArgumentError, LabelTreesError

__all__ = ["COMMANDS", "app", "main"]

COMMANDS = {
    "demo": "Learn which identifier comes next in Python code, then complete some.",
    "train": "Learn a model from a data file and save it.",
    "predict": "Print a line for every row: labels and probabilities, separated by tabs, or JSON.",
    "evaluate": "Print losses, accuracies and calibration errors of a saved model on a data file.",
    "explain": "Print the path of a label for one row: each turn and what supports it.",
    "stream": "Predict each row, then learn from it; report how good the predictions were.",
    "inspect": "Print a model's shape, sizes, vocabulary, settings, checksums and tree statistics.",
}
"""What each command does; its module in this package and its function have its name."""


class _Commands(TyperGroup):
    """The commands, each imported when it is called; for the list of all, their names suffice."""

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
        return name, _alone(name, getattr(import_module(f"labeltrees.cli.{name}"), name)), rest


def _alone(name: str, function: Any) -> Any:
    single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    single.command(name)(function)
    return typer.main.get_command(single)


app = typer.Typer(
    name="labeltrees",
    cls=_Commands,
    help="Probabilities over millions of labels, in logarithmic time.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def _labeltrees() -> None:
    """Probabilities over millions of labels, in logarithmic time."""


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code.

    >>> main(["inspect", "no-such-model"])
    1
    """
    try:
        code = app(args=arguments, prog_name="labeltrees", standalone_mode=False)
        say_all()
    except KeyboardInterrupt:
        return _complain("interrupted", 130)
    except ArgumentError as error:
        return _complain(str(error), 2)
    except (LabelTreesError, OSError, MemoryError) as error:
        return _complain(str(error) or type(error).__name__, 1)
    except Exception as error:
        # typer's usage errors, whichever of its copies of click they come from
        if not hasattr(error, "format_message"):
            raise
        return _complain(error.format_message(), 2)
    return int(code or 0)


def _complain(message: str, code: int) -> int:
    if line := " ".join(message.split()):  # without a command the help says it all
        sys.stderr.write(f"labeltrees: {line}\n")
    return code
