"""What an estimator of relevance answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labeltrees import checks
from labeltrees.estimators.contract import LabelEstimator
from labeltrees.estimators.several_labels import in_form, ndcg_of, relevance_of
from labeltrees.models.model import (
    MAX_DENSE_BYTES,
    ScoredLabels,
    ScoredRows,
    TopLabels,
    TopRows,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from labeltrees.models.extreme.model import ExtremeModel
    from labeltrees.models.model import SearchName

__all__ = ["RelevanceQuestions"]


class RelevanceQuestions(LabelEstimator):
    """The questions of a fitted `ExtremeModel`."""

    model_: ExtremeModel
    threshold: float

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
        found = self.model_.labels_above(rows, threshold)
        return in_form(found, form, self.classes_)

    def predict_relevance(self, X: Any, *, max_bytes: int = MAX_DENSE_BYTES) -> NDArray[np.float64]:
        """Return the expected relevance of every label, in the units of y. O(n_labels) per row.

        Where relevance is not graded it is `predict_proba`. With ``relevance="propensity"`` it is
        the probability divided by the label's propensity.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        max_bytes : int, default 2^32
            An answer larger than this raises `TooLargeError`.

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
        return self.model_.relevances(rows, max_bytes=max_bytes)

    def predict_label_relevance(self, X: Any, y: ArrayLike) -> NDArray[np.float64]:
        """Return the expected relevance of the label y[i] to X[i]; 0 for a label never seen.

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
        return self.model_.label_relevances(rows, y)

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
        >>> from labeltrees import ExtremeRegressor
        >>> X, y = [[1, 0], [0, 1], [1, 1]] * 50, [["sun"], ["rain"], ["sun", "rain"]] * 50
        >>> ExtremeRegressor(n_trees=1).fit(X, y).score(X, y)
        1.0
        """
        truth = relevance_of(y, classes)
        top = self.predict_top_scores(X, min(5, len(self.classes_)))
        return ndcg_of(top, truth, self.classes_)

    def predict_top_k(
        self, X: Any, k: int = 5, *, search: SearchName = "auto", beam_width: int | None = None
    ) -> TopLabels:
        """Return the k best labels of every row and their probabilities, best first.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        k : int in [1, n_labels], default 5
        search : {"auto", "exact", "beam"}, default "auto"
            "beam", which is what "auto" means here, keeps the ``beam_width`` likeliest nodes of
            every level and may miss some; "exact" gives provably the top k. With ``tail`` the
            beam's 100 best labels, or k if that is more, are ranked anew.
        beam_width : int >= 1, optional
            By default that of the estimator.

        Returns
        -------
        TopLabels
            ``labels`` and ``probabilities``, both of shape (n_rows, k). The order is that of
            `predict_top_scores`: where relevance is graded or weighted by propensity, or with
            ``tail``, it need not be that of the probabilities.

        Examples
        --------
        >>> from labeltrees import ExtremeRegressor
        >>> X, y = [[1, 0], [0, 1], [1, 1]] * 50, [["sun"], ["rain"], ["sun", "rain"]] * 50
        >>> model = ExtremeRegressor(n_trees=1).fit(X, y)
        >>> model.predict_top_k([[1, 0]], 2).labels.tolist()
        [['sun', 'rain']]
        """
        rows = self._check_rows(X)
        top: TopLabels = self.model_.top_labels(rows, k, search=search, beam_width=beam_width)
        return top

    def predict_top_scores(
        self, X: Any, k: int = 5, *, search: SearchName = "auto", beam_width: int | None = None
    ) -> ScoredLabels:
        """Return the k best labels of every row and the scores that rank them, best first.

        A score is the expected relevance, or with ``tail`` what the tail classifier makes of it. It
        is a probability only where relevance is not graded or weighted, without ``tail``.

        Parameters
        ----------
        X, k, search, beam_width
            As for `predict_top_k`.

        Returns
        -------
        ScoredLabels
            ``labels`` and ``scores``, both of shape (n_rows, k).

        Examples
        --------
        >>> from labeltrees import ExtremeRegressor
        >>> X, y = [[1, 0], [0, 1], [1, 1]] * 50, [["sun"], ["rain"], ["sun", "rain"]] * 50
        >>> model = ExtremeRegressor(n_trees=1).fit(X, y)
        >>> model.predict_top_scores([[1, 0]], 1).labels.tolist()
        [['sun']]
        """
        rows = self._check_rows(X)
        return self.model_.top_scores(rows, k, search=search, beam_width=beam_width)

    def top_rows(
        self,
        X: Any,
        labels: ArrayLike | None = None,
        k: int = 5,
        *,
        exact: bool = False,
        factor: float = 4.0,
        max_bytes: int = MAX_DENSE_BYTES,
    ) -> TopRows:
        """Return the k rows to which each label is most relevant, best first: labelwise inference.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        labels : array of labels, optional
            By default all of ``classes_``.
        k : int in [1, n_rows], default 5
        exact : bool, default False
            Whether the k best rows are found provably. Otherwise Algorithm 1 of the paper's
            supplement is followed.
        factor : float > 0, default 4
            A node is asked about ``factor`` times the share of rows that reached it in training,
            but at least k rows, of several trees k + 10: the paper has no such floor, without which
            labels that few rows had would be asked about fewer rows than are wanted. With ``tail``
            k is at least 100 here.
        max_bytes : int, default 2^32
            An answer larger than this raises `TooLargeError`.

        Returns
        -------
        TopRows
            ``rows`` and ``probabilities``, both of shape (len(labels), k). Rows are ranked by
            expected relevance, by the logarithm of its odds, which tells more apart than numbers
            near 1 do; of equals, the first. With ``tail`` the 100 best rows of each label, or k if
            that is more, are ranked by the tail classifier's score, all rows if ``exact``. Row -1
            where there is none.

        Examples
        --------
        >>> from labeltrees import ExtremeRegressor
        >>> X, y = [[1, 0], [0, 1], [1, 1]] * 50, [["sun"], ["rain"], ["sun", "rain"]] * 50
        >>> model = ExtremeRegressor(n_trees=1).fit(X, y)
        >>> model.top_rows([[0, 1], [1, 1], [1, 0]], ["sun", "rain"], 2).rows.tolist()
        [[2, 1], [0, 1]]
        """
        rows = self._check_rows(X)
        best: TopRows = self.model_.top_rows(
            rows, labels, k, exact=exact, factor=factor, max_bytes=max_bytes
        )
        return best

    def top_row_scores(
        self,
        X: Any,
        labels: ArrayLike | None = None,
        k: int = 5,
        *,
        exact: bool = False,
        factor: float = 4.0,
        max_bytes: int = MAX_DENSE_BYTES,
    ) -> ScoredRows:
        """Return the rows that `top_rows` returns, and the scores that rank them.

        A score is the expected relevance, or with ``tail`` what the tail classifier makes of it.

        Parameters
        ----------
        X, labels, k, exact, factor, max_bytes
            As for `top_rows`.

        Returns
        -------
        ScoredRows
            ``rows`` and ``scores``, both of shape (len(labels), k).

        Examples
        --------
        >>> from labeltrees import ExtremeRegressor
        >>> X, stars = [[1, 0], [0, 1]] * 100, [{"ann": 5, "bob": 1}, {"ann": 2}] * 100
        >>> model = ExtremeRegressor(n_trees=1).fit(X, stars)
        >>> rows, scores = model.top_row_scores([[0, 1], [1, 0]], ["ann"], 2)
        >>> rows.tolist(), scores.round().tolist()
        ([[1, 0]], [[5.0, 2.0]])
        """
        rows = self._check_rows(X)
        return self.model_.top_row_scores(
            rows, labels, k, exact=exact, factor=factor, max_bytes=max_bytes
        )
