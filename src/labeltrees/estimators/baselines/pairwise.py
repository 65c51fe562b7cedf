"""RankSVM and XLR as scikit-learn estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labeltrees.estimators.baselines.multilabel import BaselineEstimator
from labeltrees.models.baselines.pairwise import (
    RankSvmModel,
    RankSvmSettings,
    XlrModel,
    XlrSettings,
)

if TYPE_CHECKING:
    from labeltrees.models.baselines.multilabel import RelevanceName
    from labeltrees.models.baselines.pairwise import PairsName


class RankSvmRanker(BaselineEstimator):
    """Rank labels by linear scores learned from pairs (RankSVM), in O(n_labels) per row.

    Herbrich et al., "Support vector learning for ordinal regression" (1999), with the squared loss
    of Lee and Lin, "Large-scale linear RankSVM" (2014). Rows are scaled to length 1, and every
    label has weights w and an intercept b. Together they minimise half their squares plus
    ``cost * sum(max(0, 1 - (s_better - s_worse))^2)`` over pairs that differ in relevance, by
    L-BFGS. Scores only rank. The probabilities of labels are independent.

    Parameters
    ----------
    cost : float in [1e-6, 1e6], default 0.1
        Cost of a pair's error relative to the size of the weights.
    per : {"row", "label"}, default "row"
        Whether pairs are two labels of one row, to rank labels (pointwise inference), or two rows
        of one label, to rank rows (labelwise inference).
    n_zeros : int >= 1 or None, default None
        Number of random labels without relevance to compare each row's relevant labels with (or
        number of rows with ``per="label"``). By default all are used. More than 2^27 pairs raise
        `TooLargeError`.
    max_iterations : int >= 1, default 1000
        Maximum number of steps of L-BFGS, which stops at the optimum (on BibTeX after about 300).
    relevance : "propensity" or None, default None
        Whether relevance is divided by the labels' propensities first, so that rare labels count.
    threshold : float in (0, 1], default 0.5
        `predict` returns the labels with at least this probability, unless rows have one label.
    calibrate : bool, default True
        Whether probabilities are a logistic function of the score, fitted to rows held out from a
        second model, so training takes twice as long. Otherwise it is the logistic
        function of the score, which has no meaning as a probability. Scores are the same.
    random_state : int, RandomState or None, default 0
        Seed of the choice of ``n_zeros`` and of held-out rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels by column of `predict_proba`.
    model_ : RankSvmModel
        The fitted model, usable without scikit-learn.
    n_features_in_ : int
        Width of the data.

    Examples
    --------
    >>> from labeltrees import RankSvmRanker
    >>> X = [[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]] * 50
    >>> y = [["sun"], ["rain"], ["sun", "rain"], ["snow"]] * 50
    >>> labels, _ = RankSvmRanker().fit(X, y).predict_top_k([[1, 1, 0]], 2)
    >>> sorted(labels[0])
    ['rain', 'sun']
    """

    _model_class = RankSvmModel
    model_: RankSvmModel

    def __init__(
        self,
        *,
        cost: float = RankSvmSettings.cost,
        per: PairsName = RankSvmSettings.per,
        n_zeros: int | None = RankSvmSettings.n_zeros,
        max_iterations: int = RankSvmSettings.max_iterations,
        relevance: RelevanceName | None = RankSvmSettings.relevance,
        threshold: float = RankSvmSettings.threshold,
        calibrate: bool = RankSvmSettings.calibrate,
        random_state: Any = RankSvmSettings.random_state,
    ) -> None:
        self.cost = cost
        self.per = per
        self.n_zeros = n_zeros
        self.max_iterations = max_iterations
        self.relevance = relevance
        self.threshold = threshold
        self.calibrate = calibrate
        self.random_state = random_state


class XlrRanker(BaselineEstimator):
    """Rank rows for each label by a mixture of a few basic rankings (extreme learning to rank).

    Cheng, Davidson and Hsieh, "Extreme learning to rank via low rank assumption" (ICML 2018), the
    factorised RankSVM. Rows x are scaled to length 1. A label scores a row by ``u . V x``. The
    ``n_factors`` rows of V are the basic rankings, and u has their weights for the label. U and V
    minimise half their squares plus ``cost * sum(max(0, 1 - (s_better - s_worse))^2)`` over pairs
    of rows that differ in their relevance to a label, alternately. Use it for labelwise
    inference (`top_rows`). Scores of one label rank rows, but training never compares scores of
    different labels, so `predict_top_k` is weak. The probabilities of labels are independent.

    Parameters
    ----------
    n_factors : int >= 1, default 10
        Number of basic rankings.
    cost : float in [1e-6, 1e6], default 0.1
        Cost of a pair's error relative to the size of the factors.
    n_zeros : int >= 1 or None, default 100
        Number of random rows without relevance to compare each label's relevant rows with. For None
        all are used. More than 2^27 pairs raise `TooLargeError`.
    n_rounds : int >= 1, default 10
        Number of times that V and then U are improved.
    max_iterations : int >= 1, default 10
        Maximum number of steps of L-BFGS for each.
    relevance : "propensity" or None, default None
        Whether relevance is first divided by the labels' propensities, which has no effect within a
        label.
    threshold : float in (0, 1], default 0.5
        `predict` returns the labels with at least this probability, unless rows have one label.
    calibrate : bool, default True
        Whether probabilities are a logistic function of the score, fitted to rows held out from a
        second model, so training takes twice as long. Otherwise it is the logistic
        function of the score, which has no meaning as a probability. Scores are the same.
    random_state : int, RandomState or None, default 0
        Seed of the factors' start, of the choice of ``n_zeros``, and of held-out rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels by column of `predict_proba`.
    model_ : XlrModel
        The fitted model, usable without scikit-learn.
    n_features_in_ : int
        Width of the data.

    Examples
    --------
    >>> from labeltrees import XlrRanker
    >>> X = [[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]] * 50
    >>> y = [["sun"], ["rain"], ["sun", "rain"], ["snow"]] * 50
    >>> XlrRanker(n_factors=3).fit(X, y).top_rows(X[:4], ["snow", "sun"], 1).rows.tolist()
    [[3], [0]]
    """

    _model_class = XlrModel
    model_: XlrModel

    def __init__(
        self,
        *,
        n_factors: int = XlrSettings.n_factors,
        cost: float = XlrSettings.cost,
        n_zeros: int | None = XlrSettings.n_zeros,
        n_rounds: int = XlrSettings.n_rounds,
        max_iterations: int = XlrSettings.max_iterations,
        relevance: RelevanceName | None = XlrSettings.relevance,
        threshold: float = XlrSettings.threshold,
        calibrate: bool = XlrSettings.calibrate,
        random_state: Any = XlrSettings.random_state,
    ) -> None:
        self.n_factors = n_factors
        self.cost = cost
        self.n_zeros = n_zeros
        self.n_rounds = n_rounds
        self.max_iterations = max_iterations
        self.relevance = relevance
        self.threshold = threshold
        self.calibrate = calibrate
        self.random_state = random_state
