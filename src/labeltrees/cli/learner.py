"""The options that make a learner, shared by the commands that learn."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labeltrees.data.targets import check_training
from labeltrees.errors import ArgumentError, DataError
from labeltrees.models.conditional import structure as structures
from labeltrees.models.filter.model import FilterTreeModel, tournament_settings
from labeltrees.models.lom.model import LomRegression, LomTreeModel
from labeltrees.models.model import Foreseen
from labeltrees.models.online.settings import OnlineRegression, n_threads_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["Learner", "TrainedModelOption", "with_learner"]


@dataclass(frozen=True)
class _Kind:
    """How to make a model that learns row by row."""

    estimator: str
    settings: Callable[..., Any]
    empty: Callable[[Any, int], Any]
    """Returns a model that has learned nothing yet, of settings and a number of features."""

    def takes(self, option: str) -> bool:
        return option in inspect.signature(self.settings).parameters


def _conditional(settings: OnlineRegression, n_features: int) -> Any:
    return structures.start_on_stream(settings.structure, 2, settings, n_features, None)


_MODELS = {
    "conditional": _Kind("ConditionalTreeClassifier", OnlineRegression, _conditional),
    "lomtree": _Kind("LOMTreeClassifier", LomRegression, LomTreeModel.empty),
    "filtertree": _Kind("FilterTreeClassifier", tournament_settings, FilterTreeModel.empty),
}
_OF_WHOLE_FILES = {"adacond": _MODELS["conditional"], "xreg": _MODELS["conditional"]}
"""What only `train` can make, and the learner that checks the options they share."""

_OWN = "By default the model's own."

TrainedModelOption = Annotated[
    str,
    typer.Option(
        "--model", help=f"{', '.join(_MODELS)}; of the whole file: {', '.join(_OF_WHOLE_FILES)}."
    ),
]


class Learner:
    """A model that learns chunk after chunk.

    It does what the estimators' `progressive_fit` does, without the second that importing
    scikit-learn takes; `estimator` is the same model as an estimator.
    """

    def __init__(self, kind: _Kind, options: dict[str, Any], *, seed: int, n_jobs: int = 1) -> None:
        self._kind = kind
        self._params = options | {"random_state": seed}
        settings = options | {"seed": seed}
        if kind.takes("n_threads"):
            self._params["n_jobs"] = n_jobs
            settings["n_threads"] = n_threads_of(n_jobs)
        if kind.takes("structure") and "structure" in settings:
            settings["structure"] = structures.name_of(settings["structure"])
        self.seed = seed
        self.settings = kind.settings(**settings)
        self.model: Any = None

    @property
    def n_labels(self) -> int:
        """How many labels were seen."""
        return 0 if self.model is None else len(self.model.vocabulary)

    def progressive_fit(
        self, X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None, top: bool = True
    ) -> Foreseen:
        """Learn from rows in their order and return what the model said of each just before."""
        rows, targets, weights = check_training(X, y, sample_weight)
        model = self.model or self._kind.empty(self.settings, rows.n_features)
        if rows.n_features != model.n_features:
            raise DataError(f"X must have {model.n_features} features, got {rows.n_features}.")
        seen: Foreseen = model.learn(rows, targets, weights, foresee_top=top)
        self.model = model
        return seen

    def estimator(self) -> Any:
        """Return the estimator with these options, around what was learned, if anything was."""
        from labeltrees.estimators import class_named  # with scikit-learn, which is slow to import

        made = class_named(self._kind.estimator)(**self._params)
        return made if self.model is None else made.around(self.model)

    def save(self, path: Path, *, keep_state: bool = True, extra: dict[str, Any]) -> None:
        """Write the model to a file that `labeltrees.load` reads."""
        self.estimator().save(path, keep_state=keep_state, extra=extra)


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
    jobs: Annotated[int, typer.Option(help="Threads, -1 for all cores.")] = 1,
    *,
    models: dict[str, _Kind],
) -> Learner:
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
    for name in sorted(given):
        if not models[model].takes(name):
            raise ArgumentError(f"--{name.replace('_', '-')} is no option of --model {model}.")
    return Learner(models[model], given, seed=seed, n_jobs=jobs)  # checks before any work is done


def with_learner(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the learner's options in place of its parameter ``learner``.

    A command with a parameter ``model`` of its own is told the name, which may then also be one of
    a model that needs the whole file.

    >>> import inspect
    >>> @with_learner
    ... def learn(data: str, learner: Learner): ...
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
