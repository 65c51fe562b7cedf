"""The settings of methods as options, with help from the docstrings of estimators."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import fields
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labeltrees.autotrain._options import MethodOptions, bases, streaming_methods
from labeltrees.checks import Flag
from labeltrees.errors import ArgumentError
from labeltrees.models.registry import methods

if TYPE_CHECKING:
    from collections.abc import Iterable

    from labeltrees.models.method import Method

_TYPED = {
    "random_state": "seed",
    "n_jobs": "jobs",
    "n_trees": "trees",
    "n_passes": "passes",
    "n_rounds": "rounds",
}
"""The names of options that differ from their parameters."""
_NOT_OPTIONS = frozenset(("random_state", "n_jobs", "verbose", "warm_start"))
"""Parameters that are not options of this table."""
_WHOLE_FILE = frozenset(("n_passes", "n_trees", "shuffle", "class_weight"))
"""Parameters that only apply to whole files."""
_SHORT = {"learning_rate": "-l"}
_OWN_HELP = {
    "class_weight": "'balanced' gives every label the same total weight. By default it is none.",
    "max_memory": "Keep the weights within this size, such as 500MB or 2GB ({}).",
    "penalty": (
        "'auto', a number >= 0, or one for each depth, separated by commas. A branch that differs "
        "from its parent by no more than the penalty terminates."
    ),
}
"""Help for options whose values differ from those in Python."""
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*([a-z]*)\s*", re.IGNORECASE | re.ASCII)
"""A number with a unit, such as 500MB or 30s."""
PANELS = ("Settings of several models", "Settings of --model {}")


def option_of(parameter: str) -> str:
    """Return a parameter's option as it is typed.

    >>> option_of("learning_rate"), option_of("n_trees")
    ('--learning-rate', '--trees')
    """
    return "--" + _TYPED.get(parameter, parameter).replace("_", "-")


def options_of(names: Iterable[str], *, stream: bool = False) -> dict[str, inspect.Parameter]:
    """Return the options of all settings of these methods, by the name of the setting.

    ``stream`` leaves out settings that need a whole file. Values are text, which `value_of` reads.
    """
    found: dict[str, inspect.Parameter] = {}
    known = list(names)
    for name in known:
        method = methods()[name]
        for each in fields(method.settings_class):
            left_out = each.name in _NOT_OPTIONS or each.name not in method.settable
            if left_out or each.name in found or (stream and each.name in _WHOLE_FILE):
                continue
            is_flag = isinstance(each.metadata["check"], Flag)
            option = option_of(each.name)
            declared = [f"{option}/--no-{option[2:]}" if is_flag else option]
            if each.name in _SHORT:
                declared.append(_SHORT[each.name])
            shown: dict[str, Any] = {} if is_flag else {"metavar": "VALUE"}
            shown["rich_help_panel"] = panel_of(each.name, known)
            kind: Any = bool | None if is_flag else str | None
            found[each.name] = inspect.Parameter(
                each.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=None,
                annotation=Annotated[kind, typer.Option(*declared, **shown)],
            )
    return found


def size_in_bytes(option: str, text: str) -> int:
    """Return the bytes that a size such as 500MB, 2G or 1.5GiB stands for.

    >>> size_in_bytes("--max-memory", "1.5GiB"), size_in_bytes("--max-memory", "500mb")
    (1610612736, 500000000)
    """
    found = AMOUNT.fullmatch(text)
    unit = found[2].lower().removesuffix("b") if found else ""
    if found is None or unit not in _UNITS | _BINARY:
        raise ArgumentError.of(option, text, "a size such as 500MB, 2GB or 1.5GiB")
    return int(float(found[1]) * (_UNITS | _BINARY)[unit])


def value_of(parameter: str, value: str | bool) -> Any:
    """Return the value of a parameter that was typed. It is checked later.

    >>> [value_of("x", text) for text in ("3", "0.5", "auto", "none", "1,2.5")]
    [3, 0.5, 'auto', None, [1.0, 2.5]]
    >>> value_of("max_memory", "2kB")
    2000
    """
    if isinstance(value, bool):
        return value
    if parameter == "max_memory":
        return size_in_bytes("--max-memory", value)
    if value == "none":
        return None
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    try:
        return [float(each) for each in value.split(",")]
    except ValueError:
        return value


def panel_of(parameter: str, names: Iterable[str]) -> str | None:
    """Return the title under which help shows a setting, or None if no method has it.

    >>> panel_of("loss", ["conditional", "lomtree"]), panel_of("alpha", ["conditional", "lomtree"])
    ('Settings of several models', 'Settings of --model conditional')
    """
    users = _users(parameter, names)
    if not users:
        return None
    return PANELS[0] if len(users) > 1 else PANELS[1].format(users[0].name)


def settings_help(parameter: str, names: Iterable[str]) -> str:
    """Return the methods, range and meaning of a parameter, from the docstrings of estimators.

    >>> print(settings_help("alpha", ["conditional", "lomtree"]))
    Float in [0, 1], default 0.6. Weight of balance against ...
    """
    users = _users(parameter, names)
    if parameter in _OWN_HELP:
        return _OWN_HELP[parameter].format(", ".join(method.name for method in users))
    documented = [(method, *_documented(method, parameter)) for method in users]
    by_range = [
        (allowed, [method.name for method, _, _ in same])
        for allowed, same in groupby(
            sorted(documented, key=lambda each: each[1]), lambda each: each[1]
        )
    ]
    meaning = next((text for _, _, text in documented if text), "")
    if len(by_range) == 1:
        ranges, who = by_range[0]
        shared = f" ({', '.join(who)})" if len(users) > 1 else ""
        return f"{ranges[:1].upper()}{ranges[1:]}{shared}. {meaning}".strip()
    ranges = "; ".join(f"{', '.join(who)}: {allowed}" for allowed, who in by_range)
    return f"{meaning} {ranges[:1].upper()}{ranges[1:]}.".strip()


def _users(parameter: str, names: Iterable[str]) -> list[Method]:
    all_methods = methods()
    return [
        all_methods[name]
        for name in names
        if parameter in all_methods[name].settable and parameter not in _NOT_OPTIONS
    ]


def _documented(method: Method, parameter: str) -> tuple[str, str]:
    """Return the range and the first sentence of a parameter in its estimator's docstring."""
    text = inspect.getdoc(method.estimator_class) or ""
    found = re.search(
        rf"^(?:\w+, )*{parameter}(?:, \w+)* : (.+)\n((?:    .*\n?|\n)+)", text, re.MULTILINE
    )
    if found is None:
        return f"default {getattr(method.settings_class, parameter)!r}", ""
    said = " ".join(found[2].split()).replace("``", "").replace("`", "")
    first = re.match(r"(.+?[.])(?= [A-Z\"]|$)", said)
    return found[1], first[1] if first else said


