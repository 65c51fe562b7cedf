"""A folder of served models: their snapshots and one log, and how they are recovered from both."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from labeltrees.errors import ArgumentError
from labeltrees.serve.learning.folder_lock import lock_folder
from labeltrees.serve.learning.log import ExampleLog
from labeltrees.serve.learning.served import ServedModel
from labeltrees.serve.learning.snapshots import Snapshots
from labeltrees.serve.problems import DamagedLogError, Problem, ServeError
from labeltrees.serve.wire import Example

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from labeltrees.serve.learning.log import Logged
    from labeltrees.store import StoredModel

__all__ = ["ModelFolder", "check_name", "models_in", "replay"]

LOG = "log.sqlite"
_MODELS = "models"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_AT_ONCE = 1000
_decode = msgspec.json.Decoder(Example).decode


def check_name(name: str) -> str:
    """Return the name of a model, or raise `ArgumentError` if it cannot be in an address.

    >>> check_name("demo")
    'demo'
    """
    if _NAME.fullmatch(name) is None:
        allowed = "1 to 64 letters, digits, '.', '_' or '-', the first a letter or digit"
        raise ArgumentError.of("the name of a model", name, allowed)
    return name


def models_in(path: Path) -> dict[str, Path]:
    """Return the folders of the snapshots of all models, by the models' names."""
    home = path / _MODELS
    found = sorted(home.iterdir()) if home.is_dir() else []
    named = [each for each in found if _NAME.fullmatch(each.name) and each.is_dir()]
    return {each.name: each for each in named if Snapshots(each).seqs()}


class ModelFolder:
    """The models of one server; a second server cannot open the same folder.

    Parameters
    ----------
    path : path
        The folder; it is made if there is none.
    tell : function of a string
        Called with what is worth knowing while models are recovered.

    Examples
    --------
    >>> folder = ModelFolder("served")
    >>> sorted(folder.models)
    []
    >>> folder.close()
    """

    def __init__(
        self, path: str | os.PathLike[str], *, tell: Callable[[str], None] | None = None
    ) -> None:
        self.path = Path(path)
        self._tell = tell or (lambda _: None)
        self.path.mkdir(parents=True, exist_ok=True)
        self.models: dict[str, ServedModel] = {}
        self.ids: dict[str, int] = {}
        with ExitStack() as opened:
            opened.callback(os.close, self._locked())
            self.log = ExampleLog(self.path / LOG)
            opened.callback(self.log.close)
            for name in self.names_on_disk():
                self.models[name] = self._recovered(name)
            self._opened = opened.pop_all()

    def _locked(self) -> int:
        handle = lock_folder(self.path)
        if handle is None:
            raise ServeError(f"{self.path} is served by another process; stop it first.")
        return handle

    def close(self) -> None:
        """Let another process have the folder."""
        self._opened.close()

    def names_on_disk(self) -> list[str]:
        """Return the names of the models that have a snapshot."""
        return list(models_in(self.path))

    def snapshots(self, name: str) -> Snapshots:
        """Return the snapshots of a model."""
        return Snapshots(self.path / _MODELS / check_name(name))

    def _recovered(self, name: str) -> ServedModel:
        """Return a model as it was: its newest whole snapshot, and what the log has after it."""
        seq, stored, faults = self.snapshots(name).newest()
        for fault in faults:
            self._tell(f"{name}: {fault} The snapshot before it is used.")
        served = ServedModel(name, stored, seq)
        self.ids[name] = self.log.add_model(name, seq, served.link)
        trimmed, _ = self.log.trimmed(self.ids[name])
        last, link = self.log.last(self.ids[name])
        if not trimmed <= seq <= last:
            raise DamagedLogError(
                f"{self.log.path} has the examples {trimmed + 1} to {last} of the model {name!r}, "
                f"and its newest whole snapshot is of example {seq}: they do not fit together."
            )
        if last == seq and link != served.link:
            raise DamagedLogError(
                f"{self.log.path} is damaged: example {last} of the model {name!r} is not the one "
                "that its snapshot has learned."
            )
        lessons = self.log.examples(self.ids[name], after=seq, link=served.link)
        n = replay(served, lessons)
        if n:
            self._tell(f"{name}: {n:,} examples of the log learned after the snapshot of {seq:,}.")
        return served

    def add(self, name: str, stored: StoredModel) -> ServedModel:
        """Serve one more model, from what its file holds; raise a problem if there is one."""
        check_name(name)
        if name in self.models:
            raise Problem(
                409, f"There is a model {name!r} already; delete it first.", kind="model-exists"
            )
        served = ServedModel(name, stored)
        self.log.remove_model(name)
        self.ids[name] = self.log.add_model(name)
        self.snapshots(name).write(served.stored()[1], 0)
        self.models[name] = served
        return served

    def remove(self, name: str) -> None:
        """Forget a model, its snapshots and its examples."""
        self.models.pop(name, None)
        home = self.snapshots(name).folder
        hidden = home.with_name(f".removed-{name}")
        shutil.rmtree(hidden, ignore_errors=True)
        home.rename(hidden)  # at once: half a model would not start again
        shutil.rmtree(hidden, ignore_errors=True)
        self.log.remove_model(name)
        self.ids.pop(name, None)


def replay(
    served: ServedModel, logged: Iterable[Logged], progress: Callable[[int], None] | None = None
) -> int:
    """Let a model learn examples of a log in turn; return how many."""
    n_before = served.seq
    for part in _parts(iter(logged)):
        examples = [_decode(each.example) for each in part]
        served.learn([served.lesson(examples)], part[-1].link)
        if progress is not None:
            progress(len(part))
    return served.seq - n_before


def _parts(logged: Iterator[Logged]) -> Iterator[list[Logged]]:
    while part := list(islice(logged, _AT_ONCE)):
        yield part
