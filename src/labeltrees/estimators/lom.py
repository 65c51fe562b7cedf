"""LOMtree as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from labeltrees.estimators.online import OnlineClassifier
from labeltrees.models.lom.model import LomSettings as Default
from labeltrees.models.lom.model import LomTreeModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from labeltrees.models.lom.diagnostics import Diagnosis
    from labeltrees.models.lom.model import CountsName, GrowthName, PartitionLossName
    from labeltrees.models.online.scaling import ScaleName
    from labeltrees.models.online.settings import OptimizerName
    from labeltrees.models.settings import LabelWeights


@dataclass(kw_only=True, eq=False, repr=False)
class LOMTreeClassifier(OnlineClassifier):
    """An online decision tree over very many labels that chooses its own partitions.

    Every inner node has a linear regressor whose sign sends a row left or right. In training, a
    node sends the rows of a label to the side that makes the split both pure and balanced. A leaf
    splits when it gets a second label, and leaves that few rows reach are recycled. Choromanska and
    Langford, "Logarithmic time online multiclass prediction" (NIPS 2015), with a correction for the
    case that the smallest leaf is a child of the root. You need not know labels in advance.

    A row's probabilities are the histogram of the leaf it ends in, backed off to the histograms of
    the nodes above and finally to the frequencies of all labels. They sum to 1, and every known
    label has a probability above 0. `predict` returns the most likely label.

    The paper's own regressors are ``loss="squared", optimizer="sgd"``, VW's ``loss="absolute"``.
    The paper's own prediction, the most frequent label on training paths to the row's leaf, is
    ``counts="training", back_off=0``.

    Parameters
    ----------
    max_splits : int or None, default None
        Maximum number of inner nodes, T in the paper. By default it grows with the labels.
    splits_per_label : float, default 4.0
        Maximum number of inner nodes per known label if ``max_splits`` is None.
    swap_resistance : float >= 1, default 4.0
        R_S in the paper. At the limit of nodes, a leaf j replaces the smallest leaf if
        C_j - max_y l_j(y) > R_S (C_smallest + 1). With 4 or more and a fixed ``max_splits``, no
        node is recycled more than log2(n_examples) times.
    back_off : float >= 0, default 1.0
        Factor of the back-off from a histogram to the one above, whose best strength is estimated
        by predictions for rows before they are learned. 0 uses the leaf's histogram alone.
    counts : {"both", "training"}, default "both"
        The nodes whose histograms count a row. "training" counts it on the training path only
        (l_v(y) in the paper), which makes leaves look purer than they are. "both" also counts it on
        the greedy path, which is taken without the label.
    growth : {"online", "heaviest"}, default "online"
        How `fit` builds the tree. "online" adds row by row as `partial_fit` does (Algorithm 1).
        "heaviest" always splits the heaviest leaf as in Theorem 1, and makes ``n_passes`` passes
        over its rows before the next split. No leaf is then recycled, and a row counts once.
    loss : {"hinge", "logistic", "squared", "absolute"}, default "hinge"
        The loss that the regressors minimise, with targets -1 and 1.
    optimizer : {"adagrad", "sgd"}, default "adagrad"
        The steps of the regressors, which are scaled by past gradients of each weight, or plain.
    learning_rate : float > 0, default 1.0
        Size of the steps.
    n_passes : int, default 5
        Number of passes of `fit` over the data; `partial_fit` makes one.
    shuffle : bool, default True
        Whether `fit` takes the rows of each pass in random order.
    scale : {"auto", "standard"} or None, default "auto"
        Whether columns are standardised to mean 0 and deviation 1 before rows are normalised.
        `fit` uses the moments of all rows, a stream the moments of all earlier rows. "auto"
        standardises tables (up to 100 features, or at least a quarter of all entries not zero;
        the first row of a stream decides), but not sparse data such as text, and not with
        ``normalize=False``.
    normalize : bool, default True
        Whether rows are scaled to Euclidean length 1.
    bias : float >= 0, default 0.25
        Value of a constant feature added to every row; 0 for none.
    random_state : int, RandomState or None, default 0
        Seed of the shuffling.
    class_weight : "balanced", dict or None, default None
        Weights of labels, by which the weights of their rows are multiplied. "balanced" gives all
        labels the same total weight (`fit` only). A dict maps labels to weights, which are 1 for
        labels that it lacks.
    verbose : int >= 0 or bool, default 0
        Whether `fit` shows a progress bar, if there is a terminal.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels learned or announced, sorted, by column of `predict_proba`.
    model_ : LomTreeModel
        The fitted model, usable without scikit-learn.
    n_features_in_ : int
        Width of the data.

    Examples
    --------
    >>> from labeltrees import LOMTreeClassifier
    >>> X = [[1, 0], [0, 1], [1, 1]] * 50
    >>> model = LOMTreeClassifier().partial_fit(X, ["sun", "rain", "rainbow"] * 50)
    >>> model.predict([[1, 1], [1, 0]])
    array(['rainbow', 'sun'], dtype=object)
    >>> bool(model.predict_label_proba([[1, 1]], ["rainbow"])[0] > 0.8)
    True
    """

    _model_class = LomTreeModel
    model_: LomTreeModel = field(init=False)

    max_splits: int | None = Default.max_splits
    splits_per_label: float = Default.splits_per_label
    swap_resistance: float = Default.swap_resistance
    back_off: float = Default.back_off
    counts: CountsName = Default.counts
    growth: GrowthName = Default.growth
    loss: PartitionLossName = Default.loss
    optimizer: OptimizerName = Default.optimizer
    learning_rate: float = Default.learning_rate
    n_passes: int = Default.n_passes
    shuffle: bool = Default.shuffle
    scale: ScaleName | None = Default.scale
    normalize: bool = Default.normalize
    bias: float = Default.bias
    random_state: Any = Default.random_state
    class_weight: LabelWeights = Default.class_weight
    verbose: int = Default.verbose

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf, as a node's id, in which every row ends.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense

        Returns
        -------
        ndarray of shape (n_rows,)

        Examples
        --------
        >>> from labeltrees import LOMTreeClassifier
        >>> model = LOMTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
        >>> len(set(model.apply([[1, 0], [0, 1]]).tolist()))
        2
        """
        rows = self._check_rows(X)
        return self.model_.leaves(rows)

    def diagnose(self, X: Any = None, y: ArrayLike | None = None) -> Diagnosis:
        """Return objective, purity and balance of every split, leaf entropy and leaf sizes.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), optional
        y : labels of shape (n_rows,), optional
            By default the histograms of the training rows are used instead of rows and labels.

        Returns
        -------
        Diagnosis

        Examples
        --------
        >>> from labeltrees import LOMTreeClassifier
        >>> X, y = [[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20
        >>> found = LOMTreeClassifier().fit(X, y).diagnose(X, y)
        >>> found.objective.tolist(), found.entropy.round(3).tolist()
        ([1.0], [0.693, 0.0])
        """
        check_is_fitted(self, "model_")
        return self.model_.diagnose(None if X is None else self._check_rows(X), y)

    def plot(self, X: Any = None, y: ArrayLike | None = None, *, axes: Any = None) -> Any:
        """Draw the result of `diagnose` with matplotlib and return the four axes.

        Parameters
        ----------
        X, y : optional
            The arguments of `diagnose`.
        axes : four matplotlib axes, optional
            The axes to draw into; by default the axes of a new figure.

        Returns
        -------
        the four axes

        Examples
        --------
        >>> from labeltrees import LOMTreeClassifier
        >>> model = LOMTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
        >>> len(model.plot())
        4
        """
        from labeltrees.estimators.drawing import draw_diagnosis

        return draw_diagnosis(self.diagnose(X, y), axes)
