"""Where results are saved: looked at before any work is done."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

__all__ = ["check_out"]


def check_out(path: str | os.PathLike[str] | None, option: str = "--out") -> None:
    """Raise an `OSError` of one sentence if a file cannot be saved at a path; None is no file.

    An empty file is made beside it and removed, which is how a model is saved.

    >>> check_out("/no/such/folder/model")
    Traceback (most recent call last):
    ...
    FileNotFoundError: --out /no/such/folder/model: there is no folder /no/such/folder.
    """
    if path is None:
        return
    target = Path(path)
    folder, said = target.parent, f"{option} {os.fspath(path)}"
    try:
        if target.is_dir():
            raise IsADirectoryError(f"{said}: this is a folder; name a file in it.")
        if target.exists() and not target.is_file():
            raise FileExistsError(f"{said}: this is no regular file and will not be replaced.")
        if not folder.exists():
            raise FileNotFoundError(f"{said}: there is no folder {folder}.")
        if not folder.is_dir():
            raise NotADirectoryError(f"{said}: {folder} is not a folder.")
    except (ValueError, PermissionError) as error:  # a zero byte in the name, a closed folder
        raise OSError(f"{said}: {error}") from None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=folder)
        os.close(handle)
        os.unlink(temporary)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OSError(f"{said}: nothing can be written in the folder {folder}: {reason}.") from None