def _every_method(
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")] = 0,
    n_jobs: Annotated[
        int, typer.Option("--jobs", help="Number of threads, or -1 for all cores.")
    ] = 1,
) -> None:
    """Hold the options of all methods."""


def _more_options() -> dict[str, inspect.Parameter]:
    """Return the options of methods that are not settings."""
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


def _options(arguments: dict[str, Any]) -> MethodOptions:
    """Return the options that were passed; the others are None."""
    values = dict(arguments)
    seed, n_jobs = values.pop("seed"), values.pop("n_jobs")
    passed = {n: value_of(n, value) for n, value in values.items() if value is not None}
    return MethodOptions(passed, seed, n_jobs)


def with_method_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that trains from files the options of all methods, as ``options``.

    >>> import inspect
    >>> @with_method_options
    ... def train(data: str, options: MethodOptions): ...
    >>> "n_trees" in inspect.signature(train).parameters
    True
    """
    holders = (options_of(methods()), _more_options(), _every_method)
    return with_options(command, holders, "options", _options)


def with_stream_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that learns row by row the options of methods that do, as ``options``.

    >>> import inspect
    >>> @with_stream_options
    ... def stream(data: str, options: MethodOptions): ...
    >>> list(inspect.signature(stream).parameters)[:2]
    ['data', 'optimizer']
    """
    holders = (options_of(streaming_methods(), stream=True), _every_method)
    return with_options(command, holders, "options", _options)


def with_options(
    command: Callable[..., None],
    holders: tuple[Callable[..., None] | dict[str, inspect.Parameter], ...],
    place: str,
    read: Callable[[dict[str, Any]], Any],
) -> Callable[..., None]:
    """Return the command with the options of the holders.

    ``read`` combines their values into the argument ``place``. Options of the command itself stay.
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
