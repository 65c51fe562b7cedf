"""The position in a stream, kept in the model's file, so that it can stop and continue."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labeltrees import checks
from labeltrees.errors import ArgumentError
from labeltrees.metrics import ProgressiveValidation

if TYPE_CHECKING:
    from labeltrees.input import Input

_HEAD_BYTES = 2**16


@dataclass
class Position:
    """Rows of a stream that were dealt with, and how well they were predicted."""

    input: dict[str, Any] | None
    """The `fingerprint` of the input, or None if it can only be read once."""
    validation: ProgressiveValidation
    rows: int = 0
    """Number of rows of the input so far, including rows without a label."""
    unlabelled: int = 0
    predictions_bytes: int = 0
    """The size of the file of predictions."""
    saved_rows: int = field(default=-1, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the position as JSON takes it; the same rows give the same position."""
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
        """Return the position in a model's file, or raise `ArgumentError` if it is of other data.

        ``label_sets`` tells whether rows have any number of labels. If an input can only be read
        once, all its rows are new.
        """
        kept = extra.get("stream")
        if not isinstance(kept, dict):
            raise ArgumentError(
                f"--resume: {out} says nothing of a stream; --init {out} goes on from its model."
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
                f"--resume: {out} has learned from another input than {source.path}; "
                f"--init {out} goes on from its model with other data."
            )
        found.input, found.saved_rows = fingerprint(source), found.rows
        return found


def fingerprint(source: Input, like: dict[str, Any] | None = None) -> dict[str, Any] | None:
    """Return a checksum of the beginning of an input, which does not depend on its name.

    It covers as many bytes as ``like`` does, so a file that has grown since is the same.
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
