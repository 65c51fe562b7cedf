"""`labeltrees keys`: who may ask, teach and administer a server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from labeltrees.cli.report import JsonOption, say, say_json, say_table
from labeltrees.errors import ArgumentError


def keys(
    folder: Annotated[Path, typer.Argument(help="The server's folder.")],
    add: Annotated[str | None, typer.Option(help="Make a key of this name and print it.")] = None,
    right: Annotated[
        str, typer.Option(help="What it may do: 'read'; 'learn', too; or 'admin', everything.")
    ] = "read",
    remove: Annotated[str | None, typer.Option(help="Forget the key of this name.")] = None,
    json: JsonOption = False,
) -> None:
    """Make, list and remove the keys of a server; it reads them when it starts."""
    from labeltrees.serve.web.keys import Keys, Right

    if add is not None and remove is not None:
        raise ArgumentError("--add and --remove: give one of them.")
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
        say("There are no keys: everybody on this machine may do everything, and nobody else.")
