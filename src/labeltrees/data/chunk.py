"""A run of consecutive rows of a data file: features, labels and weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from labeltrees.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["UNBOUNDED_WIDTH", "Chunk", "OneLabel"]

#: The number of columns of rows whose number of features is not known.
UNBOUNDED_WIDTH = 2**31 - 1

OneLabel: TypeAlias = Literal["each", "draw", "first"]


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive rows of a data file.

    Row ``i`` has the labels ``labels[label_starts[i]:label_starts[i + 1]]``: none, one or many.

    Parameters
    ----------
    features : csr_array of shape (n_rows, n_features)
        float32 values; int32 indices, strictly increasing in each row.
    labels : ndarray of int64 or of str objects
        The labels of all rows, one row after the other.
    label_starts : ndarray of int64 of shape (n_rows + 1,)
        Where each row's labels start in ``labels``.
    weights : ndarray of float32 of shape (n_rows,), or None
        The importance of each row; None if the file's format has no weights.
    first_line : int
        The line of the file, from 1, that holds the first row.
    lines : ndarray of int64 of shape (n_rows,), or None
        The line of each row; None if they are consecutive.
    """

    features: csr_array
    labels: NDArray[np.int64] | NDArray[np.object_]
    label_starts: NDArray[np.int64]
    weights: NDArray[np.float32] | None
    first_line: int
    lines: NDArray[np.int64] | None = None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.features.shape[0])

    def one_label(
        self, how: OneLabel = "each", seed: int = 0
    ) -> tuple[csr_array, NDArray[np.int64] | NDArray[np.object_], NDArray[np.float32]]:
        r"""Return ``(features, labels, weights)`` with exactly one label for each row.

        Rows without a label are left out.

        Parameters
        ----------
        how : {"each", "draw", "first"}
            ``"each"`` gives a row with m labels m times, each with 1/m of its weight;
            ``"draw"`` takes one of its labels at random; ``"first"`` the one named first.
        seed : int
            With the row's line it decides the draw, whatever the sizes of the chunks.

        Examples
        --------
        >>> import io
        >>> from labeltrees.data.readers import read_xc
        >>> (chunk,) = read_xc(io.BytesIO(b"2 3 5\n4,1 0:1\n2 2:1\n"))
        >>> features, labels, weights = chunk.one_label("each")
        >>> labels.tolist(), weights.tolist()
        ([4, 1, 2], [0.5, 0.5, 1.0])
        """
        n_labels = np.diff(self.label_starts)
        rows = np.flatnonzero(n_labels)
        weights = np.ones(self.n_rows, np.float32) if self.weights is None else self.weights
        if how == "each":
            rows = np.repeat(rows, n_labels[rows])
            weights = (weights[rows] / n_labels[rows]).astype(np.float32)
            return self._take(rows), self.labels, weights
        if how == "draw":
            offset = _draw(n_labels[rows], seed, self._line_of(rows))
        elif how == "first":
            offset = np.zeros(len(rows), np.int64)
        else:
            raise ArgumentError.of("how", how, "'each', 'draw' or 'first'")
        return self._take(rows), self.labels[self.label_starts[rows] + offset], weights[rows]

    def _line_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.first_line + rows if self.lines is None else self.lines[rows]

    def _take(self, rows: NDArray[np.int64]) -> csr_array:
        if np.array_equal(rows, np.arange(self.n_rows)):
            return self.features
        taken = self.features[rows]
        taken.has_canonical_format = True
        return taken


def _draw(n_choices: NDArray[np.int64], seed: int, lines: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a number in [0, n_choices) for each line, the same for the same seed and line."""
    key = _mix(np.array([seed % 2**64], np.uint64))
    hashed = _mix(key + lines.astype(np.uint64)) >> np.uint64(32)
    return ((hashed * n_choices.astype(np.uint64)) >> np.uint64(32)).astype(np.int64)


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return ``mix_bits`` of the core's hash.hpp for each number."""
    half, factor = np.uint64(32), np.uint64(0xD6E8FEB86659FD93)
    x = (x ^ (x >> half)) * factor
    x = (x ^ (x >> half)) * factor
    return x ^ (x >> half)
