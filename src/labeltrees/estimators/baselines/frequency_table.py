"""The frequency table as a scikit-learn estimator."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from labeltrees.data.targets import check_training, learned_labels
from labeltrees.errors import ArgumentError
from labeltrees.estimators.online import OnlineClassifier
from labeltrees.models.baselines.frequency_table import FrequencyTableModel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class FrequencyTableClassifier(OnlineClassifier):
    """P(label given x) as the frequency with which the label was seen with exactly this x.

    The "table-based" method of Beygelzimer et al. (UAI 2009): strong where the same rows come again
    and again, helpless on new ones, which get the overall frequencies of the labels.

    Parameters
    ----------
    backoff : float >= 0
        How many examples' worth of the overall frequencies are mixed into those of a row:
        P(y given x) = (c(x, y) + backoff P(y)) / (c(x) + backoff). 0 is the paper's table.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels: sorted after `fit`, in first-seen order as `partial_fit` adds to them.
    model_ : FrequencyTableModel
        The fitted model, usable without scikit-learn.
    n_features_in_ : int
        Width of the data.

    Examples
    --------
    >>> from labeltrees import FrequencyTableClassifier
    >>> table = FrequencyTableClassifier(backoff=0)
    >>> table = table.fit([[1.0], [1.0], [1.0], [2.0]], ["a", "a", "b", "b"])
    >>> table.predict_proba([[1.0], [3.0]]).round(2).tolist()
    [[0.67, 0.33], [0.5, 0.5]]
    """

    _model_class = FrequencyTableModel
    model_: FrequencyTableModel

    def __init__(self, *, backoff: float = 1.0) -> None:
        self.backoff = backoff

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Count from scratch and return the estimator."""
        self.check_parameters()
        rows, targets, weights = check_training(X, y, sample_weight)
        model = self._start_on_stream(rows.n_features, learned_labels(targets, weights))
        model.learn(rows, targets, weights)
        self._check_width(X, reset=True)
        self.model_ = model
        return self

    def check_parameters(self) -> None:
        """Raise `ArgumentError` if a parameter is outside its range; `fit` does so by itself."""
        number = isinstance(self.backoff, (int, float, np.number)) and not isinstance(
            self.backoff, (bool, np.bool_)
        )
        if not number or not (0 <= self.backoff < math.inf):
            raise ArgumentError.of("backoff", self.backoff, "a finite number >= 0")

    def _start_on_stream(self, n_features: int, classes: ArrayLike | None) -> FrequencyTableModel:
        self.check_parameters()
        model = FrequencyTableModel(float(self.backoff), n_features)
        if classes is not None:
            model.vocabulary.add(classes)
        return model

    def _params_to_store(self) -> dict[str, Any]:
        return {"backoff": float(self.backoff)}
