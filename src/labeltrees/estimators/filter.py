"""The filter tree as a scikit-learn estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from labeltrees.data.targets import check_training, learned_labels
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.estimators.online import OnlineClassifier, check_passes, passes, seed_of
from labeltrees.estimators.tree_queries import TreeQueries
from labeltrees.models.filter.model import FilterTreeModel, tournament_settings
from labeltrees.tree import LabelTree

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.models.model import Foreseen
    from labeltrees.models.online.settings import OnlineRegression


class FilterTreeClassifier(TreeQueries, OnlineClassifier):
    """A knock-out tournament between the labels, in time logarithmic in their number.

    Labels are paired at the leaves of a binary tree; the linear regressor of an inner node says
    which of its two sides' winners beats the other. A row teaches the matches of its own label from
    the leaf up, and no match above the first that the label loses. Beygelzimer, Langford and
    Ravikumar, "Error-correcting tournaments" (ALT 2009); LOMtree's paper compares itself with it.

    `predict` plays the tournament from the root down: O(log n) a row. A node's odds are those of
    two labels, its winners. The loser's probability is its odds times the winner's, and so on down
    to every leaf: that gives probabilities whose likeliest label is the tournament's winner. Their
    sum costs O(n_labels) a row, and so does every other question.

    Parameters
    ----------
    structure : {"balanced", "random"}
        How labels are paired: neighbours in sorted order (a label that comes later with the leaf
        that the sides with fewer labels lead to), or by chance.
    loss, optimizer, learning_rate, n_passes, shuffle, normalize, bias, random_state
        As for `ConditionalTreeClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels: sorted after `fit`, in first-seen order as `partial_fit` adds to them.
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
    model_: FilterTreeModel

    def __init__(
        self,
        *,
        structure: str = "balanced",
        loss: str = "logistic",
        optimizer: str = "adagrad",
        learning_rate: float = 1.0,
        n_passes: int = 5,
        shuffle: bool = True,
        normalize: bool = True,
        bias: float = 0.25,
        random_state: Any = 0,
    ) -> None:
        self.structure = structure
        self.loss = loss
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.n_passes = n_passes
        self.shuffle = shuffle
        self.normalize = normalize
        self.bias = bias
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from scratch in ``n_passes`` over the data, and return the estimator."""
        settings = self._settings()
        rows, targets, weights = check_training(X, y, sample_weight)
        model = self._over(settings, rows.n_features, learned_labels(targets, weights))
        for order in passes(self.n_passes, rows.n_rows, self.shuffle, settings.seed):
            model.learn(rows, targets, weights, order=order, foresee=False)
        self._check_width(X, reset=True)
        self.model_ = model
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the tournament's winner of every row. O(log n) a row."""
        rows = self._check_rows(X)
        return self.model_.winners(rows)

    @property
    def tree_(self) -> LabelTree:
        """A copy of the tree as it is now."""
        if "model_" not in self.__dict__:
            raise AttributeError(f"this {type(self).__name__} has not learned anything yet")
        return self.model_.tree

    def check_parameters(self) -> None:
        """Raise `ArgumentError` if a parameter is outside its range; `fit` does so by itself."""
        self._settings()

    def _over(
        self, settings: OnlineRegression, n_features: int, labels: NDArray[Any]
    ) -> FilterTreeModel:
        """Return a model that has learned nothing yet, over labels known in advance."""
        n_labels = len(labels)
        tree = (
            LabelTree.random(n_labels, seed=settings.seed)
            if settings.structure == "random"
            else LabelTree.balanced(n_labels)
        )
        return FilterTreeModel.on_tree(settings, n_features, LabelVocabulary(labels), tree)

    def _start_on_stream(self, n_features: int, classes: ArrayLike | None) -> FilterTreeModel:
        settings = self._settings()
        if classes is not None:
            return self._over(settings, n_features, LabelVocabulary(classes).labels)
        return FilterTreeModel.empty(settings, n_features)

    def _teach(
        self,
        model: FilterTreeModel,
        rows: Rows,
        targets: NDArray[Any],
        weights: NDArray[np.float32],
        *,
        foresee: bool,
        foresee_top: bool,
    ) -> Foreseen:
        return model.learn(rows, targets, weights, foresee=foresee, foresee_top=foresee_top)

    def _params_to_store(self) -> dict[str, Any]:
        return super()._params_to_store() | {"random_state": self.model_.settings.seed}

    def _settings(self) -> OnlineRegression:
        check_passes(self.n_passes)
        return tournament_settings(
            structure=self.structure,
            loss=self.loss,
            optimizer=self.optimizer,
            learning_rate=self.learning_rate,
            normalize=self.normalize,
            bias=self.bias,
            seed=seed_of(self.random_state),
        )
