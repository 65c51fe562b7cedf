"""Convert fitted transformers of scikit-learn to facts and arrays without code, and back.

A model file holds the transformer in front of its model. The arrays of the transformer are tensors
whose names begin with ``transform.``. Its facts are the entry ``transform`` of the description. You
can load the model without either of them.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from labeltrees import checks, store
from labeltrees.data.rows import MAX_FEATURES
from labeltrees.errors import ArgumentError, ModelFormatError
from labeltrees.models.model import file_parts
from labeltrees.transforms._kinds import KINDS, plain

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from labeltrees.models.model import FittedModel
    from labeltrees.store import Facts, Tensors
    from labeltrees.transforms._kinds import TransformerKind

_MAX_DEPTH = 8
_MAX_PARTS = 100
_COMBINED = {"Pipeline": "steps", "FeatureUnion": "transformer_list"}
_WORDS = {"Pipeline": ("passthrough",), "FeatureUnion": ("drop",)}
"""Words that are allowed in place of a transformer."""


def to_tensors(transformer: Any) -> tuple[Facts, Tensors]:
    """Return a fitted transformer as facts, ready for JSON, and arrays.

    It takes vectorisers, scalers, `TfidfTransformer` and `Normalizer` of scikit-learn, and
    `Pipeline` and `FeatureUnion` of them. Other transformers, and parameters that are callables,
    raise `ArgumentError`. A transformer that is not fitted raises scikit-learn's
    ``NotFittedError``.

    >>> from sklearn.preprocessing import MaxAbsScaler
    >>> facts, tensors = to_tensors(MaxAbsScaler().fit([[1.0], [-4.0]]))
    >>> facts["kind"], tensors["scale"].tolist()
    ('MaxAbsScaler', [4.0])
    """
    return _to_tensors(transformer, 0)


def from_tensors(facts: Any, tensors: Mapping[str, NDArray[Any]]) -> Any:
    """Return the transformer from the results of `to_tensors`, or raise `ModelFormatError`.

    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> again = from_tensors(*to_tensors(CountVectorizer().fit(["good morning"])))
    >>> again.transform(["good good night"]).toarray().tolist()
    [[2, 0]]
    """
    with file_parts():
        return _from_tensors(facts, dict(tensors), 0)


def takes_text(transformer: Any) -> bool:
    """Return whether a transformer makes features from texts.

    >>> from sklearn.preprocessing import Normalizer
    >>> takes_text(Normalizer())
    False
    """
    for _, each in _children(transformer) or ():
        if not isinstance(each, str) and each is not None:
            return takes_text(each)
    name = type(transformer).__name__
    return name in KINDS and KINDS[name].takes_text


def width_of(transformer: Any) -> int | None:
    """Return the number of features that a fitted transformer makes, or None if it is unknown.

    >>> from sklearn.feature_extraction.text import HashingVectorizer
    >>> width_of(HashingVectorizer(n_features=64))
    64
    """
    name = type(transformer).__name__
    if name == "Pipeline":
        widths = [width_of(each) for _, each in transformer.steps]
        return next((width for width in reversed(widths) if width is not None), None)
    if name == "FeatureUnion":
        widths = [width_of(each) for _, each in transformer.transformer_list if each != "drop"]
        return None if None in widths else sum(widths)  # type: ignore[arg-type]
    if hasattr(transformer, "vocabulary_"):
        return len(transformer.vocabulary_)
    if name == "HashingVectorizer":
        return int(transformer.n_features)
    return getattr(transformer, "n_features_in_", None)


def _children(transformer: Any) -> list[tuple[str, Any]] | None:
    attribute = _COMBINED.get(type(transformer).__name__)
    return None if attribute is None else getattr(transformer, attribute)


def _to_tensors(transformer: Any, depth: int) -> tuple[Facts, Tensors]:
    name = type(transformer).__name__
    if _is_exactly(transformer, "sklearn.pipeline", _COMBINED):
        return _combination_to_tensors(transformer, depth)
    if name not in KINDS or not _is_exactly(transformer, KINDS[name].module, KINDS):
        known = ", ".join([*KINDS, *_COMBINED])
        raise ArgumentError(
            f"a {name} cannot be saved without pickle. These can be saved: {known}."
        )
    return _one_to_tensors(transformer, name, KINDS[name])


def _is_exactly(transformer: Any, module: str, names: Mapping[str, Any]) -> bool:
    """Return whether its class is one of scikit-learn, because a subclass may run any code."""
    kind = type(transformer)
    return kind.__name__ in names and getattr(import_module(module), kind.__name__) is kind


def demand_fitted(transformer: Any) -> None:
    """Raise scikit-learn's NotFittedError if a transformer needs fitting and is not fitted."""
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.utils.validation import check_is_fitted

    if not isinstance(
        transformer, HashingVectorizer
    ):  # scikit-learn 1.6 reports that it needs fitting.
        check_is_fitted(transformer)


