"""Rows from Debian's lists of files, whose labels are the packages of paths."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from sklearn.feature_extraction import FeatureHasher

SEED = 0
HASHED_TO = 2**28
CHUNK_ROWS = 16_384
#: The option with which apt fetches the lists of files into a separate folder.
INDEX = "Acquire::IndexTargets::deb::Contents-deb::"
TARGET = {
    "MetaKey": "$(COMPONENT)/Contents-$(ARCHITECTURE)",
    "ShortDescription": "Contents-$(ARCHITECTURE)",
    "Description": "files",
    "KeepCompressed": "true",
}
WORD = re.compile(r"[a-z]+|[A-Z][a-z]*|[0-9]+")


class NoListsError(Exception):
    """The lists cannot be had here; the message is a sentence for the report."""


@dataclass(frozen=True, eq=False)
class FileRows:
    """Rows of a chunk, with the features of paths and the packages that have them."""

    features: csr_array
    labels: np.ndarray

    @property
    def n_rows(self) -> int:
        return len(self.labels)


def rows_file(data: Path) -> Path:
    """Return the file of ``package<TAB>path`` lines in a fixed random order, made once."""
    path = data / "debian.tsv"
    if not path.exists():
        lists = _fetched(data / "debian-lists")
        rows = [row for each in lists for row in listed(_text(each))]
        rows = sorted(set(rows))
        random.Random(SEED).shuffle(rows)
        part = path.with_suffix(".part")
        with part.open("w", encoding="utf-8") as file:
            file.writelines(f"{package}\t{name}\n" for package, name in rows)
        part.rename(path)
    return path


def _fetched(folder: Path) -> list[Path]:
    """Return the compressed lists of all architectures; the system's own lists are not touched."""
    if shutil.which("apt-get") is None:
        raise NoListsError("Debian's file lists are left out: there is no apt-get.")
    if not list(folder.glob("*Contents-*")):
        (folder / "partial").mkdir(parents=True, exist_ok=True)
        options = [f"Dir::State::lists={folder}", *(INDEX + f"{k}={v}" for k, v in TARGET.items())]
        chosen = [word for option in options for word in ("-o", option)]
        subprocess.run(["apt-get", "update", "-q", *chosen], capture_output=True, check=False)
    found = sorted(folder.glob("*_main_Contents-*"))
    if not found:
        raise NoListsError("Debian's file lists are left out: apt-get could not fetch them.")
    return found


def _text(path: Path) -> Iterator[str]:
    command = ["/usr/lib/apt/apt-helper", "cat-file", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as shown:
        yield from shown.stdout or ()


def listed(lines: Iterator[str]) -> Iterator[tuple[str, str]]:
    """Return package and path of each line; of a path that several packages have, the first."""
    for line in lines:
        path, _, packages = line.rstrip().rpartition(" ")
        path = path.rstrip()
        if path and "\t" not in path:
            yield packages.split(",", 1)[0].rpartition("/")[2], path


def chunks(path: Path, limit: int | None) -> Iterator[FileRows]:
    """Return the first rows of the file in chunks."""
    with path.open(encoding="utf-8") as file:
        yield from _in_chunks(line.rstrip("\n").split("\t", 1) for line in islice(file, limit))


def own_files(limit: int | None) -> Iterator[FileRows]:
    """Return rows of the files of the standard library, for a run without any download."""
    root = Path(sysconfig.get_paths()["stdlib"])
    names = sorted(str(each.relative_to(root)) for each in root.glob("*/*"))
    random.Random(SEED).shuffle(names)
    yield from _in_chunks([name.split("/")[0], name] for name in names[:limit])


def _in_chunks(rows: Iterator[list[str]]) -> Iterator[FileRows]:
    hasher = FeatureHasher(HASHED_TO, input_type="string", alternate_sign=False, dtype=np.float32)
    while several := list(islice(rows, CHUNK_ROWS)):
        labels, paths = zip(*several, strict=True)
        features = hasher.transform(map(parts, paths))
        yield FileRows(csr_array(features), np.array(labels, object))


def parts(path: str) -> list[str]:
    """Return what is known of a path, each once.

    >>> sorted(parts("usr/bin/a2ps"))
    ['/usr', '/usr/bin', '0:usr', '1:bin', 'f:a2ps', 'w:2', 'w:a', 'w:bin', 'w:ps', 'w:usr']
    """
    *folders, name = path.split("/")
    found = {f"f:{name}"}
    prefix = ""
    for depth, folder in enumerate(folders):
        prefix += "/" + folder
        found.add(prefix)
        found.add(f"{depth}:{folder}")
    if "." in name:
        found.add("e:" + name.rpartition(".")[2])
    found.update("w:" + word.lower() for word in WORD.findall(path))
    return sorted(found)
