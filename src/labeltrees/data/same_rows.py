"""Several rows about one text: tables of ratings, where each row rates one label."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.data.labels import RaggedLabels
from labeltrees.data.shuffle import joined

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from numpy.typing import NDArray

    from labeltrees.data.chunk import Chunk
    from labeltrees.data.rows import Rows

_LEAST_PER_ROW = 1.5
"""Rows per text, on average, that make a file one of ratings."""
_LEAST_NEW = 0.95
"""The share of them that must name a label that no other row of the same text names."""
_FEWEST_ROWS = 20  # fewer say nothing


@dataclass
class Ratings:
    r"""Notices whether each row rates one label for a text that other rows rate others for.

    Examples
    --------
    >>> import io
    >>> from labeltrees.data.readers import read_csv
    >>> table = b"query,product,relevance\n" + b"".join(
    ...     b"a text number %d,%s,%d\n" % (text, name, text + 1)
    ...     for name in (b"cup", b"pen", b"hat") for text in range(8)
    ... )
    >>> ratings = Ratings()
    >>> for chunk in read_csv(io.BytesIO(table)):
    ...     ratings.add(chunk)
    >>> ratings.found, ratings.n_rows, ratings.n_distinct
    (True, 24, 8)
    """

    n_rows: int = 0
    graded: bool = False
    several: bool = False
    _rows: set[Hashable] = field(default_factory=set, repr=False)
    _pairs: set[Hashable] = field(default_factory=set, repr=False)

    def add(self, chunk: Chunk) -> None:
        """Count the rows of a chunk that have a label."""
        n_labels = np.diff(chunk.label_starts)
        self.several = self.several or bool((n_labels > 1).any())
        self.graded = self.graded or chunk.relevance is not None
        if self.several:
            return
        labels = chunk.labels.tolist()
        for key, begin, n in zip(_keys(chunk), chunk.label_starts.tolist(), n_labels, strict=False):
            if n:
                self.n_rows += 1
                self._rows.add(key)
                self._pairs.add((key, labels[begin]))

    @property
    def n_distinct(self) -> int:
        """How many texts, or rows of features, there are."""
        return len(self._rows)

    @property
    def found(self) -> bool:
        """Whether these are surely ratings: one graded label per row, several rows per text."""
        return (
            self.graded
            and not self.several
            and self.n_rows >= _FEWEST_ROWS
            and self.n_rows >= _LEAST_PER_ROW * self.n_distinct
            and len(self._pairs) >= _LEAST_NEW * self.n_rows
        )


def join_same_rows(chunks: Iterable[Chunk]) -> Chunk:
    r"""Return one row for each text, or for each row of features, with all labels of its rows.

    A label that several rows of one text name has the mean of their relevances; the joined row has
    the mean of their weights. Rows come in the order of the first of each.

    Examples
    --------
    >>> import io
    >>> from labeltrees.data.readers import read_csv
    >>> table = b"query,product,relevance\na red cup,cup,3\na blue pen,pen,2\na red cup,mug,1\n"
    >>> rows = join_same_rows(read_csv(io.BytesIO(table)))
    >>> rows.texts, rows.labels.tolist(), rows.relevance.tolist(), rows.label_starts.tolist()
    (['a red cup', 'a blue pen'], ['cup', 'mug', 'pen'], [3.0, 1.0, 2.0], [0, 2, 3])
    """
    chunk = joined(list(chunks))
    members: dict[int, list[int]] = {}
    for row, group in enumerate(groups_of(chunk).tolist()):
        members.setdefault(group, []).append(row)
    if len(members) == chunk.n_rows:
        return chunk
    bounds = list(pairwise(chunk.label_starts.tolist()))
    names = chunk.labels.tolist()
    values = [1.0] * len(names) if chunk.relevance is None else chunk.relevance.tolist()
    labels: list[Any] = []
    relevance: list[float] = []
    starts = [0]
    for rows in members.values():
        rated: dict[Any, list[float]] = {}
        for row in rows:
            for at in range(*bounds[row]):
                rated.setdefault(names[at], []).append(values[at])
        labels += rated
        relevance += [float(np.mean(each)) for each in rated.values()]
        starts.append(len(labels))
    found: Any = np.array(labels, chunk.labels.dtype)
    graded = None if chunk.relevance is None else np.array(relevance, np.float32)
    weights = chunk.weights
    if weights is not None:
        weights = np.array([weights[rows].mean() for rows in members.values()], np.float32)
    return replace(
        chunk.take(np.array([rows[0] for rows in members.values()])),
        targets=RaggedLabels(found, np.array(starts, np.int64), graded),
        weights=weights,
    )


def groups_of(chunk: Chunk) -> NDArray[np.int64]:
    r"""Return for each row the number of its text, or of its features, from 0 as they first come.

    >>> import io
    >>> from labeltrees.data.readers import read_csv
    >>> (rows,) = read_csv(io.BytesIO(b"query,product\na cup,cup\na pen,pen\na cup,mug\n"))
    >>> groups_of(rows).tolist()
    [0, 1, 0]
    """
    number_of: dict[Hashable, int] = {}
    numbers = [number_of.setdefault(key, len(number_of)) for key in _keys(chunk)]
    return np.array(numbers, dtype=np.int64)


def _keys(chunk: Chunk) -> Iterable[Hashable]:
    """Return what tells rows apart: texts, or hashes of features."""
    if chunk.texts is not None:
        return chunk.texts
    return map(_digest, *(_without_zeros(chunk.rows)))


def _without_zeros(rows: Rows) -> tuple[list[bytes], list[bytes]]:
    """Return the indices and the values of each row; a stored zero is as if it were not there."""
    kept = rows.values != 0
    ends = np.concatenate([[0], np.cumsum(kept)])[rows.starts].tolist()
    indices, values = rows.indices[kept], rows.values[kept]
    pieces = list(pairwise(ends))
    return ([indices[a:b].tobytes() for a, b in pieces], [values[a:b].tobytes() for a, b in pieces])


def _digest(indices: bytes, values: bytes) -> bytes:
    return hashlib.blake2b(indices + values, digest_size=16).digest()
