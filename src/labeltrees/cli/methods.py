"""The methods that `--model` names, and the options that are their settings."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labeltrees import checks
from labeltrees.errors import ArgumentError

if TYPE_CHECKING:
    from labeltrees.models.settings import Settings

__all__ = ["Method", "TrainedModelOption", "as_options", "with_method"]


@dataclass(frozen=True)
class Method:
    """How to make a model: where its settings are and, if it learns row by row, how it starts."""

    settings_name: str
    start_name: str | None = None
    """A function of settings and a number of features; None if it needs the whole file."""

    @property
    def settings_class(self) -> type[Settings]:
        """The class of its settings, which are its options."""
        found: type[Settings] = _named(self.settings_name)
        return found

    def start(self, settings: Any, n_features: int) -> Any:
        """Return a model that has learned nothing yet."""
        assert self.start_name is not None
        return _named(self.start_name)(settings, n_features)


def _named(path: str) -> Any:
    module, *names = path.split(":")
    found = import_module(f"labeltrees.models.{module}")
    for name in names:
        found = getattr(found, name)
    return found


STREAMS = {
    "conditional": Method(
        "conditional.settings:ConditionalSettings", "conditional.start:start_on_stream"
    ),
    "lomtree": Method("lom.settings:LomSettings", "lom.model:LomTreeModel:empty"),
    "filtertree": Method("filter.settings:FilterSettings", "filter.model:FilterTreeModel:empty"),
}
"""What learns row by row, at constant memory."""
WHOLE_FILES = {
    "xreg": Method("extreme.settings:ExtremeSettings"),
    "adacond": Method("boosting.model:AdacondSettings"),
}
"""What only `train` can make."""

_TYPED = {"random_state": "seed", "n_jobs": "jobs", "n_trees": "trees"}
"""Options that are not called as their parameters."""

_OWN = "By default the model's own."

TrainedModelOption = Annotated[
    str,
    typer.Option(
        "--model", help=f"{', '.join(STREAMS)}; from the whole file: {', '.join(WHOLE_FILES)}."
    ),
]


@dataclass(frozen=True)
class Chosen:
    """The method that a command's options name, and those of its settings that were given."""

    name: str
    method: Method
    given: dict[str, Any]
    seed: int
    jobs: int | None

    def settings(self, **more: Any) -> Any:
        """Return the checked settings, with more of them; errors name the options as typed."""
        kind = self.method.settings_class
        values = self.given | {"random_state": self.seed, "n_jobs": self.jobs} | more
        known = {name: value for name, value in values.items() if name in kind.names()}
        return as_options(kind, known, _TYPED)


def as_options(
    kind: Callable[..., Any], values: dict[str, Any], typed: dict[str, str] | None = None
) -> Any:
    """Return ``kind(**values)``; what it says of a parameter is said of the option as typed.

    ``typed`` names the options that are not called as their parameters.

    >>> from labeltrees.models.lom.settings import LomSettings
    >>> as_options(LomSettings, {"learning_rate": -1})
    Traceback (most recent call last):
    ...
    labeltrees.errors.ArgumentError: --learning-rate must be in (0, 1e+06], got -1.
    """
    try:
        return kind(**values)
    except ArgumentError as error:
        for name in values:
            if str(error).startswith(f"{name} must be "):
                option = (typed or {}).get(name, name).replace("_", "-")
                raise ArgumentError(f"--{option}{str(error).removeprefix(name)}") from None
        raise


def _choose(
    model: Annotated[str, typer.Option(help=f"{', '.join(STREAMS)}.")] = "conditional",
    structure: Annotated[
        str | None, typer.Option(help=f"online, random or balanced. {_OWN}")
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(help="Weight of balance for new labels, in [0, 1].")
    ] = None,
    balance: Annotated[str | None, typer.Option(help="Balance 'examples' or 'labels'.")] = None,
    refine: Annotated[
        int | None, typer.Option(help=f"conditional: candidates to refine, 0 for none. {_OWN}")
    ] = None,
    max_splits: Annotated[
        int | None, typer.Option(help="lomtree: most inner nodes. By default grows with labels.")
    ] = None,
    swap_resistance: Annotated[
        float | None, typer.Option(help="lomtree: resistance to recycling leaves, at least 1.")
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(help=f"logistic, squared; lomtree: hinge, absolute as well. {_OWN}"),
    ] = None,
    optimizer: Annotated[str | None, typer.Option(help=f"adagrad or sgd. {_OWN}")] = None,
    learning_rate: Annotated[
        float | None, typer.Option("--learning-rate", "-l", help=f"Size of the steps. {_OWN}")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
    jobs: Annotated[int, typer.Option(help="Threads, -1 for all cores.")] = 1,
    *,
    methods: dict[str, Method],
) -> Chosen:
    checks.choice("--model", model, methods)
    given = {
        name: value
        for name, value in (
            ("structure", structure),
            ("alpha", alpha),
            ("balance", balance),
            ("refine", refine),
            ("max_splits", max_splits),
            ("swap_resistance", swap_resistance),
            ("loss", loss),
            ("optimizer", optimizer),
            ("learning_rate", learning_rate),
        )
        if value is not None
    }
    # What is boosted by default is a conditional tree, to which these options then belong.
    owner = STREAMS["conditional"] if model == "adacond" else methods[model]
    for name in sorted(given):
        if name not in owner.settings_class.names():
            raise ArgumentError(f"--{name.replace('_', '-')} is not an option of --model {model}.")
    chosen = Chosen(model, owner, given, seed, jobs)
    chosen.settings()  # wrong values are refused before any work is done
    return chosen


def with_method(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the methods' options in place of its parameter ``chosen``.

    A command with a parameter ``model`` of its own is told the name, which may then also be one of
    a model that needs the whole file.

    >>> import inspect
    >>> @with_method
    ... def learn(data: str, chosen: Chosen): ...
    >>> list(inspect.signature(learn).parameters)[:3]
    ['data', 'model', 'structure']
    """
    options = dict(inspect.signature(_choose, eval_str=True).parameters)
    del options["methods"]
    own = inspect.signature(command, eval_str=True)
    methods = STREAMS | (WHOLE_FILES if "model" in own.parameters else {})
    parameters = [p for p in own.parameters.values() if p.name != "chosen"]
    parameters += [p for p in options.values() if p.name not in own.parameters]

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        chosen = _choose(**{name: arguments[name] for name in options}, methods=methods)
        command(**{n: a for n, a in arguments.items() if n in own.parameters}, chosen=chosen)

    named = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    vars(run)["__signature__"] = own.replace(parameters=named)
    run.__annotations__ = {p.name: p.annotation for p in named}
    return run
