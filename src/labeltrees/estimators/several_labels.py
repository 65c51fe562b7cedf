"""The base class of estimators of rows with any number of labels, and the forms of y."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import ClassifierTags

from labeltrees import checks
from labeltrees.data.rows import Rows, as_rows
from labeltrees.data.targets import as_targets
from labeltrees.errors import DataError
from labeltrees.estimators.contract import LabelEstimator
from labeltrees.metrics import ndcg_at_k
from labeltrees.models.extreme.relevance import as_relevance, is_matrix, raw_relevance
from labeltrees.models.model import MAX_DENSE_BYTES, check_dense_size

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy import sparse

    from labeltrees.models.extreme.relevance import RawRelevance, Relevance
    from labeltrees.models.model import FormName, ScoredLabels


class MultilabelEstimator(LabelEstimator):
    """An estimator of rows with any number of labels.

    A subclass has a parameter ``threshold``, a model that knows the ``form`` of y, and ranks labels
    by `predict_top_scores` or its own `_top_five`.
    """

    threshold: float

    def predict(self, X: Any) -> Any:
        """Return the labels of every row, in the form of the labels that the model learned first.

        Labels are those with a probability of at least ``threshold``, and a row may have none. If
        the training rows had one label each, the result is the best label of every row.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense

        Returns
        -------
        ndarray or sparse csr_array
            If y was a dense matrix, an indicator matrix of 0 and 1 of shape (n_rows, n_labels) with
            columns as in ``classes_``; if it was sparse, a sparse one. If rows had lists, sets or
            dicts, an array of n_rows lists of labels, the most likely label first. If rows had one
            label, an array of n_rows labels.

        Examples
        --------
        >>> from labeltrees import ExtremeRegressor
        >>> X, y = [[1, 0], [0, 1], [1, 1]] * 50, [["sun"], ["rain"], ["sun", "rain"]] * 50
        >>> ExtremeRegressor(n_trees=1).fit(X, y).predict([[0, 1], [1, 0]]).tolist()
        [['rain'], ['sun']]
        >>> Y = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 50
        >>> ExtremeRegressor(n_trees=1).fit(X, Y).predict([[0, 1], [1, 0]]).tolist()
        [[1, 0], [0, 1]]
        """
        rows = self._check_rows(X)
        form = self.model_.form
        if form == "labels":
            return self.predict_top_k(X, 1).labels[:, 0]
        threshold = checks.number("threshold", self.threshold, 0, 1, open_low=True)
        found = self._sorted_columns(self.model_.labels_above(rows, threshold))
        return _in_form(found, form, self.classes_)

    def score(self, X: Any, y: Any, *, classes: ArrayLike | None = None) -> float:
        """Return nDCG@5 of the best labels of every row: 1 if no ranking could be better.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        y : matrix, lists, dicts or labels
            The true labels, in the forms that `fit` takes. Labels that the model has not learned
            count as missed.
        classes : labels of shape (n_labels,), optional
            Names of the columns of a matrix; by default 0, 1, ...

        Returns
        -------
        float in [0, 1]

        Examples
        --------
        >>> from labeltrees import ExtremeRegressor
        >>> X, y = [[1, 0], [0, 1], [1, 1]] * 50, [["sun"], ["rain"], ["sun", "rain"]] * 50
        >>> ExtremeRegressor(n_trees=1).fit(X, y).score(X, y)
        1.0
        """
        truth = relevance_of(y, classes)
        return _ndcg_of(self._top_five(X), truth, self.classes_)

    def _top_five(self, X: Any) -> ScoredLabels:
        """Return up to five best labels of every row, for `score`."""
        top: ScoredLabels = self.predict_top_scores(X, min(5, len(self.classes_)))
        return top

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        # The estimator is neither a classifier nor a regressor, because a row has any number of
        # labels. It has predict_proba, which these tags describe.
        tags.classifier_tags = ClassifierTags(multi_class=True, multi_label=True)
        return tags


class RelevanceEstimator(MultilabelEstimator):
    """An estimator whose model knows how relevant labels are, in the units of y."""

    def predict_relevance(self, X: Any, *, max_bytes: int = MAX_DENSE_BYTES) -> NDArray[np.float64]:
        """Return the estimated relevance of every label, in the units of y. O(n_labels) per row.

        An `ExtremeRegressor` returns the expected relevance. This is `predict_proba` if relevance
        is not graded, and with ``relevance="propensity"`` it is the probability divided by the
        label's propensity. A baseline returns its scores within [0, the largest relevance learned].

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        max_bytes : int, default 2^32
            A larger result raises `TooLargeError`.

        Returns
        -------
        ndarray of shape (n_rows, n_labels)

        Examples
        --------
        >>> from labeltrees import ExtremeRegressor
        >>> X, stars = [[1, 0], [0, 1]] * 100, [{"ann": 5, "bob": 1}, {"ann": 2}] * 100
        >>> ExtremeRegressor(n_trees=1).fit(X, stars).predict_relevance([[1, 0]]).round().tolist()
        [[5.0, 1.0]]
        """
        rows = self._check_rows(X)
        relevance: NDArray[np.float64] = self.model_.relevances(rows, max_bytes=max_bytes)
        return relevance

    def predict_label_relevance(self, X: Any, y: ArrayLike) -> NDArray[np.float64]:
        """Return the estimated relevance of the label y[i] to X[i]; 0 for an unknown label.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        y : labels of shape (n_rows,)

        Returns
        -------
        ndarray of shape (n_rows,)

        Examples
        --------
        >>> from labeltrees import ExtremeRegressor
        >>> X, stars = [[1, 0], [0, 1]] * 100, [{"ann": 5, "bob": 1}, {"ann": 2}] * 100
        >>> model = ExtremeRegressor(n_trees=1).fit(X, stars)
        >>> model.predict_label_relevance([[1, 0], [0, 1]], ["ann", "ann"]).round().tolist()
        [5.0, 2.0]
        """
        rows = self._check_rows(X)
        relevance: NDArray[np.float64] = self.model_.label_relevances(rows, y)
        return relevance


def training_relevance(X: Any, y: Any, classes: ArrayLike | None) -> tuple[Rows, Relevance]:
    """Return checked rows and their relevance, or raise `DataError`.

    >>> rows, relevance = training_relevance([[1.0]], [["sun"]], None)
    >>> rows.n_rows, relevance.n_rows
    (1, 1)
    """
    rows = as_rows(X)
    relevance = relevance_of(y, classes)
    if relevance.n_rows != rows.n_rows:
        raise DataError(f"y has {relevance.n_rows} rows for the {rows.n_rows} rows of X.")
    return rows, relevance


def relevance_of(y: Any, classes: ArrayLike | None) -> Relevance:
    """Return a matrix, lists, dicts or one label per row as checked relevance.

    >>> relevance_of(["sun", "rain"], None).vocabulary.labels.tolist()
    ['rain', 'sun']
    """
    if hasattr(y, "__array__") and not hasattr(y, "ndim"):  # a series of polars
        y = np.asarray(y)
    return as_relevance(as_targets(y) if _is_one_each(y) else y, classes=classes)


def raw_relevance_of(y: Any, classes: ArrayLike | None) -> RawRelevance:
    """Return the relevance of some of the rows: checked, but not as shares of the largest.

    >>> raw_relevance_of([["sun"], []], None).starts.tolist()
    [0, 1, 1]
    """
    return raw_relevance(as_targets(y) if _is_one_each(y) else y, classes=classes)


def form_of(y: Any) -> FormName:
    """Return the form of checked y, which says how rows name their labels.

    >>> form_of(["sun", "rain"]), form_of([["sun"], []]), form_of(np.eye(2))
    ('labels', 'lists', 'matrix')
    """
    if hasattr(y, "tocsr"):
        return "sparse"
    if _is_one_each(y):
        return "labels"
    return "matrix" if is_matrix(y) else "lists"


def _in_form(found: sparse.csr_array, form: FormName, classes: NDArray[Any]) -> Any:
    """Return predicted labels with their probabilities in a form of y.

    >>> from scipy import sparse
    >>> found = sparse.csr_array([[0.6, 0.9], [0.0, 0.7]])
    >>> _in_form(found, "lists", np.array(["rain", "sun"])).tolist()
    [['sun', 'rain'], ['sun']]
    """
    if form == "lists":
        return _label_lists(found, classes)
    found = found.astype(bool).astype(np.int64)
    if form == "sparse":
        return found
    check_dense_size(found.shape[0], found.shape[1], MAX_DENSE_BYTES)
    return found.toarray()


def _ndcg_of(top: ScoredLabels, truth: Relevance, classes: NDArray[Any]) -> float:
    """Return nDCG@5 of the best labels of every row; check that truth has as many rows."""
    from scipy import sparse

    labels, scores = top
    if len(labels) != truth.n_rows:
        raise DataError(f"y has {truth.n_rows} rows for the {len(labels)} rows of X.")
    names = truth.vocabulary
    names.add(classes)  # The labels of y keep their columns.
    # A beam may find fewer than k labels.
    row, place = np.nonzero(labels.astype(object) != np.array(None))
    columns, shape = names.ids(labels[row, place]), (len(labels), len(names))
    found = sparse.csr_array((scores[row, place], (row, columns)), shape=shape)
    return float(ndcg_at_k(truth.to_csr(), found, 5))


def _label_lists(found: sparse.csr_array, classes: NDArray[Any]) -> NDArray[Any]:
    """Return the labels of each row as an array of lists, the most likely label first."""
    lists = np.empty(found.shape[0], dtype=object)
    for row, (begin, end) in enumerate(pairwise(found.indptr.tolist())):
        order = np.argsort(-found.data[begin:end], kind="stable")
        lists[row] = classes[found.indices[begin:end][order]].tolist()
    return lists


def _is_one_each(y: Any) -> bool:
    """Return whether y has one label per row, perhaps in a column."""
    if y is None or hasattr(y, "tocsr"):
        return y is None
    if hasattr(y, "__array__"):
        array = np.asarray(y)
        if array.ndim == 2 and array.shape[1] == 1:
            return True
        return array.ndim == 1 and not any(map(_is_several, array[:1]))
    return not any(map(_is_several, y))


def _is_several(row: Any) -> bool:
    # Data frames hold lists as arrays (what pandas reads of Parquet) or as series (polars).
    return hasattr(row, "__iter__") and not isinstance(row, (str, bytes))
