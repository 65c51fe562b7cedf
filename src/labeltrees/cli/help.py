"""How help is shown: options in groups, what is needed most first; plain text if it is narrow."""

from __future__ import annotations

import shutil
from typing import Any

__all__ = ["fitting_context", "grouped", "markup_mode"]

_SETTINGS = "Settings of "
_NARROW = 70
"""Columns below which boxes and tables would break words."""

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
"""Options by the title of their group; others are a command's own and stand first."""


def grouped(command: Any, *, is_shown: bool = False) -> Any:
    """Return a command whose options are shown in groups.

    An option that names a group itself stays there: settings of methods do. What they mean is
    looked up only if the help is to be shown.
    """
    titles = {name: title for title, names in GROUPS.items() for name in names}
    arguments = {p.name for p in command.params if p.param_type_name == "argument"}
    for parameter in command.params:
        if parameter.name not in arguments and not getattr(parameter, "rich_help_panel", None):
            parameter.rich_help_panel = titles.get(parameter.name)
        if is_shown and (_group(parameter) or "").startswith(_SETTINGS) and not parameter.help:
            from labeltrees.autotrain.options import streaming_methods
            from labeltrees.cli.method_options import settings_help
            from labeltrees.models.registry import methods

            names = streaming_methods() if command.name == "stream" else list(methods())
            parameter.help = settings_help(parameter.name, names)
    # Groups appear in the order of their first options.
    order = [None, *GROUPS]
    command.params.sort(key=lambda p: order.index(_group(p)) if _group(p) in order else len(order))
    command.context_class = fitting_context(command.context_class)
    return command


def _group(parameter: Any) -> Any:
    return getattr(parameter, "rich_help_panel", None)


def markup_mode() -> Any:
    """Return what typer is told of boxes and colours: "rich", or None in a narrow terminal."""
    return None if _columns() < _NARROW else "rich"


def fitting_context(context_class: Any) -> Any:
    """Return the class of a command's context; in a narrow terminal its help is as narrow.

    An option's help then stands below the option, indented.
    """
    if markup_mode() is not None:
        return context_class
    formatter = context_class.formatter_class

    def __init__(self: Any, *arguments: Any, **named: Any) -> None:  # noqa: N807
        formatter.__init__(self, *arguments, **named)
        self.width = max(_columns() - 1, 24)

    def write_dl(self: Any, rows: Any, col_max: int = 30, col_spacing: int = 2) -> None:
        formatter.write_dl(self, rows, col_max=min(col_max, 8), col_spacing=col_spacing)

    narrow = type("Narrow", (formatter,), {"__init__": __init__, "write_dl": write_dl})
    return type("NarrowContext", (context_class,), {"formatter_class": narrow})


def _columns() -> int:
    return shutil.get_terminal_size().columns
