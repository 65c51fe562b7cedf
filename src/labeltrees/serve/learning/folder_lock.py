"""A lock on a folder, which one process has at a time and which ends with it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["lock_folder"]


def lock_folder(folder: str | os.PathLike[str]) -> int | None:
    """Return the lock of a folder, a file handle that `os.close` gives up; None if it is taken.

    >>> Path("served").mkdir()
    >>> lock = lock_folder("served")
    >>> lock is None, lock_folder("served") is None
    (False, True)
    >>> os.close(lock)
    """
    handle = os.open(Path(folder) / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if sys.platform == "win32":
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle
