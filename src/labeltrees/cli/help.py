"""The help of commands, with an example and the usual options, or all options with `--help-all`.

It is plain text that fits into the terminal. The help of settings comes from the docstrings of
estimators, which are read only when settings are shown.
"""

from __future__ import annotations

import inspect
import shutil
import textwrap
from pathlib import Path
from typing import Any, get_args

from typer.core import TyperCommand

HELP_NAMES = ["--help", "-h"]
_HELP_ALL = "--help-all"
_SETTINGS = "Settings of "
_MAX_COLUMNS = 100
"""Maximum number of columns of the help."""
_NARROW = 70
"""Number of columns below which the text of an option stands below the option."""
_TYPED_COLUMNS = 26
"""Maximum number of columns of an option that has its text in the same line."""
_METAVARS = {Path: "PATH", int: "N", float: "NUMBER", str: "TEXT"}
"""What stands for the value of an option by its type, for options without a metavar."""

GROUPS = {
    "Input": (
        "format", "text", "labels", "one_label", "limit", "max_line_bytes", "order", "row", "label",
        "train", "folder", "vectorizer", "candidates", "named", "id", "label_separator",
        "label_column", "text_column", "rating_column", "quoted_labels", "join_rows",
    ),
    "Model": ("seed", "n_jobs", "alpha", "learning_rate", "passes", "max_memory"),
    "Output": (
        "json", "keep_state", "csv", "quiet", "label_names", "predictions", "predictions_top",
        "predictions_format", "heartbeat", "dot", "dot_nodes", "full", "features",
    ),
}  # fmt: skip
"""Options by the title of their group. Other options belong to one command and come first."""

_RARE = frozenset((
    "max_line_bytes", "order", "label_separator", "rating_column", "quoted_labels", "folder",
    "join_rows", "propensity_a", "propensity_b", "heartbeat", "forget", "predictions_top",
    "predictions_format", "snapshot_examples", "snapshot_seconds", "most_together", "max_body",
    "max_rows", "max_labels", "rate", "replica_port", "named", "dot_nodes", "keep_state",
))  # fmt: skip
"""Options that only `--help-all` shows, as it does settings of methods."""


class HelpfulCommand(TyperCommand):
    """A command whose help has groups of options, and which also takes `--help-all`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments, or print the whole help and exit."""
        if _HELP_ALL in (args[: args.index("--")] if "--" in args else args):
            from labeltrees.cli.report import say

            say(_help_text(self, is_whole=True))
            ctx.exit()
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write the short help."""
        formatter.write(_help_text(self, is_whole=False))


def help_groups(command: Any, *, is_whole: bool) -> dict[str, list[tuple[str, str]]]:
    """Return the options of a command and their help, by the title of the group.

    The first group has the arguments. Settings of methods are there only with ``is_whole``.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    titles = {name: title for title, names in GROUPS.items() for name in names}
    for title in ("Arguments", "Options", *GROUPS):
        found[title] = []
    declared = _declared(command)
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            found["Arguments"].append((_metavar(parameter), parameter.help or ""))
            continue
        title = getattr(parameter, "rich_help_panel", None) or titles.get(parameter.name, "Options")
        if is_whole or not (parameter.name in _RARE or title.startswith(_SETTINGS)):
            kind, info = declared[parameter.name]
            text = _meaning(command, parameter, title, info, is_whole=is_whole)
            found.setdefault(title, []).append((_typed(parameter, kind), text))
    return {title: options for title, options in found.items() if options}


def paragraphs(command: Any) -> list[str]:
    r"""Return the paragraphs of a command's docstring, each on one line; the second is an example.

    >>> from types import SimpleNamespace
    >>> paragraphs(SimpleNamespace(help="Do it.\n\nExample: labeltrees demo\n"))
    ['Do it.', 'Example: labeltrees demo']
    """
    return [" ".join(part.split()) for part in (command.help or "").strip().split("\n\n")]


def usage(command: Any) -> str:
    """Return how a command is called: its name, and its arguments in capitals."""
    arguments = (each for each in command.params if each.param_type_name == "argument")
    typed = (_metavar(each) if each.required else f"[{_metavar(each)}]" for each in arguments)
    return " ".join((f"labeltrees {command.name} [OPTIONS]", *typed))


