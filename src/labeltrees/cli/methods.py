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
from labeltrees.cli.amounts import size_in_bytes
from labeltrees.errors import ArgumentError

if TYPE_CHECKING:
    from labeltrees.models.settings import Settings

__all__ = [
    "BASES",
    "STREAMS",
    "WHOLE_FILES",
    "Chosen",
    "Method",
    "Wanted",
    "as_options",
    "with_method",
    "with_options",
    "with_wanted",
]


@dataclass(frozen=True)
class Method:
    """How to make a model: where its settings are and, if it learns row by row, how it starts."""

    settings_name: str
    start_name: str | None = None
    """A function of settings and a number of features; None if it needs the whole file."""
    several: bool = False
    """Whether it learns all labels of a row together; others learn rows of one label."""

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
    "xreg": Method("extreme.settings:ExtremeSettings", several=True),
    "adacond": Method("boosting.model:AdacondSettings"),
    "one-against-all": Method("baselines.one_against_all:OneAgainstAllSettings"),
}
"""What only `train` can make."""
BASES = ("tree", "self-terminating", "one-against-all", "frequency-table")
"""What "adacond" can boost."""

_TYPED = {
    "random_state": "seed",
    "n_jobs": "jobs",
    "n_trees": "trees",
    "n_passes": "passes",
    "n_rounds": "rounds",
}
"""Options that are not called as their parameters."""

_OWN = "By default the model's own."


@dataclass(frozen=True)
class Chosen:
    """A method, and those of its settings that were given."""

    name: str
    method: Method
    given: dict[str, Any]
    seed: int
    jobs: int | None

    def check_stream(self) -> None:
        """Raise `ArgumentError` if the model cannot be made row by row."""
        if (structure := self.given.get("structure")) in ("huffman", "kmeans"):
            raise ArgumentError(
                f"--structure {structure} needs all rows at once: make a model with train, "
                "and go on with --init."
            )

    def settings(self, **more: Any) -> Any:
        """Return the checked settings, with more of them; errors name the options as typed."""
        kind = self.method.settings_class
        values = {"random_state": self.seed, "n_jobs": self.jobs} | self.given | more
        known = {name: value for name, value in values.items() if name in kind.names()}
        return as_options(kind, known, _TYPED)


@dataclass(frozen=True)
class Wanted:
    """The options of methods that were given, before it is known which method they are for."""

    given: dict[str, Any]
    seed: int
    jobs: int | None

    def of(self, name: str, *, why: str = "") -> Chosen:
        """Return the method with its settings; an option that it does not use is an error.

        ``why`` says why it was chosen, if the user did not name it.
        """
        method = (STREAMS | WHOLE_FILES)[name]
        usable = set(method.settings_class.names())
        if name == "adacond":
            usable |= {"base"}
            if self.given.get("base", "tree") == "tree":
                usable |= set(STREAMS["conditional"].settings_class.names())
        for option in sorted(set(self.given) - usable):
            typed = _TYPED.get(option, option).replace("_", "-")
            base = self.given.get("base")
            with_base = f" with --base {base}" if name == "adacond" and base else ""
            message = f"--{typed} is not an option of --model {name}{with_base}"
            if why:
                message += f", which was chosen because {why}; say --model to choose another"
            raise ArgumentError(f"{message}.")
        chosen = Chosen(name, method, self.given, self.seed, self.jobs)
        chosen.settings()  # wrong values are refused before any work is done
        return chosen

    def check(self, names: tuple[str, ...]) -> None:
        """Raise `ArgumentError` unless one of these methods can use all the options."""
        refused = None
        for name in names:
            try:
                self.of(name)
            except ArgumentError as error:
                refused = refused or error
            else:
                return
        if refused is not None:
            raise refused


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
            if str(error).startswith((f"{name} must be ", f"{name} is not used by ")):
                option = (typed or {}).get(name, name).replace("_", "-")
                raise ArgumentError(f"--{option}{str(error).removeprefix(name)}") from None
        raise


