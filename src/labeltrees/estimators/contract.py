"""The contract of scikit-learn around a fitted model, for all estimators."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from labeltrees import cards
from labeltrees.data.rows import Rows, as_rows
from labeltrees.data.targets import as_candidates, check_training, weighted_by_label
from labeltrees.errors import ArgumentError, DataError
from labeltrees.models.capabilities import Above, BestRows, Explains, Samples, demand
from labeltrees.models.model import MAX_DENSE_BYTES, FittedModel, TopLabels, TopRows

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray
    from scipy import sparse

    from labeltrees.data.vocabulary import LabelSorting
    from labeltrees.models.settings import Settings

Method = TypeVar("Method", bound="Callable[..., Any]")


def where_model(capability: type) -> Callable[[Method], Method]:
    """Return the decorator of a method that exists only if the model has the capability."""

    def check(estimator: Any) -> bool:
        model = estimator.__dict__.get("model_", type(estimator)._model_class)
        demand(model, capability, "this")
        return True

    return cast("Callable[[Method], Method]", available_if(check))


class LabelEstimator(BaseEstimator):  # type: ignore[misc]
    """The common base class of estimators, with the methods, files and checks that all share.

    A subclass names its ``_model_class``, whose settings are its parameters, and sets ``model_`` in
    `fit`. A method that not every model supports exists only if its model supports it.
    """

    _model_class: ClassVar[type[FittedModel]]
    model_: Any
    n_features_in_: int

    @abstractmethod
    def fit(self, X: Any, y: Any) -> Self:
        """Learn from scratch and return the estimator."""

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
        >>> from labeltrees import ConditionalTreeClassifier
        >>> model = ConditionalTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
        >>> model.predict([[1, 0], [0, 1]]).tolist()
        ['sun', 'rain']
        """
        return self.predict_top_k(X, 1).labels[:, 0]

    def predict_top_k(self, X: Any, k: int = 5) -> TopLabels:
        """Return the k most likely labels of every row and their probabilities, best first.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        k : int in [1, n_labels], default 5

        Returns
        -------
        TopLabels
            ``labels`` and ``probabilities``, both of shape (n_rows, k). The search is
            exact, unless the estimator documents a beam search.

        Examples
        --------
        >>> from labeltrees import OneAgainstAllClassifier
        >>> model = OneAgainstAllClassifier().fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
        >>> model.predict_top_k([[1, 0]], 2).labels.tolist()
        [['sun', 'rain']]
        """
        rows = self._check_rows(X)
        top: TopLabels = self.model_.top_labels(rows, k)
        return top

    def predict_label_proba(self, X: Any, y: Any) -> Any:
        """Return P(y[i] given X[i]) for every row; 0 for an unknown label.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        y : labels of shape (n_rows,), array of shape (n_rows, m), or lists of labels
            One label per row, m candidates of each row, or any number of them.

        Returns
        -------
        ndarray or list of ndarray
            In the form of y: of shape (n_rows,) for one label per row, of shape (n_rows, m) for an
            array of two dimensions, and for lists of labels one array for each row.

        Examples
        --------
        >>> from labeltrees import ConditionalTreeClassifier
        >>> model = ConditionalTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
        >>> (model.predict_label_proba([[1, 0], [1, 0]], ["sun", "fog"]) > 0.5).tolist()
        [True, False]
        >>> several = model.predict_label_proba([[1, 0], [0, 1]], [["rain", "sun"], ["sun"]])
        >>> [(p > 0.5).tolist() for p in several]
        [[False, True], [False]]
        """
        rows = self._check_rows(X)
        candidates = as_candidates(y)
        if candidates is None:
            return self.model_.label_probabilities(rows, y)
        if candidates.n_rows != rows.n_rows:
            n_rows = candidates.n_rows
            raise ArgumentError(f"y has labels for {n_rows} rows, but X has {rows.n_rows} rows.")
        p = self.model_.candidate_probabilities(rows, candidates)
        if getattr(y, "ndim", 1) == 2:
            return p.reshape(rows.n_rows, -1)
        return np.split(p, candidates.starts[1:-1]) if rows.n_rows else []

    def predict_proba(self, X: Any, *, max_bytes: int = MAX_DENSE_BYTES) -> NDArray[np.float64]:
        """Return the whole distribution, columns as in ``classes_``. O(n_labels) per row.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        max_bytes : int, default 2^32
            A larger result raises `TooLargeError`.

        Returns
        -------
        ndarray of shape (n_rows, n_labels)

        Examples
        --------
        >>> from labeltrees import ConditionalTreeClassifier
        >>> model = ConditionalTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
        >>> model.predict_proba([[1, 0]]).sum(axis=1).round(6).tolist()
        [1.0]
        """
        rows = self._check_rows(X)
        p: NDArray[np.float64] = self.model_.probabilities(rows, max_bytes=max_bytes)
        sorting = self._sorting(p.shape[1])
        return p if sorting is None else np.take(p, sorting.ids, axis=1)

    def predict_log_proba(self, X: Any, *, max_bytes: int = MAX_DENSE_BYTES) -> NDArray[np.float64]:
        """Return the natural logarithm of `predict_proba`; minus infinity where that is 0.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        max_bytes : int, default 2^32
            A larger result raises `TooLargeError`.

        Returns
        -------
        ndarray of shape (n_rows, n_labels)

        Examples
        --------
        >>> from labeltrees import ConditionalTreeClassifier
        >>> model = ConditionalTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
        >>> bool(model.predict_log_proba([[1, 0]]).max() < 0)
        True
        """
        p = self.predict_proba(X, max_bytes=max_bytes)
        with np.errstate(divide="ignore"):
            return np.log(p, out=p)

    @where_model(Above)
    def predict_above(
        self, X: Any, threshold: float, *, max_bytes: int = MAX_DENSE_BYTES
    ) -> sparse.csr_array:
        """Return every label with probability >= threshold.

        Conditional trees, LOMtrees and extreme regressors search only where such labels are. All
        others need O(n_labels) per row.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        threshold : float in (0, 1]
            For graded relevance it may be up to the largest relevance learned.
        max_bytes : int, default 2^32
            A larger result raises `TooLargeError`.

        Returns
        -------
        sparse csr_array of shape (n_rows, n_labels)
            Columns are as in ``classes_``.

        Examples
        --------
        >>> from labeltrees import ConditionalTreeClassifier
        >>> model = ConditionalTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
        >>> likely = model.predict_above([[1, 0], [1, 1]], 0.4)
        >>> [model.classes_[likely[[row]].indices].tolist() for row in range(2)]
        [['sun'], ['rain', 'sun']]
        """
        rows = self._check_rows(X)
        return self._sorted_columns(self.model_.labels_above(rows, threshold, max_bytes=max_bytes))

    def _sorted_columns(self, found: sparse.csr_array) -> sparse.csr_array:
        """Return a sparse answer of the model with its columns as in ``classes_``."""
        sorting = self._sorting(found.shape[1])
        if sorting is not None:
            found.indices = sorting.places[found.indices].astype(found.indices.dtype)
            found.has_sorted_indices = False
            found.sort_indices()
        return found

    @where_model(BestRows)
    def top_rows(
        self, X: Any, labels: ArrayLike, k: int = 5, *, max_bytes: int = MAX_DENSE_BYTES
    ) -> TopRows:
        """Return the k rows that give each label its largest probabilities, best first.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        labels : array of labels
        k : int in [1, n_rows], default 5
        max_bytes : int, default 2^32
            A larger result raises `TooLargeError`.

        Returns
        -------
        TopRows
            ``rows`` and ``probabilities``, both of shape (len(labels), k); of equal rows, the
            first.

        Examples
        --------
        >>> from labeltrees import ConditionalTreeClassifier
        >>> model = ConditionalTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
        >>> model.top_rows([[0, 1], [1, 1], [1, 0]], ["sun", "rain"], 2).rows.tolist()
        [[2, 1], [0, 1]]
        """
        rows = self._check_rows(X)
        best: TopRows = self.model_.top_rows(rows, labels, k, max_bytes=max_bytes)
        return best

    @where_model(Samples)
    def sample(self, X: Any, random_state: Any = None) -> NDArray[Any]:
        """Return one label per row, drawn with its probability given the row.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        random_state : int >= 0, Generator, RandomState or None, default None
            Each row takes one number of the generator. So the parts of a matrix, passed one after
            the other with the same generator, give the same draws as the whole matrix.

        Returns
        -------
        ndarray of shape (n_rows,)
            With ``novelty``, only known labels are drawn.

        Examples
        --------
        >>> from labeltrees import ConditionalTreeClassifier
        >>> model = ConditionalTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
        >>> model.sample([[1, 1]] * 4, random_state=0)
        array(['sun', 'rain', 'rain', 'rain'], dtype=object)
        """
        rows = self._check_rows(X)
        labels: NDArray[Any] = self.model_.sample(rows, uniforms_of(random_state, rows.n_rows))
        return labels

    @where_model(Explains)
    def explain(
        self,
        x: Any,
        label: int | str,
        *,
        n_features: int = 10,
        feature_names: Sequence[str] | None = None,
    ) -> Any:
        """Return an explanation of a label's probability, with its path and supporting features.

        Parameters
        ----------
        x : one row, of one or two dimensions
        label : int or str
            One of the labels learned.
        n_features : int >= 0, default 10
            Number of features to list for each node, strongest first.
        feature_names : sequence of str, optional
            One per feature; by default the columns of the training data frame, else column numbers.

        Returns
        -------
        an explanation
            Print it, or use its ``to_text()`` and ``to_dict()``.

        Examples
        --------
        >>> from labeltrees import ConditionalTreeClassifier
        >>> model = ConditionalTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
        >>> names = ["light", "drops"]
        >>> reason = model.explain([1, 0], "sun", n_features=1, feature_names=names)
        >>> [c.feature for c in reason.steps[0].contributions]
        ['light']
        """
        rows = self._check_rows(_one_row(x))
        if feature_names is None:
            feature_names = getattr(self, "feature_names_in_", None)
        return self.model_.explain(rows, label, n_features=n_features, feature_names=feature_names)

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, by column of `predict_proba`."""
        labels: NDArray[Any] = self._learned().vocabulary.labels
        sorting = self._sorting(len(labels))
        return labels if sorting is None else labels[sorting.ids]

    def _sorting(self, n_labels: int) -> LabelSorting | None:  # noqa: ARG002
        """Return the sorting of columns, or None for the model's order."""
        return None

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        keep_state: bool = True,
        extra: dict[str, Any] | None = None,
    ) -> None:
        """Write the model to a file that `labeltrees.load` and `labeltrees.load_model` read.

        Parameters
        ----------
        path : path
            An existing file is replaced as a whole, or not at all on failure.
        keep_state : bool, default True
            Whether the model can learn further. False stores weights as float16 and makes a much
            smaller file.
        extra : dict, optional
            JSON values to store with the model.

        Returns
        -------
        None

        Examples
        --------
        >>> from labeltrees import ConditionalTreeClassifier
        >>> model = ConditionalTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
        >>> model.save("weather.safetensors", keep_state=False)
        """
        check_is_fitted(self, "model_")
        self.model_.save(path, keep_state=keep_state, extra=extra)

    card = cards.card

    def _model_and_rows(self, X: Any) -> tuple[FittedModel, Rows | None, str | None]:
        check_is_fitted(self, "model_")
        return self.model_, None if X is None else self._check_rows(X), None

    def check_parameters(self) -> None:
        """Raise `ArgumentError` if a parameter is outside its range, as `fit` also does.

        Returns
        -------
        None

        Examples
        --------
        >>> from labeltrees import ConditionalTreeClassifier
        >>> ConditionalTreeClassifier(alpha=2).check_parameters()
        Traceback (most recent call last):
        ...
        labeltrees.errors.ArgumentError: alpha must be in [0, 1], got 2.
        """
        self._settings()

    @classmethod
    def around(cls, model: FittedModel) -> Self:
        """Return an estimator around a model, with the parameters of the model.

        Parameters
        ----------
        model : FittedModel
            For example the result of `labeltrees.load_model`.

        Returns
        -------
        the estimator

        Examples
        --------
        >>> from labeltrees import ConditionalTreeClassifier
        >>> model = ConditionalTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
        >>> ConditionalTreeClassifier.around(model.model_).predict([[1, 0]]).tolist()
        ['sun']
        """
        estimator = cls(**cls._params_of(model))
        estimator.model_ = model
        estimator.n_features_in_ = model.n_features
        return estimator

    @classmethod
    def _params_of(cls, model: FittedModel) -> dict[str, Any]:
        settings = model.settings
        return {name: getattr(settings, name) for name in settings.names()}

    def _settings(self) -> Any:
        """Return the checked parameters; a random state has become one integer."""
        return self._settings_of(self._model_class.settings_class, self.get_params(deep=False))

    @staticmethod
    def _settings_of(settings_class: type[Settings], params: dict[str, Any]) -> Any:
        if "random_state" in params:
            params["random_state"] = _seed_of(params["random_state"])
        return settings_class(**params)

    def _set_model(self, X: Any, model: FittedModel) -> Self:
        """Store the model that was trained on X."""
        self._check_width(X, reset=True)
        self.model_ = model
        return self

    def _learned(self) -> Any:
        """Return the model, or raise AttributeError before `fit`."""
        if "model_" not in self.__dict__:
            raise AttributeError(f"this {type(self).__name__} is not fitted yet")
        return self.model_

    def _check_rows(self, X: Any) -> Rows:
        check_is_fitted(self, "model_")
        rows = as_rows(X, missing=self.model_.missing)
        self._check_width(X, reset=False)
        return rows

    def _check_width(self, X: Any, *, reset: bool) -> None:
        """Compare number and names of the features with the training data, or store them."""
        named = hasattr(X, "columns") or hasattr(self, "feature_names_in_")
        if not reset and not named and getattr(X, "shape", (0,))[-1] == self.n_features_in_:
            return  # scikit-learn has no other checks for it
        try:
            validate_data(self, X, reset=reset, skip_check_array=True)
        except ValueError as error:
            raise DataError(str(error)) from None

    def set_params(self, **params: Any) -> Self:
        """Set parameters and return the estimator; ``n_jobs`` takes effect at once."""
        super().set_params(**params)
        if "n_jobs" in params and "model_" in self.__dict__:
            self.model_.settings = replace(self.model_.settings, n_jobs=self.get_params()["n_jobs"])
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


