"""Save and load the transformer in front of a model, in the file of the model.

The arrays of the transformer are tensors whose names begin with ``transform.``. Its facts are the
entry ``transform`` of the description. You can load the model without either of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labeltrees import store
from labeltrees.errors import ArgumentError, ModelFormatError
from labeltrees.models.model import file_parts
from labeltrees.transforms.conversion import check_step_name, from_tensors, to_tensors, width_of

if TYPE_CHECKING:
    import os

    from labeltrees.models.model import FittedModel


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
        raise ModelFormatError(f"the transformer makes {width} features, the model takes {taken}.")
    return transformer


def pipeline_step_of(stored: store.StoredModel) -> str | None:
    """Return the name of the model's step if the file was written from a pipeline."""
    if stored.transform is None or "pipeline_step" not in stored.transform:
        return None
    with file_parts():
        parts = stored.transform["transformer"]["parts"]
        before = [part["name"] for part in parts]
        return check_step_name(stored.transform["pipeline_step"], before)
