"""Checked truth and predictions of many labels, and the k best labels of every row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from scipy.sparse import csr_array, issparse

from labeltrees.checks import choice, integer
from labeltrees.errors import ArgumentError
from labeltrees.metrics._arrays import checked_weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    FloatArray = NDArray[np.float64]
    IntArray = NDArray[np.int64]

Per: TypeAlias = Literal["row", "label"]


@dataclass(frozen=True, eq=False)
class Ranking:
    """The k best labels of every row, by prediction and by truth.

    All arrays have one row for each row, or label, that is scored, and at most k columns, best
    first; a row with fewer entries ends in zeros.

    Attributes
    ----------
    k : int
        The requested k; a row with fewer entries is still divided by it.
    score, relevance : array of shape (n_rows, width)
        The highest predictions and the true relevance of the labels that have them.
    n_found : array of shape (n_rows,)
        How many predictions a row has, at most k.
    ideal : array of shape (n_rows, width)
        The highest true relevances.
    """

    k: int
    score: FloatArray
    relevance: FloatArray
    n_found: IntArray
    ideal: FloatArray

    def binary(self) -> Ranking:
        """Return the same ranking where every relevance but 0 is 1."""
        return replace(self, relevance=np.sign(self.relevance), ideal=np.sign(self.ideal))

    def cut(self, k: int) -> Ranking:
        """Return the ranking of the first k places."""
        return replace(
            self,
            k=k,
            score=self.score[:, :k],
            relevance=self.relevance[:, :k],
            n_found=np.minimum(self.n_found, k),
            ideal=self.ideal[:, :k],
        )


@dataclass(frozen=True, eq=False)
class Pairs:
    """Truth and predictions, checked, in canonical CSR of one shape, and the rows' weights."""

    truth: csr_array
    scores: csr_array
    weight: FloatArray

    @classmethod
    def checked(
        cls,
        truth: Any,
        scores: Any,
        *,
        per: Per = "row",
        sample_weight: ArrayLike | None = None,
        signed: bool = False,
    ) -> Pairs:
        """Return both matrices, turned over for ``per="label"``; scores < 0 only if ``signed``."""
        per = choice("per", per, get_args(Per))
        y = checked_matrix("truth", truth, lowest=0)
        y.eliminate_zeros()
        found = checked_matrix("scores", scores, lowest=-np.inf if signed else 0)
        if y.shape != found.shape:
            raise ArgumentError.of(
                "the shape of scores", found.shape, f"{y.shape}, the shape of truth"
            )
        if not all(y.shape):
            raise ArgumentError.of("the shape of truth", y.shape, "one without zeros")
        if per == "label":
            y, found = csr_array(y.T), csr_array(found.T)
        return cls(y, found, checked_weights(sample_weight, y.shape[0]))

    def ranking(self, k: int, places: IntArray | None = None) -> Ranking:
        """Return the k best labels of every row; equal predictions rank by column.

        ``places`` is what `top_positions` returns for the scores and k, if it is known already.
        """
        k = integer("k", k, 1)
        places = top_positions(self.scores, k) if places is None else places
        n_found = np.minimum(np.diff(self.scores.indptr), k).astype(np.int64)
        score, relevance = np.zeros(places.shape), np.zeros(places.shape)
        used = places >= 0
        entries = places[used]
        score[used] = self.scores.data[entries]
        keys = np.nonzero(used)[0] * self.truth.shape[1] + self.scores.indices[entries]
        relevance[used] = _at(self.truth, keys)
        best = top_positions(self.truth, k)
        ideal = np.zeros(best.shape)
        ideal[best >= 0] = self.truth.data[best[best >= 0]]
        return Ranking(k, score, relevance, n_found, ideal)

    def scores_of_truth(self) -> FloatArray:
        """Return the prediction for each entry of the truth, 0 where there is none."""
        return _at(self.scores, _keys(self.truth))

    def places_of_truth(self, first: IntArray) -> IntArray:
        """Return where each entry of the truth is ranked, 0 first; the width where it is not.

        ``first`` is what `top_positions` returns for what ranks the predictions.
        """
        width = first.shape[1]
        place = np.full(len(self.scores.data), width, dtype=np.int64)
        used = first >= 0
        place[first[used]] = np.nonzero(used)[1]
        ranked = csr_array((place + 1, self.scores.indices, self.scores.indptr), self.scores.shape)
        found = _at(ranked, _keys(self.truth))
        return np.where(found > 0, found - 1, width).astype(np.int64)


def checked_matrix(name: str, matrix: Any, *, lowest: float) -> csr_array:
    """Return a copy in canonical CSR of float64, every value finite and at least ``lowest``."""
    if not issparse(matrix):
        try:
            matrix = np.asarray(matrix, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"must be a matrix of numbers: {error}.", argument=name) from None
    if matrix.ndim != 2:
        raise ArgumentError.of(f"the shape of {name}", matrix.shape, "2-dimensional")
    if matrix.dtype.kind not in "biuf":
        raise ArgumentError.of(f"the type of {name}", matrix.dtype.name, "numbers")
    checked = csr_array(matrix, dtype=np.float64, copy=True)
    checked.sum_duplicates()
    bad = np.flatnonzero(~(np.isfinite(checked.data) & (checked.data >= lowest)))
    if bad.size:
        row = int(np.searchsorted(checked.indptr, bad[0], side="right")) - 1
        where = f"{name}[{row}, {checked.indices[bad[0]]}]"
        allowed = "finite" if lowest == -np.inf else f"finite and >= {lowest:g}"
        raise ArgumentError.of(where, float(checked.data[bad[0]]), allowed)
    return checked


def top_positions(matrix: csr_array, k: int) -> IntArray:
    """Return where in ``data`` the k largest entries of each row are, largest first, then -1.

    Equal entries keep the order of their columns. Rows with equally many entries are sorted at
    once, so the cost is no more than sorting the entries of each row.
    """
    counts = np.diff(matrix.indptr).astype(np.int64)
    places = np.full((len(counts), min(k, int(counts.max(initial=0)))), -1, dtype=np.int64)
    by_count = np.argsort(counts, kind="stable")
    for rows in np.split(by_count, np.flatnonzero(np.diff(counts[by_count])) + 1):
        count = counts[rows[0]]
        if not count:
            continue
        entries = matrix.indptr[rows, np.newaxis] + np.arange(count)
        order = np.argsort(-matrix.data[entries], axis=1, kind="stable")[:, :k]
        places[rows, : order.shape[1]] = np.take_along_axis(entries, order, axis=1)
    return places


def mean(values: FloatArray, weight: FloatArray) -> float:
    """Return the weighted mean over rows."""
    return ratio(values, np.ones_like(values), weight, "the sum of sample_weight")


def ratio(above: FloatArray, below: FloatArray, weight: FloatArray, what: str) -> float:
    """Return ``sum_i w_i above_i / sum_i w_i below_i``, or raise if ``what`` is 0."""
    whole = float(weight @ below)
    if whole <= 0:
        raise ArgumentError.of(what, whole, "> 0")
    return float(weight @ above) / whole


def _keys(matrix: csr_array) -> IntArray:
    """Return a number for each entry's row and column, in the order of the entries."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return np.asarray(rows * matrix.shape[1] + matrix.indices, dtype=np.int64)


def _at(matrix: csr_array, wanted: IntArray) -> FloatArray:
    """Return the matrix's values at these keys, 0 where nothing is stored."""
    keys = _keys(matrix)
    if not len(keys):
        return np.zeros(len(wanted))
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, matrix.data[place], 0.0)
