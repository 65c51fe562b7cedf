"""Files that `labeltrees predict` wrote, read again: a line for each row, or for each label."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.data.readers.source import read_blocks
from labeltrees.errors import DataFileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from labeltrees.cli.inputs import Input

    #: A row's labels and their scores; a label, its rows and their scores.
    LabelsAndScores = tuple[list[str], list[float]]
    LabelAndRows = tuple[str, list[int], list[float]]

__all__ = ["is_by_label", "read_answers", "read_best_rows"]

_NOT_PARSED = (ValueError, KeyError, TypeError, OverflowError, RecursionError)
_OF_ROW = "label<TAB>score pairs, or JSON with labels and probabilities"
_OF_LABEL = "a label and row<TAB>score pairs, or JSON with label, rows and probabilities"


def is_by_label(path: Path, max_line_bytes: int) -> bool:
    """Return whether the first line is of a label: an odd number of fields, or JSON with rows."""
    for _, line in _lines(path, max_line_bytes):
        if line.startswith("{"):
            try:
                return "rows" in json.loads(line)
            except _NOT_PARSED:
                return False
        return bool(line) and line.count("\t") % 2 == 0
    return False


def read_answers(path: Path, source: Input) -> Iterator[LabelsAndScores]:
    """Yield the labels of each row and their scores."""
    for number, line in _lines(path, source.max_line_bytes):
        if source.limit is not None and number > source.limit:
            return
        labels, scores = _checked(path, number, line, _answer_of_row, _OF_ROW)
        yield labels, _finite(path, number, scores)


def read_best_rows(path: Path, source: Input, n_rows: int) -> Iterator[LabelAndRows]:
    """Yield each label, the rows that it is ranked for, and their scores."""
    for number, line in _lines(path, source.max_line_bytes):
        label, rows, scores = _checked(path, number, line, _answer_of_label, _OF_LABEL)
        wrong = [row for row in rows if not 0 <= row < n_rows]
        if wrong:
            reason = f"row {wrong[0]} is not one of the {n_rows} rows of {source.path}, from 0 on."
            raise DataFileError(path, number, reason)
        yield label, rows, _finite(path, number, scores)


def _lines(path: Path, max_line_bytes: int) -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers, without their ends."""
    for first_line, text in read_blocks(path, max_line_bytes):
        lines = text.decode().removesuffix("\n").split("\n")
        yield from enumerate((line.removesuffix("\r") for line in lines), first_line)


def _checked(path: Path, number: int, line: str, parse: Callable[[str], Any], wanted: str) -> Any:
    try:
        return parse(line)
    except _NOT_PARSED:
        raise DataFileError(path, number, f"a line must have {wanted}.") from None


def _finite(path: Path, number: int, scores: list[float]) -> list[float]:
    if not all(np.isfinite(scores)) or min(scores, default=0) < 0:
        raise DataFileError(path, number, "scores must be finite and at least 0.")
    return scores


def _answer_of_row(line: str) -> LabelsAndScores:
    if line.startswith("{"):
        row = json.loads(line)
        return _paired([str(label) for label in row["labels"]], row["probabilities"])
    words = line.split("\t") if line else []
    return _paired(words[0::2], words[1::2])


def _answer_of_label(line: str) -> LabelAndRows:
    if line.startswith("{"):
        answer = json.loads(line)
        label, rows, scores = answer["label"], answer["rows"], answer["probabilities"]
    else:
        label, *words = line.split("\t")
        rows, scores = words[0::2], words[1::2]
    return (str(label), *_paired([_row_number(row) for row in rows], scores))


def _row_number(row: Any) -> int:
    if isinstance(row, (bool, float)):
        raise TypeError("a row is an integer")
    return int(row)


def _paired(ids: list[Any], scores: list[Any]) -> tuple[list[Any], list[float]]:
    if len(ids) != len(scores):
        raise ValueError("one without a score")
    return ids, [float(score) for score in scores]
