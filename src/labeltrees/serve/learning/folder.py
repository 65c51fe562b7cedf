"""A folder of served models with their snapshots and one log, and the recovery from both."""

from __future__ import annotations

import os
import re
import shutil
import sys
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from labeltrees.errors import ArgumentError
from labeltrees.serve.learning.log import ExampleLog
from labeltrees.serve.learning.served import ServedModel
from labeltrees.serve.learning.snapshots import Snapshots
from labeltrees.serve.problems import DamagedLogError, Problem, ServeError
from labeltrees.serve.wire import Example

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from labeltrees.serve.learning.log import LoggedExample
    from labeltrees.store import StoredModel

LOG = "log.sqlite"
_MODELS = "models"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_BATCH_EXAMPLES = 1000
_decode = msgspec.json.Decoder(Example).decode


def check_name(name: str) -> str:
    """Return the name of a model, or raise `ArgumentError` if it cannot be part of an address.

    >>> check_name("demo")
    'demo'
    """
    if _NAME.fullmatch(name) is None:
        allowed = "1 to 64 letters, digits, '.', '_' or '-', the first a letter or digit"
        raise ArgumentError.of("the name of a model", name, allowed)
    return name


def models_in(path: Path) -> dict[str, Path]:
    """Return the snapshot folders of all models, by the names of the models."""
    home = path / _MODELS
    found = sorted(home.iterdir()) if home.is_dir() else []
    named = [each for each in found if _NAME.fullmatch(each.name) and each.is_dir()]
    return {each.name: each for each in named if Snapshots(each).seqs()}


def lock_folder(folder: str | os.PathLike[str]) -> int | None:
    """Return a file handle that holds the lock of a folder, None if another process holds it.

    `os.close` releases the lock, and so does the end of the process.

    >>> Path("served").mkdir()
    >>> lock = lock_folder("served")
    >>> lock is None, lock_folder("served") is None
    (False, True)
    >>> os.close(lock)
    """
    handle = os.open(Path(folder) / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if sys.platform == "win32":
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


class ModelFolder:
    """The models of one server. A second server cannot open the same folder.

    Parameters
    ----------
    path : path
        The folder. It is created if it does not exist.
    report : function of a string
        Called with messages while models are recovered.

    Examples
    --------
    >>> folder = ModelFolder("served")
    >>> sorted(folder.models)
    []
    >>> folder.close()
    """

    def __init__(
        self, path: str | os.PathLike[str], *, report: Callable[[str], None] | None = None
    ) -> None:
        self.path = Path(path)
        self._report = report or (lambda _: None)
        self.path.mkdir(parents=True, exist_ok=True)
        self.models: dict[str, ServedModel] = {}
        self.ids: dict[str, int] = {}
        with ExitStack() as opened:
            opened.callback(os.close, self._lock())
            self.log = ExampleLog(self.path / LOG)
            opened.callback(self.log.close)
            for name in self.names_on_disk():
                self.models[name] = self._recovered(name)
            self._opened = opened.pop_all()

    def _lock(self) -> int:
        handle = lock_folder(self.path)
        if handle is None:
            raise ServeError(f"{self.path} is served by another process. Stop that process first.")
        return handle

    def close(self) -> None:
        """Release the folder for other processes."""
        self._opened.close()

    def names_on_disk(self) -> list[str]:
        """Return the names of the models that have a snapshot."""
        return list(models_in(self.path))

    def snapshots(self, name: str) -> Snapshots:
        """Return the snapshots of a model."""
        return Snapshots(self.path / _MODELS / check_name(name))

    def _recovered(self, name: str) -> ServedModel:
        """Return a model from its newest complete snapshot and the later examples of the log."""
        seq, stored, faults = self.snapshots(name).newest()
        for fault in faults:
            self._report(f"{name}: {fault} The previous snapshot is used.")
        served = ServedModel(name, stored, seq)
        self.ids[name] = self.log.add_model(name, seq, served.link)
        trimmed, _ = self.log.trimmed(self.ids[name])
        last, link = self.log.last(self.ids[name])
        if not trimmed <= seq <= last:
            raise DamagedLogError(
                f"{self.log.path} has the examples {trimmed + 1} to {last} of the model {name!r}, "
                f"but its newest complete snapshot was written after example {seq}. They do not "
                "fit together."
            )
        if last == seq and link != served.link:
            raise DamagedLogError(
                f"{self.log.path} is damaged: example {last} of the model {name!r} is not the one "
                "that its snapshot has learned."
            )
        logged = self.log.examples(self.ids[name], after=seq, link=served.link)
        n = replay(served, logged)
        if n:
            self._report(
                f"{name}: learned {n:,} examples of the log after the snapshot of {seq:,}."
            )
        return served

    def add(self, name: str, stored: StoredModel) -> ServedModel:
        """Serve one more model from the content of a file; raise a problem if the name exists."""
        check_name(name)
        if name in self.models:
            raise Problem(
                409,
                f"There is a model {name!r} already. Delete it first, or choose another name.",
                kind="model-exists",
            )
        served = ServedModel(name, stored)
        self.log.remove_model(name)
        self.ids[name] = self.log.add_model(name)
        self.snapshots(name).write(served.stored()[1], 0)
        self.models[name] = served
        return served

    def remove(self, name: str) -> None:
        """Delete a model, its snapshots and its examples."""
        self.models.pop(name, None)
        home = self.snapshots(name).folder
        hidden = home.with_name(f".removed-{name}")
        shutil.rmtree(hidden, ignore_errors=True)
        home.rename(hidden)  # in one step, because half a model could not be recovered
        shutil.rmtree(hidden, ignore_errors=True)
        self.log.remove_model(name)
        self.ids.pop(name, None)


def replay(
    served: ServedModel,
    logged: Iterable[LoggedExample],
    progress: Callable[[int], None] | None = None,
) -> int:
    """Update a model with examples of a log in their order; return their number."""
    n_before = served.seq
    for part in _parts(iter(logged)):
        examples = [_decode(each.example) for each in part]
        served.learn([served.checked(examples)], part[-1].link)
        if progress is not None:
            progress(len(part))
    return served.seq - n_before


def _parts(logged: Iterator[LoggedExample]) -> Iterator[list[LoggedExample]]:
    while part := list(islice(logged, _BATCH_EXAMPLES)):
        yield part
