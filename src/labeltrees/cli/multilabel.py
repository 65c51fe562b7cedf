"""Many labels per row: a saved model's answers, or a file of answers, against all true labels."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees import metrics
from labeltrees.cli.prediction_files import is_by_label, read_answers, read_best_rows
from labeltrees.cli.report import say_json, say_pairs, say_table
from labeltrees.data.rows import stacked
from labeltrees.errors import DataError
from labeltrees.models.capabilities import BestRows, demand
from labeltrees.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from labeltrees.cli.inputs import Input
    from labeltrees.data.chunk import Chunk
    from labeltrees.data.rows import Rows
    from labeltrees.models.model import FittedModel


class LabelRows:
    """Rows of labels with values, gathered one by one and turned into a matrix at the end.

    Labels are ranked in the order in which they are added, which need not be that of the values.
    """

    def __init__(self) -> None:
        self.labels: list[Any] = []
        self.values: list[float] = []
        self.ranks: list[float] = []
        self.starts = [0]

    def add(
        self, labels: Iterable[Any], values: Iterable[float], ranks: Iterable[int] | None = None
    ) -> None:
        """Add a row; ``ranks`` are 0, 1, ... unless they are given."""
        self.labels += labels
        self.values += values
        placed = range(len(self.labels) - self.starts[-1]) if ranks is None else ranks
        self.ranks += [-float(rank) for rank in placed]
        self.starts.append(len(self.labels))

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.starts) - 1

    def matrix(self, column_of: dict[Any, int], *, of_ranks: bool = False) -> csr_array:
        """Return the values, or what labels are ranked by, as a matrix with these columns."""
        names = np.fromiter(column_of, dtype=object, count=len(column_of))
        starts = np.array(self.starts, dtype=np.int64)
        labels = np.fromiter(self.labels, dtype=object, count=len(self.labels))
        entries = self.ranks if of_ranks else self.values
        return metrics.label_matrix(labels, entries, classes=names, starts=starts)


def from_model(
    model: FittedModel, source: Input, k: int, *, labelwise: bool, quiet: bool
) -> tuple[LabelRows, LabelRows]:
    """Return the truth and the model's k best labels of each row, or k best rows of each label.

    What is found has probabilities; if the truth is graded, expected relevances.
    """
    truth, found = LabelRows(), LabelRows()
    parts: list[Rows] = []
    graded = source.profile is not None and source.profile.graded
    # A column of relevances without an entry is a class that no tree has.
    n_labels = getattr(model, "n_tree_labels", len(model.vocabulary))
    with Progress("evaluating", total=source.limit, enabled=not quiet) as progress:
        for chunk in source.whole():
            _add_truth(truth, chunk, lambda label: label)
            graded = graded or chunk.relevance is not None
            model.check_width(chunk.rows)
            if labelwise:
                parts.append(chunk.rows)
            else:
                answer = model.top_labels(chunk.rows, min(k, n_labels))
                values = answer.probabilities
                if graded:
                    which = np.repeat(np.arange(chunk.n_rows), values.shape[1])
                    values = _relevances(model, chunk.rows, which, answer.labels, values)
                for labels, p in zip(answer.labels.tolist(), values.tolist(), strict=True):
                    _add_found(found, labels, p)
            progress.advance(chunk.n_rows)
    if labelwise and parts:
        _add_best_rows(found, model, stacked(parts), k, graded=graded)
    return truth, found


def _relevances(
    model: Any, rows: Rows, which: NDArray[np.int64], labels: Any, p: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the expected relevance of labels to rows, in place of their probabilities.

    That is what graded truth is compared with, by models that have learned from grades.
    """
    if not hasattr(model, "label_relevances"):
        return p
    names = np.asarray(labels, dtype=object).ravel()
    there = (which >= 0) & np.array([name is not None for name in names.tolist()], dtype=bool)
    values = np.array(p, dtype=np.float64).ravel()
    asked = names[there] if model.vocabulary.is_text else names[there].astype(np.int64)
    values[there] = model.label_relevances(rows.take(which[there]), asked)
    return values.reshape(p.shape)


