"""The base learners of boosting, and adapters for other classifiers.

A base learner is fitted to weights and distributions. `SelfTerminatingTreeClassifier` takes both,
like any class with ``accepts_distributions = True``. Its ``fit(X, P, sample_weight=w)`` takes rows
of probabilities, and its ``predict_proba`` has the columns of P. All other classifiers get each row
once for every label of its distribution, with the row's weight times the label's probability. This
gives the same weighted log loss, or any other loss that is a sum over examples.

Distances of predictions from the targets of training rows are the errors that boosting counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ArgumentError, DataError, LabelTreesError
from labeltrees.estimators.contract import LabelEstimator
from labeltrees.models.model import MAX_DENSE_BYTES, TopLabels, check_dense_size, check_k

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.models.model import Model

    FloatArray = NDArray[np.float64]

_SUM_ERROR = 1e-5  # rounding error of float32 probabilities in the sum of a row


@dataclass(frozen=True)
class Training:
    """Rows and their targets, where row r of ``targets`` is the distribution of row r."""

    rows: Rows
    targets: sparse.csr_array
    """(n_rows, n_labels), without zeros; columns are ids of the vocabulary."""
    vocabulary: LabelVocabulary
    is_labels: bool
    """Whether every row has one label only."""
    scale: float
    """Sum of the weights passed to a base learner, equal to the sum of the sample weights."""

    @property
    def row_of(self) -> NDArray[np.int64]:
        """The row of every stored entry of the targets."""
        return np.repeat(np.arange(self.rows.n_rows), np.diff(self.targets.indptr))


def check_base(base: Any) -> None:
    """Raise `ArgumentError` unless boosting can use the estimator."""
    allowed = "a classifier with fit(X, y, sample_weight) and predict_proba"
    if isinstance(base, type) or not all(
        hasattr(base, name) for name in ("fit", "predict_proba", "get_params")
    ):
        raise ArgumentError.of("base", base, allowed)
    if not has_fit_parameter(base, "sample_weight"):
        raise ArgumentError.of("base", base, f"{allowed} that takes sample_weight")


def fit_base(base: Any, training: Training, weights: NDArray[np.float64], number: int) -> Model:
    """Return the model of a fresh copy of ``base``, fitted to the training data in a round.

    The weights, which sum to 1, are scaled to sum to the sum of the sample weights, because
    penalties and steps of a learner are in this unit. An integer ``random_state`` of the base
    learner is increased by 1 in each round.
    """
    estimator = clone(base)
    seed = getattr(estimator, "random_state", None)
    if number and isinstance(seed, (int, np.integer)) and not isinstance(seed, bool):
        estimator.set_params(random_state=int(seed) + number)
    scaled = training.scale * weights
    if isinstance(estimator, LabelEstimator):
        return _fit_own(estimator, training, scaled)
    try:
        return _fit_outside(estimator, training, scaled)
    except LabelTreesError:
        raise
    except (ValueError, TypeError) as error:
        raise DataError(f"base={base!r} cannot be fitted in round {number + 1}: {error}") from error


def _fit_own(estimator: Any, training: Training, weights: NDArray[np.float64]) -> Model:
    if getattr(estimator, "accepts_distributions", False) and not training.is_labels:
        soft: Any = estimator
        names = training.vocabulary.labels
        soft.fit(_matrix(training.rows), training.targets, weights, classes=names)
    else:
        rows, labels, repeated = _replicated(training, weights)
        estimator.fit(_matrix(rows), labels, sample_weight=repeated)
    model: Model = estimator.model_
    return model


def _fit_outside(estimator: Any, training: Training, weights: NDArray[np.float64]) -> Model:
    rows = training.rows
    stored = len(rows.values) / (rows.n_rows * rows.n_features)
    dense = not get_tags(estimator).input_tags.sparse or stored > 0.5
    if getattr(estimator, "accepts_distributions", False):
        targets = training.targets
        check_dense_size(rows.n_rows, len(training.vocabulary), MAX_DENSE_BYTES)
        estimator.fit(_outside_matrix(rows, dense), targets.toarray(), sample_weight=weights)
        return OutsideModel(training.vocabulary, estimator, rows.n_features, dense)
    rows, labels, repeated = _replicated(training, weights)
    estimator.fit(_outside_matrix(rows, dense), labels, sample_weight=repeated)
    vocabulary = LabelVocabulary(np.asarray(estimator.classes_))
    return OutsideModel(vocabulary, estimator, rows.n_features, dense)


def _replicated(
    training: Training, weights: NDArray[np.float64]
) -> tuple[Rows, NDArray[Any], NDArray[np.float64]]:
    """Return a row, a label and a weight for every stored entry of the targets."""
    labels = training.vocabulary.labels[training.targets.indices]
    if training.is_labels:
        return training.rows, labels, weights
    row_of = training.row_of
    return training.rows.take(row_of), labels, weights[row_of] * training.targets.data


@dataclass
class OutsideModel:
    """A fitted scikit-learn classifier behind the questions of a `Model`. It cannot be saved."""

    vocabulary: LabelVocabulary
    estimator: Any
    n_features: int
    dense: bool
    """Whether the estimator is given dense rows."""

    def probabilities(self, rows: Rows, *, max_bytes: int = MAX_DENSE_BYTES) -> NDArray[np.float64]:
        """Return what ``predict_proba`` says, if it is rows of probabilities."""
        shape = rows.n_rows, len(self.vocabulary)
        check_dense_size(*shape, max_bytes)
        p = np.array(
            self.estimator.predict_proba(_outside_matrix(rows, self.dense)), dtype=np.float64
        )
        if p.shape != shape:
            raise DataError(f"predict_proba of base must have shape {shape}, got {p.shape}.")
        sums = p.sum(axis=1)
        if not (p >= 0).all() or not (np.abs(sums - 1) <= _SUM_ERROR).all():
            raise DataError("predict_proba of base must be rows of numbers >= 0 that sum to 1.")
        return np.asarray(p / sums[:, None])

    def label_probabilities(self, rows: Rows, labels: ArrayLike) -> NDArray[np.float64]:
        """Return P(label given row), one label per row; 0 for a label never seen."""
        ids = self.vocabulary.ids(labels)
        p = self.probabilities(rows)
        return np.where(ids >= 0, p[np.arange(rows.n_rows), ids], 0.0)

    def top_labels(self, rows: Rows, k: int) -> TopLabels:
        """Return the k most likely labels of every row, best first."""
        k = check_k(k, len(self.vocabulary))
        p = self.probabilities(rows)
        order = np.argsort(-p, axis=1, kind="stable")[:, :k]
        return TopLabels(self.vocabulary.labels[order], np.take_along_axis(p, order, axis=1))

    def describe(self) -> dict[str, Any]:
        """Return the estimator's representation."""
        return {"estimator": repr(self.estimator)}

    def to_dot(self, names: Sequence[str], *, max_nodes: int) -> str:  # noqa: ARG002
        """Raise `ArgumentError`, because the shape of an outside estimator is not known."""
        raise ArgumentError.of(
            "base", self.estimator, "an estimator of this library, because others cannot be drawn"
        )

    def to_tensors(self, *, keep_state: bool) -> Any:  # noqa: ARG002
        """Raise `ArgumentError`, because an outside estimator has no data format."""
        raise ArgumentError.of(
            "base", self.estimator, "an estimator of this library, because others cannot be saved"
        )


