"""The state of a stream, which is the model that is updated and the position in the rows."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from labeltrees import checks
from labeltrees.autotrain._options import (
    AUTO_STREAM_METHODS,
    online_method_for,
    streaming_methods,
)
from labeltrees.cli.method_options import option_of, size_in_bytes
from labeltrees.cli.reading_options import open_model
from labeltrees.errors import ArgumentError
from labeltrees.metrics import ProgressiveValidation
from labeltrees.models.capabilities import Updates, can
from labeltrees.models.registry import methods

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from labeltrees.autotrain._options import MethodOptions
    from labeltrees.input import Input
    from labeltrees.models.model import FittedModel
    from labeltrees.store import StoredModel

_HEAD_BYTES = 2**16
"""Number of bytes of the input that its fingerprint covers."""


@dataclass(frozen=True)
class Learner:
    """A saved model that continues learning, or the method of a new one."""

    name: str
    """The class of the model, or the option that names the method."""
    model_class: Any
    settings: Any
    start: Callable[[int], Any]
    """Return a model for rows with the given number of features."""
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, opened: Any, model: str, options: MethodOptions, source: Input, one_label: str | None
    ) -> Learner:
        """Return the learner of the rows of a source. ``one_label`` is the option `--labels`."""
        if opened is not None:
            name = type(opened).__name__
            found = cls(name, type(opened), opened.settings, lambda _: opened)
        else:
            found = cls._new(model, options, source, one_label)
        if one_label is not None and found.model_class.takes_label_sets:
            raise ArgumentError(
                f"--labels {one_label} is for models of one label per row, but {found.name} learns "
                "all labels of a row together. Remove --labels."
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
                    f"{why.capitalize()}, so --model multilabel was chosen, which learns them "
                    "together. Use --labels each to learn them one by one.",
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
        raise ArgumentError(f"--forget is not an option of --model {model}. Remove it.")
    options.check_stream()
    return options


def opened_model(path: Path, model: str, options: MethodOptions) -> tuple[FittedModel, StoredModel]:
    """Return a model that can continue learning, and its whole file."""
    stored, opened = open_model(path)
    if not can(opened, Updates):
        raise ArgumentError(f"{path} has a {stored.model}, which cannot learn row by row.")
    if opened.frozen:
        raise ArgumentError(
            f"{path} was saved with --no-keep-state, so it cannot continue learning."
        )
    if model != "auto" and methods()[model].settings_class is not opened.settings_class:
        raise ArgumentError(
            f"--model {model} is for new models, but {path} has a {stored.model}. Remove --model."
        )
    own = opened.settings.to_dict()
    for name, value in options.settings.items():
        if name not in own or own[name] != value:
            option = option_of(name)
            has = f"has {own[name]!r}" if name in own else "has no such setting"
            raise ArgumentError(
                f"{option} is a setting of new models, but the model in {path} {has}. "
                f"Remove {option}."
            )
    return opened, stored


@dataclass
class Position:
    """The number of processed rows of a stream, and the scores of their predictions."""

    input: dict[str, Any] | None
    """The `fingerprint` of the input, or None if the input can be read only once."""
    validation: ProgressiveValidation
    rows: int = 0
    """Number of processed rows of the input, including rows without a label."""
    unlabelled: int = 0
    predictions_bytes: int = 0
    """The size of the file of predictions."""
    saved_rows: int = field(default=-1, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the position ready for JSON. The same rows give the same position."""
        return {
            "input": self.input,
            "rows": self.rows,
            "unlabelled": self.unlabelled,
            "predictions_bytes": self.predictions_bytes,
            "validation": self.validation.state(),
        }

    @classmethod
    def resumed(
        cls, extra: dict[str, Any], source: Input, out: str, *, label_sets: bool
    ) -> Position:
        """Return the position in a model file, or raise `ArgumentError` for another input.

        ``label_sets`` is whether rows have any number of labels. If an input can be read only once,
        all its rows are new.
        """
        kept = extra.get("stream")
        if not isinstance(kept, dict):
            raise ArgumentError(
                f"--resume: {out} was not saved by a stream. Use --init {out} to update its model."
            )
        try:
            found = cls(
                kept["input"],
                ProgressiveValidation.from_state(kept["validation"], label_sets=label_sets),
                checks.integer("rows", kept["rows"], 0),
                checks.integer("unlabelled", kept["unlabelled"], 0),
                checks.integer("predictions_bytes", kept["predictions_bytes"], 0),
            )
        except (LookupError, TypeError, ArgumentError) as error:
            raise ArgumentError(f"--resume: the position in {out} is damaged: {error}") from None
        if fingerprint(source, found.input) != found.input:
            raise ArgumentError(
                f"--resume: {out} was trained on another input than {source.path}. Use "
                f"--init {out} to update its model with other data."
            )
        found.input, found.saved_rows = fingerprint(source), found.rows
        return found


def fingerprint(source: Input, like: dict[str, Any] | None = None) -> dict[str, Any] | None:
    """Return a checksum of the beginning of an input, which does not depend on its name.

    It covers as many bytes as ``like``, so that a file that has grown since is the same.
    """
    if source.format == "python":
        return {"folder": source.path, "order": source.order, "seed": source.seed}
    if source.path == "-" or not os.path.isfile(source.path):
        return None
    n_bytes = _HEAD_BYTES
    if isinstance(like, dict) and isinstance(like.get("head_bytes"), int):
        n_bytes = min(n_bytes, max(like["head_bytes"], 0))
    with open(source.path, "rb") as file:
        head = file.read(n_bytes)
    return {"head_bytes": len(head), "sha256": hashlib.sha256(head).hexdigest()}
