"""The questions about texts: features are made of them, and the estimator is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from labeltrees.data.texts import as_texts
from labeltrees.errors import DataError, LabelTreesError
from labeltrees.estimators.carded import Carded
from labeltrees.models.model import MAX_DENSE_BYTES, TopLabels, TopRows
from labeltrees.transforms import feature_names

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import ArrayLike, NDArray
    from scipy import sparse

Method = TypeVar("Method", bound="Callable[..., Any]")

__all__ = ["TextQuestions", "features_of", "given", "where_estimator"]


def where_estimator(method: str) -> Callable[[Method], Method]:
    """Return the decorator of a method that is there only where the estimator has it."""

    def check(classifier: Any) -> bool:
        fitted = classifier.__dict__.get("estimator_")
        estimator = classifier._unfitted_estimator() if fitted is None else fitted
        getattr(estimator, method)  # raises AttributeError with the estimator's own reason
        return True

    return cast("Callable[[Method], Method]", available_if(check))


class TextQuestions(Carded, BaseEstimator):  # type: ignore[misc]
    """What can be asked of a ``vectorizer_`` and an ``estimator_`` that stands behind it."""

    estimator_: Any
    vectorizer_: Any

    def _of_card(self, X: Any) -> tuple[Any, Any, str | None]:
        check_is_fitted(self, "estimator_")
        features = None if X is None else self.features(X)
        model, rows, _ = self.estimator_._of_card(features)
        return model, rows, type(self.vectorizer_).__name__

    def features(self, texts: Any) -> Any:
        """Return the features of texts, as the estimator sees them.

        Parameters
        ----------
        texts : n_rows strings

        Returns
        -------
        matrix of shape (n_rows, n_features)
            Sparse, unless the vectoriser makes another one.

        Examples
        --------
        >>> from labeltrees import TextClassifier
        >>> model = TextClassifier().fit(["sun", "rain"] * 20, ["dry", "wet"] * 20)
        >>> model.features(["rain, rain"]).toarray().tolist()
        [[1.0, 0.0]]
        """
        check_is_fitted(self, "estimator_")
        return features_of(self.vectorizer_.transform, texts)

    def predict(self, texts: Any) -> NDArray[Any]:
        """Return what the estimator predicts: the likeliest label of every text.

        Parameters
        ----------
        texts : n_rows strings

        Returns
        -------
        ndarray of shape (n_rows,)

        Examples
        --------
        >>> from labeltrees import TextClassifier
        >>> model = TextClassifier().fit(["sun", "rain"] * 20, ["dry", "wet"] * 20)
        >>> model.predict(["much rain"]).tolist()
        ['wet']
        """
        X = self.features(texts)
        answer: NDArray[Any] = self.estimator_.predict(X)
        return answer

    def predict_top_k(self, texts: Any, k: int = 5) -> TopLabels:
        """Return the k likeliest labels of every text and their probabilities, likeliest first.

        Parameters
        ----------
        texts : n_rows strings
        k : int in [1, n_labels], default 5

        Returns
        -------
        TopLabels
            ``labels`` and ``probabilities``, both of shape (n_rows, k).

        Examples
        --------
        >>> from labeltrees import TextClassifier
        >>> model = TextClassifier().fit(["sun", "rain"] * 20, ["dry", "wet"] * 20)
        >>> model.predict_top_k(["much rain"], 2).labels.tolist()
        [['wet', 'dry']]
        """
        X = self.features(texts)
        answer: TopLabels = self.estimator_.predict_top_k(X, k)
        return answer

    def predict_label_proba(self, texts: Any, y: ArrayLike) -> NDArray[np.float64]:
        """Return P(y[i] given texts[i]) for every text; 0 for a label never seen.

        Parameters
        ----------
        texts : n_rows strings
        y : labels of shape (n_rows,)

        Returns
        -------
        ndarray of shape (n_rows,)

        Examples
        --------
        >>> from labeltrees import TextClassifier
        >>> model = TextClassifier().fit(["sun", "rain"] * 20, ["dry", "wet"] * 20)
        >>> (model.predict_label_proba(["sun", "sun"], ["dry", "wet"]) > 0.5).tolist()
        [True, False]
        """
        X = self.features(texts)
        answer: NDArray[np.float64] = self.estimator_.predict_label_proba(X, y)
        return answer

    def predict_proba(self, texts: Any, *, max_bytes: int = MAX_DENSE_BYTES) -> NDArray[np.float64]:
        """Return the probability of every label, columns as in ``classes_``. O(n_labels) per text.

        Parameters
        ----------
        texts : n_rows strings
        max_bytes : int, default 2^32
            An answer larger than this raises `TooLargeError`.

        Returns
        -------
        ndarray of shape (n_rows, n_labels)

        Examples
        --------
        >>> from labeltrees import TextClassifier
        >>> model = TextClassifier().fit(["sun", "rain"] * 20, ["dry", "wet"] * 20)
        >>> model.predict_proba(["sun"]).shape
        (1, 2)
        """
        X = self.features(texts)
        answer: NDArray[np.float64] = self.estimator_.predict_proba(X, max_bytes=max_bytes)
        return answer

    @where_estimator("predict_above")
    def predict_above(
        self, texts: Any, threshold: float, *, max_bytes: int = MAX_DENSE_BYTES
    ) -> sparse.csr_array:
        """Return every label with probability >= threshold.

        Parameters
        ----------
        texts : n_rows strings
        threshold : float in (0, 1]
        max_bytes : int, default 2^32
            An answer larger than this raises `TooLargeError`.

        Returns
        -------
        sparse csr_array of shape (n_rows, n_labels)
            Columns are as in ``classes_``.

        Examples
        --------
        >>> from labeltrees import TextClassifier
        >>> model = TextClassifier().fit(["sun", "rain"] * 20, ["dry", "wet"] * 20)
        >>> model.classes_[model.predict_above(["sun"], 0.5).indices].tolist()
        ['dry']
        """
        X = self.features(texts)
        return self.estimator_.predict_above(X, threshold, max_bytes=max_bytes)

    @where_estimator("top_rows")
    def top_rows(
        self, texts: Any, labels: ArrayLike, k: int = 5, *, max_bytes: int = MAX_DENSE_BYTES
    ) -> TopRows:
        """Return the k texts that give each label its largest probabilities, likeliest first.

        Parameters
        ----------
        texts : n_rows strings
        labels : array of labels
        k : int in [1, n_rows], default 5
        max_bytes : int, default 2^32
            An answer larger than this raises `TooLargeError`.

        Returns
        -------
        TopRows
            ``rows``, the texts' numbers, and ``probabilities``, both of shape (len(labels), k).

        Examples
        --------
        >>> from labeltrees import TextClassifier
        >>> model = TextClassifier().fit(["sun", "rain"] * 20, ["dry", "wet"] * 20)
        >>> model.top_rows(["much rain", "sun"], ["dry", "wet"], 1).rows.tolist()
        [[1], [0]]
        """
        X = self.features(texts)
        answer: TopRows = self.estimator_.top_rows(X, labels, k, max_bytes=max_bytes)
        return answer

    @where_estimator("sample")
    def sample(self, texts: Any, random_state: Any = None) -> NDArray[Any]:
        """Return one label per text, drawn with its probability given the text.

        Parameters
        ----------
        texts : n_rows strings
        random_state : None, int >= 0, Generator or RandomState, default None

        Returns
        -------
        ndarray of shape (n_rows,)

        Examples
        --------
        >>> from labeltrees import TextClassifier
        >>> model = TextClassifier().fit(["sun", "rain"] * 20, ["dry", "wet"] * 20)
        >>> set(model.sample(["sun", "rain"] * 20, random_state=0)) == {"dry", "wet"}
        True
        """
        X = self.features(texts)
        answer: NDArray[Any] = self.estimator_.sample(X, random_state)
        return answer

    @where_estimator("explain")
    def explain(self, text: str, label: int | str, *, n_features: int = 10) -> Any:
        """Return why a text gives a label its probability, in the text's words.

        Parameters
        ----------
        text : str
        label : int or str
            One of the labels learned.
        n_features : int >= 0, default 10
            How many words or pairs of words to list for each node, strongest first.

        Returns
        -------
        an explanation
            Print it, or use its ``to_text()`` and ``to_dict()``.

        Examples
        --------
        >>> from labeltrees import TextClassifier
        >>> model = TextClassifier().fit(["the sun", "the rain"] * 20, ["dry", "wet"] * 20)
        >>> reason = model.explain("rain again", "wet")
        >>> [c.feature for c in reason.steps[0].contributions]
        ['rain']
        """
        if not isinstance(text, str):
            raise DataError(f"text must be one string, got {text!r:.60}.")
        X = self.features([text])
        names = feature_names(self.vectorizer_, text)
        return self.estimator_.explain(X, label, n_features=n_features, feature_names=names)

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, by column of `predict_proba`."""
        labels: NDArray[Any] = self._learned().classes_
        return labels

    @property
    def model_(self) -> Any:
        """The estimator's model."""
        return self._learned().model_

    def _learned(self) -> Any:
        """Return the estimator for an attribute that only a fitted classifier has."""
        if "estimator_" not in self.__dict__:
            raise AttributeError("this TextClassifier has not learned anything yet")
        return self.estimator_


def features_of(make: Callable[[list[str]], Any], texts: Any) -> Any:
    """Return features of texts; what is wrong with them is a `DataError`."""
    listed = as_texts(texts)
    if not listed:
        raise DataError("texts must have at least one text, got none.")
    try:
        return make(listed)
    except LabelTreesError:
        raise
    except UnicodeEncodeError as error:
        raise DataError(f"a text cannot be hashed: {error}.") from None
    except ValueError as error:
        raise DataError(f"the vectorizer cannot make features of the texts: {error}") from None


def given(**options: Any) -> dict[str, Any]:
    """Return the options that are not None."""
    return {name: value for name, value in options.items() if value is not None}
