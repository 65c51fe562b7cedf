"""The sets, each as rows to learn from and rows to test."""

from __future__ import annotations

import csv
import gzip
import shutil
import string
import subprocess
from collections.abc import Callable
from pathlib import Path

from sklearn import datasets

from contact_sections.person_files import PersonRows, parsed, read, shuffled_numbers, write
from harness import peers
from harness.benchmark import Options

Split = tuple[PersonRows, PersonRows]

#: Sets of the folder of data, by the kind of their files.
SHARED = {
    "clinc150": "text",
    "rcv1-sub1": "xc",
    "letter": "table",
    "bibtex": "xc",
    "delicious": "xc",
    "yso-en": "text",
}
TABLES: dict[str, Callable[..., object]] = {
    "digits": datasets.load_digits,
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast-cancer": datasets.load_breast_cancer,
}
SETS = ("clinc150", "rcv1-sub1", "letter", *TABLES, "bibtex", "delicious", "debian", "yso-en")


#: Rows of yso-en that are learned.
YSO_ROWS = 100_000


class MissingSetError(Exception):
    """A set cannot be had here; the message is a sentence for the report."""


def split_of(name: str, options: Options) -> Split:
    """Return rows to learn from, in the order found, and rows to test: its own, or a fifth."""
    if name in SHARED:
        folder = options.folder(name)
        if folder is None:
            raise MissingSetError("the folder of data (`--data`) does not have it.")
        train, test = _shared(folder, SHARED[name])
        if name == "yso-en":
            train = train.first(YSO_ROWS)
    else:
        train, test = last_fifth_apart(_debian() if name == "debian" else _table(TABLES[name]))
    return train.sampled(options.limit), test.sampled(options.limit)


def last_fifth_apart(rows: PersonRows) -> Split:
    """Return four fifths, in the order found, and the last fifth of a fixed shuffle."""
    numbers, cut = shuffled_numbers(len(rows)), len(rows) * 4 // 5
    return rows.take(sorted(numbers[:cut])), rows.take(numbers[cut:])


def _shared(folder: Path, kind: str) -> Split:
    if folder.name == "letter":
        rows = _letter(folder / "letter.csv.gz")
        return rows.first(15_000), rows.take(list(range(15_000, len(rows))))
    suffix = ".tsv.gz" if kind == "text" else ".txt.gz"
    train, test = (
        parsed(kind, _unzipped(folder / f"{part}{suffix}")) for part in ("train", "test")
    )
    return train, test


def _letter(path: Path) -> PersonRows:
    rows = list(csv.reader(_unzipped(path).splitlines()))[1:]
    header = ",".join(string.ascii_lowercase[: len(rows[0]) - 1])
    return PersonRows(
        "table", [(row[0],) for row in rows], [",".join(row[1:]) for row in rows], header
    )


def _table(load: Callable[..., object]) -> PersonRows:
    bunch = load()
    names = [str(bunch.target_names[each]) for each in bunch.target]
    header = ",".join(map(str, bunch.feature_names))
    values = [",".join(f"{value:g}" for value in row) for row in bunch.data.tolist()]
    return PersonRows("table", [(name,) for name in names], values, header)


def _debian() -> PersonRows:
    try:
        return described_packages()
    except OSError as error:
        raise MissingSetError(f"{error}.") from error


def _unzipped(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode()


FEWEST_PACKAGES = 1_000


def described_packages() -> PersonRows:
    """Return the packages that have tags, which are kept for later runs."""
    path = peers.WORK / "contact" / "debian.tsv"
    if not path.exists():
        if shutil.which("apt-cache") is None:
            raise OSError("there is no apt-cache")
        done = subprocess.run(
            ["apt-cache", "dumpavail"], capture_output=True, text=True, check=False
        )
        rows = tagged(done.stdout)
        if len(rows) < FEWEST_PACKAGES:
            raise OSError("apt-cache knows hardly any package; run `apt-get update` first")
        write(rows, path)
    return read(path)


def tagged(available: str) -> PersonRows:
    """Return descriptions and tags, a package once, in the order of its name in the list."""
    found = {}
    for fields in map(_fields, available.split("\n\n")):
        tags = sorted({tag.strip() for tag in fields.get("Tag", "").split(",")} - {""})
        text = " ".join(fields.get("Description", fields.get("Description-en", "")).split())
        if tags and text:
            found.setdefault(fields["Package"], (tuple(tags), text))
    return PersonRows("text", [tags for tags, _ in found.values()], [t for _, t in found.values()])


def _fields(stanza: str) -> dict[str, str]:
    """Return the values by name; a line that starts with a space continues the one before."""
    lines = (line.partition(":") for line in stanza.replace("\n ", " ").splitlines())
    return {name: value.strip() for name, _, value in lines}
