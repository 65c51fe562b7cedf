"""Scores of baselines: linear scores of all labels, and their calibration to probabilities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse

from labeltrees import checks, store
from labeltrees.errors import ModelFormatError, TooLargeError
from labeltrees.models.model import MAX_DENSE_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.store import Tensors

_MOST_WEIGHT = 1e15
_LEAST_HITS = 5  # minimum number of relevant pairs for a fit
_STEEPEST, _FARTHEST = 1e4, 1e5  # largest slope and intercept, beyond the bounds of every fit
_N_OTHERS = 200_000  # approximate number of pairs of a row and a label it lacks, for a fit


@dataclass(frozen=True)
class UnitRows:
    """Rows of length 1 in terms of the features that occur in them, increasing."""

    features: NDArray[np.int32]
    matrix: sparse.csr_array
    """Matrix of shape (n_rows, len(features)), float32."""


def unit_rows(rows: Rows, features: NDArray[np.int32] | None = None) -> UnitRows:
    """Return rows divided by their Euclidean length, in terms of some features.

    By default these are the features that occur. Other features count in the length and are left
    out. An empty row stays empty.

    >>> from labeltrees.data.rows import as_rows
    >>> unit_rows(as_rows([[3, 0, 4]])).matrix.toarray()
    array([[0.6, 0.8]], dtype=float32)
    """
    lengths = np.diff(rows.starts)
    largest = np.zeros(rows.n_rows)  # divided by first, so that squares do not overflow
    filled = np.flatnonzero(lengths)
    wide = rows.values.astype(np.float64)
    if len(filled):
        largest[filled] = np.maximum.reduceat(np.abs(wide), rows.starts[filled])
    row = np.repeat(np.arange(rows.n_rows), lengths)
    wide /= np.where(largest > 0, largest, 1)[row]
    norms = np.sqrt(np.bincount(row, weights=wide * wide, minlength=rows.n_rows))
    values = (wide / np.where(norms > 0, norms, 1)[row]).astype(np.float32)
    if features is None:
        features = np.unique(rows.indices)
    columns = np.searchsorted(features, rows.indices)
    known = columns < len(features)
    known[known] = features[columns[known]] == rows.indices[known]
    starts = np.concatenate([[0], np.cumsum(known)])[rows.starts]
    shape = (rows.n_rows, len(features))
    return UnitRows(
        features, sparse.csr_array((values[known], columns[known], starts), shape=shape)
    )


def check_weights_size(n_features: int, n_labels: int) -> None:
    """Raise `TooLargeError` if a dense weight for every feature and label takes 4 GB or more.

    >>> check_weights_size(2**20, 2**20)
    Traceback (most recent call last):
    ...
    labeltrees.errors.TooLargeError: a weight for each of 1,048,576 features and 1,048,576 labels \
