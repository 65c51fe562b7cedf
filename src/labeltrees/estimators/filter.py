"""The filter tree as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labeltrees.estimators.online import OnlineClassifier
from labeltrees.models.filter.model import FilterSettings as Default
from labeltrees.models.filter.model import FilterTreeModel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labeltrees.models.filter.model import PairingName
    from labeltrees.models.online.scaling import ScaleName
    from labeltrees.models.online.settings import LossName, OptimizerName
    from labeltrees.models.settings import LabelWeights
    from labeltrees.tree import LabelTree


@dataclass(kw_only=True, eq=False, repr=False)
class FilterTreeClassifier(OnlineClassifier):
    """A knock-out tournament between the labels, in time logarithmic in their number.

    Labels are paired at the leaves of a binary tree. The linear regressor of an inner node predicts
    which of the winners of its two sides beats the other. A row trains the matches of its label
    from the leaf up, and no match above the first one that the label loses. Beygelzimer, Langford
    and Ravikumar, "Error-correcting tournaments" (ALT 2009). The LOMtree paper compares with it.

    `predict` plays the tournament from the root down in O(log n) per row. A node gives the odds of
    two labels, the winners of its sides. The loser's probability is the winner's times these odds,
    and so on down to every leaf. The most likely label of these probabilities is the winner of the
    tournament. Their sum costs O(n_labels) per row, and so does every other prediction.

    Parameters
    ----------
    structure : {"balanced", "random"}, default "balanced"
        Whether labels are paired with neighbours in sorted order or at random. A later label is
        paired with the leaf that is reached through the sides with fewer labels.
    loss : {"logistic", "squared"}, default "logistic"
    optimizer : {"adagrad", "sgd"}, default "adagrad"
    learning_rate : float > 0, default 1.0
    n_passes : int >= 1, default 5
    shuffle : bool, default True
    scale : {"auto", "standard"} or None, default "auto"
        Whether columns are standardised to mean 0 and deviation 1 before rows are normalised.
        `fit` uses the moments of all rows, a stream the moments of all earlier rows. "auto"
        standardises tables (up to 100 features, or at least a quarter of all entries not zero;
        the first row of a stream decides), but not sparse data such as text, and not with
        ``normalize=False``.
    normalize : bool, default True
    bias : float >= 0, default 0.25
    random_state : int, RandomState or None, default 0
        These eight parameters are as for `ConditionalTreeClassifier`.
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
    tree_ : LabelTree
        The tournament, over indices into ``classes_``.
    model_ : FilterTreeModel
        The fitted model, usable without scikit-learn.
    n_features_in_ : int
        Width of the data.

    Examples
    --------
    >>> from labeltrees import FilterTreeClassifier
    >>> X = [[1, 0], [0, 1], [1, 1]] * 50
    >>> model = FilterTreeClassifier().partial_fit(X, ["sun", "rain", "rainbow"] * 50)
    >>> model.predict([[1, 1], [1, 0]])
    array(['rainbow', 'sun'], dtype=object)
    """

    _model_class = FilterTreeModel
    model_: FilterTreeModel = field(init=False)

    structure: PairingName = Default.structure
    loss: LossName = Default.loss
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

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the tournament's winner of every row. O(log n) per row.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense

        Returns
        -------
        ndarray of shape (n_rows,)

        Examples
        --------
        >>> from labeltrees import FilterTreeClassifier
        >>> model = FilterTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
        >>> model.predict([[1, 0], [0, 1]]).tolist()
        ['sun', 'rain']
        """
        rows = self._check_rows(X)
        return self.model_.winners(rows)

    @property
    def tree_(self) -> LabelTree:
        """A copy of the tournament as it is now."""
        return self._sorted_tree()
