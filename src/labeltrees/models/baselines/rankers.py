"""BM25 and PfastreXML, which rank labels without a linear model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, get_args

import numpy as np
from scipy import sparse

from labeltrees import _core, checks, store
from labeltrees.checks import Choice, Integer, Number, Threads, setting
from labeltrees.errors import ModelFormatError
from labeltrees.models.baselines.multilabel import (
    MultilabelModel,
    MultilabelSettings,
    RelevanceName,
)
from labeltrees.models.baselines.scores import (
    matrix_tensors,
    stored_features,
    stored_matrix,
    unit_rows,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.models.baselines.multilabel import RelevanceTargets
    from labeltrees.store import Tensors

_MOST_WEIGHT = 1e9
_TOLERANCE = 0.05  # tolerance of the separators, in units of the penalty
_MAX_PASSES = 100
_TREE_ARRAYS: dict[str, type] = {
    "roots": np.int32,
    "left": np.int32,
    "weight_starts": np.int64,
    "features": np.int32,
    "weights": np.float32,
    "biases": np.float32,
    "label_starts": np.int64,
    "labels": np.int32,
    "relevances": np.float32,
}


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

    def to_tensors(self) -> Tensors:
        """Return arrays for the model file."""
        return {
            "features": self.features,
            **matrix_tensors("weights", self.weights),
        }

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
        weights = stored_matrix(tensors, "weights", (len(features), n_labels))
        if not ((weights.data >= 0) & (weights.data <= _MOST_WEIGHT)).all():
            raise ModelFormatError(f"the weights are not {weights.nnz} numbers >= 0.")
        return cls(features, weights)


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


@dataclass(frozen=True, kw_only=True)
class PfastreXmlSettings(MultilabelSettings):
    """The checked parameters of `PfastreXmlRanker`, which describes them."""

    relevance: RelevanceName | None = setting(
        "propensity", Choice((None, *get_args(RelevanceName)))
    )
    n_trees: int = setting(50, Integer(1, 10_000))
    max_leaf: int = setting(10, Integer(1, 2**31 - 1))
    leaf_labels: int = setting(100, Integer(1, 2**31 - 1))
    # The best of 1, 4 and 10 on held-out rows of bibtex. 1 has 4 points of PSP@5 less.
    cost: float = setting(4.0, Number(1e-6, 1e6))
    tail_weight: float = setting(0.8, Number(0, 1))
    gamma: float = setting(30.0, Number(0, 1e6))
    n_jobs: int | None = setting(None, Threads())


@dataclass(frozen=True)
class PfastreXmlScorer:
    """score(x, label) = trees(x, label)^a tail(x, label)^(1 - a), a being ``tail_weight``.

    trees is the mean relevance of the label in the leaves of x; a label in none of them has score
    0. tail = 1 / (1 + exp(gamma / 2 |x - mean|^2)). Rows have length 1.
    """

    forest: _core.NdcgForest
    leaf_labels: sparse.csr_array
    """Matrix of shape (n_nodes, n_labels)."""
    used: NDArray[np.int32]
    """The features of the training rows, increasing."""
    means: sparse.csr_array
    """The mean of each label's rows, with a line for each feature used and a column per label."""
    tail_weight: float
    gamma: float

    def scores(self, rows: Rows) -> NDArray[np.float64]:
        """Return scores in [0, 1], (n_rows, n_labels)."""
        X = unit_rows(rows, self.used).matrix
        starts, features = X.indptr.astype(np.int64), X.indices.astype(np.int32)
        leaves = self.forest.leaves(starts, features, X.data, 1)
        n_rows, n_trees = leaves.shape
        one = np.full(leaves.size, 1 / n_trees)
        places = np.arange(0, leaves.size + 1, n_trees)
        shape = (n_rows, self.leaf_labels.shape[0])
        reached = sparse.csr_array((one, leaves.ravel(), places), shape=shape)
        trees = (reached @ self.leaf_labels).toarray()
        if self.tail_weight == 1:
            return np.asarray(trees)
        near = (X.astype(np.float64) @ self.means).toarray()
        size = np.bincount(
            np.repeat(np.arange(n_rows), np.diff(X.indptr)), X.data.astype(np.float64) ** 2, n_rows
        )
        squares = np.asarray(self.means.multiply(self.means).sum(axis=0)).ravel()
        distance = np.maximum(size[:, np.newaxis] + squares - 2 * near, 0)
        # log(1 + e^d) without computing e^d, which may overflow.
        tail = -np.logaddexp(0, self.gamma / 2 * distance)
        return np.asarray(trees**self.tail_weight * np.exp((1 - self.tail_weight) * tail))

    def describe(self) -> dict[str, Any]:
        """Return its sizes."""
        left = self.forest.left()
        return {
            "trees": len(self.forest.roots()),
            "nodes": len(left),
            "leaves": int(np.count_nonzero(left < 0)),
            "weights": len(self.forest.weights()),
            "labels_in_leaves": int(self.leaf_labels.nnz),
            "weights_of_means": int(self.means.nnz),
        }

    def to_tensors(self) -> Tensors:
        """Return arrays for the model file."""
        tensors = {f"trees.{name}": getattr(self.forest, name)() for name in _TREE_ARRAYS}
        return tensors | {"used": self.used, **matrix_tensors("means", self.means)}

    @classmethod
    def from_tensors(
        cls,
        tensors: Tensors,
        settings: PfastreXmlSettings,
        n_features: int,
        n_labels: int,
    ) -> Self:
        """Return the scorer that `to_tensors` saved."""
        used = stored_features(tensors, n_features, "used")
        means = stored_matrix(tensors, "means", (len(used), n_labels))
        if not (np.abs(means.data) <= 1).all():
            raise ModelFormatError(f"the means are not {means.nnz} numbers in [-1, 1].")
        arrays: dict[str, Any] = {
            name: store.tensor(tensors, f"trees.{name}", kind)
            for name, kind in _TREE_ARRAYS.items()
        }
        forest = _core.NdcgForest(**arrays, n_features=len(used), n_labels=n_labels)
        return cls.of(forest, n_labels, used, means, settings)

    @classmethod
    def of(
        cls,
        forest: _core.NdcgForest,
        n_labels: int,
        used: NDArray[np.int32],
        means: sparse.csr_array,
        settings: PfastreXmlSettings,
    ) -> Self:
        """Return the scorer of trees and means."""
        starts = forest.label_starts()
        entries = (forest.relevances().astype(np.float64), forest.labels(), starts)
        leaf_labels = sparse.csr_array(entries, shape=(len(starts) - 1, n_labels))
        return cls(forest, leaf_labels, used, means, settings.tail_weight, settings.gamma)


