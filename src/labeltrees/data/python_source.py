"""The built-in stream, whose task is to predict the next identifier in Python source code.

The standard library of every Python has over a million examples. They are real and ordered, and
have tens of thousands of labels of very uneven frequency. No download is needed.

A file is a sequence of tokens as in the ``tokenize`` module of CPython 3.11. Names and operators
are tokens, and ``<num>``, ``<str>``, ``<nl>``, ``<ind>`` and ``<ded>`` stand for numbers, strings,
ends of lines, indents and dedents. Each identifier or keyword with at least 8 tokens before it is
an example. Its features are hashed to ``N_FEATURES`` columns of value 1. They are the tokens 1 to
6 places back with their places, the last two and the last three tokens as one, and the distinct
identifiers among the last 24 tokens.
"""

from __future__ import annotations

import os
import random
import sys
import sysconfig
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from labeltrees import _core, checks
from labeltrees.data.chunk import Chunk
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.rows import Rows
from labeltrees.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from os import PathLike

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

#: The number of columns of the features.
N_FEATURES: int = _core.HASHED_WIDTH

_FILE_ORDER_SEED = 0
_MAX_CHUNK_ROWS = 2**24


@dataclass(frozen=True, eq=False, kw_only=True)
class SourceChunk(Chunk):
    """A chunk of examples, with the ids of the three tokens before each one, the nearest last."""

    contexts: NDArray[np.int32]

    def head(self, n_rows: int) -> SourceChunk:
        """Return the chunk of the first rows, which shares this one's memory."""
        return replace(cast("SourceChunk", super().head(n_rows)), contexts=self.contexts[:n_rows])

    def take(self, rows: NDArray[np.int64]) -> SourceChunk:
        """Return the chunk of the rows with these numbers, in their order."""
        return replace(cast("SourceChunk", super().take(rows)), contexts=self.contexts[rows])


class PythonSource:
    """An iterable of chunks of next-identifier examples, which reads the files in each iteration.

    Files that are not UTF-8, or that CPython 3.11's ``tokenize`` rejects, are skipped.

    Parameters
    ----------
    folder : path, optional
        A folder of Python code, see `source_files`. By default it is the standard library.
    order : {"files", "shuffled"}
        ``"files"`` yields the examples of one file after the other. It holds one chunk, one file
        and the table of distinct tokens in memory, a few tens of MB for any number of files.
        ``"shuffled"`` yields a random permutation of the same examples. It also holds 4 bytes per
        token and 8 per example, about 30 MB for the default limit, and twice that while reading.
    seed : int
        The seed of the permutation. The order of the files does not depend on it.
    limit : int or None
        Maximum number of examples, which are the first ones in the order of files. With None,
        all examples are yielded.
    chunk_rows : int
        The number of rows per chunk. The last chunk may have fewer. The examples and their order
        do not depend on it.

    Examples
    --------
    >>> chunk = next(iter(PythonSource(limit=1000)))
    >>> chunk.features.shape
    (1000, 1073741824)
    >>> chunk.labels.shape
    (1000,)
    """

    def __init__(
        self,
        folder: str | PathLike[str] | None = None,
        *,
        order: Literal["files", "shuffled"] = "files",
        seed: int = 0,
        limit: int | None = 1_500_000,
        chunk_rows: int = 16_384,
    ) -> None:
        self.folder = folder
        self.order = checks.choice("order", order, ("files", "shuffled"))
        self.seed = checks.integer("seed", seed, 0)
        self.limit = checks.Integer(1, optional=True)("limit", limit)
        self.chunk_rows = checks.integer("chunk_rows", chunk_rows, 1, _MAX_CHUNK_ROWS)

    def __iter__(self) -> Iterator[SourceChunk]:
        """Return an iterator over the chunks of the files that exist now."""
        files = source_files(self.folder)
        return self._in_file_order(files) if self.order == "files" else self._shuffled(files)

    def count(self) -> int:
        """Return the number of examples, for which all files are read.

        >>> PythonSource(limit=1000).count()
        1000
        """
        corpus = _core.PythonCorpus()
        n_allowed = sys.maxsize if self.limit is None else self.limit
        n_examples = 0
        for _ in _added_files(corpus, source_files(self.folder)):
            n_examples += len(corpus.take_positions(n_allowed))
            corpus.forget_taken()
            if n_examples >= n_allowed:
                break
        return min(n_examples, n_allowed)

    def _in_file_order(self, files: list[Path]) -> Iterator[SourceChunk]:
        corpus = _core.PythonCorpus()
        maker = _ChunkMaker(corpus, self.chunk_rows)
        n_left = sys.maxsize if self.limit is None else self.limit
        for _ in _added_files(corpus, files):
            n_ready = min(n_left, corpus.n_examples)
            n_full = n_ready - n_ready % self.chunk_rows
            if n_full > 0:
                yield from maker.chunks(corpus.take_positions(n_full))
                corpus.forget_taken()
                n_left -= n_full
            if corpus.n_examples >= n_left:
                break
        yield from maker.chunks(corpus.take_positions(n_left))

    def _shuffled(self, files: list[Path]) -> Iterator[SourceChunk]:
        corpus = _core.PythonCorpus()
        n_allowed = sys.maxsize if self.limit is None else self.limit
        for _ in _added_files(corpus, files):
            if corpus.n_examples >= n_allowed:
                break
        positions = corpus.take_positions(n_allowed)
        np.random.default_rng(self.seed).shuffle(positions)
        yield from _ChunkMaker(corpus, self.chunk_rows).chunks(positions)


