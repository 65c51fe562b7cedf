"""Distances of predictions from the targets of training rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from labeltrees.errors import ArgumentError
from labeltrees.models.model import MAX_DENSE_BYTES, check_dense_size

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from labeltrees.estimators.boosting.learners import Training
    from labeltrees.models.model import Model

    FloatArray = NDArray[np.float64]


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
