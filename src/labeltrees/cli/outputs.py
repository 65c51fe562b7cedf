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
        is_folder, is_other = target.is_dir(), target.exists() and not target.is_file()
        has_folder, in_folder = folder.exists(), folder.is_dir()
    except (OSError, ValueError) as error:  # a closed folder, a name that is too long
        raise OSError(f"{said}: {getattr(error, 'strerror', None) or error}.") from None
    if is_folder:
        raise IsADirectoryError(f"{said}: this is a folder; name a file in it.")
    if is_other:
        raise FileExistsError(f"{said}: this is no regular file and will not be replaced.")
    if not has_folder:
        raise FileNotFoundError(f"{said}: there is no folder {folder}.")
    if not in_folder:
        raise NotADirectoryError(f"{said}: {folder} is not a folder.")
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=folder)
        os.close(handle)
        os.unlink(temporary)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OSError(f"{said}: nothing can be written in the folder {folder}: {reason}.") from None
