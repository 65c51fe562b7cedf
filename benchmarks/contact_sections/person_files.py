"""Files as people have them, which are lines of label and text, XC text, or tables with a header.

Needs the standard library alone, because it runs in the peers' environments too.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from pathlib import Path

SUFFIXES = {"text": ".tsv", "xc": ".txt", "table": ".csv"}
ORDERS = ("as found", "sorted", "shuffled")


@dataclass(frozen=True)
class PersonRows:
    """Labels and what is known of each row, as it stands in the file.

    ``inputs`` are a text, pairs ``feature:value``, or values separated by commas. ``header`` has
    the names of a table's columns, or XC's numbers of features and labels.
    """

    kind: str
    labels: list[tuple[str, ...]]
    inputs: list[str]
    header: str = ""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def several(self) -> bool:
        """Whether some row has not exactly one label."""
        return any(len(row) != 1 for row in self.labels)

    @property
    def label_names(self) -> list[str]:
        return sorted({label for row in self.labels for label in row})

    def take(self, rows: list[int]) -> PersonRows:
        """Return some of the rows, in the order given."""
        labels, inputs = [self.labels[i] for i in rows], [self.inputs[i] for i in rows]
        return replace(self, labels=labels, inputs=inputs)

    def first(self, n_rows: int) -> PersonRows:
        return self.take(list(range(len(self))[:n_rows]))

    def sampled(self, n_rows: int | None) -> PersonRows:
        """Return a random sample of at most ``n_rows`` rows in their order; None returns all."""
        return self.take(sorted(shuffled_numbers(len(self))[:n_rows]))

    def shuffled(self) -> PersonRows:
        """Return the rows in an order that is always the same."""
        return self.take(shuffled_numbers(len(self)))

    def ordered(self, order: str) -> PersonRows:
        """Return the rows in one of `ORDERS`; ``sorted`` is by label, as many files are."""
        if order == "shuffled":
            return self.shuffled()
        if order == "sorted":
            return self.take(sorted(range(len(self)), key=self.labels.__getitem__))
        return self


def shuffled_numbers(n: int) -> list[int]:
    """Return 0 to n - 1 in an order that is always the same."""
    order = list(range(n))
    random.Random(0).shuffle(order)
    return order


def write(rows: PersonRows, path: Path) -> Path:
    """Write a file, with the suffix of its kind; return its path."""
    path = path.with_suffix(SUFFIXES[rows.kind])
    path.parent.mkdir(parents=True, exist_ok=True)
    pairs = zip(rows.labels, rows.inputs, strict=True)
    with path.open("w", encoding="utf-8") as file:
        if rows.kind == "text":
            file.writelines(f"{' '.join(labels)}\t{text}\n" for labels, text in pairs)
        elif rows.kind == "xc":
            file.write(f"{len(rows)} {rows.header}\n")
            file.writelines(f"{','.join(labels)} {features}\n" for labels, features in pairs)
        else:
            file.write(f"{rows.header},label\n")
            file.writelines(f"{values},{labels[0]}\n" for labels, values in pairs)
    return path


def read(path: Path) -> PersonRows:
    """Return the rows of a file that `write` wrote, or of another like it."""
    kind = {suffix: kind for kind, suffix in SUFFIXES.items()}[path.suffix]
    return parsed(kind, path.read_text(encoding="utf-8"))


def parsed(kind: str, text: str) -> PersonRows:
    """Return the rows of a file's text."""
    lines = text.removesuffix("\n").split("\n")
    if kind == "text":
        pairs = [line.split("\t", 1) for line in lines]
        return PersonRows(
            kind, [tuple(labels.split()) for labels, _ in pairs], [t for _, t in pairs]
        )
    header, *lines = lines
    if kind == "xc":
        pairs = [line.split(" ", 1) for line in lines]
        labels = [tuple(each for each in named.split(",") if each) for named, _ in pairs]
        return PersonRows(
            kind, labels, [features for _, features in pairs], header.split(" ", 1)[1]
        )
    pairs = [line.rsplit(",", 1) for line in lines]
    names = header.removesuffix(",label")
    return PersonRows(
        kind, [(label,) for _, label in pairs], [values for values, _ in pairs], names
    )
