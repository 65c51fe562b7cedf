"""BM25 treats labels as documents, made of the features of their rows, and a row as the query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse

from labeltrees import store
from labeltrees.checks import Number, setting
from labeltrees.errors import ModelFormatError
from labeltrees.models.baselines.multilabel import MultilabelModel, MultilabelSettings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.models.baselines.multilabel import RelevanceTargets

_MOST_WEIGHT = 1e9


@dataclass(frozen=True, kw_only=True)
class Bm25Settings(MultilabelSettings):
    """The checked parameters of `Bm25Ranker`, which describes them."""

    k1: float = setting(1.2, Number(0, 1e6))
    b: float = setting(0.75, Number(0, 1))


@dataclass(frozen=True)
class Bm25Scorer:
    """score(x, label) = sum over the features f with x_f > 0 of x_f weight(f, label).

    ``weights`` has a line for each feature that some document has and a column for each label.
    """

    features: NDArray[np.int32]
    weights: sparse.csr_array

    def scores(self, rows: Rows) -> NDArray[np.float64]:
        """Return scores >= 0, (n_rows, n_labels)."""
        counts = _counts(rows, self.features).astype(np.float64)
        return np.asarray((counts @ self.weights).toarray(), dtype=np.float64)

    def describe(self) -> dict[str, Any]:
        """Return its sizes."""
        return {"features_learned": len(self.features), "weights": int(self.weights.nnz)}

    def to_tensors(self) -> dict[str, NDArray[Any]]:
        """Return arrays for the model file."""
        return {
            "features": self.features,
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
        starts = store.tensor(tensors, "weights.starts", np.int64)
        labels = store.tensor(tensors, "weights.labels", np.int32)
        values = store.tensor(tensors, "weights.values", np.float32)
        store.check_starts("weights.starts", starts, len(features), len(labels))
        store.check_ids("weights.labels", labels, n_labels)
        if len(values) != len(labels) or not ((values >= 0) & (values <= _MOST_WEIGHT)).all():
            raise ModelFormatError(f"the weights are not {len(labels)} numbers >= 0.")
        shape = (len(features), n_labels)
        return cls(features, sparse.csr_array((values, labels, starts), shape=shape))


class Bm25Model(MultilabelModel):
    """Labels by BM25 of their documents (Sparck Jones, Walker and Robertson, 2000)."""

    settings_class = Bm25Settings
    scorer_class = Bm25Scorer

    @staticmethod
    def link(scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return 0 for a label with no feature of the row, and nearly 1 for the best matches."""
        return np.asarray(-np.expm1(-scores))

    @classmethod
    def learn_scorer(
        cls, rows: Rows, targets: RelevanceTargets, settings: Bm25Settings
    ) -> Bm25Scorer:
        """Return the weights of the labels' documents."""
        features = np.unique(rows.indices[rows.values > 0])
        counts = _counts(rows, features).astype(np.float64)
        documents = targets.matrix.astype(np.float64).T.tocsr() @ counts
        weights = bm25_weights(sparse.csr_array(documents), k1=settings.k1, b=settings.b)
        return Bm25Scorer(features, weights.T.tocsr().astype(np.float32))


def bm25_weights(documents: sparse.csr_array, *, k1: float, b: float) -> sparse.csr_array:
    """Return what each feature of each document adds to the score of a query that has it once.

    ``documents`` holds counts tf > 0, a line for each document. With N documents that are not
    empty, n_f of them with feature f, and the mean length L:
    ``log(1 + (N - n_f + 1/2) / (n_f + 1/2)) tf (k1 + 1) / (tf + k1 (1 - b + b length / L))``.

    >>> documents = sparse.csr_array([[2.0, 0.0], [1.0, 1.0]])
    >>> bm25_weights(documents, k1=1.0, b=0.0).toarray().round(3).tolist()
    [[0.243, 0.0], [0.182, 0.693]]
    """
    documents = sparse.csr_array(documents, copy=True)
    documents.sort_indices()
    documents.eliminate_zeros()
    lengths = np.asarray(documents.sum(axis=1)).ravel()
    n = int(np.count_nonzero(lengths))
    if not n:
        return documents
    having = np.bincount(documents.indices, minlength=documents.shape[1])
    idf = np.log1p((n - having + 0.5) / (having + 0.5))
    norms = k1 * (1 - b + b * (lengths / (lengths.sum() / n)))
    tf = documents.data
    share = tf / (tf + np.repeat(norms, np.diff(documents.indptr)))
    documents.data = idf[documents.indices] * share * (k1 + 1)
    return documents


def _counts(rows: Rows, features: NDArray[np.int32]) -> sparse.csr_array:
    """Return the values above 0 of these features, increasing."""
    columns = np.searchsorted(features, rows.indices)
    known = (columns < len(features)) & (rows.values > 0)
    known[known] = features[columns[known]] == rows.indices[known]
    starts = np.concatenate([[0], np.cumsum(known)])[rows.starts]
    shape = (rows.n_rows, len(features))
    return sparse.csr_array((rows.values[known], columns[known], starts), shape=shape)
