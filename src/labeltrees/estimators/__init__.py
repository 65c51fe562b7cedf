"""The estimators: scikit-learn's contract around the models, one file or folder per method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from labeltrees import store
from labeltrees.errors import ArgumentError, ModelFormatError
from labeltrees.estimators.baselines.classifiers import (
    FrequencyTableClassifier,
    OneAgainstAllClassifier,
)
from labeltrees.estimators.baselines.rankers import (
    Bm25Ranker,
    DismecRanker,
    PfastreXmlRanker,
    ProxmlRanker,
    RankSvmRanker,
    XlrRanker,
)
from labeltrees.estimators.baselines.regressors import LeastSquaresRegressor, LemlRegressor
from labeltrees.estimators.boosting.classifier import AdacondClassifier
from labeltrees.estimators.conditional import ConditionalTreeClassifier
from labeltrees.estimators.contract import LabelClassifier, LabelEstimator
from labeltrees.estimators.extreme import ExtremeRegressor
from labeltrees.estimators.filter import FilterTreeClassifier
from labeltrees.estimators.lom import LOMTreeClassifier
from labeltrees.estimators.multilabel import MultiLabelTreeClassifier
from labeltrees.estimators.online import OnlineClassifier
from labeltrees.estimators.self_terminating import SelfTerminatingTreeClassifier
from labeltrees.estimators.text import TextClassifier
from labeltrees.models.registry import method_of_model, model_from, model_names
from labeltrees.transforms import save_with_transform, takes_text, transform_of
from labeltrees.transforms._conversion import pipeline_step_of

if TYPE_CHECKING:
    import os

    from sklearn.pipeline import Pipeline

    from labeltrees.models.model import FittedModel

__all__ = [
    "AdacondClassifier",
    "Bm25Ranker",
    "ConditionalTreeClassifier",
    "DismecRanker",
    "ExtremeRegressor",
    "FilterTreeClassifier",
    "FrequencyTableClassifier",
    "LOMTreeClassifier",
    "LabelClassifier",
    "LabelEstimator",
    "LeastSquaresRegressor",
    "LemlRegressor",
    "MultiLabelTreeClassifier",
    "OneAgainstAllClassifier",
    "OnlineClassifier",
    "PfastreXmlRanker",
    "ProxmlRanker",
    "RankSvmRanker",
    "SelfTerminatingTreeClassifier",
    "TextClassifier",
    "XlrRanker",
    "estimator_from",
    "estimator_of",
    "load",
    "save",
]


def load(
    path: str | os.PathLike[str], *, mapped: bool = False
) -> LabelEstimator | TextClassifier | Pipeline:
    """Return the estimator that was saved at ``path``.

    Parameters
    ----------
    path : path
        A file that `save` wrote. A truncated, damaged or foreign file raises `ModelFormatError`.
    mapped : bool, default False
        Whether the tensors stay in the file until they are used. Loading is then fast for any
        size. The model's structure is checked, but the tensors' checksums are not. Do not change
        the file in place while it is used; `save` replaces it, which is safe.

    Returns
    -------
    an estimator
        Its ``model_`` is what `labeltrees.load_model` returns. A file with a vectoriser gives a
        `TextClassifier`, one that was saved from a scikit-learn pipeline the pipeline.

    Examples
    --------
    >>> import labeltrees
    >>> tree = labeltrees.ConditionalTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["a", "b"] * 20)
    >>> tree.save("tree.safetensors")
    >>> labeltrees.load("tree.safetensors").predict([[1, 0]]).tolist()
    ['a']
    """
    return estimator_from(store.read(path, mapped=mapped))


def estimator_from(stored: store.StoredModel) -> LabelEstimator | TextClassifier | Pipeline:
    """Return the estimator that a file holds, with the transformer that is in front of it."""
    model, transformer = model_from(stored), transform_of(stored)
    estimator = estimator_of(model).around(model)
    if transformer is None:
        return estimator
    step = pipeline_step_of(stored)
    if step is not None:
        transformer.steps.append((step, estimator))
        return transformer
    if not takes_text(transformer):
        raise ModelFormatError("the transformer in front of the model does not take texts.")
    return TextClassifier.around(estimator, transformer)


def save(
    estimator: Any,
    path: str | os.PathLike[str],
    *,
    keep_state: bool = True,
    extra: dict[str, Any] | None = None,
) -> None:
    """Write a fitted estimator, or a pipeline that ends in one, to a file that `load` reads.

    Parameters
    ----------
    estimator : estimator of this library, TextClassifier, or Pipeline of scikit-learn
        A pipeline's other steps must be vectorisers, scalers, `TfidfTransformer`, `Normalizer`,
        `FeatureUnion` or pipelines of these, without functions for parameters; else it raises
        `ArgumentError`, and nothing is written.
    path : path
        Replaced as a whole, or not at all.
    keep_state : bool, default True
        False leaves out what only learning needs and stores weights as float16.
    extra : dict, optional
        Values that JSON takes, kept with the model.

    Examples
    --------
    >>> import labeltrees
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> tree = make_pipeline(StandardScaler(), labeltrees.ConditionalTreeClassifier())
    >>> tree = tree.fit([[1, 500], [2, 100]] * 20, ["sun", "rain"] * 20)
    >>> labeltrees.save(tree, "weather.safetensors")
    >>> labeltrees.load("weather.safetensors").predict([[1, 480]]).tolist()
    ['sun']
    """
    from sklearn.pipeline import Pipeline

    if isinstance(estimator, (LabelEstimator, TextClassifier)):
        estimator.save(path, keep_state=keep_state, extra=extra)
        return
    if not isinstance(estimator, Pipeline):
        allowed = "an estimator of labeltrees, or a Pipeline that ends in one"
        raise ArgumentError.of("estimator", estimator, allowed)
    name, last = estimator.steps[-1]
    if not isinstance(last, LabelEstimator):
        raise ArgumentError.of(
            f"the step {name!r} of the pipeline", last, "an estimator of labeltrees"
        )
    check_is_fitted(last, "model_")
    if len(estimator.steps) == 1:
        raise ArgumentError.of("estimator", estimator, "a Pipeline of at least two steps")
    before = estimator[:-1]
    save_with_transform(
        last.model_, before, path, keep_state=keep_state, extra=extra, pipeline_step=name
    )


def estimator_of(model: FittedModel | type[FittedModel]) -> type[LabelEstimator]:
    """Return the estimator class of a model, or of the models of a class.

    >>> from labeltrees.models.lom.model import LomTreeModel
    >>> from labeltrees.models.lom.model import LomSettings
    >>> estimator_of(LomTreeModel.empty(LomSettings(), 3)).__name__
    'LOMTreeClassifier'
    """
    kind = (model if isinstance(model, type) else type(model)).__name__
    method = method_of_model(kind)
    if method is None:
        raise ArgumentError.of("model", kind, f"one of {', '.join(model_names())}")
    found: type[LabelEstimator] = method.estimator_class
    return found
