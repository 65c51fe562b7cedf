"""The options that make a learner, shared by the commands that learn."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from labeltrees.estimators import ConditionalTreeClassifier

__all__ = ["with_learner"]

_DEFAULTS = ConditionalTreeClassifier()


def _learner(
    structure: Annotated[
        str, typer.Option(help="online, random or balanced.")
    ] = _DEFAULTS.structure,
    alpha: Annotated[
        float, typer.Option(help="Weight of balance for new labels, in [0, 1].")
    ] = _DEFAULTS.alpha,
    balance: Annotated[
        str, typer.Option(help="Balance 'examples' or 'labels'.")
    ] = _DEFAULTS.balance,
    loss: Annotated[str, typer.Option(help="logistic or squared.")] = _DEFAULTS.loss,
    optimizer: Annotated[str, typer.Option(help="adagrad or sgd.")] = _DEFAULTS.optimizer,
    learning_rate: Annotated[
        float, typer.Option("--learning-rate", "-l", help="Size of the steps.")
    ] = _DEFAULTS.learning_rate,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
) -> ConditionalTreeClassifier:
    learner = ConditionalTreeClassifier(
        structure=structure,
        alpha=alpha,
        balance=balance,
        loss=loss,
        optimizer=optimizer,
        learning_rate=learning_rate,
        random_state=seed,
    )
    learner.check_parameters()  # before any work is done
    return learner


def with_learner(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the learner's options in place of its parameter ``learner``.

    >>> import inspect
    >>> @with_learner
    ... def learn(data: str, learner: ConditionalTreeClassifier): ...
    >>> list(inspect.signature(learn).parameters)[:3]
    ['data', 'structure', 'alpha']
    """
    options = inspect.signature(_learner, eval_str=True).parameters
    own = inspect.signature(command, eval_str=True)
    parameters = [p for p in own.parameters.values() if p.name != "learner"]
    parameters += options.values()

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        chosen = {name: arguments.pop(name) for name in options}
        command(**arguments, learner=_learner(**chosen))

    named = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    vars(run)["__signature__"] = own.replace(parameters=named)
    run.__annotations__ = {p.name: p.annotation for p in named}
    return run
