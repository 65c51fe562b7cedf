"""What the estimators of the multi-label baselines share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from labeltrees.estimators.several_labels import (
    MultilabelEstimator,
    RelevanceEstimator,
    form_of,
    training_relevance,
)
from labeltrees.models.baselines.multilabel import (
    MultilabelModel,
    RegressingModel,
    RelevanceTargets,
)
from labeltrees.models.model import MAX_DENSE_BYTES, ScoredLabels, ScoredRows, TopLabels, TopRows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


class BaselineEstimator(MultilabelEstimator):
    """An estimator of rows with any number of labels, around a model that scores all of them.

    Labels are ranked by their scores. **Probabilities do not sum to one**. Each is P(label is
    relevant to the row), a logistic function of the score that was fitted to held-out rows. A
    subclass names its ``_model_class`` and its parameters.
    """

    _model_class: ClassVar[type[MultilabelModel]]
    model_: MultilabelModel

    def fit(self, X: Any, y: Any, *, classes: ArrayLike | None = None) -> Self:
        """Learn from scratch and return the estimator.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        y : matrix, lists, dicts or labels
            A matrix of relevance >= 0 (dense or sparse), a list of labels for every row, a dict of
            labels and relevance for every row, or one label per row. Rows without a label are
            negative examples of all labels.
        classes : labels of shape (n_labels,), optional
            Names of the columns of a matrix; by default 0, 1, ...

        Returns
        -------
        the estimator

        Examples
        --------
        >>> from labeltrees import LeastSquaresRegressor
        >>> X, y = [[1, 0], [0, 1], [1, 1]] * 50, [["sun"], ["rain"], ["sun", "rain"]] * 50
        >>> LeastSquaresRegressor().fit(X, y).classes_.tolist()
        ['rain', 'sun']
        """
        settings = self._settings()
        rows, relevance = training_relevance(X, y, classes)
        if getattr(settings, "relevance", None) == "propensity":
            relevance = relevance.weighted_by_propensity()
        targets = RelevanceTargets(
            relevance.to_csr(), relevance.vocabulary, relevance.scale, relevance.label_shares
        )
        model = self._model_class.trained(rows, targets, settings)
        model.form = form_of(y)
        return self._set_model(X, model)

    def predict_top_k(self, X: Any, k: int = 5) -> TopLabels:
        """Return the k best labels of every row and their probabilities, best first.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        k : int in [1, n_labels], default 5

        Returns
        -------
        TopLabels
            ``labels`` and ``probabilities``, both of shape (n_rows, k). They are
            sorted as by `predict_top_scores`, so with ``relevance="propensity"`` probabilities need
            not decrease.

        Examples
        --------
        >>> from labeltrees import LeastSquaresRegressor
        >>> X, y = [[1, 0], [0, 1], [1, 1]] * 50, [["sun"], ["rain"], ["sun", "rain"]] * 50
        >>> LeastSquaresRegressor().fit(X, y).predict_top_k([[1, 0]], 2).labels.tolist()
        [['sun', 'rain']]
        """
        rows = self._check_rows(X)
        return self.model_.top_labels(rows, k)

    def predict_top_scores(self, X: Any, k: int = 5) -> ScoredLabels:
        """Return the k best labels of every row and the scores that rank them, best first.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        k : int in [1, n_labels], default 5

        Returns
        -------
        ScoredLabels
            ``labels`` and ``scores``, both of shape (n_rows, k).

        Examples
        --------
        >>> from labeltrees import LeastSquaresRegressor
        >>> X, y = [[1, 0], [0, 1], [1, 1]] * 50, [["sun"], ["rain"], ["sun", "rain"]] * 50
        >>> LeastSquaresRegressor().fit(X, y).predict_top_scores([[1, 0]], 1).labels.tolist()
        [['sun']]
        """
        rows = self._check_rows(X)
        return self.model_.top_scores(rows, k)

    def predict_scores(self, X: Any, *, max_bytes: int = MAX_DENSE_BYTES) -> NDArray[np.float64]:
        """Return the scores of all labels, which rank a row's labels and are not probabilities.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        max_bytes : int, default 2^32
            A larger result raises `TooLargeError`.

        Returns
        -------
        ndarray of shape (n_rows, n_labels)
            Columns are as in ``classes_``.

        Examples
        --------
        >>> from labeltrees import LeastSquaresRegressor
        >>> X, y = [[1, 0], [0, 1], [1, 1]] * 50, [["sun"], ["rain"], ["sun", "rain"]] * 50
        >>> LeastSquaresRegressor().fit(X, y).predict_scores([[1, 0]]).argmax(axis=1).tolist()
        [1]
        """
        rows = self._check_rows(X)
        return self.model_.scores(rows, max_bytes=max_bytes)

    def top_rows(
        self,
        X: Any,
        labels: ArrayLike | None = None,
        k: int = 5,
        *,
        max_bytes: int = MAX_DENSE_BYTES,
    ) -> TopRows:
        """Return the k rows that score best for each label (labelwise inference), O(n_rows) each.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        labels : array of labels, optional
            By default all of ``classes_``.
        k : int in [1, n_rows], default 5
        max_bytes : int, default 2^32
            A larger result raises `TooLargeError`.

        Returns
        -------
        TopRows
            ``rows`` and ``probabilities``, both of shape (len(labels), k), best first; of rows
            with equal scores, the first.

        Examples
        --------
        >>> from labeltrees import LeastSquaresRegressor
        >>> X, y = [[1, 0], [0, 1], [1, 1]] * 50, [["sun"], ["rain"], ["sun", "rain"]] * 50
        >>> model = LeastSquaresRegressor().fit(X, y)
        >>> model.top_rows([[0, 1], [1, 1], [1, 0]], ["sun", "rain"], 1).rows.tolist()
        [[2], [0]]
        """
        rows = self._check_rows(X)
        return self.model_.top_rows(rows, labels, k, max_bytes=max_bytes)

    def top_row_scores(
        self,
        X: Any,
        labels: ArrayLike | None = None,
        k: int = 5,
        *,
        max_bytes: int = MAX_DENSE_BYTES,
    ) -> ScoredRows:
        """Return the rows that `top_rows` returns, and the scores that rank them.

        Parameters
        ----------
        X, labels, k, max_bytes
            The arguments of `top_rows`.

        Returns
        -------
        ScoredRows
            ``rows`` and ``scores``, both of shape (len(labels), k).

        Examples
        --------
        >>> from labeltrees import LeastSquaresRegressor
        >>> X, stars = [[1, 0], [0, 1]] * 100, [{"ann": 5, "bob": 1}, {"ann": 2}] * 100
        >>> model = LeastSquaresRegressor().fit(X, stars)
        >>> rows, scores = model.top_row_scores([[0, 1], [1, 0]], ["ann"], 2)
        >>> rows.tolist(), scores.round().tolist()
        ([[1, 0]], [[5.0, 2.0]])
        """
        rows = self._check_rows(X)
        return self.model_.top_row_scores(rows, labels, k, max_bytes=max_bytes)


class RegressingEstimator(BaselineEstimator, RelevanceEstimator):
    """An estimator whose scores estimate relevance, in the units of y."""

    _model_class: ClassVar[type[RegressingModel]]
