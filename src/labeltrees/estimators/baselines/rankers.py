"""Baselines that rank labels, as scikit-learn estimators."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labeltrees.estimators.baselines.multilabel import BaselineEstimator
from labeltrees.models.baselines.linear_rankers import (
    DismecModel,
    DismecSettings,
    ProxmlModel,
    ProxmlSettings,
    RankSvmModel,
    RankSvmSettings,
    XlrModel,
    XlrSettings,
)
from labeltrees.models.baselines.rankers import (
    Bm25Model,
    Bm25Settings,
    PfastreXmlModel,
    PfastreXmlSettings,
)

if TYPE_CHECKING:
    from labeltrees.models.baselines.linear_rankers import PairsName
    from labeltrees.models.baselines.multilabel import RelevanceName


@dataclass(kw_only=True, eq=False, repr=False)
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
    model_: Bm25Model = field(init=False)

    k1: float = Bm25Settings.k1
    b: float = Bm25Settings.b
    relevance: RelevanceName | None = Bm25Settings.relevance
    threshold: float = Bm25Settings.threshold
    calibrate: bool = Bm25Settings.calibrate
    random_state: Any = Bm25Settings.random_state


@dataclass(kw_only=True, eq=False, repr=False)
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
    model_: DismecModel = field(init=False)

    cost: float = DismecSettings.cost
    min_weight: float = DismecSettings.min_weight
    max_epochs: int = DismecSettings.max_epochs
    tolerance: float = DismecSettings.tolerance
    threshold: float = DismecSettings.threshold
    calibrate: bool = DismecSettings.calibrate
    n_jobs: int | None = DismecSettings.n_jobs
    random_state: Any = DismecSettings.random_state


@dataclass(kw_only=True, eq=False, repr=False)
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
    model_: ProxmlModel = field(init=False)

    cost: float = ProxmlSettings.cost
    max_epochs: int = ProxmlSettings.max_epochs
    tolerance: float = ProxmlSettings.tolerance
    threshold: float = ProxmlSettings.threshold
    calibrate: bool = ProxmlSettings.calibrate
    n_jobs: int | None = ProxmlSettings.n_jobs
    random_state: Any = ProxmlSettings.random_state


@dataclass(kw_only=True, eq=False, repr=False)
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
    model_: RankSvmModel = field(init=False)

    cost: float = RankSvmSettings.cost
    per: PairsName = RankSvmSettings.per
    n_zeros: int | None = RankSvmSettings.n_zeros
    max_iterations: int = RankSvmSettings.max_iterations
    relevance: RelevanceName | None = RankSvmSettings.relevance
    threshold: float = RankSvmSettings.threshold
    calibrate: bool = RankSvmSettings.calibrate
    random_state: Any = RankSvmSettings.random_state


@dataclass(kw_only=True, eq=False, repr=False)
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
    model_: XlrModel = field(init=False)

    n_factors: int = XlrSettings.n_factors
    cost: float = XlrSettings.cost
    n_zeros: int | None = XlrSettings.n_zeros
    n_rounds: int = XlrSettings.n_rounds
    max_iterations: int = XlrSettings.max_iterations
    relevance: RelevanceName | None = XlrSettings.relevance
    threshold: float = XlrSettings.threshold
    calibrate: bool = XlrSettings.calibrate
    random_state: Any = XlrSettings.random_state


@dataclass(kw_only=True, eq=False, repr=False)
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
    model_: PfastreXmlModel = field(init=False)

    n_trees: int = PfastreXmlSettings.n_trees
    max_leaf: int = PfastreXmlSettings.max_leaf
    leaf_labels: int = PfastreXmlSettings.leaf_labels
    cost: float = PfastreXmlSettings.cost
    tail_weight: float = PfastreXmlSettings.tail_weight
    gamma: float = PfastreXmlSettings.gamma
    relevance: RelevanceName | None = PfastreXmlSettings.relevance
    threshold: float = PfastreXmlSettings.threshold
    calibrate: bool = PfastreXmlSettings.calibrate
    n_jobs: int | None = PfastreXmlSettings.n_jobs
    random_state: Any = PfastreXmlSettings.random_state
