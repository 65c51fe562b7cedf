"""The methods by name: every registered model that is made of data, and what it takes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from labeltrees.models.registry import MODELS, model_class
from labeltrees.models.settings import ClassifierSettings

if TYPE_CHECKING:
    from labeltrees.models.settings import Settings

__all__ = ["Method", "methods"]

_NAMES = {
    "ConditionalTreeModel": "conditional",
    "LomTreeModel": "lomtree",
    "FilterTreeModel": "filtertree",
    "ExtremeModel": "xreg",
    "SelfTerminatingTreeModel": "self-terminating",
    "PfastreXmlModel": "pfastrexml",
    "MultiLabelTreeModel": "multilabel",
}
"""What is not called as its model."""
_FORMS = frozenset(("PecocTreeModel", "PooledTreesModel", "RefinedTreesModel"))
"""Models that another one's method makes, if its settings say so."""
_STREAM = frozenset(
    ("conditional", "multilabel", "lomtree", "filtertree", "one-against-all", "frequency-table")
)
"""Methods whose models can begin without rows, by ``empty``, and learn them one by one."""
_WORDS = {
    "conditional": "a conditional probability tree",
    "multilabel": "an online tree for rows with many labels",
    "xreg": "extreme regression",
    "lomtree": "a LOMtree",
    "filtertree": "a filter tree",
    "self-terminating": "a self-terminating tree",
    "adacond": "boosting",
    "frequency-table": "a frequency table",
    "one-against-all": "one-against-all",
}


@dataclass(frozen=True)
class Method:
    """A way to make a model of data."""

    name: str
    """As `--model` has it."""
    model: str
    """Its class in the registry; others may share its settings."""

    @property
    def model_class(self) -> Any:
        """The class of its models."""
        return model_class(self.model)

    @property
    def settings_class(self) -> type[Settings]:
        """The class of its settings."""
        return cast("type[Settings]", self.model_class.settings_class)

    @property
    def words(self) -> str:
        """What it is called in a sentence."""
        return _WORDS.get(self.name, self.name.replace("-", " "))

    @property
    def several(self) -> bool:
        """Whether it learns all labels of a row together; others learn rows of one label."""
        return not issubclass(self.settings_class, ClassifierSettings)

    @property
    def streams(self) -> bool:
        """Whether it can begin without rows and learn them one by one."""
        return self.name in _STREAM

    def start(self, settings: Any, n_features: int) -> Any:
        """Return a model that has learned nothing yet; only of methods that stream."""
        if self.name == "conditional":
            from labeltrees.models.conditional.start import start_on_stream

            return start_on_stream(settings, n_features)
        return self.model_class.empty(settings, n_features)


@cache
def methods() -> dict[str, Method]:
    """Return the methods by name, in the order of the registry.

    No model is imported: those of streams need no SciPy, which takes a while to import.

    >>> list(methods())[:3], methods()["xreg"].several, methods()["one-against-all"].streams
    (['conditional', 'filtertree', 'lomtree'], True, True)
    """
    made = [Method(_NAMES.get(model) or _name_of(model), model) for model in MODELS]
    return {method.name: method for method in made if method.model not in _FORMS}


def _name_of(model: str) -> str:
    """Return the name of a method whose models are of this class.

    >>> _name_of("OneAgainstAllModel"), _name_of("Bm25Model")
    ('one-against-all', 'bm25')
    """
    return re.sub(r"(?<!^)(?=[A-Z])", "-", model.removesuffix("Model")).lower()
