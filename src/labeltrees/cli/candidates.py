"""`predict --candidates`: the labels whose probabilities each row asks for."""

from __future__ import annotations

import os
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.cli.raw_lines import RememberedLines, json_field
from labeltrees.errors import ArgumentError, DataFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from labeltrees.data.chunk import Chunk
    from labeltrees.input import Input
    from labeltrees.models.model import FittedModel


class Candidates:
    """Where each row's candidates are: its own labels, a line of a file, or a field of the row."""

    def __init__(self, where: str, sources: list[Input], model: FittedModel) -> None:
        self.where = where
        self.file: Iterator[str] | None = None
        self._n_lines = 0
        self._is_text = model.vocabulary.is_text
        if where == "labels":
            return
        if os.path.exists(where):
            with open(where, encoding="utf-8") as file:
                try:
                    self.file = iter(file.read().splitlines())
                except UnicodeDecodeError:
                    raise DataFileError(where, 1, "the file is not valid UTF-8.") from None
        elif any(source.format != "jsonl" for source in sources):
            raise ArgumentError.of(
                "--candidates", where, "'labels', a file, or a field of JSON lines"
            )

    def answers(
        self, model: FittedModel, chunk: Chunk, lines: RememberedLines | None
    ) -> Iterator[tuple[list[Any], list[float]]]:
        """Yield the candidates of each row, in their order, and their probabilities."""
        labels: NDArray[Any]
        if self.where == "labels":
            labels, starts = _parted(chunk, model)
        else:
            lists = (
                self._from_file(chunk) if self.file is not None else self._from_field(chunk, lines)
            )
            kind = np.object_ if self._is_text else np.int64
            labels = np.array([label for each in lists for label in each], kind)
            starts = np.concatenate(([0], np.cumsum([len(each) for each in lists], dtype=np.int64)))
        p = np.empty(0)
        if len(labels):
            numbers = np.repeat(np.arange(chunk.n_rows), np.diff(starts))
            p = model.label_probabilities(chunk.rows.take(numbers), labels)
        for begin, end in pairwise(starts.tolist()):
            yield labels[begin:end].tolist(), p[begin:end].tolist()

    def _from_file(self, chunk: Chunk) -> list[list[Any]]:
        assert self.file is not None
        lists = [
            [self._label(word, self.where, self._n_lines + n) for word in line.split("\t") if word]
            for n, line in enumerate(islice(self.file, chunk.n_rows), 1)
        ]
        self._n_lines += len(lists)
        if len(lists) < chunk.n_rows:
            reason = "the file of candidates ends here, and there are more rows."
            raise DataFileError(self.where, self._n_lines, reason)
        return lists

    def _from_field(self, chunk: Chunk, lines: RememberedLines | None) -> list[list[Any]]:
        assert lines is not None
        assert chunk.lines is not None
        lists = []
        for number in chunk.lines.tolist():
            found = json_field(lines.line(number), self.where, lines.name, number)
            if found is None:
                found = []
            if not isinstance(found, list):
                reason = f"{self.where!r} must be a list of labels, got {found!r:.60}."
                raise DataFileError(lines.name, number, reason)
            lists.append([self._label(label, lines.name, number) for label in found])
        return lists

    def _label(self, label: Any, name: str, line: int) -> Any:
        if self._is_text:
            if isinstance(label, str):
                return label
        elif isinstance(label, str) and label.strip().lstrip("-").isdecimal():
            label = int(label)
        if not self._is_text and type(label) is int and -(2**63) <= label < 2**63:
            return label
        kind = "a string" if self._is_text else "a 64-bit integer"
        raise DataFileError(
            name, line, f"the label {label!r:.60} is not {kind}, as the model's are."
        )


def _parted(chunk: Chunk, model: FittedModel) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return each row's labels; one that the model does not know may be several with spaces."""
    labels: NDArray[Any] = chunk.labels
    if not len(labels) or not model.vocabulary.is_text:
        return labels, chunk.label_starts
    unknown = model.vocabulary.ids(labels) < 0
    parts = [
        str(label).split() if new else [label] for label, new in zip(labels, unknown, strict=True)
    ]
    n_before = np.concatenate(([0], np.cumsum([len(each) for each in parts])))
    flat = np.array([label for each in parts for label in each], np.object_)
    return flat, n_before[chunk.label_starts]
