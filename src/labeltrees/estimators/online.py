"""The common base class of classifiers that learn row by row."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from labeltrees import checks
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.targets import learned_labels
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ArgumentError
from labeltrees.estimators.contract import LabelClassifier, LabelEstimator, training_data
from labeltrees.progress import Progress
from labeltrees.tree import LabelTree

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.data.vocabulary import LabelSorting
    from labeltrees.models.model import Predictions


class OnlineEstimator(LabelEstimator):
    """An estimator whose model is updated row by row, whatever the labels of rows are."""

    @abstractmethod
    def _model_to_learn(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, classes: ArrayLike | None = None
    ) -> tuple[Any, tuple[Rows, RaggedLabels, NDArray[np.float32]]]:
        """Return an existing or a new model, and checked rows, labels and weights."""

    def _learn(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None,
        sample_weight: ArrayLike | None,
        *,
        predict: bool,
        k: int,
    ) -> Predictions:
        model, batch = self._model_to_learn(X, y, sample_weight, classes)
        predicted: Predictions = model.update(*batch, predict=predict, k=k)
        if "model_" not in self.__dict__:
            self._set_model(X, model)
        return predicted

    def _sorting(self, n_labels: int) -> LabelSorting | None:
        found: LabelSorting | None = self.model_.vocabulary.sorting(n_labels)
        return found

    def _sorted_tree(self) -> LabelTree:
        """Return a copy of the model's tree whose leaves are places in ``classes_``."""
        tree: LabelTree = self._learned().tree
        sorting = self._sorting(len(self.model_.vocabulary))
        if sorting is None:
            return tree
        label = np.where(tree.label < 0, -1, sorting.places[tree.label])  # inner nodes have none
        return LabelTree.restore(tree.parent, label.astype(np.int32))


class OnlineClassifier(OnlineEstimator, LabelClassifier):
    """A classifier whose model learns one row after the other, from new labels as well.

    Its model has labels in the order in which they came. ``classes_``, the columns of its answers
    and the leaves of ``tree_`` have them sorted, as scikit-learn's metrics expect; a label that
    comes later moves those after it by one.
    """

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from scratch, going over the data ``n_passes`` times, and return the estimator.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        y : labels of shape (n_rows,), strings or integers
        sample_weight : numbers in [0, 1e9] of shape (n_rows,), optional
            A row of weight 0 is as if it were not there. Weights should be near 1. AdaGrad divides
            a step by the root of the sum of squared gradients, which is kept between 1e-12 and
            1e7: rows of weights below 1e-6 hardly move anything, and where many weights are above
            1000 steps do not get smaller.

        Returns
        -------
        the estimator

        Examples
        --------
        >>> from labeltrees import ConditionalTreeClassifier
        >>> model = ConditionalTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
        >>> model.classes_.tolist()
        ['rain', 'sun']
        """
        settings = self._settings()
        rows, labels, weights = training_data(X, y, sample_weight, settings.class_weight)
        if len(weights) and not weights.all():  # not even the shuffling is to know of such rows
            kept = np.flatnonzero(weights)
            rows, labels, weights = rows.take(kept), labels[kept], weights[kept]
        model = self._start_on_all(settings, rows, labels, weights)
        total, shown = model.n_steps(rows), getattr(settings, "verbose", 0) > 0
        with Progress("learning", total=total, enabled=shown) as progress:
            model.learn_in_passes(rows, RaggedLabels.of_single(labels), weights, progress)
        return self._set_model(X, model)

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from the rows once, in their order, and return the estimator.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        y : labels of shape (n_rows,), strings or integers; new ones may come at any time
        classes : labels, optional
            Labels to add to ``classes_`` in advance, in any order. They are not necessary unless
            the estimator's documentation requires them.
        sample_weight : numbers in [0, 1e9] of shape (n_rows,), optional

        Returns
        -------
        the estimator

        Examples
        --------
        >>> from labeltrees import ConditionalTreeClassifier
        >>> model = ConditionalTreeClassifier()
        >>> model = model.partial_fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
        >>> model.partial_fit([[1, 1]] * 20, ["rainbow"] * 20).classes_.tolist()
        ['rain', 'rainbow', 'sun']
        """
        self._learn(X, y, classes, sample_weight, predict=False, k=0)
        return self

    def progressive_fit(
        self, X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None, k: int = 1
    ) -> Predictions:
        """Learn like `partial_fit` and return what the model predicted for each row before.

        The mean loss of these predictions (progressive validation) is an honest estimate of the
        model's error, without held-out data.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        y : labels of shape (n_rows,), strings or integers
        sample_weight : numbers in [0, 1e9] of shape (n_rows,), optional
        k : int >= 0, default 1
            How many of the most likely labels of each row are found. More than 1 is slower.

        Returns
        -------
        Predictions
            ``p_label`` and ``is_new``, one entry per row; ``top`` and ``p_top`` of shape
            (n_rows, k).

        Examples
        --------
        >>> from labeltrees import ConditionalTreeClassifier
        >>> seen = ConditionalTreeClassifier().progressive_fit([[1.0]] * 3, ["a", "b", "a"])
        >>> seen.is_new
        array([ True,  True, False])
        """
        k = checks.integer("k", k, 0, 10_000)
        return self._learn(X, y, None, sample_weight, predict=True, k=k)

    def _model_to_learn(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        classes: ArrayLike | None = None,
    ) -> tuple[Any, tuple[Rows, RaggedLabels, NDArray[np.float32]]]:
        """Return an existing or a new model, and checked rows, labels and weights."""
        first = "model_" not in self.__dict__
        settings = self._settings() if first else self.model_.settings
        if settings.class_weight == "balanced":
            allowed = "None or a dict for partial_fit, which does not know all rows"
            raise ArgumentError.of("class_weight", "balanced", allowed)
        rows, labels, weights = training_data(X, y, sample_weight, settings.class_weight)
        if classes is not None:  # sorted, so that they are the first places of ``classes_``
            classes = np.sort(LabelVocabulary(classes).labels)
        if first:
            model = self._start_on_stream(settings, rows.n_features, classes)
        else:
            self._check_width(X, reset=False)
            model = self.model_
        if classes is not None:
            model.vocabulary.ids(labels)  # raises before anything is added
            model.vocabulary.add(classes)
        return model, (rows, RaggedLabels.of_single(labels), weights)

    def _start_on_all(
        self, settings: Any, rows: Rows, labels: NDArray[Any], weights: NDArray[np.float32]
    ) -> Any:
        """Return a model that has learned nothing yet, for rows that are all there."""
        kind: Any = self._model_class
        return kind.over(settings, rows.n_features, learned_labels(labels, weights))

    def _start_on_stream(self, settings: Any, n_features: int, classes: ArrayLike | None) -> Any:
        """Return a model that has learned nothing yet, for rows still to come."""
        kind: Any = self._model_class
        if classes is None:
            return kind.empty(settings, n_features)
        return kind.over(settings, n_features, classes)
