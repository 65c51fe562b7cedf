"""The record of a method, which describes it without importing its model.

A folder of `labeltrees.models` lists its records as ``METHODS`` in its ``__init__.py``, and
`labeltrees.models.registry` finds them there. Classes are named as "module:class" and imported on
first use, so that reading one kind of model does not wait for the others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from labeltrees.data.chunk import Chunk
    from labeltrees.data.rows import Rows
    from labeltrees.models.model import FittedModel
    from labeltrees.models.settings import Settings


@dataclass(frozen=True, kw_only=True, eq=False)
class Method:
    """One way to train a model.

    A subclass overrides what its method does in its own way.

    Examples
    --------
    >>> from labeltrees.models.registry import methods
    >>> methods()["lomtree"].model_class.__name__, methods()["lomtree"].description
    ('LomTreeModel', 'a LOMtree')
    """

    name: str
    """The name by which users choose it."""
    description: str
    """A noun phrase for reports."""
    models: tuple[str, ...]
    """The classes of its models as "module:class", the usual one first; they share settings."""
    estimator: str
    """The class of its estimator as "module:class"."""
    several_labels: bool = False
    """Whether it trains on all labels of a row together; others train on one label per row."""
    streams: bool = False
    """Whether its models can start without rows and be updated row by row."""
    is_baseline: bool = False
    """Whether it is here for comparison."""
    effort_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Settings of the efforts "fast" and "best", where it has these."""
    variants: tuple[Mapping[str, Any], ...] = ()
    """Settings that are compared with the default ones where rows have several labels."""
    fixed_settings: frozenset[str] = frozenset()
    """Settings that `labeltrees.train` does not take."""
    option_help: Mapping[str, str] = field(default_factory=dict)
    """The help of options that are not settings. `settings_from_options` reads their values."""
    text_features: str = "tfidf"
    """The features that suit it where rows are texts: "tfidf" or "counts"."""
    trains_from_files: bool = False
    """Whether it can train on rows that are kept in files (`Method.fit_chunk`)."""
    base_name: str = ""
    """What boosting calls it as a base; "" where it cannot be boosted."""
    base_settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings that suit a base, since there are many rounds."""
    takes_base: bool = False
    """Whether its estimator boosts another one, its parameter ``base``."""

    @property
    def model_names(self) -> tuple[str, ...]:
        """The names of its models' classes, which files have."""
        return tuple(path.partition(":")[2] for path in self.models)

    @property
    def model_class(self) -> Any:
        """The usual class of its models."""
        return _imported(self.models[0])

    def model_class_named(self, name: str) -> Any:
        """Return the class of its models with this name."""
        return _imported(self.models[self.model_names.index(name)])

    @property
    def settings_class(self) -> type[Settings]:
        """The class of its settings."""
        found: type[Settings] = self.model_class.settings_class
        return found

    @property
    def settable(self) -> frozenset[str]:
        """The names of the settings that `labeltrees.train` takes."""
        return frozenset(self.settings_class.names()) - self.fixed_settings

    @property
    def estimator_class(self) -> Any:
        """The class of its estimator."""
        return _imported(self.estimator)

    def start(self, settings: Any, n_features: int) -> Any:
        """Return a model without rows, which is to be updated row by row."""
        return self.model_class.empty(settings, n_features)

    def start_on_rows(
        self, settings: Any, rows: Rows, labels: NDArray[Any], weights: NDArray[Any]
    ) -> Any:
        """Return a model without rows that suits these rows, which it is to be trained on."""
        from labeltrees.data.targets import learned_labels

        known = learned_labels(labels, weights)
        return self.model_class.over(settings, rows.n_features, known)

    def fit_chunk(self, settings: Any, data: Chunk, folder: Path | None) -> FittedModel:
        """Return a model of all rows of a chunk; only of a method that trains from files."""
        raise NotImplementedError(self.name)

    def settings_from_options(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return options as settings. An option in `option_help` may stand for several of them."""
        return options

    def describe(self, model: Any) -> str:  # noqa: ARG002
        """Return a noun phrase for a model that this method made."""
        return self.description

    def facts_of_fit(self, estimator: Any) -> dict[str, Any]:  # noqa: ARG002
        """Return what a fitted estimator knows of its training, for the report."""
        return {}


def _imported(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
