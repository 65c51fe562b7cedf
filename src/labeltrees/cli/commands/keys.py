"""The command `labeltrees keys`, which lists, adds and removes the keys of a server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from labeltrees.cli.report import JsonOption, say, say_json, say_table
from labeltrees.errors import ArgumentError


def keys(
    folder: Annotated[Path, typer.Argument(help="Folder of the server.")],
    add: Annotated[str | None, typer.Option(help="Create a key of this name and print it.")] = None,
    right: Annotated[
        str,
        typer.Option(help="Right of the new key: 'read', 'learn' (and read), or 'admin' (all)."),
    ] = "read",
    remove: Annotated[str | None, typer.Option(help="Remove the key of this name.")] = None,
    json: JsonOption = False,
) -> None:
    """Create, list and remove the keys of a server.

    Example:
        labeltrees keys served --add anna --right learn

    A server reads its keys when it starts.
    """
    from labeltrees.serve.web.access import Keys, Right

    if add is not None and remove is not None:
        raise ArgumentError("--add and --remove cannot be combined. Remove one of them.")
    if add is not None:
        folder.mkdir(parents=True, exist_ok=True)
    known = Keys(folder)
    if add is not None:
        secret = known.add(add, cast("Right", right))
        if json:
            say_json({"name": add, "right": right, "key": secret})
            return
        say(secret)
        return
    if remove is not None:
        known.remove(remove)
    listed = [{"name": key.name, "right": key.right} for key in known.keys]
    if json:
        say_json({"keys": listed})
    elif listed:
        say_table(["name", "right"], [[key["name"], key["right"]] for key in listed])
    else:
        say("There are no keys, so all requests from this machine are allowed, and no others.")
