"""The built-in stream as text files that every program can read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from harness.benchmark import Options
from labeltrees.data.python_source import PythonSource

ORDERS = ("files", "shuffled")
TAIL = 0.2
WHOLE_STREAM = 1_500_000
SHORT_STREAM = 200_000


@dataclass(frozen=True)
class StreamFile:
    """A VW text file with the first examples of the built-in stream, and what is in it."""

    path: str
    order: str
    n_examples: int
    n_labels: int

    @property
    def tail_start(self) -> int:
        return tail_start(self.n_examples)

    def labels(self) -> np.ndarray:
        with open(self.path) as file:
            return np.array([int(line.split(" ", 1)[0]) for line in file])


def tail_start(n_examples: int) -> int:
    """Return the row at which the last fifth starts, as `ProgressiveValidation` has it."""
    return n_examples - max(1, round(TAIL * n_examples))


def short_length(options: Options) -> int:
    """Return the number of examples of the shorter stream."""
    return options.rows(SHORT_STREAM)


def lengths(options: Options) -> list[int]:
    """Return the numbers of examples of the streams to run."""
    whole = [WHOLE_STREAM] if options.full and options.limit is None else []
    return [short_length(options), *whole]


def stream_file(order: str, limit: int, folder: Path) -> StreamFile:
    """Return the file of a stream, which the first call writes."""
    path = folder / f"stream-{order}-{limit}.vw"
    facts = path.with_suffix(".json")
    if not facts.exists():
        folder.mkdir(parents=True, exist_ok=True)
        n_examples, n_labels = write_vw(PythonSource(order=order, limit=limit), path)  # type: ignore[arg-type]
        file = StreamFile(str(path), order, n_examples, n_labels)
        facts.write_text(json.dumps(asdict(file)))
    return StreamFile(**json.loads(facts.read_text()) | {"path": str(path)})


def write_vw(chunks: Iterable[Any], path: Path) -> tuple[int, int]:
    """Write rows of ones as ``id | f12 f7``; ids from 1 in first-seen order. Return the counts."""
    ids: dict[Any, int] = {}
    n_rows = 0
    with path.open("w") as file:
        for chunk in chunks:
            for label, names in zip(chunk.labels, named_features(chunk.features), strict=True):
                file.write(f"{ids.setdefault(label, len(ids) + 1)} | {names}\n")
            n_rows += chunk.n_rows
    return n_rows, len(ids)


def named_features(features: Any) -> Iterator[str]:
    """Return each row's columns as words ``f12 f7``."""
    columns, places = np.unique(features.indices, return_inverse=True)
    words = np.array([f"f{column}" for column in columns.tolist()], object)[places].tolist()
    for start, stop in pairwise(features.indptr.tolist()):
        yield " ".join(words[start:stop])


def copy_rows(source: str, target: Path, start: int, stop: int, *, label: str = "{} |") -> None:
    """Copy the rows from start to stop; ``label`` says how a label and its bar are written."""
    with open(source) as lines, target.open("w") as file:
        for row, line in enumerate(lines):
            if row >= stop:
                break
            if row >= start:
                name, features = line.split(" |", 1)
                file.write(label.format(name) + features)
