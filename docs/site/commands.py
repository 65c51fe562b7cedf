"""Pages of the command line, made from the commands themselves."""

from __future__ import annotations

import os
import re
from importlib import import_module
from typing import Any
from unittest.mock import patch

__all__ = ["EXAMPLES", "command_names", "command_of", "command_page", "index_page", "option_line"]

_OWN_GROUP = "Options"

EXAMPLES = {
    "demo": ("labeltrees demo", "start"),
    "train": ("labeltrees train intents.tsv", "training"),
    "which": ("labeltrees which intents.tsv", "which_model"),
    "predict": ("labeltrees predict intents.safetensors new.txt --top 5", "start"),
    "evaluate": ("labeltrees evaluate intents.safetensors test.tsv", "metrics"),
    "explain": ('labeltrees explain intents.safetensors --text "wake me at six"', "start"),
    "stream": ("labeltrees stream events.tsv --out model.safetensors", "incremental"),
    "serve": ("labeltrees serve FOLDER --model intents=intents.safetensors", "server"),
    "keys": ("labeltrees keys FOLDER --add anna --right learn", "server"),
    "replay": ("labeltrees replay FOLDER intents --out again.safetensors", "server"),
    "card": ("labeltrees card intents.safetensors test.tsv --out intents-card", "store"),
    "inspect": ("labeltrees inspect intents.safetensors", "store"),
}
"""A call of every command, and the page that tells about it."""


def command_names() -> list[str]:
    """Return the names of all commands, in the order of the help."""
    from labeltrees.cli import COMMANDS

    return list(COMMANDS)


def command_of(name: str) -> Any:
    """Return a command with its parameters, as its help shows them."""
    from labeltrees.cli import _alone

    function = getattr(import_module(f"labeltrees.cli.commands.{name}"), name)
    with patch.dict(os.environ, COLUMNS="100"):  # as in a wide terminal, whoever builds the site
        return _alone(name, function, is_shown=True)


def plain(text: str) -> str:
    r"""Return a text in which nothing means anything to reStructuredText.

    >>> plain("as *many* as `k`, file_")
    'as \\*many\\* as \\`k\\`, file\\_'
    """
    return re.sub(r"([*`_|\\])", r"\\\1", text)


def _paragraphs(text: str) -> list[str]:
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text.replace("\b", "").strip())]


def _told(parameter: Any, command: Any) -> tuple[str, str]:
    """Return a parameter as it is typed, and what the help says of it."""
    import typer

    context = typer.Context(command, info_name=command.name)
    typed, said = parameter.get_help_record(context)
    return typed, " ".join(said.split())


def option_line(typed: str) -> str:
    """Return an option's names as Sphinx wants them.

    >>> option_line("--mixing / --no-mixing"), option_line("-o, --out <path>")
    ('--mixing, --no-mixing', '-o, --out <path>')
    """
    return typed.replace(" / ", ", ")


def _usage(name: str, command: Any) -> str:
    words = [f"labeltrees {name}", "[OPTIONS]"]
    for each in command.params:
        if each.param_type_name == "argument":
            word = (each.metavar or each.name.upper()) + ("..." if each.nargs == -1 else "")
            words.append(word if each.required else f"[{word.strip('[]')}]")
    return " ".join(words)


def command_page(name: str) -> str:
    """Return the page of a command: what it does, its arguments and every option by group."""
    command = command_of(name)
    title = f"labeltrees {name}"
    lines = [title, "=" * len(title), "", f".. program:: {title}", ""]
    for part in _paragraphs(command.help or ""):
        lines += [plain(part), ""]
    lines += [".. code-block:: text", "", f"   {_usage(name, command)}", ""]
    example, guide = EXAMPLES[name]
    lines += ["For example, as on the page :doc:`/" + guide + "`:", ""]
    lines += [".. code-block:: console", "", f"   $ {example}", ""]
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    if arguments:
        lines += _section("Arguments")
        for each in arguments:
            typed, said = _told(each, command)
            lines += [f"``{typed}``", f"   {plain(said)}", ""]
    options = [each for each in command.params if each.param_type_name == "option"]
    groups = dict.fromkeys(each.rich_help_panel for each in options)
    for group in groups:
        lines += _section(group or _OWN_GROUP)
        for each in (one for one in options if one.rich_help_panel == group):
            typed, said = _told(each, command)
            lines += [f".. option:: {option_line(typed)}", "", f"   {plain(said)}", ""]
    return "\n".join(lines)


def _section(title: str) -> list[str]:
    return [title, "-" * len(title), ""]


def index_page() -> str:
    """Return the first page of the command line: every command, what is common to all."""
    import labeltrees.cli
    from labeltrees.cli import COMMANDS

    lines = ["# Command line", ""]
    for part in _paragraphs((labeltrees.cli.__doc__ or "").partition("\n")[2])[:1]:
        lines += [part.replace("``", "`"), ""]
    lines += ["| command | what it does |", "|---|---|"]
    lines += [f"| [`labeltrees {name}`]({name}.rst) | {does} |" for name, does in COMMANDS.items()]
    lines += [
        "",
        "Start with [60 seconds](../start.md); files are told about in [reading data",
        "files](../readers.md), training in [from a file to a model](../training.md).",
        "",
    ]
    lines += [":::{toctree}", ":hidden:", "", *COMMANDS, ":::", ""]
    return "\n".join(lines)
