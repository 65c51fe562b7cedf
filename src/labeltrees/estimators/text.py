"""A classifier of texts, which is a vectoriser and an estimator in one."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from labeltrees import cards
from labeltrees.data.texts import as_texts
from labeltrees.errors import ArgumentError, DataError, LabelTreesError
from labeltrees.estimators.conditional import ConditionalTreeClassifier
from labeltrees.estimators.contract import LabelEstimator
from labeltrees.estimators.extreme import ExtremeRegressor
from labeltrees.transforms import (
    default_text_features,
    feature_names,
    hashed_text_features,
    save_with_transform,
)
from labeltrees.transforms._conversion import demand_fitted

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

Parameters = ParamSpec("Parameters")
Method = TypeVar("Method", bound="Callable[..., Any]")
Answer = TypeVar("Answer")

_EXAMPLE = """\
Examples
        --------
        >>> from labeltrees import TextClassifier
        >>> model = TextClassifier().fit(["sun", "rain"] * 20, ["dry", "wet"] * 20)
"""
_ROWS = "X : matrix of shape (n_rows, n_features), sparse or dense"


def where_estimator(name: str) -> Callable[[Method], Method]:
    """Return the decorator of a method that exists only if the estimator has it."""

    def check(classifier: Any) -> bool:
        fitted = classifier.__dict__.get("estimator_")
        estimator = classifier._unfitted_estimator() if fitted is None else fitted
        getattr(estimator, name)  # raises AttributeError with the estimator's own reason
        return True

    return cast("Callable[[Method], Method]", available_if(check))


def _for_texts(
    method: Callable[Concatenate[Any, Any, Parameters], Answer], example: str
) -> Callable[Concatenate[Any, Any, Parameters], Answer]:
    """Return an estimator's method as one that takes texts and exists if the estimator has it.

    Its signature and docstring are the estimator's, with texts in place of rows.
    """
    name = method.__name__

    def delegated(
        self: Any, texts: Any, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Answer:
        X = self.features(texts)
        answer: Answer = getattr(self.estimator_, name)(X, *args, **kwargs)
        return answer

    signature = inspect.signature(method)
    own, rows, *rest = signature.parameters.values()
    described = str(method.__doc__).replace(_ROWS, "texts : n_rows strings")
    described = re.sub(r"(?<!`)\brow(s?)\b", r"text\1", described.replace("X[i]", "texts[i]"))
    delegated.__name__, delegated.__qualname__ = name, f"TextClassifier.{name}"
    delegated.__doc__ = f"{described.partition('Examples')[0]}{_EXAMPLE}        {example}\n"
    delegated.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[own, rows.replace(name="texts"), *rest]
    )
    found = where_estimator(name)(delegated)
    return cast("Callable[Concatenate[Any, Any, Parameters], Answer]", found)


@dataclass(eq=False, repr=False)
class TextClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classify texts by a vectoriser, which makes features of words, and an estimator.

    `fit` and all predictions take texts. `save` writes vectoriser and model to one file, which
    `labeltrees.load` and the command line read.

    Parameters
    ----------
    estimator : estimator of this library, default None
        By default `ConditionalTreeClassifier` for one label per text, and `ExtremeRegressor` for
        lists of labels or a matrix.
    vectorizer : vectoriser of scikit-learn, default None
        The default for `fit` is words and pairs of words by TF-IDF
        (`labeltrees.transforms.default_text_features`). A first `partial_fit` hashes these words,
        because it cannot know them all. Any object with ``fit_transform`` and ``transform`` works;
        docs/text.md lists the vectorisers that `save` supports.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels by column of `predict_proba`.
    estimator_ : estimator
        The fitted estimator.
    vectorizer_ : vectoriser
        The fitted vectoriser.
    model_ : FittedModel
        The estimator's model.

    Examples
    --------
    >>> from labeltrees import TextClassifier
    >>> texts = ["the sun is out", "rain and wind", "sun and no wind", "more rain"] * 10
    >>> weather = TextClassifier().fit(texts, ["good", "bad", "good", "bad"] * 10)
    >>> weather.predict(["sun", "heavy rain"]).tolist()
    ['good', 'bad']
    """

    estimator: Any = None
    vectorizer: Any = None

    def fit(
        self,
        texts: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Train the classifier from scratch and return it; each text is read once.

        Parameters
        ----------
        texts : n_rows strings
            A list, a NumPy array, a series of pandas or polars, or an array of pyarrow.
        y : labels of shape (n_rows,), or a list of labels for each text
            The labels in any form that the estimator takes.
        sample_weight : numbers of shape (n_rows,), optional
            Weights of texts, if the estimator takes weights.
        classes : labels, optional
            Names of the columns of ``y``, if the estimator takes them.

        Returns
        -------
        the classifier

        Examples
        --------
        >>> from labeltrees import TextClassifier
        >>> texts, tags = ["sun", "rain", "sun and rain"] * 20, [["dry"], ["wet"], ["dry", "wet"]]
        >>> model = TextClassifier().fit(texts, tags * 20)
        >>> type(model.estimator_).__name__, model.classes_.tolist()
        ('ExtremeRegressor', ['dry', 'wet'])
        """
        targets = _targets(y)
        estimator = self._new_estimator(targets)
        vectorizer = default_text_features() if self.vectorizer is None else clone(self.vectorizer)
        X = _features_of(vectorizer.fit_transform, texts)
        estimator.fit(X, targets, **_given(sample_weight=sample_weight, classes=classes))
        self.vectorizer_, self.estimator_ = vectorizer, estimator
        return self

    @where_estimator("partial_fit")
    def partial_fit(
        self,
        texts: Any,
        y: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from the texts once, in their order, and return the classifier.

        The vectoriser does not change. After `fit` with TF-IDF, new words are therefore ignored.
        Without a previous `fit`, the vectoriser must need no fitting, like hashing, or be fitted.

        Parameters
        ----------
        texts : n_rows strings
        y : labels of shape (n_rows,); new ones may come at any time
        classes : labels, optional
            Labels to add to ``classes_`` in advance.
        sample_weight : numbers of shape (n_rows,), optional

        Returns
        -------
        the classifier

        Examples
        --------
        >>> from labeltrees import TextClassifier
        >>> model = TextClassifier().partial_fit(["sun", "rain"] * 20, ["dry", "wet"] * 20)
        >>> model.partial_fit(["snow"] * 20, ["cold"] * 20).predict(["snow"]).tolist()
        ['cold']
        """
        first = "estimator_" not in self.__dict__
        targets = _targets(y)
        if first and self.estimator is None and _has_several(targets):
            raise ArgumentError(
                "partial_fit learns one label per text. For lists of labels use fit, or repeat a "
                "text for each of its labels."
            )
        estimator = self._new_estimator(targets) if first else self.estimator_
        vectorizer = self._vectorizer_of_stream() if first else self.vectorizer_
        X = _features_of(vectorizer.transform, texts)
        estimator.partial_fit(X, targets, **_given(classes=classes, sample_weight=sample_weight))
        self.vectorizer_, self.estimator_ = vectorizer, estimator
        return self

    card = cards.card

    def _model_and_rows(self, X: Any) -> tuple[Any, Any, str | None]:
        check_is_fitted(self, "estimator_")
        features = None if X is None else self.features(X)
        model, rows, _ = self.estimator_._model_and_rows(features)
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
        return _features_of(self.vectorizer_.transform, texts)

    predict = _for_texts(
        LabelEstimator.predict,
        """>>> model.predict(["much rain"]).tolist()
        ['wet']""",
    )
    predict_top_k = _for_texts(
        LabelEstimator.predict_top_k,
        """>>> model.predict_top_k(["much rain"], 2).labels.tolist()
        [['wet', 'dry']]""",
    )
    predict_label_proba = _for_texts(
        LabelEstimator.predict_label_proba,
        """>>> (model.predict_label_proba(["sun", "sun"], ["dry", "wet"]) > 0.5).tolist()
        [True, False]""",
    )
    predict_proba = _for_texts(
        LabelEstimator.predict_proba,
        """>>> model.predict_proba(["sun"]).shape
        (1, 2)""",
    )
    predict_log_proba = _for_texts(
        LabelEstimator.predict_log_proba,
        """>>> bool(model.predict_log_proba(["sun"]).max() < 0)
        True""",
    )
    predict_above = _for_texts(
        LabelEstimator.predict_above,
        """>>> model.classes_[model.predict_above(["sun"], 0.5).indices].tolist()
        ['dry']""",
    )
    top_rows = _for_texts(
        LabelEstimator.top_rows,
        """>>> model.top_rows(["much rain", "sun"], ["dry", "wet"], 1).rows.tolist()
        [[1], [0]]""",
    )
    sample = _for_texts(
        LabelEstimator.sample,
        """>>> set(model.sample(["sun", "rain"] * 20, random_state=0)) == {"dry", "wet"}
        True""",
    )

    def score(self, texts: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the estimator's own score: accuracy, or nDCG@5 of extreme regressors.

        Parameters
        ----------
        texts : n_rows strings
        y : what is true, as for `fit`
        sample_weight : numbers of shape (n_rows,), optional
            Weights of texts, if the estimator takes weights.

        Returns
        -------
        float in [0, 1]

        Examples
        --------
        >>> from labeltrees import TextClassifier
        >>> model = TextClassifier().fit(["sun", "rain"] * 20, ["dry", "wet"] * 20)
        >>> model.score(["sun", "rain"], ["dry", "dry"])
        0.5
        """
        X = self.features(texts)
        return float(self.estimator_.score(X, _targets(y), **_given(sample_weight=sample_weight)))

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

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        keep_state: bool = True,
        extra: dict[str, Any] | None = None,
    ) -> None:
        """Write vectoriser and model to a file that `labeltrees.load` and the commands read.

        Parameters
        ----------
        path : path
            Replaced as a whole, or not at all.
        keep_state : bool, default True
            Whether the model can learn further. False stores weights as float16 and makes a much
            smaller file.
        extra : dict, optional
            Values that JSON takes, kept with the model.

        Returns
        -------
        None
            A vectoriser with a function for a parameter, or of a class that has no data form,
            raises `ArgumentError`.

        Examples
        --------
        >>> import labeltrees
        >>> model = labeltrees.TextClassifier().fit(["sun", "rain"] * 20, ["dry", "wet"] * 20)
        >>> model.save("weather.safetensors", keep_state=False)
        >>> labeltrees.load("weather.safetensors").predict(["much rain"]).tolist()
        ['wet']
        """
        check_is_fitted(self, "estimator_")
        save_with_transform(self.model_, self.vectorizer_, path, keep_state=keep_state, extra=extra)

    @classmethod
    def around(cls, estimator: LabelEstimator, vectorizer: Any) -> Self:
        """Return the classifier of a fitted estimator and the fitted vectoriser before it.

        Parameters
        ----------
        estimator : fitted estimator of this library
        vectorizer : fitted vectoriser

        Returns
        -------
        the classifier

        Examples
        --------
        >>> from labeltrees import TextClassifier
        >>> model = TextClassifier().fit(["sun", "rain"] * 20, ["dry", "wet"] * 20)
        >>> again = TextClassifier.around(model.estimator_, model.vectorizer_)
        >>> again.predict(["sun"]).tolist()
        ['dry']
        """
        classifier = cls(clone(estimator), clone(vectorizer))
        classifier.estimator_, classifier.vectorizer_ = estimator, vectorizer
        return classifier

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
            raise AttributeError("this TextClassifier is not fitted yet")
        return self.estimator_

    def _unfitted_estimator(self) -> Any:
        """Return the estimator that a fit begins with, as far as it is known without data."""
        if self.estimator is not None:
            return self.estimator
        return ConditionalTreeClassifier(scale=None)  # word features are never standardised

    def _new_estimator(self, targets: Any) -> Any:
        if self.estimator is None:
            return ExtremeRegressor() if _has_several(targets) else self._unfitted_estimator()
        if not isinstance(self.estimator, LabelEstimator):
            allowed = "None or an estimator of labeltrees"
            raise ArgumentError.of("estimator", self.estimator, allowed)
        return clone(self.estimator)

    def _vectorizer_of_stream(self) -> Any:
        if self.vectorizer is None:
            return hashed_text_features()
        try:
            demand_fitted(self.vectorizer)
        except (TypeError, ValueError):  # scikit-learn's NotFittedError is a ValueError
            kind = type(self.vectorizer).__name__
            raise ArgumentError(
                f"partial_fit cannot fit a {kind}, which needs all "
                "texts. Call fit first, or pass a "
                "fitted vectorizer or HashingVectorizer(), which needs no fitting."
            ) from None
        return self.vectorizer

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        if self.estimator is not None:
            of_estimator = get_tags(self.estimator)
            tags.estimator_type = of_estimator.estimator_type
            tags.classifier_tags = of_estimator.classifier_tags
        return tags


def _targets(y: Any) -> Any:
    return y.to_pylist() if hasattr(y, "to_pylist") else y


def _has_several(y: Any) -> bool:
    """Return whether y has a list, a dict or a row of a matrix for every text."""
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) == 2:
        return bool(shape[1] > 1)
    if y is None or isinstance(y, str) or not hasattr(y, "__iter__"):
        return False
    first = next(iter(y), None)
    if isinstance(first, (list, tuple, np.ndarray)) or type(first).__name__ == "Series":
        # A column of labels, [["a"], ["b"]], is lists of one label each.
        return True
    return isinstance(first, (set, frozenset, dict))


def _features_of(make: Callable[[list[str]], Any], texts: Any) -> Any:
    """Return features of texts; what is wrong with them is a `DataError`."""
    listed = as_texts(texts)
    if not listed:
        raise DataError("texts must have at least one text, got an empty list.")
    try:
        return make(listed)
    except LabelTreesError:
        raise
    except UnicodeEncodeError as error:
        raise DataError(f"a text cannot be hashed: {error}.") from None
    except ValueError as error:
        raise DataError(f"the vectorizer cannot make features of the texts: {error}") from None


def _given(**options: Any) -> dict[str, Any]:
    """Return the options that are not None."""
    return {name: value for name, value in options.items() if value is not None}
