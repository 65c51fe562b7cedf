"""What every estimator shares: scikit-learn's contract around a fitted model."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from labeltrees import __version__, store
from labeltrees.data.rows import Rows, as_rows
from labeltrees.errors import DataError, ModelFormatError
from labeltrees.models.model import MAX_DENSE_BYTES, Model, TopLabels

if TYPE_CHECKING:
    import os

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = ["LabelClassifier"]


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
        return estimator.around(model_class.from_tensors(stored.tensors, stored.facts))

    def around(self, model: Model) -> Self:
        """Take a model learned without this estimator, with its parameters, and return itself."""
        self.model_ = model
        self.n_features_in_ = model.n_features
        return self

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
