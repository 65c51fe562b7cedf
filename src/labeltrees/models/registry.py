"""The methods of the library, and the models that files hold, by name.

Records of methods are light; a model's module is imported when a model of its class is needed.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from labeltrees import store
from labeltrees.errors import ArgumentError, ModelFormatError

if TYPE_CHECKING:
    import os

    from labeltrees.models.method import Method
    from labeltrees.models.model import FittedModel

_FOLDERS = (
    "conditional",
    "multilabel",
    "lom",
    "filter",
    "extreme",
    "boosting",
    "self_terminating",
    "baselines",
)
"""The folders of `labeltrees.models` that have ``METHODS``, in the order of the help."""


@cache
def methods() -> dict[str, Method]:
    """Return the methods by name, the best known first. No model is imported.

    >>> list(methods())[:3], methods()["xreg"].several_labels, methods()["lomtree"].streams
    (['conditional', 'multilabel', 'lomtree'], True, True)
    """
    folders = [import_module(f"labeltrees.models.{name}") for name in _FOLDERS]
    return {method.name: method for folder in folders for method in folder.METHODS}


def register(method: Method) -> None:
    """Add a method of your own, before a command or a server starts.

    It is an option of `labeltrees train` from then on, and files with its models can be loaded.

    >>> register(methods()["lomtree"])
    Traceback (most recent call last):
    ...
    labeltrees.errors.ArgumentError: method must be a new name, got 'lomtree'.
    """
    if method.name in methods():
        raise ArgumentError.of("method", method.name, "a new name")
    methods()[method.name] = method


def model_names() -> list[str]:
    """Return the class names of all models.

    >>> model_names()[:2]
    ['ConditionalTreeModel', 'PecocTreeModel']
    """
    return [name for method in methods().values() for name in method.model_names]


def method_of_model(name: str) -> Method | None:
    """Return the method that makes models of the class with this name, or None.

    >>> method_of_model("PooledTreesModel").name
    'conditional'
    """
    return next((each for each in methods().values() if name in each.model_names), None)


def model_class(name: Any) -> type[FittedModel]:
    """Return the model class of this name, or raise `ModelFormatError`.

    >>> model_class("LomTreeModel").__name__
    'LomTreeModel'
    """
    method = method_of_model(name) if isinstance(name, str) else None
    if method is None:
        known = ", ".join(model_names())
        raise ModelFormatError(f"the file has a {name!r}, but this library knows {known}.")
    return cast("type[FittedModel]", method.model_class_named(name))


def model_from(stored: store.StoredModel) -> FittedModel:
    """Return the model that a file holds, without the transformer that may be in front of it."""
    return model_class(stored.model).from_tensors(stored.model_tensors(), stored.facts)


def load_model(path: str | os.PathLike[str], *, mapped: bool = False) -> FittedModel:
    """Return the model saved at ``path``, which answers and learns without scikit-learn.

    Parameters
    ----------
    path : path
        A file that `save` of a model or an estimator wrote. A truncated, damaged or foreign file
        raises `ModelFormatError`.
    mapped : bool
        Whether the tensors stay in the file until they are used. Loading is then fast for any size.
        The model's structure is checked, but not the checksums of its tensors. The file must not be
        changed in place meanwhile (`save` replaces it, which is safe).

    Returns
    -------
    FittedModel
        Its `rows` method checks and converts the rows to predict.

    Examples
    --------
    >>> import labeltrees
    >>> tree = labeltrees.ConditionalTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["a", "b"] * 20)
    >>> tree.save("tree.safetensors")
    >>> model = labeltrees.load_model("tree.safetensors")
    >>> model.top_labels(model.rows([[1, 0]]), 1).labels.tolist()
    [['a']]
    """
    return model_from(store.read(path, mapped=mapped))
