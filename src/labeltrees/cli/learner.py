"""The options that make a learner, shared by the commands that learn."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from labeltrees.errors import ArgumentError
from labeltrees.estimators import (
    ConditionalTreeClassifier,
    FilterTreeClassifier,
    LOMTreeClassifier,
    OnlineClassifier,
)

__all__ = ["TrainedModelOption", "with_learner"]

_MODELS: dict[str, type[OnlineClassifier]] = {
    "conditional": ConditionalTreeClassifier,
    "lomtree": LOMTreeClassifier,
    "filtertree": FilterTreeClassifier,
}
_OF_WHOLE_FILES: dict[str, type[OnlineClassifier]] = {
    "adacond": ConditionalTreeClassifier,
    "xreg": ConditionalTreeClassifier,
}
"""What only `train` can make, and the learner that checks the options they share."""

_OWN = "By default the model's own."

TrainedModelOption = Annotated[
    str,
    typer.Option(
        "--model", help=f"{', '.join(_MODELS)}; of the whole file: {', '.join(_OF_WHOLE_FILES)}."
    ),
]


def _learner(
    model: Annotated[str, typer.Option(help=f"{', '.join(_MODELS)}.")] = "conditional",
    structure: Annotated[
        str | None, typer.Option(help=f"online, random or balanced. {_OWN}")
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(help="Weight of balance for new labels, in [0, 1].")
    ] = None,
    balance: Annotated[str | None, typer.Option(help="Balance 'examples' or 'labels'.")] = None,
    max_splits: Annotated[
        int | None, typer.Option(help="Of lomtree: most inner nodes. Grows with the labels.")
    ] = None,
    swap_resistance: Annotated[
        float | None, typer.Option(help="Of lomtree: against recycling leaves, at least 1.")
    ] = None,
    loss: Annotated[
        str | None, typer.Option(help=f"logistic, squared; lomtree: hinge, absolute. {_OWN}")
    ] = None,
    optimizer: Annotated[str | None, typer.Option(help=f"adagrad or sgd. {_OWN}")] = None,
    learning_rate: Annotated[
        float | None, typer.Option("--learning-rate", "-l", help=f"Size of the steps. {_OWN}")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
    *,
    models: dict[str, type[OnlineClassifier]],
) -> OnlineClassifier:
    if model not in models:
        raise ArgumentError.of("--model", model, f"one of {', '.join(models)}")
    given = {
        name: value
        for name, value in (
            ("structure", structure),
            ("alpha", alpha),
            ("balance", balance),
            ("max_splits", max_splits),
            ("swap_resistance", swap_resistance),
            ("loss", loss),
            ("optimizer", optimizer),
            ("learning_rate", learning_rate),
        )
        if value is not None
    }
    learner = models[model](random_state=seed)
    for name in sorted(set(given) - set(learner.get_params())):
        raise ArgumentError(f"--{name.replace('_', '-')} is no option of --model {model}.")
    learner.set_params(**given)
    learner.check_parameters()  # before any work is done
    return learner


def with_learner(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the learner's options in place of its parameter ``learner``.

    A command with a parameter ``model`` of its own is told the name, which may then also be one of
    a model that needs the whole file.

    >>> import inspect
    >>> @with_learner
    ... def learn(data: str, learner: OnlineClassifier): ...
    >>> list(inspect.signature(learn).parameters)[:3]
    ['data', 'model', 'structure']
    """
    options = dict(inspect.signature(_learner, eval_str=True).parameters)
    del options["models"]
    own = inspect.signature(command, eval_str=True)
    models = _MODELS | (_OF_WHOLE_FILES if "model" in own.parameters else {})
    parameters = [p for p in own.parameters.values() if p.name != "learner"]
    parameters += [p for p in options.values() if p.name not in own.parameters]

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        learner = _learner(**{name: arguments[name] for name in options}, models=models)
        command(**{n: a for n, a in arguments.items() if n in own.parameters}, learner=learner)

    named = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    vars(run)["__signature__"] = own.replace(parameters=named)
    run.__annotations__ = {p.name: p.annotation for p in named}
    return run