needs ...
    """
    n_bytes = 8 * n_features * n_labels
    if n_bytes > MAX_DENSE_BYTES:
        raise TooLargeError(
            f"a weight for each of {n_features:,} features and {n_labels:,} labels needs "
            f"{n_bytes:,} bytes, over {MAX_DENSE_BYTES:,}. Use DismecRanker, ProxmlRanker or "
            "ExtremeRegressor, whose weights are sparse."
        )


def stored_features(tensors: Tensors, n_features: int, name: str = "features") -> NDArray[np.int32]:
    """Return the features of a file that were learned from, or raise `ModelFormatError`."""
    features = store.tensor(tensors, name, np.int32)
    store.check_ids(name, features, n_features)
    if not (features[1:] > features[:-1]).all():
        raise ModelFormatError("the features do not increase.")
    return features


def matrix_tensors(name: str, matrix: sparse.csr_array) -> Tensors:
    """Return a sparse matrix with a column for each label as three arrays.

    >>> sorted(matrix_tensors("means", sparse.csr_array([[0.0, 1.0]])))
    ['means.labels', 'means.starts', 'means.values']
    """
    return {
        f"{name}.starts": matrix.indptr.astype(np.int64),
        f"{name}.labels": matrix.indices.astype(np.int32),
        f"{name}.values": matrix.data,
    }


def stored_matrix(tensors: Tensors, name: str, shape: tuple[int, int]) -> sparse.csr_array:
    """Return the float32 matrix of `matrix_tensors`, or raise `ModelFormatError`."""
    starts = store.tensor(tensors, f"{name}.starts", np.int64)
    labels = store.tensor(tensors, f"{name}.labels", np.int32)
    values = store.tensor(tensors, f"{name}.values", np.float32)
    store.check_starts(f"{name}.starts", starts, shape[0], len(labels))
    store.check_ids(f"{name}.labels", labels, shape[1])
    if len(values) != len(labels):
        raise ModelFormatError(f"the {name} are not {len(labels)} numbers.")
    return sparse.csr_array((values, labels, starts), shape=shape)


@dataclass(frozen=True)
class LinearScorer:
    """score(x, label) = w_label . x / |x| + b_label.

    ``weights`` has a line for each feature that was learned from and a column for each label,
    float32; dense, or sparse where most weights are 0.
    """

    features: NDArray[np.int32]
    weights: Any
    biases: NDArray[np.float32]

    def scores(self, rows: Rows) -> NDArray[np.float64]:
        """Return scores, (n_rows, n_labels)."""
        product = unit_rows(rows, self.features).matrix @ self.weights
        if sparse.issparse(product):
            product = product.toarray()
        return np.asarray(product, dtype=np.float64) + self.biases

    def describe(self) -> dict[str, Any]:
        """Return its sizes."""
        is_sparse = sparse.issparse(self.weights)
        n_weights = self.weights.nnz if is_sparse else self.weights.size
        return {"features_learned": len(self.features), "weights": int(n_weights)}

    def to_tensors(self) -> Tensors:
        """Return arrays for the model file."""
        tensors = {"features": self.features, "biases": self.biases}
        if not sparse.issparse(self.weights):
            return tensors | {"weights": self.weights}
        return tensors | matrix_tensors("weights", self.weights)

    @classmethod
    def from_tensors(
        cls,
        tensors: Tensors,
        settings: Any,  # noqa: ARG003 - other scorers need it
        n_features: int,
        n_labels: int,
    ) -> Self:
        """Return the scorer that `to_tensors` saved."""
        features = stored_features(tensors, n_features)
        biases = store.tensor(tensors, "biases", np.float32)
        weights: Any
        shape = (len(features), n_labels)
        if "weights" in tensors:
            weights = values = store.tensor(tensors, "weights", np.float32, ndim=2)
        else:
            weights = stored_matrix(tensors, "weights", shape)
            values = weights.data
        if weights.shape != shape or len(biases) != n_labels:
            raise ModelFormatError("the weights do not fit the labels and features.")
        if not ((np.abs(values) <= _MOST_WEIGHT).all() and (np.abs(biases) <= _MOST_WEIGHT).all()):
            raise ModelFormatError(f"a weight is not in [-{_MOST_WEIGHT:g}, {_MOST_WEIGHT:g}].")
        return cls(features, weights, biases)


@dataclass(frozen=True, eq=False)
class ScoreCalibration:
    """P(label is relevant to the row) = 1 / (1 + exp(-(a score + b))), a > 0 (Platt, 1999).

    There is one map for all labels, so the order of a row's labels is kept. If ``slope`` is None,
    the link of the method is used. If propensities weight labels, a label that is surely relevant
    has its entry of ``label_shares`` as its score, and scores are divided by these shares first.
    """

    slope: tuple[float, float] | None = None
    label_shares: NDArray[np.float64] | None = None

    def shares(
        self, scores: NDArray[np.float64], ids: NDArray[np.int32] | None = None
    ) -> NDArray[np.float64]:
        """Return scores as shares of the largest relevance of each label."""
        if self.label_shares is None:
            return scores
        return np.asarray(scores / (self.label_shares if ids is None else self.label_shares[ids]))

    def apply(
        self,
        scores: NDArray[np.float64],
        ids: NDArray[np.int32] | None,
        link: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    ) -> NDArray[np.float64]:
        """Return probabilities of labels with these ids, by default of all labels."""
        from scipy.special import expit

        shares = self.shares(scores, ids)
        if self.slope is None:
            return link(shares)
        a, b = self.slope
        return np.asarray(expit(a * shares + b))

    def fitted(
        self, scored: Iterable[tuple[NDArray[np.float64], NDArray[np.bool_]]]
    ) -> ScoreCalibration:
        """Return the map with the least log loss on the shares and true labels of held-out rows.

        All relevant pairs count. Of the other pairs, about 200,000 spread evenly stand for all.
        """
        hits, others = [np.empty(0)], [np.empty(0)]
        for shares, truth in scored:
            hits.append(shares[truth])
            others.append(shares[~truth])
        positive, negative = np.concatenate(hits), np.concatenate(others)
        if len(positive) < _LEAST_HITS:
            return self
        chosen = negative[:: 1 + len(negative) // _N_OTHERS]
        weight = len(negative) / max(len(chosen), 1)
        return replace(self, slope=_platt(positive, chosen, weight))

    def to_list(self) -> list[float]:
        """Return slope and intercept, or an empty list."""
        return [] if self.slope is None else list(self.slope)

    @classmethod
    def restore(cls, values: Any, label_shares: NDArray[np.float64] | None) -> ScoreCalibration:
        """Return the map that a file describes."""
        if values == []:
            return cls(None, label_shares)
        a, b = values
        slope = (
            checks.number("a", a, 0, _STEEPEST, open_low=True),
            checks.number("b", b, -_FARTHEST, _FARTHEST),
        )
        return cls(slope, label_shares)


def _platt(
    positive: NDArray[np.float64], negative: NDArray[np.float64], weight: float
) -> tuple[float, float]:
    """Return a > 0 and b; each negative counts ``weight`` times.

    Scores are standardised to mean 0 and deviation 1 first, so that the search is well scaled.
    """
    from scipy.optimize import minimize

    scores = np.concatenate([positive, negative])
    weights = np.concatenate([np.ones(len(positive)), np.full(len(negative), weight)])
    total = weights.sum()
    # Platt's targets add one uncertain pair of each kind.
    high, low = (len(positive) + 1) / (len(positive) + 2), 1 / (len(negative) * weight + 2)
    truth = np.concatenate([np.full(len(positive), high), np.full(len(negative), low)])
    mean = float(np.average(scores, weights=weights))
    spread = float(np.sqrt(np.average((scores - mean) ** 2, weights=weights)))
    spread = spread if spread > 1e-12 * (1 + abs(mean)) else 1.0
    z = (scores - mean) / spread

    def loss(theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margin = theta[0] * z + theta[1]
        error = weights * (1 / (1 + np.exp(-np.clip(margin, -500, 500))) - truth)
        value = weights @ (np.logaddexp(0, margin) - truth * margin)
        return float(value / total), np.array([error @ z, error.sum()]) / total

    bounds = [(1e-3, 1e3), (-1e3, 1e3)]
    found = minimize(loss, np.array([1.0, -1.0]), jac=True, method="L-BFGS-B", bounds=bounds).x
    a = min(max(float(found[0]) / spread, 1e-9), _STEEPEST)
    b = min(max(float(found[1]) - a * mean, -_FARTHEST), _FARTHEST)
    return a, b