class LabelClassifier(ClassifierMixin, LabelEstimator):  # type: ignore[misc]
    """A classifier whose rows have one label."""

    @abstractmethod
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from scratch and return the estimator."""


def training_data(
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None,
    class_weight: Any,
    *,
    missing: bool = False,
) -> tuple[Rows, NDArray[Any], NDArray[np.float32]]:
    """Return rows, labels and weights (empty if there are none), or raise and change nothing.

    ``missing`` allows NaN in ``X``. Labels in a column are allowed, with scikit-learn's warning.
    """
    if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
        y = column_or_1d(y, warn=True)
    rows, labels, weights = check_training(X, y, sample_weight, missing=missing)
    weights = weighted_by_label(labels, weights, class_weight)
    if len(weights) and not weights.any():
        raise ArgumentError.of(
            "class_weight", class_weight, "above zero for at least one label of y"
        )
    return rows, labels, weights


def uniforms_of(random_state: Any, n_rows: int) -> NDArray[np.float64]:
    """Return a random number in [0, 1) for every row, from None, a seed or a generator."""
    if isinstance(random_state, np.random.RandomState):
        return random_state.random_sample(n_rows)
    if isinstance(random_state, np.random.Generator):
        return random_state.random(n_rows)
    is_seed = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool)
    if random_state is not None and not (is_seed and random_state >= 0):
        raise ArgumentError.of(
            "random_state", random_state, "None, an integer >= 0, a Generator or a RandomState"
        )
    return np.random.default_rng(random_state).random(n_rows)


def _seed_of(random_state: Any) -> Any:
    """Return a seed drawn from None or a RandomState. The settings class checks other values."""
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return int(check_random_state(random_state).randint(2**31))
    return random_state


def _one_row(x: Any) -> Any:
    """Return x as a matrix of one row if it has one dimension."""
    if getattr(x, "ndim", None) == 2 or hasattr(x, "columns"):  # names are checked
        return x
    if hasattr(x, "tocsr") or hasattr(x, "tocoo"):  # a sparse vector
        return x.reshape(1, -1)
    array = np.asarray(x)
    return array.reshape(1, -1) if array.ndim == 1 else array