def from_file(path: Path, source: Input, *, labelwise: bool) -> tuple[LabelRows, LabelRows]:
    """Return the truth and the predictions of a file that ``labeltrees predict`` wrote.

    With ``labelwise`` the file may also have a line for each label, as ``predict --labelwise``
    writes it.
    """
    truth, found = read_truth(source, str), LabelRows()
    if labelwise and is_by_label(path, source.max_line_bytes):
        add_by_label(found, truth.n_rows, read_best_rows(path, source, truth.n_rows))
        return truth, found
    for labels, scores in read_answers(path, source):
        found.add(labels, scores)
    if found.n_rows != truth.n_rows:
        raise DataError(
            f"{path} has {found.n_rows} lines and {source.path} has {truth.n_rows} rows; "
            "they must be of the same rows."
        )
    return truth, found


def say_scores(
    truth: LabelRows,
    found: LabelRows,
    *,
    top: int,
    train: LabelRows | None,
    labelwise: bool,
    json: bool,
    constants: dict[str, float],
) -> None:
    """Print every metric of the predictions as a table, or as JSON.

    ``constants`` are those of propensities, by name.
    """
    if not truth.labels:
        raise DataError("the data have no row with a label.")
    column_of: dict[Any, int] = {}
    for label in (*truth.labels, *found.labels, *(train.labels if train else ())):
        column_of.setdefault(label, len(column_of))
    ks = sorted({k for k in (1, 3, top) if k <= top})
    report = metrics.multilabel_report(
        truth.matrix(column_of),
        found.matrix(column_of),
        ks=ks,
        propensity=(
            None if train is None else metrics.propensities(train.matrix(column_of), **constants)
        ),
        per="label" if labelwise else "row",
        ranks=found.matrix(column_of, of_ranks=True),
    )
    sizes = {
        "rows": truth.n_rows,
        "labels": len(column_of),
        "true_labels": len(truth.labels),
        "predictions": len(found.labels),
    }
    if json:
        scores = {f"{name}@{k}": report[name][k] for name in report for k in ks}
        say_json(sizes | scores)
        return
    say_pairs({name.replace("_", " "): size for name, size in sizes.items()})
    header = ["for each label" if labelwise else "for each row", *(f"@{k}" for k in ks)]
    say_table(header, [[name, *(values[k] for k in ks)] for name, values in report.items()])


def read_truth(source: Input, name: Callable[[Any], Any] = lambda label: label) -> LabelRows:
    """Return the labels of a data file, each as ``name`` of it."""
    rows = LabelRows()
    for chunk in source.chunks():
        _add_truth(rows, chunk, name)
    return rows


def _add_truth(rows: LabelRows, chunk: Chunk, name: Callable[[Any], Any]) -> None:
    labels = chunk.labels.tolist()
    values = [1.0] * len(labels) if chunk.relevance is None else chunk.relevance.tolist()
    for begin, end in pairwise(chunk.label_starts.tolist()):
        of = dict(zip(map(name, labels[begin:end]), values[begin:end], strict=True))
        rows.add(of, of.values())


def _add_found(rows: LabelRows, labels: list[Any], scores: list[float]) -> None:
    pairs = [(a, b) for a, b in zip(labels, scores, strict=True) if a is not None and b == b]
    rows.add([label for label, _ in pairs], [score for _, score in pairs])


def _add_best_rows(
    found: LabelRows, model: FittedModel, rows: Rows, k: int, *, graded: bool
) -> None:
    demand(model, BestRows, "--labelwise")
    assert isinstance(model, BestRows)
    classes = model.vocabulary.labels
    best, p = model.top_rows(rows, classes, min(k, rows.n_rows))
    if graded:
        each = np.repeat(classes.astype(object), best.shape[1])
        p = _relevances(model, rows, best.ravel(), each, p)
    answers = zip(classes.tolist(), best.tolist(), p.tolist(), strict=True)
    add_by_label(found, rows.n_rows, answers)


def add_by_label(
    found: LabelRows, n_rows: int, answers: Iterable[tuple[Any, list[int], list[float]]]
) -> None:
    """Add, row by row, what is known label by label: each label's best rows and their scores."""
    found_of: list[tuple[list[Any], list[float], list[int]]] = [([], [], []) for _ in range(n_rows)]
    for label, points, scores in answers:
        for rank, (point, score) in enumerate(zip(points, scores, strict=True)):
            if point >= 0 and score == score:
                labels, values, ranks = found_of[point]
                labels.append(label)
                values.append(score)
                ranks.append(rank)
    for labels, values, ranks in found_of:
        found.add(labels, values, ranks)
