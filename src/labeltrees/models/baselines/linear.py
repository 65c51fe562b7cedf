"""Linear scorers have one weight vector and one intercept per label, on rows of length 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse

from labeltrees import store
from labeltrees.errors import ModelFormatError, TooLargeError
from labeltrees.models.model import MAX_DENSE_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labeltrees.data.rows import Rows

_MOST_WEIGHT = 1e15


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

    def to_tensors(self) -> dict[str, NDArray[Any]]:
        """Return arrays for the model file."""
        tensors = {"features": self.features, "biases": self.biases}
        if not sparse.issparse(self.weights):
            return tensors | {"weights": self.weights}
        return tensors | {
            "weights.starts": self.weights.indptr.astype(np.int64),
            "weights.labels": self.weights.indices.astype(np.int32),
            "weights.values": self.weights.data,
        }

    @classmethod
    def from_tensors(
        cls,
        tensors: dict[str, NDArray[Any]],
        settings: Any,  # noqa: ARG003 - part of the protocol
        n_features: int,
        n_labels: int,
    ) -> Self:
        """Return the scorer that `to_tensors` saved."""
        features = store.tensor(tensors, "features", np.int32)
        store.check_ids("features", features, n_features)
        if not (features[1:] > features[:-1]).all():
            raise ModelFormatError("the features do not increase.")
        biases = store.tensor(tensors, "biases", np.float32)
        weights: Any
        shape = (len(features), n_labels)
        if "weights" in tensors:
            weights = store.tensor(tensors, "weights", np.float32, ndim=2)
            values = weights
        else:
            starts = store.tensor(tensors, "weights.starts", np.int64)
            labels = store.tensor(tensors, "weights.labels", np.int32)
            values = store.tensor(tensors, "weights.values", np.float32)
            store.check_starts("weights.starts", starts, shape[0], len(labels))
            store.check_ids("weights.labels", labels, n_labels)
            weights = sparse.csr_array((values, labels, starts), shape=shape)
        if weights.shape != shape or len(biases) != n_labels:
            raise ModelFormatError("the weights do not fit the labels and features.")
        if not ((np.abs(values) <= _MOST_WEIGHT).all() and (np.abs(biases) <= _MOST_WEIGHT).all()):
            raise ModelFormatError(f"a weight is not in [-{_MOST_WEIGHT:g}, {_MOST_WEIGHT:g}].")
        return cls(features, weights, biases)
