"""The options of `--model`: which method, and those of its settings that were given."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labeltrees import checks
from labeltrees.cli.settings_options import PANELS, option_of, options_of, settable, value_of
from labeltrees.errors import ArgumentError
from labeltrees.models.registry import methods

if TYPE_CHECKING:
    from labeltrees.models.method import Method

__all__ = [
    "Chosen",
    "Wanted",
    "as_options",
    "method_names",
    "stream_names",
    "with_options",
    "with_stream_wanted",
    "with_wanted",
]


def method_names() -> list[str]:
    """Return what `train --model` can make, the best known first.

    >>> method_names()[:4]
    ['conditional', 'multilabel', 'lomtree', 'filtertree']
    """
    return list(methods())


def stream_names() -> list[str]:
    """Return what learns row by row.

    >>> stream_names()[:3]
    ['conditional', 'multilabel', 'lomtree']
    """
    return [name for name, method in methods().items() if method.streams]


def bases() -> dict[str, Method]:
    """Return what can be boosted, as `--base` has it.

    >>> list(bases())
    ['tree', 'self-terminating', 'one-against-all', 'frequency-table']
    """
    return {method.base_name: method for method in methods().values() if method.base_name}


@dataclass(frozen=True)
class Chosen:
    """A method, and those of its settings that were given."""

    method: Method
    given: dict[str, Any]
    seed: int
    jobs: int | None

    @property
    def name(self) -> str:
        """The name of the method."""
        return self.method.name

    def settings(self, **more: Any) -> Any:
        """Return the checked settings, with more of them; errors name the options as typed."""
        return self.settings_of(self.method, **more)

    def settings_of(self, method: Method, **more: Any) -> Any:
        """Return the settings of a method that were given, seed and threads included."""
        values = {"random_state": self.seed, "n_jobs": self.jobs} | self.given | more
        own = {name: value for name, value in values.items() if name in settable(method)}
        return as_options(method.settings_class, own)

    @property
    def base(self) -> Method:
        """What a method that takes a base boosts."""
        return bases()[self.given.get("base", "tree")]


class _UnusedOptionError(ArgumentError):
    """An option that the method has no use for."""


@dataclass(frozen=True)
class Wanted:
    """The options of methods that were given, before it is known which method they are for."""

    given: dict[str, Any]
    seed: int
    jobs: int | None

    @property
    def n_passes(self) -> int:
        """How often a stream of rows is learned."""
        n = self.given.get("n_passes", 1)
        return n if isinstance(n, int) else 1

    def check_stream(self) -> None:
        """Raise `ArgumentError` if no model can be made row by row."""
        if (structure := self.given.get("structure")) in ("huffman", "kmeans", "shuffled"):
            raise ArgumentError(
                f"--structure {structure} needs all rows at once: make a model with train, "
                "and go on with --init."
            )

    def of(self, name: str, *, why: str = "") -> Chosen:
        """Return the method with its settings; an option that it does not use is an error.

        ``why`` says why it was chosen, if the user did not name it.
        """
        method = methods()[name]
        given = _preset_as_typed(method, self.given)
        chosen = Chosen(method, given, self.seed, self.jobs)
        usable = settable(method)
        if method.takes_base:
            usable |= {"base"} | settable(chosen.base)
        for parameter in sorted(set(given) - usable):
            base = self.given.get("base")
            with_base = f" with --base {base}" if method.takes_base and base else ""
            message = f"{option_of(parameter)} is not an option of --model {name}{with_base}"
            if why:
                message += f", which was chosen because {why}; say --model to choose another"
            raise _UnusedOptionError(f"{message}.")
        chosen.settings()  # wrong values are refused before any work is done
        if method.takes_base:
            chosen.settings_of(chosen.base)
        return chosen

    def check(self, names: tuple[str, ...]) -> None:
        """Raise `ArgumentError` unless one of these methods can use all the options."""
        refused: list[ArgumentError] = []
        for name in names:
            try:
                self.of(name)
            except ArgumentError as error:
                refused.append(error)
            else:
                return
        # Who has the option and refuses its value knows better than who lacks the option.
        raise next((e for e in refused if not isinstance(e, _UnusedOptionError)), refused[0])


def _preset_as_typed(method: Method, given: dict[str, Any]) -> dict[str, Any]:
    def read(**options: Any) -> dict[str, Any]:
        return method.settings_from_options(options)

    found: dict[str, Any] = as_options(read, given)
    return found


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
        name = error.argument
        if name is None or name not in values:
            raise
        option = f"--{typed[name]}" if typed and name in typed else option_of(name)
        raise error.renamed(option) from None


def _every_method(
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
    jobs: Annotated[int, typer.Option(help="Threads, -1 for all cores.")] = 1,
) -> None:
    """Hold the options of all methods."""


def _more_options() -> dict[str, inspect.Parameter]:
    """Return the options that methods have besides their settings."""
    found = {}
    for method in methods().values():
        for name, text in method.option_help.items():
            panel = PANELS[1].format(method.name)
            info = typer.Option(help=text.format(", ".join(bases())), rich_help_panel=panel)
            found[name] = inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=None,
                annotation=Annotated[str | None, info],
            )
    return found


def _wanted(arguments: dict[str, Any]) -> Wanted:
    """Return what options say; those that were not given are None."""
    values = dict(arguments)
    seed, jobs = values.pop("seed"), values.pop("jobs")
    if values.get("base") is not None:
        checks.choice("--base", values["base"], list(bases()))
    given = {n: value_of(n, value) for n, value in values.items() if value is not None}
    return Wanted(given, seed, jobs)


def with_wanted(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that trains from files the options of all methods, in place of ``wanted``.

    >>> import inspect
    >>> @with_wanted
    ... def learn(data: str, wanted: Wanted): ...
    >>> "n_trees" in inspect.signature(learn).parameters
    True
    """
    holders = (options_of(method_names()), _more_options(), _every_method)
    return with_options(command, holders, "wanted", _wanted)


def with_stream_wanted(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that learns row by row the options of methods that do, as ``wanted``.

    >>> import inspect
    >>> @with_stream_wanted
    ... def learn(data: str, wanted: Wanted): ...
    >>> list(inspect.signature(learn).parameters)[:2]
    ['data', 'optimizer']
    """
    holders = (options_of(stream_names(), stream=True), _every_method)
    return with_options(command, holders, "wanted", _wanted)


def with_options(
    command: Callable[..., None],
    holders: tuple[Callable[..., None] | dict[str, inspect.Parameter], ...],
    place: str,
    read: Callable[[dict[str, Any]], Any],
) -> Callable[..., None]:
    """Return the command with the holders' options; what ``read`` makes of them is ``place``.

    What the command has itself stays its own.
    """
    own = inspect.signature(command, eval_str=True)
    options: dict[str, inspect.Parameter] = {}
    for holder in holders:
        held = holder if isinstance(holder, dict) else _held(holder)
        options |= {n: p for n, p in held.items() if n not in own.parameters and n not in options}
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


def _held(holder: Callable[..., None]) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(holder, eval_str=True).parameters)
