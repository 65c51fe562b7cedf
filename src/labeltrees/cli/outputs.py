"""Where results are saved: looked at before any work is done."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from labeltrees import store
from labeltrees.errors import ArgumentError, ModelFormatError

__all__ = ["check_out", "default_out"]


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


def default_out(data: str) -> Path:
    """Return where a model is saved if nobody says: in this folder, by the name of its data.

    A file of that name is replaced only if it is a model, or raises `ArgumentError`.

    >>> str(default_out("/data/intents.tsv.gz")), str(default_out("-"))
    ('intents.safetensors', 'model.safetensors')
    """
    name = Path(data).name.split(".")[0] if data != "-" else ""
    target = Path(f"{name or 'model'}.safetensors")
    if target.exists():
        try:
            store.read(target, mapped=True)
        except (ModelFormatError, OSError):
            raise ArgumentError(
                f"{target} is there and is no model: say with --out where to save."
            ) from None
    return target