class PfastreXmlModel(MultilabelModel):
    """An ensemble of trees over rows, and a tail classifier, by Jain, Prabhu and Varma (2016)."""

    settings_class = PfastreXmlSettings
    scorer_class = PfastreXmlScorer

    @staticmethod
    def link(scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores, which are in [0, 1] but for labels' shares."""
        return np.clip(scores, 0, 1)

    @classmethod
    def learn_scorer(
        cls, rows: Rows, targets: RelevanceTargets, settings: PfastreXmlSettings
    ) -> PfastreXmlScorer:
        """Return trees and means; the same for any ``n_jobs``."""
        unit = unit_rows(rows)
        X, Y = unit.matrix, targets.matrix
        forest = _core.NdcgForest(
            X.indptr.astype(np.int64),
            X.indices.astype(np.int32),
            X.data,
            max(X.shape[1], 1),
            Y.indptr.astype(np.int64),
            Y.indices.astype(np.int32),
            Y.data.astype(np.float32),
            Y.shape[1],
            _core.NdcgTreeOptions(
                n_trees=settings.n_trees,
                max_leaf=settings.max_leaf,
                leaf_labels=settings.leaf_labels,
                cost=settings.cost,
                tolerance=_TOLERANCE,
                max_passes=_MAX_PASSES,
                seed=settings.random_state,
                n_workers=checks.threads("n_jobs", settings.n_jobs),
            ),
        )
        return PfastreXmlScorer.of(forest, Y.shape[1], unit.features, label_means(X, Y), settings)


def label_means(X: sparse.csr_array, Y: sparse.csr_array) -> sparse.csr_array:
    """Return the mean of each label's rows as a column, regardless of relevance; float32.

    >>> X, Y = sparse.csr_array([[1.0, 0.0], [0.0, 1.0]]), sparse.csr_array([[1, 0], [1, 1]])
    >>> label_means(X, Y).toarray().tolist()
    [[0.5, 0.0], [0.5, 1.0]]
    """
    has = sparse.csr_array((np.ones(len(Y.data)), Y.indices, Y.indptr), shape=Y.shape)
    counts = np.bincount(Y.indices, minlength=Y.shape[1])
    sums = sparse.csr_array(X.T.tocsr().astype(np.float64) @ has)
    sums.data /= counts[sums.indices]
    return sums.astype(np.float32)
