"""PfastreXML as a scikit-learn estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labeltrees.estimators.baselines.multilabel import BaselineEstimator
from labeltrees.models.baselines.pfastrexml import PfastreXmlModel
from labeltrees.models.baselines.pfastrexml import PfastreXmlSettings as Default

if TYPE_CHECKING:
    from labeltrees.models.baselines.multilabel import RelevanceName


class PfastreXmlRanker(BaselineEstimator):
    """Rank the labels of a row by trees over rows that are split by nDCG (PfastreXML).

    Jain, Prabhu and Varma, "Extreme multi-label loss functions" (KDD 2016), on the trees of FastXML
    (Prabhu and Varma, KDD 2014). Rows are scaled to length 1. A node's rows are divided so that two
    rankings of the labels, one for each side, have the largest nDCG. A sparse linear separator
    (logistic loss, l1 penalty) learns the division, and its sign sends rows to a side. A leaf has
    the mean relevance of its rows, and t is the mean of a label over all trees. Labels are ranked
    by ``t^tail_weight / (1 + exp(gamma / 2 |x - mean of the label's rows|^2))^(1 - tail_weight)``,
    which helps rare labels; a label in no leaf of the row has score 0. FastXML is ``relevance=None,
    tail_weight=1``, PfastXML ``tail_weight=1``. The probabilities of labels are independent of each
    other and do not sum to one.

    Parameters
    ----------
    n_trees : int >= 1, default 50
        Number of trees, each from other random signs.
    max_leaf : int >= 1, default 10
        Maximum number of rows of a leaf. A node whose rows the separator cannot divide is also a
        leaf.
    leaf_labels : int >= 1, default 100
        Number of the most relevant labels to keep in a leaf.
    cost : float in [1e-6, 1e6], default 4.0
        Cost of a separator's errors relative to its l1 norm, like C of liblinear. Both sides of a
        node have the same total cost. The paper uses 1, which is faster and makes larger leaves.
    tail_weight : float in [0, 1], default 0.8
        The exponent of the trees' value. The exponent of the tail classifier is 1 - tail_weight.
    gamma : float in [0, 1e6], default 30.0
        How fast the tail classifier falls with the distance from a label's mean row.
    relevance : "propensity" or None, default "propensity"
        Whether relevance is divided by the labels' propensities first, so that rare labels count.
    threshold : float in (0, 1], default 0.5
        `predict` returns the labels with at least this probability, unless rows have one label.
    calibrate : bool, default True
        Whether probabilities are a logistic function of the score, fitted to rows held out from a
        second model, so training takes twice as long. Otherwise they are the score as a share of
        the largest. Scores are the same.
    n_jobs : int or None, default None
        Number of threads for training, where None is 1 and -1 all cores. It does not change the
        model.
    random_state : int, RandomState or None, default 0
        Seed of the first signs and of the choice of held-out rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels by column of `predict_proba`.
    model_ : PfastreXmlModel
        The fitted model, usable without scikit-learn.
    n_features_in_ : int
        Width of the data.

    Examples
    --------
    >>> from labeltrees import PfastreXmlRanker
    >>> X = [[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]] * 50
    >>> y = [["sun"], ["rain"], ["sun", "rain"], ["snow"]] * 50
    >>> labels = PfastreXmlRanker(n_trees=5).fit(X, y).predict_top_k([[1, 1, 0]], 2).labels
    >>> sorted(labels[0])
    ['rain', 'sun']
    """

    _model_class = PfastreXmlModel
    model_: PfastreXmlModel

    def __init__(
        self,
        *,
        n_trees: int = Default.n_trees,
        max_leaf: int = Default.max_leaf,
        leaf_labels: int = Default.leaf_labels,
        cost: float = Default.cost,
        tail_weight: float = Default.tail_weight,
        gamma: float = Default.gamma,
        relevance: RelevanceName | None = Default.relevance,
        threshold: float = Default.threshold,
        calibrate: bool = Default.calibrate,
        n_jobs: int | None = Default.n_jobs,
        random_state: Any = Default.random_state,
    ) -> None:
        self.n_trees = n_trees
        self.max_leaf = max_leaf
        self.leaf_labels = leaf_labels
        self.cost = cost
        self.tail_weight = tail_weight
        self.gamma = gamma
        self.relevance = relevance
        self.threshold = threshold
        self.calibrate = calibrate
        self.n_jobs = n_jobs
        self.random_state = random_state
