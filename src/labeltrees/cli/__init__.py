"""The command line: `labeltrees demo | train | predict | evaluate | explain | stream | inspect`.

Results go to stdout, as text or with ``--json`` as JSON; progress and errors go to stderr. The
exit code is 0, 1 for a failure, 2 for a wrong call; either way one line says what is wrong.
"""

from __future__ import annotations

import sys

import typer

from labeltrees.cli.demo import demo
from labeltrees.cli.evaluate import evaluate
from labeltrees.cli.explain import explain
from labeltrees.cli.inspect import inspect
from labeltrees.cli.predict import predict
from labeltrees.cli.report import say_all
from labeltrees.cli.stream import stream
from labeltrees.cli.train import train
from labeltrees.errors import ArgumentError, LabelTreesError

__all__ = ["app", "main"]

app = typer.Typer(
    name="labeltrees",
    help="Probabilities over millions of labels, in logarithmic time.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (demo, train, predict, evaluate, explain, stream, inspect):
    app.command()(command)


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
    line = " ".join(message.split())
    sys.stderr.write(f"labeltrees: {line}\n")
    return code
