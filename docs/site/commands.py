"""Pages of the command line, made from the commands themselves."""

from __future__ import annotations

import re

__all__ = ["command_names", "command_page", "index_page", "option_line"]

GUIDES = {
    "demo": "start",
    "train": "training",
    "which": "which_model",
    "predict": "start",
    "evaluate": "metrics",
    "explain": "start",
    "stream": "incremental",
    "serve": "server",
    "keys": "server",
    "replay": "server",
    "card": "store",
    "inspect": "store",
}
"""The page about every command."""


def command_names() -> list[str]:
    """Return the names of all commands, in the order of the help."""
    from labeltrees.cli import COMMANDS

    return list(COMMANDS)


def plain(text: str) -> str:
    r"""Return a text in which nothing means anything to reStructuredText.

    >>> plain("as *many* as `k`, file_")
    'as \\*many\\* as \\`k\\`, file\\_'
    """
    return re.sub(r"([*`_|\\])", r"\\\1", text)


def option_line(typed: str) -> str:
    """Return an option's names as Sphinx wants them.

    >>> option_line("--mixing, --no-mixing"), option_line("-o, --out PATH")
    ('--mixing, --no-mixing', '-o, --out <PATH>')
    """
    return re.sub(r" ([^-\s]\S*)$", r" <\1>", typed)


def command_page(name: str) -> str:
    """Return the page of a command: what it does, its arguments and every option by group."""
    from labeltrees.cli import command_named
    from labeltrees.cli.help import help_groups, paragraphs, usage

    command = command_named(name)
    title = f"labeltrees {name}"
    lines = [title, "=" * len(title), "", f".. program:: {title}", ""]
    sentence, example, *more = paragraphs(command)
    lines += [plain(sentence), "", ".. code-block:: text", "", f"   {usage(command)}", ""]
    lines += [f"For example, as on the page :doc:`/{GUIDES[name]}`:", ""]
    lines += [".. code-block:: console", "", f"   $ {example.removeprefix('Example: ')}", ""]
    for part in more:
        lines += [plain(part), ""]
    for group, options in help_groups(command, is_whole=True).items():
        lines += _section(group)
        for typed, text in options:
            if group == "Arguments":
                lines += [f"``{typed}``", f"   {plain(text)}", ""]
            else:
                lines += [f".. option:: {option_line(typed)}", "", f"   {plain(text)}", ""]
    return "\n".join(lines)


def _section(title: str) -> list[str]:
    return [title, "-" * len(title), ""]


def index_page() -> str:
    """Return the first page of the command line with every command."""
    import labeltrees.cli
    from labeltrees.cli import COMMANDS

    lines = ["# Command line", ""]
    about = (labeltrees.cli.__doc__ or "").split("\n\n")[1]
    lines += [" ".join(about.split()).replace("``", "`"), ""]
    lines += ["| command | what it does |", "|---|---|"]
    lines += [f"| [`labeltrees {name}`]({name}.rst) | {does} |" for name, does in COMMANDS.items()]
    lines += [
        "",
        "[Start in 60 seconds](../start.md) shows the most common commands, and [the guide to",
        "training](../training.md) explains `train`.",
        "",
    ]
    lines += [":::{toctree}", ":hidden:", "", *COMMANDS, ":::", ""]
    return "\n".join(lines)