def _stream_options(
    structure: Annotated[
        str | None,
        typer.Option(
            help=f"online, random or balanced; of a whole file also huffman or kmeans. {_OWN}"
        ),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(help="Weight of balance for new labels, in [0, 1]."),
    ] = None,
    balance: Annotated[
        str | None,
        typer.Option(help="Balance 'examples' or 'labels'."),
    ] = None,
    refine: Annotated[
        int | None,
        typer.Option(help=f"conditional: candidates to refine, 0 for none. {_OWN}"),
    ] = None,
    max_splits: Annotated[
        int | None,
        typer.Option(help="lomtree: most inner nodes. By default grows with labels."),
    ] = None,
    swap_resistance: Annotated[
        float | None,
        typer.Option(help="lomtree: resistance to recycling leaves, at least 1."),
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            help=f"logistic, squared; lomtree: hinge, absolute as well; xreg: logistic, hinge. "
            f"{_OWN}"
        ),
    ] = None,
    optimizer: Annotated[str | None, typer.Option(help=f"adagrad or sgd. {_OWN}")] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option("--learning-rate", "-l", help=f"Size of the steps. {_OWN}"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
    jobs: Annotated[int, typer.Option(help="Threads, -1 for all cores.")] = 1,
) -> None:
    """Hold the options of methods that learn row by row; they are settings of the same name."""


def _file_options(
    trees: Annotated[
        int | None,
        typer.Option(help=f"conditional, xreg: number of trees. {_OWN}"),
    ] = None,
    passes: Annotated[
        int | None,
        typer.Option(help=f"Number of passes over the data. {_OWN}"),
    ] = None,
    cost: Annotated[
        float | None,
        typer.Option(help="xreg: cost of errors. By default 3, lower above 100,000 rows."),
    ] = None,
    relevance: Annotated[
        str | None,
        typer.Option(help="xreg: 'propensity' gives rare labels more weight."),
    ] = None,
    tail: Annotated[
        str | None,
        typer.Option(help="xreg: rank with the tail classifier 'xreg' or 'pfastrexml'."),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(help=f"adacond: {', '.join(BASES)}."),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(help="adacond: how many rounds at most."),
    ] = None,
    eta: Annotated[
        str | None,
        typer.Option(help="adacond: the error a row may have, in (0, 1), 'auto' or 'median'."),
    ] = None,
    max_memory: Annotated[
        str | None,
        typer.Option(help="conditional, xreg: keep within this size, such as 500MB or 2GB."),
    ] = None,
) -> None:
    """Hold the options of methods that only `train` has."""


_PARAMETERS = {
    "trees": "n_trees",
    "passes": "n_passes",
    "rounds": "n_rounds",
}
"""Parameters that are not called as their options."""


def _wanted(arguments: dict[str, Any]) -> Wanted:
    """Return what options say; those that were not given are None."""
    values = dict(arguments)
    seed, jobs = values.pop("seed"), values.pop("jobs")
    given = {_PARAMETERS.get(n, n): value for n, value in values.items() if value is not None}
    if "eta" in given:
        given["eta"] = _number(given["eta"])
    if "max_memory" in given:
        given["max_memory"] = size_in_bytes("--max-memory", given["max_memory"])
    if "base" in given:
        checks.choice("--base", given["base"], BASES)
    return Wanted(given, seed, jobs)


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def with_method(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that learns row by row the methods' options, in place of ``chosen``.

    >>> import inspect
    >>> @with_method
    ... def learn(data: str, chosen: Chosen): ...
    >>> list(inspect.signature(learn).parameters)[:3]
    ['data', 'model', 'structure']
    """

    def model(
        model: Annotated[str, typer.Option(help=f"{', '.join(STREAMS)}.")] = "conditional",
    ) -> None: ...

    def chosen(arguments: dict[str, Any]) -> Chosen:
        name = checks.choice("--model", arguments.pop("model"), STREAMS)
        return _wanted(arguments).of(name)

    return with_options(command, (model, _stream_options), "chosen", chosen)


def with_wanted(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that trains from files the options of all methods, in place of ``wanted``.

    >>> import inspect
    >>> @with_wanted
    ... def learn(data: str, wanted: Wanted): ...
    >>> "trees" in inspect.signature(learn).parameters
    True
    """
    return with_options(command, (_file_options, _stream_options), "wanted", _wanted)


def with_options(
    command: Callable[..., None],
    holders: tuple[Callable[..., None], ...],
    place: str,
    read: Callable[[dict[str, Any]], Any],
) -> Callable[..., None]:
    """Return the command with the holders' options; what ``read`` makes of them is ``place``."""
    options = {
        name: parameter
        for holder in holders
        for name, parameter in inspect.signature(holder, eval_str=True).parameters.items()
    }
    own = inspect.signature(command, eval_str=True)
    parameters = [p for p in own.parameters.values() if p.name != place]
    parameters += list(options.values())

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        read_of = read({name: arguments.pop(name) for name in options})
        command(**arguments, **{place: read_of})

    named = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    vars(run)["__signature__"] = own.replace(parameters=named)
    run.__annotations__ = {p.name: p.annotation for p in named}
    return run
