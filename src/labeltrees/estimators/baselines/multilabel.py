"""What the estimators of the multi-label baselines share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from sklearn.utils import ClassifierTags

from labeltrees import checks
from labeltrees.data.rows import as_rows
from labeltrees.errors import DataError
from labeltrees.estimators.contract import LabelEstimator
from labeltrees.estimators.several_labels import form_of, in_form, ndcg_of, relevance_of
from labeltrees.models.baselines.multilabel import MultilabelModel, RegressingModel, Targets
from labeltrees.models.model import MAX_DENSE_BYTES, ScoredLabels, ScoredRows, TopLabels, TopRows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = ["MultilabelEstimator", "RegressingEstimator"]


class MultilabelEstimator(LabelEstimator):
    """An estimator of rows with any number of labels, around a model that scores all of them.

    Labels are ranked by their scores. **Probabilities are those of each label by itself and do not
    sum to one**: P(label is relevant to the row), a logistic function of the score that was fitted
    to held-out rows. A subclass names its ``_model_class`` and its parameters.
    """

    _model_class: ClassVar[type[MultilabelModel]]
    model_: Any

    def fit(self, X: Any, y: Any, *, classes: ArrayLike | None = None) -> Self:
        """Learn from scratch and return the estimator.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        y : matrix, lists, dicts or labels
            A matrix of relevance >= 0 (dense or sparse), a list of labels for every row, a dict of
            labels and relevance for every row, or one label per row. Rows without a label count as
            examples of none.
        classes : labels of shape (n_labels,), optional
            Names the columns of a matrix; else they are 0, 1, ...

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
        rows = as_rows(X)
        relevance = relevance_of(y, classes)
        if relevance.n_rows != rows.n_rows:
            raise DataError(f"y has {relevance.n_rows} rows for the {rows.n_rows} rows of X.")
        if getattr(settings, "relevance", None) == "propensity":
            relevance = relevance.weighted_by_propensity()
        targets = Targets(
            relevance.to_csr(), relevance.vocabulary, relevance.scale, relevance.label_shares
        )
        model = self._model_class.trained(rows, targets, settings)
        model.form = form_of(y)
        return self._set_model(X, model)

    def predict(self, X: Any) -> Any:
        """Return the labels of every row, in the form in which `fit` was given them.

        Labels are those with a probability of at least ``threshold``, and a row may have none;
        where `fit` was given one label per row, the best one.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense

        Returns
        -------
        ndarray or sparse csr_array
            If y was a dense matrix: an indicator matrix of 0 and 1, (n_rows, n_labels), columns as
            in ``classes_``; if it was sparse, a sparse one. If rows had lists, sets or dicts: an
            array of n_rows lists of labels, likeliest first. If rows had one label: an array of
            n_rows labels.

        Examples
        --------
        >>> from labeltrees import LeastSquaresRegressor
        >>> X, y = [[1, 0], [0, 1], [1, 1]] * 50, [["sun"], ["rain"], ["sun", "rain"]] * 50
        >>> LeastSquaresRegressor().fit(X, y).predict([[0, 1], [1, 0]]).tolist()
        [['rain'], ['sun']]
        """
        rows = self._check_rows(X)
        if self.model_.form == "labels":
            return self.predict_top_k(X, 1).labels[:, 0]
        threshold = checks.number("threshold", self.threshold, 0, 1, open_low=True)
        found = self.model_.labels_above(rows, threshold)
        return in_form(found, self.model_.form, self.classes_)

    def score(self, X: Any, y: Any, *, classes: ArrayLike | None = None) -> float:
        """Return nDCG@5 of the best labels of every row: 1 if no ranking could be better.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        y : matrix, lists, dicts or labels
            What is true, as for `fit`. Labels that were never learned count as missed.
        classes : labels of shape (n_labels,), optional
            Names the columns of a matrix; else they are 0, 1, ...

        Returns
        -------
        float in [0, 1]

        Examples
        --------
        >>> from labeltrees import LeastSquaresRegressor
        >>> X, y = [[1, 0], [0, 1], [1, 1]] * 50, [["sun"], ["rain"], ["sun", "rain"]] * 50
        >>> LeastSquaresRegressor().fit(X, y).score(X, y)
        1.0
        """
        truth = relevance_of(y, classes)
        top = self.predict_top_scores(X, min(5, len(self.classes_)))
        return ndcg_of(top, truth, self.classes_)

    def predict_top_k(self, X: Any, k: int = 5) -> TopLabels:
        """Return the k best labels of every row and their probabilities, best first.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        k : int in [1, n_labels], default 5

        Returns
        -------
        TopLabels
            ``labels`` and ``probabilities``, both of shape (n_rows, k). The order is that of
            `predict_top_scores`: with ``relevance="propensity"`` it need not be that of the
            probabilities.

        Examples
        --------
        >>> from labeltrees import LeastSquaresRegressor
        >>> X, y = [[1, 0], [0, 1], [1, 1]] * 50, [["sun"], ["rain"], ["sun", "rain"]] * 50
        >>> LeastSquaresRegressor().fit(X, y).predict_top_k([[1, 0]], 2).labels.tolist()
        [['sun', 'rain']]
        """
        rows = self._check_rows(X)
        top: TopLabels = self.model_.top_labels(rows, k)
        return top

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
        top: ScoredLabels = self.model_.top_scores(rows, k)
        return top

    def predict_scores(self, X: Any, *, max_bytes: int = MAX_DENSE_BYTES) -> NDArray[np.float64]:
        """Return the scores of all labels. They rank a row's labels; they are no probabilities.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        max_bytes : int, default 2^32
            An answer larger than this raises `TooLargeError`.

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
        scores: NDArray[np.float64] = self.model_.scores(rows, max_bytes=max_bytes)
        return scores

    def top_rows(
        self,
        X: Any,
        labels: ArrayLike | None = None,
        k: int = 5,
        *,
        max_bytes: int = MAX_DENSE_BYTES,
    ) -> TopRows:
        """Return the k rows that score best for each label: labelwise inference, O(n_rows) each.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        labels : array of labels, optional
            By default all of ``classes_``.
        k : int in [1, n_rows], default 5
        max_bytes : int, default 2^32
            An answer larger than this raises `TooLargeError`.

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
        best: TopRows = self.model_.top_rows(rows, labels, k, max_bytes=max_bytes)
        return best

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
            As for `top_rows`.

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
        best: ScoredRows = self.model_.top_row_scores(rows, labels, k, max_bytes=max_bytes)
        return best

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        # Neither a classifier nor a regressor, as a row has any number of labels; but it has
        # predict_proba, which these tags describe.
        tags.classifier_tags = ClassifierTags(multi_class=True, multi_label=True)
        return tags