def source_files(folder: str | PathLike[str] | None = None) -> list[Path]:
    """Return the ``*.py`` files below a folder, in the library's file order.

    The sorted paths are shuffled with a fixed seed, so that the files of a package are spread out.
    The order is the same on every machine with the same files. Files below a ``site-packages`` in
    the folder are left out.

    Parameters
    ----------
    folder : path, optional
        By default, the standard library of the running Python.

    Examples
    --------
    >>> files = source_files()
    >>> len(files) > 500, files == source_files()
    (True, True)
    """
    root = Path(sysconfig.get_paths()["stdlib"] if folder is None else folder)
    if not root.is_dir():
        raise ArgumentError.of("folder", str(root), "a folder that exists")
    files = []
    for here, folders, names in os.walk(root):
        # Installed packages may be far larger than the library, so they are not visited.
        folders[:] = [folder for folder in folders if folder != "site-packages"]
        files += [Path(here, name) for name in names if name.endswith(".py")]
    files = sorted(path for path in files if path.is_file())
    if not files:
        raise DataError(f"{root}: this folder has no *.py files.")
    random.Random(_FILE_ORDER_SEED).shuffle(files)  # noqa: S311 - an order, not a secret
    return files


def tokens(source: str) -> list[str]:
    """Return the tokens of a whole source text.

    Examples
    --------
    >>> tokens("if x: y = f'{x}'  # why")
    ['if', 'x', ':', 'y', '=', '<str>', '<nl>']
    """
    try:
        return _core.python_tokens(_encoded(source), unfinished=False)
    except ValueError as error:
        raise DataError(f"the source is not Python: {error}.") from None


def next_identifier_features(source: str) -> csr_array:
    """Return the features of the identifier that follows the text, as one row.

    The text should end where the identifier would start, which may be within a line, brackets or
    an indented block. White space after the end of the last line is the indentation of the next
    line. Pass several lines, because models are trained on places with at least 8 tokens before
    them, and features describe the last 24.

    Examples
    --------
    >>> next_identifier_features("for i in range(").nnz
    11
    """
    return next_identifier_rows(source).to_csr()


def next_identifier_rows(source: str) -> Rows:
    """Return the features of `next_identifier_features` as `Rows`, without SciPy.

    >>> next_identifier_rows("for i in range(").shape
    (1, 1073741824)
    """
    indices = _core.next_identifier_features(_encoded(source))
    return _rows_of_ones(indices, np.array([0, len(indices)], np.int64))


def next_identifier_names(source: str) -> Mapping[int, str]:
    """Return the names of the features of `next_identifier_features` by their columns.

    >>> sorted(next_identifier_names("os.").values())
    ['. just before', 'os .', 'os 2 back', 'os nearby']
    """
    found = _core.next_identifier_names(_encoded(source))
    names: dict[int, str] = {}
    for column, name in found:
        before = names.get(column)
        names[column] = name if before in (None, name) else f"{before} or {name}"
    return names


class _ChunkMaker:
    """Makes chunks from places in a corpus and counts their rows."""

    def __init__(self, corpus: _core.PythonCorpus, chunk_rows: int) -> None:
        self._corpus = corpus
        self._chunk_rows = chunk_rows
        self._n_made = 0
        self._names = np.empty(0, object)  # Names by token id.

    def chunks(self, positions: NDArray[np.int64]) -> Iterator[SourceChunk]:
        for start in range(0, len(positions), self._chunk_rows):
            yield self._chunk(positions[start : start + self._chunk_rows])

    def _chunk(self, positions: NDArray[np.int64]) -> SourceChunk:
        row_starts, indices, label_tokens, contexts = self._corpus.rows(positions)
        new_names = np.array(self._corpus.names(len(self._names)), object)
        if len(new_names) > 0:
            self._names = np.concatenate([self._names, new_names])
        first_line = self._n_made + 1
        self._n_made += len(positions)
        return SourceChunk(
            rows=_rows_of_ones(indices, row_starts),
            targets=RaggedLabels.of_single(self._names[label_tokens]),
            weights=None,
            first_line=first_line,
            contexts=contexts,
        )


def _added_files(corpus: _core.PythonCorpus, files: list[Path]) -> Iterator[Path]:
    """Add the files to the corpus, and yield each file that was not skipped."""
    n_added = 0
    for path in files:
        try:
            source = path.read_bytes()
        except OSError as error:
            raise DataError(f"{path}: {error.strerror or error}.") from error
        if corpus.add(source):
            n_added += 1
            yield path
    if n_added == 0:
        raise DataError(f"no file is Python 3 code in UTF-8, for example {files[0]} is not.")


def _rows_of_ones(indices: NDArray[np.int32], row_starts: NDArray[np.int64]) -> Rows:
    return Rows(row_starts, indices, np.ones(len(indices), np.float32), N_FEATURES)


def _encoded(source: str) -> bytes:
    if not isinstance(source, str):
        raise ArgumentError.of("source", source, "a string")
    # No token has half surrogates, so any other character without a token can replace them.
    return source.encode("utf-8", "replace")
