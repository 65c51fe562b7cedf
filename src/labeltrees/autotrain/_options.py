"""Choose the method that suits the data, and check its settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from labeltrees import checks
from labeltrees.errors import ArgumentError
from labeltrees.models.registry import methods

if TYPE_CHECKING:
    from collections.abc import Iterable

    from labeltrees.data.chunk import OneLabel
    from labeltrees.data.readers import DataProfile
    from labeltrees.models.method import Method

Effort = Literal["fast", "usual", "best"]
"""How hard to try: one tree, the default, or more trees."""

AUTO_METHODS = ("conditional", "xreg")
"""The methods that `method_for` chooses from."""
AUTO_STREAM_METHODS = ("conditional", "multilabel")
"""The methods that `online_method_for` chooses from."""
_NEEDS_ALL_ROWS = ("huffman", "kmeans", "shuffled")
"""Structures of trees that are built from all rows."""


@dataclass(frozen=True)
class Recipe:
    """A method with its checked settings, and what it learns of rows with several labels."""

    method: Method
    settings: Any
    one_label: OneLabel = "each"
    """What a method of one label per row learns of a row with several."""
    base: Any = None
    """The estimator that the method boosts, if it takes one."""
    seed: int = 0
    facts: dict[str, Any] = field(default_factory=dict, compare=False)
    """What the last training found."""


@dataclass(frozen=True)
class MethodOptions:
    """The settings that a user passed, before the method is chosen.

    Examples
    --------
    >>> options = MethodOptions({"n_trees": 2})
    >>> options.recipe("conditional").settings.n_trees
    2
    >>> options.recipe("lomtree")
    Traceback (most recent call last):
    ...
    labeltrees.errors.ArgumentError: n_trees is not a setting of the method lomtree.
    """

    settings: dict[str, Any] = field(default_factory=dict)
    """Settings of methods by name, and the options in `Method.option_help`."""
    seed: int = 0
    n_jobs: int | None = 1

    @property
    def n_passes(self) -> int:
        """The number of passes over a stream of rows."""
        n = self.settings.get("n_passes", 1)
        return n if isinstance(n, int) else 1

    def check_stream(self) -> None:
        """Raise `ArgumentError` if no model can start without rows."""
        structure = self.settings.get("structure")
        if isinstance(structure, str) and structure in _NEEDS_ALL_ROWS:
            raise ArgumentError(
                f"{structure!r} needs all rows at once. Train without streaming, and continue "
                "with init.",
                argument="structure",
            )

    def recipe(
        self,
        name: str,
        *,
        why: str = "",
        effort: Effort = "usual",
        one_label: OneLabel = "each",
        of_texts: bool = False,
    ) -> Recipe:
        """Return the recipe of a method. Settings that were passed override the effort.

        Parameters
        ----------
        name : str
            The name of the method.
        why : str
            Why it was chosen, if the user did not name it; for errors.
        effort : {"fast", "usual", "best"}
        one_label : {"each", "draw", "first"}
        of_texts : bool
            Whether columns are words, which are not scaled even if they are few.
        """
        method = methods()[name]
        passed = method.settings_from_options(self.settings)
        self._check_names(method, passed, why)
        if effort != "usual" and effort not in method.effort_settings:
            raise ArgumentError(f"is not available for the method {name}.", argument="effort")
        more = {**method.effort_settings.get(effort, {}), **({"scale": None} if of_texts else {})}
        settings = self._checked(method, passed, more)
        base = self._base(method, passed)
        return Recipe(method, settings, one_label, base, self.seed)

    def check_some(self, names: Iterable[str]) -> None:
        """Raise `ArgumentError` unless one of these methods can use all settings passed."""
        errors: list[ArgumentError] = []
        for name in names:
            try:
                self.recipe(name)
            except ArgumentError as error:
                errors.append(error)
            else:
                return
        # A method that has the setting and refuses its value says more than one without it.
        raise next((e for e in errors if e.allowed is not None), errors[0])

    def _check_names(self, method: Method, passed: dict[str, Any], why: str) -> None:
        usable, with_base = method.settable, ""
        if method.takes_base:
            base = bases()[checks.choice("base", passed.get("base", "tree"), list(bases()))]
            usable |= {"base"} | base.settable
            with_base = f" with base={passed['base']!r}" if "base" in passed else ""
        for name in sorted(set(passed) - usable):
            message = f"is not a setting of the method {method.name}{with_base}"
            if why:
                message += f", which was chosen because {why}. Choose another method"
            raise ArgumentError(f"{message}.", argument=name)

    def _base(self, method: Method, passed: dict[str, Any]) -> Any:
        """Return the estimator that is boosted, with its settings among those passed."""
        if not method.takes_base:
            return None
        base = bases()[passed.get("base", "tree")]
        settings = self._checked(base, passed, base.base_settings)
        return base.estimator_class(**{name: getattr(settings, name) for name in settings.names()})

    def _checked(self, method: Method, passed: dict[str, Any], defaults: Any) -> Any:
        values = {**defaults, "random_state": self.seed, "n_jobs": self.n_jobs, **passed}
        own = {name: values[name] for name in method.settable & values.keys()}
        try:
            return method.settings_class(**own)
        except ArgumentError as error:
            if error.argument == "random_state" and "random_state" not in passed:
                raise error.renamed("seed") from None
            raise


def method_for(profile: DataProfile) -> tuple[str, str]:
    """Return the name of the method that suits rows in memory, and why.

    >>> from labeltrees.data.readers import DataProfile
    >>> method_for(DataProfile(n_rows=1000, n_labels=50, is_text=True))
    ('conditional', 'every row has one label')
    """
    if profile.distributions:
        return "conditional", "rows have distributions of labels"
    if profile.graded:
        return "xreg", "labels have grades of relevance"
    if profile.several_labels:
        return "xreg", f"rows have {profile.labels_per_row:.1f} labels on average"
    return "conditional", "every row has one label"


def online_method_for(profile: DataProfile | None) -> tuple[str, str]:
    r"""Return the name of the method that learns the rows of a file one by one, and why.

    The profile is None for Python code. The profile of a pipe describes only the rows that had
    arrived by then.

    >>> import io
    >>> from labeltrees.data.readers import profile_file
    >>> online_method_for(profile_file(io.BytesIO(b"3 1:1\n4,7 2:1\n")))
    ('multilabel', 'rows have several labels')
    """
    if profile is None or not profile.several_labels:
        return "conditional", "every row has one label"
    if profile.distributions:
        return "conditional", "rows have distributions of labels"
    if profile.max_relevance > 1:
        return "conditional", "labels have a relevance above 1"
    return "multilabel", "rows have several labels"


def streaming_methods() -> list[str]:
    """Return the names of the methods that train row by row.

    >>> streaming_methods()[:3]
    ['conditional', 'multilabel', 'lomtree']
    """
    return [name for name, method in methods().items() if method.streams]


def bases() -> dict[str, Method]:
    """Return the methods that can be boosted, by the names that the option ``base`` takes.

    >>> list(bases())
    ['tree', 'self-terminating', 'one-against-all', 'frequency-table']
    """
    return {method.base_name: method for method in methods().values() if method.base_name}
