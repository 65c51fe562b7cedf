"""Answers of models that know a row's distribution as a whole, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees import checks
from labeltrees.errors import TooLargeError
from labeltrees.models.model import (
    BYTES_PER_ENTRY,
    MAX_DENSE_BYTES,
    TopRows,
    check_top_rows,
    names_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import ArrayLike, NDArray
    from scipy import sparse

    from labeltrees.data.rows import Rows
    from labeltrees.data.vocabulary import LabelVocabulary

PIECE_BYTES = 2**24
"""Of the distributions that are looked through at a time."""


class DenseAnswers:
    """The questions about thresholds, best rows and draws, from whole distributions.

    O(n_labels) per row, whatever is asked; some rows at a time, so that memory stays small.
    """

    vocabulary: LabelVocabulary

    if TYPE_CHECKING:

        def probabilities(
            self, rows: Rows, *, max_bytes: int = MAX_DENSE_BYTES
        ) -> NDArray[np.float64]:
            """Return whole distributions."""

        def has_learned(self, ids: NDArray[np.int32]) -> NDArray[np.bool_]:
            """Return which label ids are those of labels that were learned."""

    def labels_above(
        self, rows: Rows, threshold: float, *, max_bytes: int = MAX_DENSE_BYTES
    ) -> sparse.csr_array:
        """Return every label with probability >= threshold, (n_rows, n_labels), sparse."""
        shape = (rows.n_rows, len(self.vocabulary))
        return entries_above((p for _, p in self.dense_pieces(rows)), shape, threshold, max_bytes)

    def top_rows(
        self, rows: Rows, labels: ArrayLike, k: int, *, max_bytes: int = MAX_DENSE_BYTES
    ) -> TopRows:
        """Return the k rows with the largest probabilities of each label in order."""
        ids = self.vocabulary.ids(labels)
        known = self.has_learned(ids)
        k = check_top_rows(labels, known, len(self.vocabulary), k, rows.n_rows, max_bytes)
        p = np.concatenate([p[:, ids] for _, p in self.dense_pieces(rows)]).T
        best = np.argsort(-p, axis=1, kind="stable")[:, :k]
        return TopRows(best, np.take_along_axis(p, best, axis=1))

    def sample(self, rows: Rows, uniforms: NDArray[np.float64]) -> NDArray[Any]:
        """Return one label per row, drawn from its distribution by one number in [0, 1) each."""
        ids = np.empty(rows.n_rows, dtype=np.int32)
        for some, p in self.dense_pieces(rows):
            ids[some] = drawn(p, uniforms[some])
        return names_of(self.vocabulary, ids)

    def dense_pieces(self, rows: Rows) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Yield consecutive rows and their distributions."""
        n_labels = len(self.vocabulary)  # more may come meanwhile
        for some in pieces(rows.n_rows, n_labels):
            part = rows.take(np.arange(some.start, some.stop))
            yield some, self.probabilities(part)[:, :n_labels]


def entries_above(
    distributions: Iterable[NDArray[np.float64]],
    shape: tuple[int, int],
    threshold: float,
    max_bytes: int,
) -> sparse.csr_array:
    """Return the entries >= threshold of consecutive parts of a matrix of this shape."""
    from scipy import sparse

    threshold = checks.number("threshold", threshold, 0, 1, open_low=True)
    max_entries = max(0, int(max_bytes) // BYTES_PER_ENTRY)
    parts, n_found = [], 0
    for p in distributions:
        parts.append(sparse.csr_array(np.where(p >= threshold, p, 0.0)))
        n_found += parts[-1].nnz
        if n_found > max_entries:
            raise TooLargeError.of_threshold(shape[0], max_entries, threshold, max_bytes)
    return sparse.csr_array(sparse.vstack(parts, format="csr") if parts else shape)


def pieces(n_rows: int, n_labels: int, n_bytes: int | None = None) -> Iterator[slice]:
    """Yield slices of so many rows that their distributions take about ``n_bytes``.

    By default `PIECE_BYTES`.

    >>> list(pieces(5, 100, n_bytes=1600))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    n_bytes = PIECE_BYTES if n_bytes is None else n_bytes
    size = max(1, n_bytes // (8 * max(1, n_labels)))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def drawn(p: NDArray[np.float64], uniforms: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return a column for every row of distributions, drawn by inversion of a number in [0, 1).

    >>> drawn(np.array([[0.5, 0.5], [0.0, 1.0]]), np.array([0.6, 0.0])).tolist()
    [1, 1]
    """
    sums = np.cumsum(p, axis=1)
    below: NDArray[np.intp] = (sums <= uniforms[:, np.newaxis] * sums[:, -1:]).sum(axis=1)
    return below
