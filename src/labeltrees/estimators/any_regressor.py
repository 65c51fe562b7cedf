"""Conditional probability trees around any regressor of scikit-learn, or any object that learns."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from labeltrees import checks
from labeltrees.data.rows import as_weights
from labeltrees.data.targets import as_targets
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ArgumentError, DataError
from labeltrees.models.conditional.any_regressor import AnyRegressorTree
from labeltrees.models.conditional.structure import is_binary
from labeltrees.tree import LabelTree

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from labeltrees.models.conditional.any_regressor import NodeRegressor

_NAMES = ("online", "balanced", "shuffled")


@dataclass(eq=False, repr=False)
class RegressorTreeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """P(label given x) by a tree with any regressor at its nodes, as in the paper's algorithms.

    Algorithms 1 and 3 of Beygelzimer et al., "Conditional probability tree estimation analysis and
    algorithms" (UAI 2009), take a regression algorithm R as an argument. Here you pass R as an
    object. This class is plain Python. `ConditionalTreeClassifier` does the same with compiled
    linear regressors, and is a thousand times faster.

    The estimator learns, predicts, and can be cloned and pickled. It has no model file, threads,
    beam search, refinement or explanations, because a regressor is a black box that only pickle
    can store. The depth bound of Theorem 7 holds for ``structure="online"`` with any regressor.

    Parameters
    ----------
    regressor : object
        A scikit-learn regressor or classifier with ``predict_proba``, which is cloned for every
        node. You can also pass a function without arguments that returns an object with
        ``learn(X, targets, weights)`` and ``predict(X)``; targets are 0 (left) and 1 (right).
        Predictions are clipped to [0, 1].
    structure : {"online", "balanced", "shuffled"} or LabelTree, default "online"
        "online" grows the tree by Algorithm 3, one row after the other, so a scikit-learn estimator
        needs ``partial_fit``. All other trees are fixed, and `fit` trains each node in one call of
        its ``fit`` (Algorithm 1). These are a balanced tree over the labels in sorted or random
        order, or a binary `LabelTree` over positions in ``classes_``.
    alpha : float in [0, 1], default 0.6
        Weight of balance against the regressors' predictions in rule (5).
    random_state : int, default 0
        Seed of the order of labels of "shuffled".

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels learned, sorted, by column of `predict_proba`.
    model_ : AnyRegressorTree
        The tree and its regressors, over the ids of ``vocabulary_``.
    n_features_in_ : int
        Width of the data.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from labeltrees.estimators.any_regressor import RegressorTreeClassifier
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10, ["a", "b", "c", "a"] * 10
    >>> model = RegressorTreeClassifier(DecisionTreeRegressor(), structure="balanced").fit(X, y)
    >>> model.predict([[1, 1], [1, 0]]).tolist()
    ['a', 'c']
    """

    regressor: Any
    _: KW_ONLY
    structure: Any = "online"
    alpha: float = 0.6
    random_state: int = 0

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from scratch, and return the estimator.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        y : labels of shape (n_rows,), strings or integers
        sample_weight : numbers in [0, 1e9] of shape (n_rows,), optional
            Given to the regressors; a row of weight 0 is as if it were not there.

        Returns
        -------
        the estimator

        Examples
        --------
        >>> from sklearn.linear_model import SGDRegressor
        >>> model = RegressorTreeClassifier(SGDRegressor())
        >>> model.fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20).classes_.tolist()
        ['rain', 'sun']
        """
        structure = self._checked_structure()
        if structure == "online":
            for name in ("model_", "vocabulary_"):
                self.__dict__.pop(name, None)
            return self.partial_fit(X, y, sample_weight=sample_weight)
        _, X, labels, weights = self._checked(X, y, sample_weight, reset=True)
        vocabulary = LabelVocabulary(np.sort(LabelVocabulary(labels).labels))
        ids = vocabulary.ids(labels)
        model = AnyRegressorTree.on(self._tree(structure, len(vocabulary)), self._make)
        model.fit(X, ids, weights)
        self.vocabulary_, self.model_ = vocabulary, model
        return self

    def partial_fit(self, X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from the rows once, in their order, and return the estimator.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        y : labels of shape (n_rows,), strings or integers; new ones may come at any time
        sample_weight : numbers in [0, 1e9] of shape (n_rows,), optional

        Returns
        -------
        the estimator

        Examples
        --------
        >>> from sklearn.linear_model import SGDRegressor
        >>> model = RegressorTreeClassifier(SGDRegressor())
        >>> model.partial_fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20).classes_.tolist()
        ['rain', 'sun']
        """
        self.progressive_fit(X, y, sample_weight=sample_weight)
        return self

    def progressive_fit(
        self, X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Learn like `partial_fit` and return Q(y given x) of each row's label just before.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        y : labels of shape (n_rows,), strings or integers
        sample_weight : numbers in [0, 1e9] of shape (n_rows,), optional

        Returns
        -------
        ndarray of shape (n_rows,)
            0 for a label that had never been learned, and for a row of weight 0.

        Examples
        --------
        >>> from sklearn.linear_model import SGDRegressor
        >>> model = RegressorTreeClassifier(SGDRegressor())
        >>> model.progressive_fit([[1.0]] * 3, ["a", "b", "c"]).tolist()
        [0.0, 0.0, 0.0]
        """
        if self._checked_structure() != "online":
            allowed = "'online' for partial_fit and progressive_fit: other trees are fixed"
            raise ArgumentError.of("structure", self.structure, allowed)
        if hasattr(self.regressor, "get_params") and not hasattr(self.regressor, "partial_fit"):
            allowed = "an estimator with partial_fit for structure='online'"
            raise ArgumentError.of("regressor", self.regressor, allowed)
        alpha = checks.number("alpha", self.alpha, 0, 1)
        first = "model_" not in self.__dict__
        model = AnyRegressorTree(self._make, alpha=alpha) if first else self.model_
        vocabulary = LabelVocabulary() if first else self.vocabulary_
        kept, X, labels, weights = self._checked(X, y, sample_weight, reset=first)
        ids = vocabulary.add(labels)
        p = np.zeros(len(kept))
        p[kept] = [
            model.observe(X[[i]], int(label), float(weights[i])) for i, label in enumerate(ids)
        ]
        self.vocabulary_, self.model_ = vocabulary, model
        return p

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the whole distribution of every row, columns as in ``classes_``.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense

        Returns
        -------
        ndarray of shape (n_rows, n_labels)

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> model = RegressorTreeClassifier(LogisticRegression(), structure="balanced")
        >>> model = model.fit([[0], [1], [2], [3]] * 10, ["a", "b", "c", "d"] * 10)
        >>> float(model.predict_proba([[1]]).sum().round(9))
        1.0
        """
        check_is_fitted(self, "model_")
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        labels = self.vocabulary_.labels
        return self.model_.probabilities(X, len(labels))[:, np.argsort(labels)]

    def predict_label_proba(self, X: Any, y: ArrayLike) -> NDArray[np.float64]:
        """Return Q(y[i] given row i), at the cost of one path; 0 for a label never seen.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        y : labels of shape (n_rows,)

        Returns
        -------
        ndarray of shape (n_rows,)

        Examples
        --------
        >>> from sklearn.linear_model import SGDRegressor
        >>> model = RegressorTreeClassifier(SGDRegressor()).fit([[1.0]] * 3, ["a", "b", "c"])
        >>> model.predict_label_proba([[1.0]], ["d"]).tolist()
        [0.0]
        """
        check_is_fitted(self, "model_")
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        labels = as_targets(y)
        if len(labels) != X.shape[0]:
            raise DataError(f"y has {len(labels)} labels for the {X.shape[0]} rows of X.")
        return self.model_.label_probabilities(X, self.vocabulary_.ids(labels))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most likely label of every row.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense

        Returns
        -------
        ndarray of shape (n_rows,)

        Examples
        --------
        >>> from sklearn.linear_model import SGDRegressor
        >>> model = RegressorTreeClassifier(SGDRegressor())
        >>> model.fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20).predict([[1, 0]]).tolist()
        ['sun']
        """
        p = self.predict_proba(X)
        answers: NDArray[Any] = self.classes_[p.argmax(axis=1)]
        return answers

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels learned, sorted."""
        check_is_fitted(self, "model_")
        return np.sort(self.vocabulary_.labels)

    @property
    def tree_(self) -> LabelTree:
        """A copy of the tree, over positions in ``classes_``."""
        check_is_fitted(self, "model_")
        tree = self.model_.tree
        places = np.argsort(np.argsort(self.vocabulary_.labels))
        label = np.where(tree.label < 0, -1, places[tree.label])
        return LabelTree.restore(tree.parent, label.astype(np.int32))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _checked_structure(self) -> Any:
        if isinstance(self.structure, LabelTree):
            if not is_binary(self.structure):
                raise ArgumentError.of("structure", self.structure, "a binary LabelTree")
            return self.structure
        return checks.choice("structure", self.structure, _NAMES)

    def _tree(self, structure: Any, n_labels: int) -> LabelTree:
        if isinstance(structure, LabelTree):
            leaves = np.sort(structure.label[structure.label >= 0])
            if not np.array_equal(leaves, np.arange(n_labels)):
                allowed = f"a LabelTree with the leaves 0 to {n_labels - 1}, the places in classes_"
                raise ArgumentError.of("structure", structure, allowed)
            return structure
        if structure == "balanced":
            return LabelTree.balanced(n_labels)
        seed = checks.integer("random_state", self.random_state, 0, 2**64 - 1)
        return LabelTree.random(n_labels, seed=seed)

    def _checked(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, *, reset: bool
    ) -> tuple[NDArray[np.bool_], Any, NDArray[Any], NDArray[np.float64]]:
        """Return which rows have a weight above 0, and these rows, their labels and weights."""
        X = validate_data(self, X, accept_sparse="csr", reset=reset)
        labels = as_targets(y)
        if len(labels) != X.shape[0]:
            raise DataError(f"y has {len(labels)} labels for the {X.shape[0]} rows of X.")
        LabelVocabulary(labels)  # raises for what is no label
        given = as_weights(sample_weight, X.shape[0])
        weights = given.astype(np.float64) if len(given) else np.ones(X.shape[0])
        kept = weights > 0
        if not kept.any():
            raise DataError("No row of X has a weight above 0.")
        return kept, X[np.flatnonzero(kept)], labels[kept], weights[kept]

    def _make(self) -> NodeRegressor:
        """Return a regressor that has learned nothing yet."""
        if hasattr(self.regressor, "get_params") and not isinstance(self.regressor, type):
            return _Adapted(clone(self.regressor), online=self.structure == "online")
        made: Any = self.regressor() if callable(self.regressor) else None
        if not (hasattr(made, "learn") and hasattr(made, "predict")):
            allowed = "a scikit-learn estimator, or a function that makes what learns and predicts"
            raise ArgumentError.of("regressor", self.regressor, allowed)
        regressor: NodeRegressor = made
        return regressor


class _Adapted:
    """A scikit-learn estimator as a node's regressor."""

    def __init__(self, estimator: Any, *, online: bool) -> None:
        self.estimator, self.online = estimator, online
        self.is_classifier = hasattr(estimator, "predict_proba")
        self.constant: float | None = None

    def learn(self, X: Any, targets: NDArray[np.float64], weights: NDArray[np.float64]) -> None:
        """Train by partial_fit or fit; a single class needs no classifier."""
        if self.is_classifier and not self.online and (targets == targets[0]).all():
            self.constant = float(targets[0])
            return
        arguments: dict[str, Any] = {}
        if not (weights == 1).all():
            arguments["sample_weight"] = weights
        y = targets.astype(int) if self.is_classifier else targets
        if not self.online:
            self.estimator.fit(X, y, **arguments)
            return
        if self.is_classifier:
            arguments["classes"] = np.array([0, 1])
        self.estimator.partial_fit(X, y, **arguments)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the regressor's answer, or the classifier's probability of 1."""
        if self.constant is not None:
            return np.full(X.shape[0], self.constant)
        if self.is_classifier:
            return np.asarray(self.estimator.predict_proba(X)[:, 1])
        return np.asarray(self.estimator.predict(X))
