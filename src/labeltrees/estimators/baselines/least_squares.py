"""One-vs-all least squares as a scikit-learn estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labeltrees.estimators.baselines.multilabel import RegressingEstimator
from labeltrees.models.baselines.least_squares import LeastSquaresModel
from labeltrees.models.baselines.least_squares import LeastSquaresSettings as Default

if TYPE_CHECKING:
    from labeltrees.models.baselines.multilabel import RelevanceName


class LeastSquaresRegressor(RegressingEstimator):
    """Predict the relevance of labels by one ridge regression per label, in O(n_labels) per row.

    This is the simplest baseline of extreme regression, "1-vs-all-LS" in Prabhu et al., "Extreme
    regression for dynamic search advertising" (WSDM 2020). Rows are scaled to length 1. For every
    label w and b minimise ``|w|^2 + cost * sum((y_i - w . x_i - b)^2)``; the intercept b is not
    penalised. The solution is exact for up to 4,096 rows or features. Otherwise conjugate gradients
    find it to a relative residual of 1e-6. The probabilities of labels are independent of each
    other and do not sum to one.

    Parameters
    ----------
    cost : float in [1e-6, 1e6], default 1.0
        Cost of squared errors relative to the size of the weights.
    relevance : "propensity" or None, default None
        Whether relevance is divided by the labels' propensities first, so that rare labels count.
    threshold : float in (0, 1], default 0.5
        `predict` returns the labels with at least this probability, unless rows have one label.
    calibrate : bool, default True
        Whether probabilities are a logistic function of the score, fitted to rows held out from a
        second model, so training takes twice as long. Otherwise they are the estimated relevance as
        a share of the largest. Scores are the same.
    random_state : int, RandomState or None, default 0
        Seed of the choice of held-out rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels by column of `predict_proba`.
    model_ : LeastSquaresModel
        The fitted model, usable without scikit-learn.
    n_features_in_ : int
        Width of the data.

    Examples
    --------
    >>> from labeltrees import LeastSquaresRegressor
    >>> X = [[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]] * 50
    >>> y = [["sun"], ["rain"], ["sun", "rain"], ["snow"]] * 50
    >>> labels, p = LeastSquaresRegressor().fit(X, y).predict_top_k([[1, 1, 0]], 2)
    >>> sorted(labels[0]), (p > 0.5).tolist()
    (['rain', 'sun'], [[True, True]])
    """

    _model_class = LeastSquaresModel
    model_: LeastSquaresModel

    def __init__(
        self,
        *,
        cost: float = Default.cost,
        relevance: RelevanceName | None = Default.relevance,
        threshold: float = Default.threshold,
        calibrate: bool = Default.calibrate,
        random_state: Any = Default.random_state,
    ) -> None:
        self.cost = cost
        self.relevance = relevance
        self.threshold = threshold
        self.calibrate = calibrate
        self.random_state = random_state
