"""The options that make a learner, shared by the commands that learn."""

from __future__ import annotations

from typing import Annotated

import typer

from labeltrees.estimators import ConditionalTreeClassifier

__all__ = [
    "AlphaOption",
    "BalanceOption",
    "LossOption",
    "OptimizerOption",
    "RateOption",
    "SeedOption",
    "StructureOption",
    "make_learner",
]

_DEFAULTS = ConditionalTreeClassifier()

StructureOption = Annotated[str, typer.Option(help="online, random or balanced.")]
AlphaOption = Annotated[float, typer.Option(help="Weight of balance for new labels, in [0, 1].")]
BalanceOption = Annotated[str, typer.Option(help="Balance 'examples' or 'labels'.")]
LossOption = Annotated[str, typer.Option(help="logistic or squared.")]
OptimizerOption = Annotated[str, typer.Option(help="adagrad or sgd.")]
RateOption = Annotated[float, typer.Option("--learning-rate", "-l", help="Size of the steps.")]
SeedOption = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]

STRUCTURE: str = _DEFAULTS.structure
ALPHA: float = _DEFAULTS.alpha
BALANCE: str = _DEFAULTS.balance
LOSS: str = _DEFAULTS.loss
OPTIMIZER: str = _DEFAULTS.optimizer
RATE: float = _DEFAULTS.learning_rate


def make_learner(
    *,
    structure: str,
    alpha: float,
    balance: str,
    loss: str,
    optimizer: str,
    learning_rate: float,
    seed: int,
) -> ConditionalTreeClassifier:
    """Return the learner that a command's options describe; refuse bad ones before any work."""
    learner = ConditionalTreeClassifier(
        structure=structure,
        alpha=alpha,
        balance=balance,
        loss=loss,
        optimizer=optimizer,
        learning_rate=learning_rate,
        random_state=seed,
    )
    learner.check_parameters()
    return learner
