"""The models by name: what a file holds, and what the command line can make.

Modules are imported when a model of theirs is asked for, so that reading one kind of model does not
wait for the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from labeltrees import store
from labeltrees.errors import ModelFormatError

if TYPE_CHECKING:
    import os

    from labeltrees.models.model import FittedModel

__all__ = ["MODELS", "load_model", "model_class", "model_from"]

MODELS = {
    "ConditionalTreeModel": "labeltrees.models.conditional.model",
    "PecocTreeModel": "labeltrees.models.conditional.pecoc",
    "PooledTreesModel": "labeltrees.models.conditional.pool",
    "RefinedTreesModel": "labeltrees.models.conditional.refined",
    "FilterTreeModel": "labeltrees.models.filter.model",
    "LomTreeModel": "labeltrees.models.lom.model",
    "SelfTerminatingTreeModel": "labeltrees.models.self_terminating.model",
    "ExtremeModel": "labeltrees.models.extreme.model",
    "MultiLabelTreeModel": "labeltrees.models.multilabel.model",
    "AdacondModel": "labeltrees.models.boosting.model",
    "OneAgainstAllModel": "labeltrees.models.baselines.one_against_all",
    "FrequencyTableModel": "labeltrees.models.baselines.frequency_table",
    "LeastSquaresModel": "labeltrees.models.baselines.least_squares",
    "LemlModel": "labeltrees.models.baselines.leml",
    "PfastreXmlModel": "labeltrees.models.baselines.pfastrexml",
    "Bm25Model": "labeltrees.models.baselines.bm25",
    "DismecModel": "labeltrees.models.baselines.one_vs_rest",
    "ProxmlModel": "labeltrees.models.baselines.one_vs_rest",
    "RankSvmModel": "labeltrees.models.baselines.rank_svm",
    "XlrModel": "labeltrees.models.baselines.xlr",
}
"""The module of each model's class."""


def model_class(name: Any) -> type[FittedModel]:
    """Return the model class of this name, or raise `ModelFormatError`.

    >>> model_class("LomTreeModel").__name__
    'LomTreeModel'
    """
    if not isinstance(name, str) or name not in MODELS:
        known = ", ".join(MODELS)
        raise ModelFormatError(f"the file holds a {name!r}; this library knows {known}.")
    return cast("type[FittedModel]", getattr(import_module(MODELS[name]), name))


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
        Whether the tensors stay in the file until they are used: loading is fast whatever their
        size, the model's structure is checked but not the tensors' checksums, and the file must
        not be changed in place meanwhile (`save` replaces it, which is safe).

    Returns
    -------
    FittedModel
        Rows to ask about come from its `rows` method.

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
