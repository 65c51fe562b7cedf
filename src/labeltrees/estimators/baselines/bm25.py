"""BM25 as a scikit-learn estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labeltrees.estimators.baselines.multilabel import BaselineEstimator
from labeltrees.models.baselines.bm25 import Bm25Model
from labeltrees.models.baselines.bm25 import Bm25Settings as Default

if TYPE_CHECKING:
    from labeltrees.models.baselines.multilabel import RelevanceName


class Bm25Ranker(BaselineEstimator):
    """Rank the labels of a row by BM25, where a label's document has the features of its rows.

    This is the information-retrieval stage of the live experiment in Prabhu et al., "Extreme
    regression for dynamic search advertising" (WSDM 2020); the formula is from Sparck Jones, Walker
    and Robertson (2000). The count of a feature in a label's document is the sum of its values over
    the rows, each row weighted by the label's relevance to it (1 where relevance is not graded,
    otherwise its share of the largest). Values of 0 and below are missing features. With N labels,
    n_f of them with feature f in their document, tf its count, and lengths the sums of counts, a
    row scores ``sum_f x_f log(1 + (N - n_f + 1/2) / (n_f + 1/2)) tf (k1 + 1) / (tf + k1 (1 - b + b
    length / mean length))``. The logarithm is never below 0, unlike in the paper for features of
    more than half of the labels. Training computes sums in one pass. The probabilities of labels
    are independent of each other and do not sum to one.

    Parameters
    ----------
    k1 : float >= 0, default 1.2
        How slowly the effect of a repeated feature saturates; 0 counts a feature once.
    b : float in [0, 1], default 0.75
        How much counts are normalised by the length of the document.
    relevance : "propensity" or None, default None
        Whether relevance is first divided by the labels' propensities.
    threshold : float in (0, 1], default 0.5
        `predict` returns the labels with at least this probability, unless rows have one label.
    calibrate : bool, default True
        Whether probabilities are a logistic function of the score, fitted to rows held out from a
        second model. Otherwise they are ``1 - exp(-score)``. Scores are the same.
    random_state : int, RandomState or None, default 0
        Seed of the choice of held-out rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels by column of `predict_proba`.
    model_ : Bm25Model
        The fitted model, usable without scikit-learn.
    n_features_in_ : int
        Width of the data.

    Examples
    --------
    >>> from labeltrees import Bm25Ranker
    >>> X = [[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]] * 50
    >>> y = [["sun"], ["rain"], ["sun", "rain"], ["snow"]] * 50
    >>> Bm25Ranker().fit(X, y).predict_top_k([[1, 0, 0]], 2).labels.tolist()
    [['sun', 'rain']]
    """

    _model_class = Bm25Model
    model_: Bm25Model

    def __init__(
        self,
        *,
        k1: float = Default.k1,
        b: float = Default.b,
        relevance: RelevanceName | None = Default.relevance,
        threshold: float = Default.threshold,
        calibrate: bool = Default.calibrate,
        random_state: Any = Default.random_state,
    ) -> None:
        self.k1 = k1
        self.b = b
        self.relevance = relevance
        self.threshold = threshold
        self.calibrate = calibrate
        self.random_state = random_state
