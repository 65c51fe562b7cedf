"""The models of a folder as their newest snapshots have them, to be asked and not taught."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labeltrees.serve.learning.folder import models_in
from labeltrees.serve.learning.served import ServedModel
from labeltrees.serve.learning.snapshots import Snapshots

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ReplicaFolder"]


class ReplicaFolder:
    """The models of the newest snapshots of a folder; nothing is written.

    Parameters
    ----------
    path : path
        The folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.models: dict[str, ServedModel] = {}
        for name in models_in(path):
            seq, stored, _ = self.snapshots(name).newest()
            self.models[name] = ServedModel(name, stored, seq)

    def snapshots(self, name: str) -> Snapshots:
        """Return the snapshots of a model."""
        return Snapshots(models_in(self.path)[name])

    def close(self) -> None:
        """Do nothing: nothing was opened."""
