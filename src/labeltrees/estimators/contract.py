"""What every estimator shares: scikit-learn's contract around a fitted model."""

from __future__ import annotations

import os
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from labeltrees import __version__, store
from labeltrees.data.checks import Rows, as_rows, as_weights
from labeltrees.errors import ArgumentError, DataError, ModelFormatError
from labeltrees.model import MAX_DENSE_BYTES, Model, TopLabels
from labeltrees.regressors import MAX_THREADS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["LabelClassifier", "as_targets", "check_training", "n_threads_of"]


class LabelClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier around a `Model`: the same questions, files and checks for every one.

    A subclass names its ``_model_class``, learns in `fit` and sets ``model_``.
    """

    _model_class: ClassVar[type[Model]]
    model_: Model
    n_features_in_: int

    @abstractmethod
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from scratch and return the estimator."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest label of every row."""
        return self.predict_top_k(X, 1).labels[:, 0]

    def predict_top_k(self, X: Any, k: int = 5) -> TopLabels:
        """Return the k likeliest labels of every row and their probabilities, likeliest first.

        Provably the top k. Both arrays have shape (n_rows, k).
        """
        rows = self._check_rows(X)
        return self.model_.top_labels(rows, k)

    def predict_label_proba(self, X: Any, y: ArrayLike) -> NDArray[np.float64]:
        """Return P(y[i] given X[i]) for every row; 0 for a label never seen."""
        rows = self._check_rows(X)
        return self.model_.label_probabilities(rows, y)

    def predict_proba(self, X: Any, *, max_bytes: int = MAX_DENSE_BYTES) -> NDArray[np.float64]:
        """Return the whole distribution, (n_rows, n_labels), columns as in ``classes_``.

        O(n_labels) per row. An answer larger than ``max_bytes`` raises `TooLargeError`.
        """
        rows = self._check_rows(X)
        return self.model_.probabilities(rows, max_bytes=max_bytes)

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, by column of `predict_proba`."""
        if "model_" not in self.__dict__:
            raise AttributeError(f"this {type(self).__name__} has not learned anything yet")
        return self.model_.vocabulary.labels

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        keep_state: bool = True,
        extra: dict[str, Any] | None = None,
    ) -> None:
        """Write the model to a file that `labeltrees.load` reads.

        ``keep_state=False`` leaves out what only learning needs and stores weights as float16:
        a far smaller file for a model that will not learn again.
        """
        check_is_fitted(self, "model_")
        tensors, facts = self.model_.to_tensors(keep_state=keep_state)
        kind, params = type(self).__name__, self._params_to_store()
        store.write(path, store.StoredModel(kind, params, facts, tensors, extra or {}, __version__))

    @classmethod
    def from_stored(cls, stored: store.StoredModel) -> Self:
        """Return the estimator that `save` wrote down."""
        if set(stored.params) != set(cls().get_params(deep=False)):
            raise ModelFormatError(f"the parameters are not those of {cls.__name__}.")
        estimator = cls(**cls._params_from_store(stored.params))
        model_class = cls._model_class_for(stored.facts)
        estimator.model_ = model_class.from_tensors(stored.tensors, stored.facts)
        estimator.n_features_in_ = estimator.model_.n_features
        return estimator

    @classmethod
    def _model_class_for(cls, facts: dict[str, Any]) -> type[Model]:  # noqa: ARG003
        """Return the class of the model with these facts."""
        return cls._model_class

    def _params_to_store(self) -> dict[str, Any]:
        """Return the parameters as values that JSON takes."""
        params: dict[str, Any] = self.get_params(deep=False)
        return params

    @classmethod
    def _params_from_store(cls, params: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters that `_params_to_store` wrote down."""
        return params

    def _check_rows(self, X: Any) -> Rows:
        check_is_fitted(self, "model_")
        rows = as_rows(X)
        self._check_width(X, reset=False)
        return rows

    def _check_width(self, X: Any, *, reset: bool) -> None:
        """Compare number and names of the features with those learned, or remember them."""
        named = hasattr(X, "columns") or hasattr(self, "feature_names_in_")
        if not reset and not named and getattr(X, "shape", (0,))[-1] == self.n_features_in_:
            return  # nothing that scikit-learn could object to
        try:
            validate_data(self, X, reset=reset, skip_check_array=True)
        except ValueError as error:
            raise DataError(str(error)) from None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def n_threads_of(n_jobs: int | None) -> int:
    """Return how many threads ``n_jobs`` asks for: None is 1, -1 all cores, -2 all but one.

    >>> n_threads_of(None), n_threads_of(3)
    (1, 3)
    """
    asked = 1 if n_jobs is None else n_jobs
    whole = isinstance(asked, (int, np.integer)) and not isinstance(asked, bool)
    if not whole or asked == 0:
        raise ArgumentError.of("n_jobs", n_jobs, "None or an integer other than 0")
    if asked < 0:
        asked = max((os.cpu_count() or 1) + 1 + asked, 1)
    return min(int(asked), MAX_THREADS)


def check_training(
    X: Any, y: ArrayLike, sample_weight: ArrayLike | None, *, missing: bool = False
) -> tuple[Rows, NDArray[Any], NDArray[np.float32]]:
    """Return rows, labels and weights (none: empty) to learn from, or raise and change nothing.

    ``missing`` allows NaN in ``X``.
    """
    targets = as_targets(y)
    rows = as_rows(X, missing=missing)
    if len(targets) != rows.n_rows:
        raise DataError(f"y has {len(targets)} labels for the {rows.n_rows} rows of X.")
    weights = as_weights(sample_weight, rows.n_rows)
    if len(weights) and not weights.any():
        raise ArgumentError("sample_weight must have a weight above zero, got none.")
    return rows, targets, weights


def as_targets(y: Any) -> NDArray[Any]:
    """Return one label a row as an array, or raise."""
    if y is None:
        raise DataError("this estimator requires y to be passed, but the target y is None.")
    array = np.asarray(y) if hasattr(y, "__array__") else np.array(y, dtype=object)
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise DataError("Input y contains NaN or infinity.")
        check_classification_targets(array)
        array = array.astype(np.int64)  # whole numbers, by the line above
    return array if array.ndim == 1 else np.asarray(column_or_1d(array, warn=True))