def _matrix(rows: Rows) -> sparse.csr_array:
    shape = rows.n_rows, rows.n_features
    return sparse.csr_array((rows.values, rows.indices, rows.starts), shape=shape)


def _outside_matrix(rows: Rows, dense: bool) -> Any:
    matrix = sparse.csr_matrix(_matrix(rows), dtype=np.float64)
    if dense:
        check_dense_size(rows.n_rows, rows.n_features, MAX_DENSE_BYTES)
        return matrix.toarray()
    return matrix


class Distances(Protocol):
    """A measure of error for boosting."""

    def predict(self, member: Model) -> FloatArray:
        """Return the predictions of a model for the training rows, as `of` takes them."""

    def of(self, predicted: FloatArray) -> FloatArray:
        """Return the distance of each row's prediction from its target, in [0, 1]."""


def distances_for(norm: Any, training: Training) -> Distances:
    """Return the measure for ``norm``: "total_variation" or a callable."""
    return NormDistances(norm, training) if callable(norm) else TotalVariation(training)


class TotalVariation:
    """Half the sum of absolute differences, computed from the labels of the target alone.

    For other labels the differences are the predicted probabilities, which sum to 1 minus the
    probabilities of the target's labels. So only P(label given row) of the target's labels is
    needed. For one label per row the distance is 1 - p.
    """

    def __init__(self, training: Training) -> None:
        self._training = training
        targets = training.targets
        n_cells = targets.shape[0] * targets.shape[1]
        self._needs_whole = not training.is_labels and 2 * targets.nnz > n_cells

    def predict(self, member: Model) -> FloatArray:
        """Return the model's probability for every stored entry of the targets."""
        training, ids = self._training, self._training.targets.indices
        if self._needs_whole:
            return np.asarray(_whole(member, training)[training.row_of, ids])
        rows = training.rows if training.is_labels else training.rows.take(training.row_of)
        p = member.label_probabilities(rows, training.vocabulary.labels[ids])
        if len(member.vocabulary) < len(training.vocabulary):
            known = training.vocabulary.ids(member.vocabulary.labels)
            p = np.where(np.isin(ids, known), p, 0.0)
        return p

    def of(self, predicted: FloatArray) -> FloatArray:
        """Return the total variation of each row."""
        targets = self._training.targets
        starts = targets.indptr[:-1]  # no row of a distribution is empty
        inside = np.add.reduceat(np.abs(predicted - targets.data), starts)
        outside = 1.0 - np.add.reduceat(predicted, starts)
        return np.clip((inside + outside) / 2, 0.0, 1.0)


