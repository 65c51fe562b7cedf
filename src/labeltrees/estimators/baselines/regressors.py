"""Least squares and LEML as scikit-learn estimators."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labeltrees.estimators.baselines.multilabel import RegressingEstimator
from labeltrees.models.baselines.regressors import (
    LeastSquaresModel,
    LeastSquaresSettings,
    LemlModel,
    LemlSettings,
)

if TYPE_CHECKING:
    from labeltrees.models.baselines.multilabel import RelevanceName


@dataclass(kw_only=True, eq=False, repr=False)
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
    model_: LeastSquaresModel = field(init=False)

    cost: float = LeastSquaresSettings.cost
    relevance: RelevanceName | None = LeastSquaresSettings.relevance
    threshold: float = LeastSquaresSettings.threshold
    calibrate: bool = LeastSquaresSettings.calibrate
    random_state: Any = LeastSquaresSettings.random_state


@dataclass(kw_only=True, eq=False, repr=False)
class LemlRegressor(RegressingEstimator):
    """Predict the relevance of labels by a linear map of low rank (LEML).

    Yu, Jain, Kar and Dhillon, "Large-scale multi-label learning with missing labels" (ICML 2014),
    with squared loss and all labels observed. Rows are scaled to length 1. W of shape (n_features,
    rank) and H of shape (n_labels, rank) minimise ``1/2 sum((y_il - h_l . W' x_i)^2) + penalty / 2
    (|W|^2 + |H|^2)``, alternately, H exactly and W by conjugate gradients. There is no
    intercept. A prediction costs O(rank (features of the row + n_labels)) per row. The
    probabilities of labels are independent of each other and do not sum to one.

    Parameters
    ----------
    rank : int in [1, 10000], default 100
        Number of columns of both factors, at most the number of features or labels.
    penalty : float in [1e-6, 1e6], default 1.0
        Cost of the size of the factors relative to squared errors.
    n_rounds : int >= 1, default 10
        Number of times that W and H are solved for.
    max_steps : int >= 1, default 10
        Maximum number of steps of conjugate gradients in a round.
    relevance : "propensity" or None, default None
        Whether relevance is divided by the labels' propensities first, so that rare labels count.
    threshold : float in (0, 1], default 0.5
        `predict` returns the labels with at least this probability, unless rows have one label.
    calibrate : bool, default True
        Whether probabilities are a logistic function of the score, fitted to rows held out from a
        second model, so training takes twice as long. Otherwise they are the estimated relevance as
        a share of the largest. Scores are the same.
    random_state : int, RandomState or None, default 0
        Seed of the first W and of the choice of held-out rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels by column of `predict_proba`.
    model_ : LemlModel
        The fitted model, usable without scikit-learn.
    n_features_in_ : int
        Width of the data.

    Examples
    --------
    >>> from labeltrees import LemlRegressor
    >>> X = [[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]] * 50
    >>> y = [["sun"], ["rain"], ["sun", "rain"], ["snow"]] * 50
    >>> labels, p = LemlRegressor(rank=3).fit(X, y).predict_top_k([[1, 1, 0]], 2)
    >>> sorted(labels[0]), (p > 0.5).tolist()
    (['rain', 'sun'], [[True, True]])
    """

    _model_class = LemlModel
    model_: LemlModel = field(init=False)

    rank: int = LemlSettings.rank
    penalty: float = LemlSettings.penalty
    n_rounds: int = LemlSettings.n_rounds
    max_steps: int = LemlSettings.max_steps
    relevance: RelevanceName | None = LemlSettings.relevance
    threshold: float = LemlSettings.threshold
    calibrate: bool = LemlSettings.calibrate
    random_state: Any = LemlSettings.random_state
