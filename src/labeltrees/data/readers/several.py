"""Several files as one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from labeltrees.data.readers.detection.layout import FileLayout
from labeltrees.data.readers.detection.profile import profile_file
from labeltrees.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labeltrees.data.chunk import Chunk
    from labeltrees.data.readers.vectorizers import Vectorizer

__all__ = ["are_files", "chunks_of"]


def are_files(X: Any) -> bool:
    """Return whether X is a path or a list of paths.

    >>> are_files(["a.xc", "b.xc"]), are_files("a.xc"), are_files([[0, 1]])
    (True, True, False)
    """
    if isinstance(X, str | os.PathLike):
        return True
    is_list = isinstance(X, list | tuple) and len(X) > 0
    return is_list and all(isinstance(each, str | os.PathLike) for each in X)


def chunks_of(files: Any, vectorizer: Vectorizer | None) -> Iterator[Chunk]:
    """Return the chunks of files, one after the other; all are read as the first one looks.

    ``files`` is a path, a list of paths, or chunks as a reader gives them.
    """
    if not are_files(files):
        if not hasattr(files, "__iter__"):
            raise ArgumentError.of("files", files, "a path, a list of paths or a reader")
        yield from files
        return
    paths = [files] if isinstance(files, str | os.PathLike) else list(files)
    layout = profile_file(paths[0]).layout
    assert layout is not None
    for path in paths:
        yield from FileLayout.from_facts(layout.facts(), path).open(vectorizer)
