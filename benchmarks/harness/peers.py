"""Other libraries, each installed into its own virtual environment."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

#: Where files and environments go.
WORK = Path(os.environ.get("LABELTREES_BENCHMARK_WORK", Path(__file__).parents[1] / "work"))

#: For each peer the module to import and the sets of packages to try in turn.
PACKAGES = {
    "vw": ("vowpalwabbit", (("vowpalwabbit",),)),
    "fasttext": (
        "fasttext",
        (("fasttext-numpy2",), ("fasttext-wheel", "numpy<2"), ("fasttext", "numpy<2")),
    ),
    "river": ("river", (("river",),)),
    # Its wheel for Linux does not start without 3 GB of CUDA's libraries, wherever it computes.
    "torch": ("torch", (("torch", "numpy"),)),
    "omikuji": ("omikuji", (("omikuji", "numpy"),)),
    # It was built against NumPy 1, and its matrices need SciPy before 1.14.
    "pecos": ("pecos.xmc.xlinear", (("libpecos", "numpy<2", "scipy<1.14"),)),
    "napkinxc": ("napkinxc.models", (("napkinxc",), ("napkinxc", "numpy<2", "scipy<1.14"))),
}

_PROBE = """
import importlib, sys
from importlib import metadata
importlib.import_module(sys.argv[1])
print(*(f"{name.split('<')[0]} {metadata.version(name.split('<')[0])}" for name in sys.argv[2:]))
"""


class MissingPeerError(Exception):
    """A peer cannot be had here; the message is a sentence for the report."""


@dataclass(frozen=True)
class Peer:
    """An installed peer's interpreter, and its package with version."""

    python: str
    version: str


_found: dict[str, Peer | MissingPeerError] = {}


def peer(name: str) -> Peer:
    """Return an installed peer, installing it first if need be, or raise `MissingPeerError`."""
    if name not in _found:
        try:
            _found[name] = _install(name)
        except MissingPeerError as error:
            _found[name] = error
    found = _found[name]
    if isinstance(found, MissingPeerError):
        raise found
    return found


def _install(name: str) -> Peer:
    module, candidates = PACKAGES[name]
    folder = WORK / "peers" / name
    python = folder / "bin" / "python"
    if not python.exists():
        _run([sys.executable, "-m", "venv", str(folder)])
    for packages in candidates:
        version = _run([str(python), "-c", _PROBE, module, packages[0]])
        if version is None:
            pip = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check"]
            if _run([*pip, "install", *packages]) is not None:
                version = _run([str(python), "-c", _PROBE, module, packages[0]])
        if version is not None:
            return Peer(str(python), version)
    tried = " or ".join(packages[0] for packages in candidates)
    raise MissingPeerError(f"{name} is left out: {tried} could not be installed here.")


def _run(command: list[str]) -> str | None:
    """Return what a command printed, or None if it failed."""
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


@contextmanager
def noting(lines: list[str], name: str) -> Iterator[None]:
    """Add a line that says why a contestant is missing, if it cannot be installed or fails."""
    try:
        yield
    except MissingPeerError as error:
        line = str(error)
    except RuntimeError as error:
        line = f"{name} failed: {reason(error)}"
    else:
        return
    if line not in lines:
        lines.append(line)


def reason(error: RuntimeError) -> str:
    """Return the last line of a program's complaint, without the machine's folders."""
    last = str(error).rsplit("failed: ", 1)[-1].splitlines()[-1:]
    return re.sub(r"/\S*/", "", "".join(last)) or "it gave no reason."


def versions(*names: str) -> str:
    """Return the versions of some peers, or why they are missing."""
    found = []
    for name in names:
        try:
            found.append(peer(name).version)
        except MissingPeerError as error:
            found.append(str(error))
    return "; ".join(found)