def _one_to_tensors(transformer: Any, name: str, kind: TransformerKind) -> tuple[Facts, Tensors]:
    demand_fitted(transformer)
    defaults = inspect.signature(type(transformer)).parameters
    params = {}
    try:
        for each, value in transformer.get_params(deep=False).items():
            if each in kind.params:
                params[each] = plain(kind.params[each](each, value))
            elif each not in kind.apart and value != defaults[each].default:
                raise ArgumentError.of(each, value, f"{defaults[each].default!r}")
        facts, tensors = kind.read(transformer)
    except ArgumentError as error:
        raise ArgumentError(f"this {name} cannot be saved without pickle: {error}") from None
    facts |= {"kind": name, "params": params}
    if hasattr(transformer, "n_features_in_"):
        facts["n_features_in"] = int(transformer.n_features_in_)
    if hasattr(transformer, "feature_names_in_"):
        names = transformer.feature_names_in_.tolist()
        tensors = tensors | store.text_tensors("feature_names_in", names)
    return facts, tensors


def _combination_to_tensors(transformer: Any, depth: int) -> tuple[Facts, Tensors]:
    name = type(transformer).__name__
    if depth == _MAX_DEPTH:
        raise ArgumentError(f"a {name} more than {_MAX_DEPTH} deep in others cannot be saved.")
    parts: list[dict[str, Any]] = []
    tensors: Tensors = {}
    for number, (step, each) in enumerate(_children(transformer) or ()):
        if each is None or isinstance(each, str):
            word = checks.choice(f"step {step!r}", each or "passthrough", _WORDS[name])
            parts.append({"name": step, "word": word})
            continue
        facts, own = _to_tensors(each, depth + 1)
        parts.append({"name": step, "transformer": facts})
        tensors |= {f"{number}.{tensor}": array for tensor, array in own.items()}
    if not 1 <= len(parts) <= _MAX_PARTS:
        raise ArgumentError.of(f"the number of steps of a {name}", len(parts), f"1 to {_MAX_PARTS}")
    facts = {"kind": name, "parts": parts}
    weights = getattr(transformer, "transformer_weights", None)
    if weights is not None:
        facts["weights"] = {str(step): float(weight) for step, weight in weights.items()}
    return facts, tensors


def _from_tensors(facts: Any, tensors: Tensors, depth: int) -> Any:
    name = checks.choice("kind", facts["kind"], (*KINDS, *_COMBINED))
    if name in _COMBINED:
        if depth == _MAX_DEPTH:
            raise ModelFormatError(f"the transformers of a file are more than {_MAX_DEPTH} deep.")
        return _combination_from_tensors(name, facts, tensors, depth)
    kind = KINDS[name]
    cls = getattr(import_module(kind.module), name)
    given, known = facts["params"], inspect.signature(cls).parameters
    strange = [each for each in given if each not in kind.params or each not in known]
    if strange:
        raise ModelFormatError(f"a {name} of this scikit-learn has no parameter {strange[0]!r}.")
    transformer = cls(**{each: kind.params[each](each, value) for each, value in given.items()})
    if "n_features_in" in facts or not kind.takes_text:
        width = checks.integer("n_features_in", facts["n_features_in"], 1, MAX_FEATURES)
        transformer.n_features_in_ = width
    if "feature_names_in.ends" in tensors:
        transformer.feature_names_in_ = _feature_names(transformer, tensors)
    kind.restore(transformer, facts, tensors)
    if kind.takes_text:
        transformer.transform(["a b"])  # scikit-learn makes its own checks here.
    return transformer


def _feature_names(transformer: Any, tensors: Tensors) -> NDArray[Any]:
    import numpy as np

    names = np.array(store.texts(tensors, "feature_names_in"), dtype=object)
    if len(names) != transformer.n_features_in_:
        raise ModelFormatError("the number of feature names differs from the number of features.")
    return names


def _combination_from_tensors(
    name: str, facts: dict[str, Any], tensors: Tensors, depth: int
) -> Any:
    from sklearn.pipeline import FeatureUnion, Pipeline

    steps: list[tuple[str, Any]] = []
    if len(facts["parts"]) > _MAX_PARTS:
        raise ModelFormatError(f"a {name} of the file has more than {_MAX_PARTS} steps.")
    for number, part in enumerate(facts["parts"]):
        if "word" in part:
            each: Any = checks.choice("word", part["word"], _WORDS[name])
        else:
            prefix = f"{number}."
            own = {t.removeprefix(prefix): a for t, a in tensors.items() if t.startswith(prefix)}
            each = _from_tensors(part["transformer"], own, depth + 1)
        steps.append((check_step_name(part["name"], [step for step, _ in steps]), each))
    if all(isinstance(each, str) for _, each in steps):
        raise ModelFormatError(f"a {name} of the file has no transformer.")
    if name == "Pipeline":
        combined = Pipeline(steps)
    else:
        weights = facts.get("weights")
        if weights is not None:
            weights = {step: checks.number(step, value, -1e38) for step, value in weights.items()}
        combined = FeatureUnion(steps, transformer_weights=weights)
        combined._validate_transformer_weights()
    _check_fit(combined, name)
    return combined