class RegressingEstimator(MultilabelEstimator):
    """An estimator whose scores estimate relevance, in the units of y."""

    _model_class: ClassVar[type[RegressingModel]]

    def predict_relevance(self, X: Any, *, max_bytes: int = MAX_DENSE_BYTES) -> NDArray[np.float64]:
        """Return the estimated relevance of every label, in the units of y: never below 0.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        max_bytes : int, default 2^32
            An answer larger than this raises `TooLargeError`.

        Returns
        -------
        ndarray of shape (n_rows, n_labels)
            The scores of `predict_scores`, within [0, the largest relevance learned].

        Examples
        --------
        >>> from labeltrees import LeastSquaresRegressor
        >>> X, stars = [[1, 0], [0, 1]] * 100, [{"ann": 5, "bob": 1}, {"ann": 2}] * 100
        >>> LeastSquaresRegressor().fit(X, stars).predict_relevance([[1, 0]]).round().tolist()
        [[5.0, 1.0]]
        """
        rows = self._check_rows(X)
        relevance: NDArray[np.float64] = self.model_.relevances(rows, max_bytes=max_bytes)
        return relevance

    def predict_label_relevance(self, X: Any, y: ArrayLike) -> NDArray[np.float64]:
        """Return the estimated relevance of the label y[i] to X[i]; 0 for a label never seen.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        y : labels of shape (n_rows,)

        Returns
        -------
        ndarray of shape (n_rows,)

        Examples
        --------
        >>> from labeltrees import LeastSquaresRegressor
        >>> X, stars = [[1, 0], [0, 1]] * 100, [{"ann": 5, "bob": 1}, {"ann": 2}] * 100
        >>> model = LeastSquaresRegressor().fit(X, stars)
        >>> model.predict_label_relevance([[1, 0], [0, 1]], ["ann", "ann"]).round().tolist()
        [5.0, 2.0]
        """
        rows = self._check_rows(X)
        relevance: NDArray[np.float64] = self.model_.label_relevances(rows, y)
        return relevance
