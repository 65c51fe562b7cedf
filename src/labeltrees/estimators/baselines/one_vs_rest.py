"""DiSMEC and ProXML as scikit-learn estimators."""

from __future__ import annotations

from typing import Any

from labeltrees.estimators.baselines.multilabel import BaselineEstimator
from labeltrees.models.baselines.one_vs_rest import (
    DismecModel,
    DismecSettings,
    ProxmlModel,
    ProxmlSettings,
)


class DismecRanker(BaselineEstimator):
    """Rank labels by one support vector machine per label (DiSMEC), in O(n_labels) per row.

    Babbar and Schölkopf, "DiSMEC: distributed sparse machines for extreme multi-label
    classification" (WSDM 2017). Rows are scaled to length 1. Every label minimises
    ``1/2 |w|^2 + 1/2 b^2 + cost * sum(max(0, 1 - y_i (w . x_i + b))^2)``, where y is 1 for its own
    rows of any relevance and -1 for all others. Small weights are dropped afterwards. Threads share
    the labels, and in a thread 64 labels at a time share each pass over the rows (dual coordinate
    descent). Scores are margins. The probabilities of labels are independent of each other.

    Parameters
    ----------
    cost : float in [1e-6, 1e6], default 1.0
        Cost of errors relative to the size of the weights, like C of liblinear.
    min_weight : float >= 0, default 0.01
        Weights of at most this size are dropped (Delta in the paper).
    max_epochs : int >= 1, default 100
        Maximum number of passes over the rows.
    tolerance : float in [0, 1], default 0.001
        Training ends at a duality gap of this share of the objective of zero weights.
    threshold : float in (0, 1], default 0.5
        `predict` returns the labels with at least this probability, unless rows have one label.
    calibrate : bool, default True
        Whether probabilities are a logistic function of the score, fitted to rows held out from a
        second model, so training takes twice as long. Otherwise they are (1 + score) / 2 within
        [0, 1]. Scores are the same.
    n_jobs : int or None, default None
        Number of threads for training, where None is 1 and -1 all cores. It does not change the
        model.
    random_state : int, RandomState or None, default 0
        Seed of the order of rows and of the choice of held-out rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels by column of `predict_proba`.
    model_ : DismecModel
        The fitted model, usable without scikit-learn.
    n_features_in_ : int
        Width of the data.

    Examples
    --------
    >>> from labeltrees import DismecRanker
    >>> X = [[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]] * 50
    >>> y = [["sun"], ["rain"], ["sun", "rain"], ["snow"]] * 50
    >>> labels, p = DismecRanker().fit(X, y).predict_top_k([[1, 1, 0]], 2)
    >>> sorted(labels[0]), (p > 0.5).tolist()
    (['rain', 'sun'], [[True, True]])
    """

    _model_class = DismecModel
    model_: DismecModel

    def __init__(
        self,
        *,
        cost: float = DismecSettings.cost,
        min_weight: float = DismecSettings.min_weight,
        max_epochs: int = DismecSettings.max_epochs,
        tolerance: float = DismecSettings.tolerance,
        threshold: float = DismecSettings.threshold,
        calibrate: bool = DismecSettings.calibrate,
        n_jobs: int | None = DismecSettings.n_jobs,
        random_state: Any = DismecSettings.random_state,
    ) -> None:
        self.cost = cost
        self.min_weight = min_weight
        self.max_epochs = max_epochs
        self.tolerance = tolerance
        self.threshold = threshold
        self.calibrate = calibrate
        self.n_jobs = n_jobs
        self.random_state = random_state


class ProxmlRanker(BaselineEstimator):
    """Rank labels by one sparse classifier per label, robust to changed features (ProXML).

    Babbar and Schölkopf, "Data scarcity, robustness and extreme multi-label classification" (2019),
    in the paper on extreme regression as "Adversarial extreme multi-label classification". A
    classifier that must bear the worst change of every feature by a bounded amount is one whose
    weights are penalised by their absolute sum. Rows are scaled to length 1. Every label minimises
    ``|w|_1 + cost * sum(max(0, 1 - y_i (w . x_i + b))^2)``, where y is 1 for its own rows of any
    relevance and -1 for all others. The intercept b is not penalised. Threads share the labels, and
    in a thread 64 labels at a time share each pass over the features (coordinate descent). Scores
    are margins. The probabilities of labels are independent of each other.

    Parameters
    ----------
    cost : float in [1e-6, 1e6], default 1.0
        Cost of errors relative to the size of the weights.
    max_epochs : int >= 1, default 200
        Maximum number of passes over the features.
    tolerance : float in [0, 1], default 0.01
        Training ends when the subgradients nearest to 0 sum to at most this share of their sum for
        zero weights.
    threshold : float in (0, 1], default 0.5
        `predict` returns the labels with at least this probability, unless rows have one label.
    calibrate : bool, default True
        Whether probabilities are a logistic function of the score, fitted to rows held out from a
        second model, so training takes twice as long. Otherwise they are (1 + score) / 2 within
        [0, 1]. Scores are the same.
    n_jobs : int or None, default None
        Number of threads for training, where None is 1 and -1 all cores. It does not change the
        model.
    random_state : int, RandomState or None, default 0
        Seed of the choice of held-out rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels by column of `predict_proba`.
    model_ : ProxmlModel
        The fitted model, usable without scikit-learn.
    n_features_in_ : int
        Width of the data.

    Examples
    --------
    >>> from labeltrees import ProxmlRanker
    >>> X = [[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]] * 50
    >>> y = [["sun"], ["rain"], ["sun", "rain"], ["snow"]] * 50
    >>> labels, p = ProxmlRanker().fit(X, y).predict_top_k([[1, 1, 0]], 2)
    >>> sorted(labels[0]), (p > 0.5).tolist()
    (['rain', 'sun'], [[True, True]])
    """

    _model_class = ProxmlModel
    model_: ProxmlModel

    def __init__(
        self,
        *,
        cost: float = ProxmlSettings.cost,
        max_epochs: int = ProxmlSettings.max_epochs,
        tolerance: float = ProxmlSettings.tolerance,
        threshold: float = ProxmlSettings.threshold,
        calibrate: bool = ProxmlSettings.calibrate,
        n_jobs: int | None = ProxmlSettings.n_jobs,
        random_state: Any = ProxmlSettings.random_state,
    ) -> None:
        self.cost = cost
        self.max_epochs = max_epochs
        self.tolerance = tolerance
        self.threshold = threshold
        self.calibrate = calibrate
        self.n_jobs = n_jobs
        self.random_state = random_state