class NormDistances:
    """A callable of two (n_rows, n_labels) arrays of distributions."""

    def __init__(self, norm: Callable[[FloatArray, FloatArray], Any], training: Training) -> None:
        check_dense_size(training.rows.n_rows, len(training.vocabulary), MAX_DENSE_BYTES)
        self._norm, self._training = norm, training
        self._targets = training.targets.toarray()

    def predict(self, member: Model) -> FloatArray:
        """Return the model's distributions."""
        return _whole(member, self._training)

    def of(self, predicted: FloatArray) -> FloatArray:
        """Return the norm's values, or raise `ArgumentError` if they are not in [0, 1]."""
        values = np.asarray(self._norm(predicted, self._targets), dtype=np.float64)
        if values.shape != (len(predicted),):
            allowed = f"a callable that returns shape ({len(predicted)},), one value per row"
            raise ArgumentError.of("norm", f"one that returns shape {values.shape}", allowed)
        wrong = ~((values >= 0) & (values <= 1 + 1e-9))
        if wrong.any():
            found = float(values[np.argmax(wrong)])
            allowed = "a callable with values in [0, 1]"
            raise ArgumentError.of("norm", f"one that returns {found:g}", allowed)
        return np.minimum(values, 1.0)


def _whole(member: Model, training: Training) -> FloatArray:
    """Return the model's distributions with the columns of the targets."""
    own = member.probabilities(training.rows, max_bytes=MAX_DENSE_BYTES)
    columns = training.vocabulary.ids(member.vocabulary.labels)
    whole = np.zeros(training.targets.shape)
    whole[:, columns] = own
    return whole
