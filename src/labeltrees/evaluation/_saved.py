"""Predictions in files that ``labeltrees predict`` wrote, row by row or label by label."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.data.readers.source import MAX_LINE_BYTES, read_blocks
from labeltrees.data.rows import as_rows
from labeltrees.data.same_rows import groups_of, join_same_rows
from labeltrees.errors import DataError, DataFileError
from labeltrees.evaluation._measuring import Evaluator
from labeltrees.evaluation._truth import Task, labelled_rows, labels_of_rows
from labeltrees.metrics._propensity import PROPENSITY_A, PROPENSITY_B

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from labeltrees.data.chunk import Chunk
    from labeltrees.evaluation._scores import Evaluation

    #: A row's labels and their scores; a label, its rows and their scores.
    LabelsAndScores = tuple[list[str], list[float]]
    LabelAndRows = tuple[str, list[int], list[float]]

_NOT_PARSED = (ValueError, KeyError, TypeError, OverflowError, RecursionError)
_OF_ROW = "label<TAB>score pairs, or JSON with labels and probabilities"
_OF_LABEL = "a label and row<TAB>score pairs, or JSON with label, rows and probabilities"


def evaluate_predictions(
    path: str | os.PathLike[str],
    y: Any,
    *,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    k: int = 5,
    task: Task | None = None,
    labelwise: bool = False,
    learned: Any = None,
    propensity_a: float = PROPENSITY_A,
    propensity_b: float = PROPENSITY_B,
) -> Evaluation:
    r"""Return the scores of predictions that ``labeltrees predict`` wrote to a file.

    Labels are compared as text. A score that needs more than the file has is left out, such as the
    log loss, which needs the probability of every true label.

    Parameters
    ----------
    path : path
        A line for each row, with its labels and their probabilities, best first: separated by
        tabs, or as JSON (``predict --json``). With ``labelwise`` also a line for each label, with
        its rows from 0 (``predict --labelwise``).
    y, sample_weight, classes, k, task, labelwise, learned, propensity_a, propensity_b
        The arguments of `labeltrees.evaluate`.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> from pathlib import Path
    >>> from labeltrees.evaluation import evaluate_predictions
    >>> Path("predictions.tsv").write_text("sun\t0.75\train\t0.25\nsun\t0.5\train\t0.5\n")
    36
    >>> evaluate_predictions("predictions.tsv", ["sun", "rain"], k=2).scores["accuracy"]
    0.5
    """
    sets = labels_of_rows(y, classes)
    chunk = labelled_rows(as_rows(np.zeros((sets.n_rows, 1))), y, sample_weight, classes)
    task = "labels" if task is None and learned is not None else task
    evaluator = Evaluator(k=k, task=task, labelwise=labelwise)
    add_saved(evaluator, Path(path), chunk)
    counted = None if learned is None else labels_of_rows(learned, classes)
    if counted is not None:
        counted = replace(counted, labels=as_text(counted.labels))
    return evaluator.evaluation(learned=counted, a=propensity_a, b=propensity_b)


def add_saved(
    evaluator: Evaluator,
    path: Path,
    chunk: Chunk,
    *,
    name: str = "y",
    join: bool = False,
    limit: int | None = None,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> None:
    """Add the predictions of a file to an evaluation; labels are compared as text.

    ``chunk`` has the rows that were predicted, and ``name`` is what errors call them. With ``join``
    rows of one text, or of the same features, count as one row with all their labels, as
    `join_same_rows` makes them; the first of them has the predictions.
    """
    n_rows = chunk.n_rows
    chunk = replace(chunk, targets=replace(chunk.targets, labels=as_text(chunk.labels)))
    group = groups_of(chunk) if join else np.arange(n_rows)
    if join:
        chunk = join_same_rows([chunk])
    if evaluator.labelwise and _is_by_label(path, max_line_bytes):
        answers = _read_best_rows(path, name, n_rows, max_line_bytes)
        evaluator.add_best_rows(chunk, (_joined(answer, group) for answer in answers))
        return
    found = list(_read_answers(path, limit, max_line_bytes))
    if len(found) != n_rows:
        raise DataError(
            f"{path} has {len(found)} lines, but {name} has {n_rows} rows. Both must have the same "
            "rows."
        )
    own = [found[row] for row in np.unique(group, return_index=True)[1].tolist()]
    evaluator.add_predictions(chunk, [labels for labels, _ in own], [p for _, p in own])


def as_text(labels: NDArray[Any]) -> NDArray[np.object_]:
    """Return labels as strings, as files of predictions have them.

    >>> as_text(np.array([3, 12])).tolist()
    ['3', '12']
    """
    text = np.empty(len(labels), dtype=object)
    text[:] = list(map(str, labels.tolist()))
    return text


def _joined(answer: LabelAndRows, group: NDArray[np.int64]) -> LabelAndRows:
    """Return a label's best rows after rows were joined: each once, where it is ranked first."""
    label, rows, scores = answer
    best: dict[int, float] = {}
    for row, score in zip(rows, scores, strict=True):
        best.setdefault(int(group[row]), score)
    return label, list(best), list(best.values())


def _is_by_label(path: Path, max_line_bytes: int) -> bool:
    """Return whether the first line has an odd number of fields, or JSON with rows."""
    for _, line in _lines(path, max_line_bytes):
        if line.startswith("{"):
            try:
                return "rows" in json.loads(line)
            except _NOT_PARSED:
                return False
        return bool(line) and line.count("\t") % 2 == 0
    return False


def _read_answers(path: Path, limit: int | None, max_line_bytes: int) -> Iterator[LabelsAndScores]:
    """Yield the labels of each row and their scores."""
    for number, line in _lines(path, max_line_bytes):
        if limit is not None and number > limit:
            return
        labels, scores = _checked(path, number, line, _answer_of_row, _OF_ROW)
        yield labels, _finite(path, number, scores)


def _read_best_rows(
    path: Path, name: str, n_rows: int, max_line_bytes: int
) -> Iterator[LabelAndRows]:
    """Yield each label, the rows that it is ranked for, and their scores."""
    for number, line in _lines(path, max_line_bytes):
        label, rows, scores = _checked(path, number, line, _answer_of_label, _OF_LABEL)
        wrong = [row for row in rows if not 0 <= row < n_rows]
        if wrong:
            reason = f"row {wrong[0]} is not in [0, {n_rows}), the rows of {name}."
            raise DataFileError(path, number, reason)
        yield label, rows, _finite(path, number, scores)


def _lines(path: Path, max_line_bytes: int) -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers, without their ends."""
    for first_line, text in read_blocks(path, max_line_bytes):
        lines = text.decode().removesuffix("\n").split("\n")
        yield from enumerate((line.removesuffix("\r") for line in lines), first_line)


def _checked(path: Path, number: int, line: str, parse: Callable[[str], Any], expected: str) -> Any:
    try:
        return parse(line)
    except _NOT_PARSED:
        raise DataFileError(path, number, f"a line must have {expected}.") from None


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