def check_step_name(name: Any, before: list[str]) -> str:
    """Return the name of a step, or raise `ModelFormatError` if scikit-learn cannot use it."""
    if not isinstance(name, str) or not name or "__" in name or name in before:
        raise ModelFormatError(f"the file names a step {name!r:.60}.")
    return name


def _check_fit(combined: Any, name: str) -> None:
    """Raise `ModelFormatError` unless each step takes the features of the step before it."""
    parts = [each for _, each in _children(combined) or () if not isinstance(each, str)]
    texts = [takes_text(each) for each in parts]
    if name == "FeatureUnion":
        if len(set(texts)) > 1:
            raise ModelFormatError("a FeatureUnion of the file takes both texts and numbers.")
        return
    if any(texts[1:]):
        raise ModelFormatError(
            "a Pipeline of the file makes numbers, but its next step takes texts."
        )
    for before, after in pairwise(parts):
        width, taken = width_of(before), input_width(after)
        if width != taken and None not in (width, taken):
            raise ModelFormatError(
                f"a Pipeline of the file makes {width} features, but its next step takes {taken}."
            )


def input_width(transformer: Any) -> int | None:
    """Return the number of features that a transformer takes, or None for texts or any number."""
    parts = [each for _, each in _children(transformer) or () if not isinstance(each, str)]
    if parts:
        return next((w for w in map(input_width, parts) if w is not None), None)
    return None if takes_text(transformer) else getattr(transformer, "n_features_in_", None)


def save_with_transform(
    model: FittedModel,
    transform: Any,
    path: str | os.PathLike[str],
    *,
    keep_state: bool = True,
    extra: dict[str, Any] | None = None,
    pipeline_step: str | None = None,
) -> None:
    """Write a model and the fitted transformer that makes its features to one file.

    Parameters
    ----------
    model : FittedModel
    transform : fitted transformer of scikit-learn, or None for the model alone
        A transformer that `to_tensors` takes. Another one raises `ArgumentError`, and no file is
        written.
    path : path
        The file, which is replaced as a whole or not at all.
    keep_state : bool, default True
        Whether to keep the state that only training needs. The transformer is always kept.
    extra : dict, optional
        Values for JSON that are kept with the model.
    pipeline_step : str, optional
        The name of the model's step if `labeltrees.load` should return a scikit-learn pipeline.

    Examples
    --------
    >>> from labeltrees import ConditionalTreeClassifier, load
    >>> from labeltrees.transforms import default_text_features
    >>> texts, words = ["light", "drops"] * 20, default_text_features()
    >>> tree = ConditionalTreeClassifier().fit(words.fit_transform(texts), ["sun", "rain"] * 20)
    >>> save_with_transform(tree.model_, words, "weather.safetensors")
    >>> load("weather.safetensors").predict(["drops and drops"]).tolist()
    ['rain']
    """
    stored = model.stored(keep_state=keep_state, extra=extra)
    if transform is not None:
        facts, tensors = to_tensors(transform)
        width = width_of(transform)
        if width not in (None, model.n_features):
            allowed = f"one that makes the model's {model.n_features} features"
            raise ArgumentError.of("transform", f"one that makes {width}", allowed)
        own = {f"{store.TRANSFORM}{name}": array for name, array in tensors.items()}
        about: dict[str, Any] = {"transformer": facts}
        if pipeline_step is not None:
            about["pipeline_step"] = pipeline_step
        stored = replace(stored, tensors=stored.tensors | own, transform=about)
    store.write(path, stored)


def transform_of(stored: store.StoredModel) -> Any:
    """Return the fitted transformer of a file, or None if the file has no transformer.

    Raises `ModelFormatError` if it is damaged or forged, or does not fit the model.

    >>> transform_of(store.StoredModel("LomTreeModel", {}, {})) is None
    True
    """
    if stored.transform is None:
        return None
    prefix = store.TRANSFORM
    tensors = {
        name.removeprefix(prefix): array
        for name, array in stored.tensors.items()
        if name.startswith(prefix)
    }
    with file_parts():
        transformer = from_tensors(stored.transform["transformer"], tensors)
        width, taken = width_of(transformer), stored.facts["n_features"]
    if width not in (None, taken):
        raise ModelFormatError(
            f"the transformer makes {width} features, but the model takes {taken}."
        )
    return transformer


def pipeline_step_of(stored: store.StoredModel) -> str | None:
    """Return the name of the model's step if the file was written from a pipeline."""
    if stored.transform is None or "pipeline_step" not in stored.transform:
        return None
    with file_parts():
        parts = stored.transform["transformer"]["parts"]
        before = [part["name"] for part in parts]
        return check_step_name(stored.transform["pipeline_step"], before)
