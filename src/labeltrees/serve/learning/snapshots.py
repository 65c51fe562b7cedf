"""Snapshots of a model: files whose names tell how many examples the model had learned."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labeltrees import store
from labeltrees.errors import ModelFormatError
from labeltrees.serve.problems import ServeError

if TYPE_CHECKING:
    from pathlib import Path

    from labeltrees.models.model import FittedModel

__all__ = ["KEPT", "Snapshots"]

KEPT = 2
"""How many snapshots are kept: if the newest is damaged, there is the one before."""

_NAME = re.compile(r"(\d{15})\.safetensors")


class Snapshots:
    """The snapshots of one model, a folder of them.

    A file is written under another name, flushed and renamed, and then the folder is flushed: it
    is there whole, or not at all.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def seqs(self) -> list[int]:
        """Return the numbers of examples of all snapshots, newest first."""
        if not self.folder.is_dir():
            return []
        found = [_NAME.fullmatch(path.name) for path in self.folder.iterdir()]
        return sorted((int(match[1]) for match in found if match), reverse=True)

    def path(self, seq: int) -> Path:
        """Return where the snapshot after ``seq`` examples is."""
        return self.folder / f"{seq:015d}.safetensors"

    def write(self, stored: store.StoredModel, seq: int) -> Path:
        """Write a snapshot, and forget those that are no longer needed."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for left in self.folder.glob(".*.safetensors.*"):  # of a process that was killed
            left.unlink(missing_ok=True)
        store.write(self.path(seq), stored)
        for old in self.seqs()[KEPT:]:
            self.path(old).unlink(missing_ok=True)
        return self.path(seq)

    def newest(self, *, mapped: bool = False) -> tuple[int, store.StoredModel, list[str]]:
        """Return the newest whole snapshot: its number, its content, and what was wrong before.

        Raises `ServeError` if there is none.
        """
        faults: list[str] = []
        for seq in self.seqs():
            try:
                return seq, store.read(self.path(seq), mapped=mapped), faults
            except (ModelFormatError, OSError) as error:
                faults.append(str(error))
        reason = faults[0] if faults else "there is none"
        raise ServeError(f"{self.folder} has no whole snapshot: {reason}.")


def with_transform_of(
    model: FittedModel, base: store.StoredModel, extra: dict[str, Any]
) -> store.StoredModel:
    """Return what is saved of a model, with the transformer of the file that it came from."""
    stored = model.stored(keep_state=not model.frozen, extra=extra)
    own = {name: t for name, t in base.tensors.items() if name.startswith(store.TRANSFORM)}
    return replace(stored, tensors=stored.tensors | own, transform=base.transform)
