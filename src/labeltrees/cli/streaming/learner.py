"""The model that `labeltrees stream` updates, which was saved or is new."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from labeltrees import checks
from labeltrees.autotrain.options import (
    AUTO_STREAM_METHODS,
    online_method_for,
    streaming_methods,
)
from labeltrees.cli.method_options import option_of
from labeltrees.cli.opening import open_model
from labeltrees.cli.units import size_in_bytes
from labeltrees.errors import ArgumentError
from labeltrees.models.capabilities import Updates, can
from labeltrees.models.registry import methods

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from labeltrees.autotrain.options import MethodOptions
    from labeltrees.input import Input
    from labeltrees.models.model import FittedModel
    from labeltrees.store import StoredModel


@dataclass(frozen=True)
class Learner:
    """A saved model that continues learning, or the method of a new one."""

    name: str
    """The model's class, or the option that names the method."""
    model_class: Any
    settings: Any
    start: Callable[[int], Any]
    """Return a model for rows with the given number of features."""
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, opened: Any, model: str, options: MethodOptions, source: Input, one_label: str | None
    ) -> Learner:
        """Return the learner for the rows of a source; ``one_label`` is the option `--labels`."""
        if opened is not None:
            name = type(opened).__name__
            found = cls(name, type(opened), opened.settings, lambda _: opened)
        else:
            found = cls._new(model, options, source, one_label)
        if one_label is not None and found.model_class.takes_label_sets:
            raise ArgumentError(
                f"--labels {one_label} is for models of one label per row; {found.name} learns all "
                "labels of a row together."
            )
        return found

    @classmethod
    def _new(
        cls, model: str, options: MethodOptions, source: Input, one_label: str | None
    ) -> Learner:
        name, why = model, ""
        notes: tuple[str, ...] = ()
        if model == "auto":
            name, why = online_method_for(source.profile)
            if one_label is not None:
                name, why = "conditional", f"--labels {one_label} was given"
            elif methods()[name].several_labels:
                notes = (
                    f"{why.capitalize()}, which --model multilabel learns together; "
                    "--labels each learns them one by one.",
                )
        recipe = options.recipe(name, why=why)
        settings, method = recipe.settings, recipe.method
        return cls(
            f"--model {name}",
            method.model_class,
            settings,
            lambda n_features: method.start(settings, n_features),
            notes,
        )


def checked_options(
    options: MethodOptions, model: str, max_memory: str | None, forget: int | None
) -> MethodOptions:
    """Return the options with `--max-memory`, if the method that is named can use them."""
    checks.choice("--model", model, ["auto", *streaming_methods()])
    if max_memory is not None:
        size = size_in_bytes("--max-memory", max_memory)
        options = replace(options, settings=options.settings | {"max_memory": size})
    options.check_some(AUTO_STREAM_METHODS if model == "auto" else (model,))
    if forget is not None and model != "auto" and not methods()[model].model_class.fades:
        raise ArgumentError(f"--forget is not an option of --model {model}.")
    options.check_stream()
    return options


def opened_model(path: Path, model: str, options: MethodOptions) -> tuple[FittedModel, StoredModel]:
    """Return a model that can continue learning, and its whole file."""
    stored, opened = open_model(path)
    if not can(opened, Updates):
        raise ArgumentError(f"{path} holds a {stored.model}, which cannot learn row by row.")
    if opened.frozen:
        raise ArgumentError(f"{path} was saved with --no-keep-state and cannot learn any more.")
    if model != "auto" and methods()[model].settings_class is not opened.settings_class:
        raise ArgumentError(f"--model {model} is for new models; {path} holds a {stored.model}.")
    own = opened.settings.to_dict()
    for name, value in options.settings.items():
        if name not in own or own[name] != value:
            option = option_of(name)
            has = f"has {own[name]!r}" if name in own else "has no such setting"
            raise ArgumentError(f"{option} is a setting of new models; the one in {path} {has}.")
    return opened, stored
