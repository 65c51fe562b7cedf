"""A run of consecutive rows of a data file: features, labels and weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from labeltrees import checks
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.rows import MAX_FEATURES, Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    Labels: TypeAlias = NDArray[np.int64] | NDArray[np.object_]

#: The number of columns of rows whose number of features is not known.
UNBOUNDED_WIDTH = MAX_FEATURES

OneLabel: TypeAlias = Literal["each", "draw", "first"]


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive rows of a data file.

    Parameters
    ----------
    rows : Rows
        The features, as the core takes them; ``features`` is the same as a scipy array.
    targets : RaggedLabels
        The labels of the rows, int64 or str objects: none, one or many for each row. Their
        relevance is a number >= 0. The parts are also ``labels``, ``label_starts`` and
        ``relevance`` of the chunk.
    weights : ndarray of float32 of shape (n_rows,), or None
        The importance of each row, or None if the file has no weights.
    first_line : int
        The line of the file, from 1, that holds the first row.
    lines : ndarray of int64 of shape (n_rows,), or None
        The line of each row, or None if lines are consecutive.
    texts : sequence of str, or None
        The text of each row as in the file, or None for formats without texts.
    is_distribution : bool
        Whether the relevances of a row's labels are their probabilities, which sum to 1.
    """

    rows: Rows
    targets: RaggedLabels
    weights: NDArray[np.float32] | None
    first_line: int
    lines: NDArray[np.int64] | None = None
    texts: Sequence[str] | None = None
    is_distribution: bool = False

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.rows.n_rows

    @property
    def labels(self) -> Labels:
        """The labels of all rows, one row after the other."""
        return self.targets.labels

    @property
    def label_starts(self) -> NDArray[np.int64]:
        """The place in ``labels`` where each row's labels start."""
        return self.targets.starts

    @property
    def relevance(self) -> NDArray[np.float32] | None:
        """The relevance of each entry of ``labels`` to its row, or None if all are 1."""
        return self.targets.relevance

    @property
    def n_unlabelled(self) -> int:
        """The number of rows without a label."""
        return int(np.count_nonzero(self.targets.counts == 0))

    @property
    def line_numbers(self) -> NDArray[np.int64]:
        """The line of each row in the file."""
        return self.first_line + np.arange(self.n_rows) if self.lines is None else self.lines

    @property
    def row_weights(self) -> NDArray[np.float32]:
        """The weight of each row, 1 if the file has none."""
        return np.ones(self.n_rows, np.float32) if self.weights is None else self.weights

    @cached_property
    def features(self) -> csr_array:
        """The features as a csr_array: float32 values, int32 indices that increase in each row."""
        return self.rows.to_csr()

    def head(self, n_rows: int) -> Chunk:
        r"""Return the chunk of the first rows, which shares this one's memory.

        Parameters
        ----------
        n_rows : int
            How many rows, at most as many as there are.

        Examples
        --------
        >>> import io
        >>> from labeltrees.data.readers import read_xc
        >>> (chunk,) = read_xc(io.BytesIO(b"2 3 5\n4,1 0:1\n2 2:1\n"))
        >>> chunk.head(1).labels.tolist()
        [4, 1]
        """
        n = checks.integer("n_rows", n_rows, 0, self.n_rows)
        return replace(
            self,
            rows=self.rows.head(n),
            targets=self.targets.head(n),
            weights=None if self.weights is None else self.weights[:n],
            lines=None if self.lines is None else self.lines[:n],
            texts=None if self.texts is None else self.texts[:n],
        )

    def take(self, rows: NDArray[np.int64]) -> Chunk:
        r"""Return the chunk of the rows with these numbers, in their order.

        Parameters
        ----------
        rows : ndarray of int64
            Numbers in [0, n_rows); a row may be taken any number of times.

        Examples
        --------
        >>> import io
        >>> from labeltrees.data.readers import read_xc
        >>> (chunk,) = read_xc(io.BytesIO(b"2 3 5\n4,1 0:1\n2 2:1\n"))
        >>> chunk.take(np.array([1, 0])).labels.tolist()
        [2, 4, 1]
        """
        rows = np.arange(self.n_rows)[rows]  # a mask and numbers from the end work as well
        lines = self.line_numbers[rows]
        return replace(
            self,
            rows=self.rows.take(rows),
            targets=self.targets.take(rows),
            weights=None if self.weights is None else self.weights[rows],
            first_line=int(lines[0]) if len(lines) else self.first_line,
            lines=lines,
            texts=None if self.texts is None else [self.texts[row] for row in rows],
        )

    def labelled(self) -> Chunk:
        """Return the chunk of the rows that have a label."""
        return self.take(np.flatnonzero(self.targets.counts)) if self.n_unlabelled else self

    def one_label(
        self, how: OneLabel = "each", seed: int = 0
    ) -> tuple[csr_array, Labels, NDArray[np.float32]]:
        r"""Return ``(features, labels, weights)`` with exactly one label per row.

        Rows without a label are left out.

        Parameters
        ----------
        how : {"each", "draw", "first"}
            ``"each"`` gives a row with m labels m times, each with 1/m of its weight, or if labels
            have a relevance or a probability, with that share; ``"draw"`` takes one of its labels
            at random, by the same shares; ``"first"`` takes the first.
        seed : int
            The draw depends on it and on the row's line, but not on the sizes of the chunks.

        Examples
        --------
        >>> import io
        >>> from labeltrees.data.readers import read_xc
        >>> (chunk,) = read_xc(io.BytesIO(b"2 3 5\n4,1 0:1\n2 2:1\n"))
        >>> features, labels, weights = chunk.one_label("each")
        >>> labels.tolist(), weights.tolist()
        ([4, 1, 2], [0.5, 0.5, 1.0])
        """
        found = self.with_one_label(how, seed)
        features = self.features if found.rows is self.rows else found.features
        return features, found.labels, found.row_weights

    def with_one_label(self, how: OneLabel = "each", seed: int = 0) -> Chunk:
        r"""Return a chunk with exactly one label per row, as `one_label` does, without texts.

        Examples
        --------
        >>> import io
        >>> from labeltrees.data.readers import read_xc
        >>> (chunk,) = read_xc(io.BytesIO(b"2 3 5\n4,1 0:1\n2 2:1\n"))
        >>> first = chunk.with_one_label("first")
        >>> first.labels.tolist(), first.targets.is_single
        ([4, 2], True)
        """
        how = checks.choice("how", how, get_args(OneLabel))
        seed = checks.integer("seed", seed)
        n_labels = self.targets.counts
        chosen = np.flatnonzero(n_labels)
        if how == "each":
            chosen = np.repeat(chosen, n_labels[chosen])
            shared = self.row_weights[chosen] * self._shares(n_labels)
            return self._single(chosen, self.labels, shared.astype(np.float32))
        place, weights = self.label_starts[chosen], self.row_weights
        if how == "draw" and self.relevance is None:
            place = place + _draw(n_labels[chosen], seed, self.line_numbers[chosen])
        elif how == "draw":
            shares = self._shares(n_labels)
            ends = np.concatenate([[0.0], np.cumsum(shares)])
            at = ends[place] + _uniform(seed, self.line_numbers[chosen])
            found = np.searchsorted(ends[1:], at, side="right")
            place = np.clip(found, place, place + n_labels[chosen] - 1)
            weights = np.where(np.diff(ends[self.label_starts]) > 0, weights, np.float32(0))
        return self._single(chosen, self.labels[place], weights[chosen])

    def _single(
        self, chosen: NDArray[np.int64], labels: Labels, weights: NDArray[np.float32]
    ) -> Chunk:
        """Return the chosen rows, with one label each."""
        unchanged = len(chosen) == self.n_rows and np.array_equal(chosen, np.arange(self.n_rows))
        rows = self.rows if unchanged else self.rows.take(chosen)
        lines = self.line_numbers[chosen]
        first_line = int(lines[0]) if len(lines) else self.first_line
        return Chunk(rows, RaggedLabels.of_single(labels), weights, first_line, lines)

    def _shares(self, n_labels: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the share that each label has of its row: by relevance, or all the same."""
        if self.relevance is None:
            return np.asarray(1 / np.repeat(n_labels, n_labels), np.float64)
        relevance = self.relevance.astype(np.float64)
        row_of = self.targets.row_of
        totals = np.bincount(row_of, relevance, minlength=self.n_rows)[row_of]
        shares = np.zeros(len(relevance))
        np.divide(relevance, totals, out=shares, where=totals > 0)
        return shares


def _uniform(seed: int, lines: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return a number in [0, 1) for each line, the same for the same seed and line."""
    key = _mix(np.array([seed % 2**64], np.uint64))
    return np.asarray(_mix(key + lines.astype(np.uint64)) >> np.uint64(11), np.float64) / 2.0**53


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