def _help_text(command: Any, *, is_whole: bool) -> str:
    columns = _columns()
    lines = wrapped(f"Usage: {usage(command)}", columns)
    for part in paragraphs(command):
        title, is_example, example = part.partition("Example: ")
        if is_example and not title:
            lines += ["", "Example:", *wrapped(example, columns - 2, "  ")]
        else:
            lines += ["", *wrapped(part, columns)]
    groups = help_groups(command, is_whole=is_whole)
    lines += lines_of_groups(groups, columns)
    if sum(map(len, groups.values())) < len(command.params):
        has_settings = any(
            (getattr(each, "rich_help_panel", None) or "").startswith(_SETTINGS)
            for each in command.params
        )
        more = "all options and the settings of every method" if has_settings else "all options"
        lines += ["", *wrapped(f"For {more}: labeltrees {command.name} {_HELP_ALL}", columns)]
    return "\n".join(lines)


def lines_of_groups(groups: dict[str, list[tuple[str, str]]], columns: int = 0) -> list[str]:
    """Return the lines that show groups of options or commands, the names left of their text."""
    columns = columns or _columns()
    lines = []
    for title, records in groups.items():
        lines += ["", f"{title}:"]
        indent = 8
        if columns >= _NARROW:
            fitting = [len(typed) for typed, _ in records if len(typed) <= _TYPED_COLUMNS]
            indent = max(fitting, default=4) + 4
        for typed, text in records:
            body = wrapped(text, columns, " " * indent)
            if columns >= _NARROW and len(typed) + 4 <= indent and body:
                body[0] = f"  {typed}".ljust(indent) + body[0][indent:]
                lines += body
            else:
                lines += [*wrapped(typed, columns, "  "), *body]
    return lines


def _columns() -> int:
    return min(max(shutil.get_terminal_size().columns, 24), _MAX_COLUMNS)


def wrapped(text: str, columns: int = 0, indent: str = "") -> list[str]:
    """Return the lines of a text, which fit into ``columns`` or into the terminal."""
    return textwrap.wrap(
        text, columns or _columns(), initial_indent=indent, subsequent_indent=indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _metavar(parameter: Any, kind: Any = str) -> str:
    """Return what stands for the value of an argument, or of an option of this type."""
    if parameter.param_type_name == "argument":
        return str(parameter.name).upper() + ("..." if parameter.nargs != 1 else "")
    return str(parameter.metavar or _METAVARS[kind])


def _declared(command: Any) -> dict[str, tuple[Any, Any]]:
    """Return the type of each parameter and its `typer.Option`, as the function declares them."""
    found = {}
    for name, parameter in inspect.signature(command.callback, eval_str=True).parameters.items():
        kind, info = get_args(parameter.annotation)[:2]
        kind = next((each for each in get_args(kind) if each is not type(None)), kind)
        found[name] = (next(iter(get_args(kind)), kind), info)
    return found


def _typed(parameter: Any, kind: Any) -> str:
    """Return an option as it is typed, the short name first."""
    names = sorted(parameter.opts, key=len)
    typed = ", ".join(names + list(parameter.secondary_opts))
    return typed if kind is bool else f"{typed} {_metavar(parameter, kind)}"


def _meaning(command: Any, parameter: Any, title: str, info: Any, *, is_whole: bool) -> str:
    text = parameter.help or ""
    if not text and title.startswith(_SETTINGS):
        from labeltrees.autotrain._options import streaming_methods
        from labeltrees.cli.method_options import settings_help
        from labeltrees.models.registry import methods

        names = streaming_methods() if command.name == "stream" else list(methods())
        text = settings_help(parameter.name, names)
    default, facts = parameter.default, []
    if isinstance(default, bool):
        if parameter.secondary_opts:
            facts.append(f"default {(parameter.opts if default else parameter.secondary_opts)[0]}")
    elif default is not None and default != []:
        facts.append(f"default {default}")
    if is_whole:
        facts += [f"at least {info.min:g}"] if info.min is not None else []
        facts += [f"at most {info.max:g}"] if info.max is not None else []
    return f"{text} [{', '.join(facts)}]" if facts else text
