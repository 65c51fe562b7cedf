"""What a model that learns row by row is taught of a chunk, and how well it had foreseen it.

Models learn rows of one label (`Learns`), or all labels of a row together (`LearnsSets`). Whoever
teaches chunk after chunk asks `lessons_of` and need not know which.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

import numpy as np

from labeltrees.autotrain.gathering import labelled, weights_of
from labeltrees.data.label_sets import LabelSets
from labeltrees.metrics import ProgressiveSetValidation, ProgressiveValidation
from labeltrees.models.capabilities import Learns, LearnsSets, can
from labeltrees.models.model import Foreseen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from labeltrees.data.chunk import Chunk, OneLabel
    from labeltrees.data.rows import Rows

__all__ = [
    "Answer",
    "Lesson",
    "Lessons",
    "OneLabelLessons",
    "SetLessons",
    "can_be_taught",
    "lessons_of",
]

Answer = tuple[int, Any, Any, list[Any], list[float]]
"""The line of a row, its label (or labels), what they had as probability, the likeliest labels and
theirs."""

_N_TOP = 5
"""How many of the likeliest labels are scored where rows have many."""


@dataclass(frozen=True, eq=False)
class Lesson:
    """Rows and what they teach: a label for each, or label sets."""

    rows: Rows
    labels: Any
    weights: NDArray[np.float32]
    lines: NDArray[np.int64]
    """Of each row, in its file."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.rows.n_rows

    def row(self, number: int) -> Lesson:
        """Return one of the rows."""
        one = np.array([number])
        labels = self.labels.take(one) if isinstance(self.labels, LabelSets) else self.labels[one]
        return Lesson(self.rows.take(one), labels, self.weights[one], self.lines[one])


@dataclass(frozen=True, eq=False)
class Told:
    """What a model said of the rows of a lesson before it learned them."""

    seen: Any
    """`Foreseen` or `ForeseenSets`."""
    tops: list[tuple[list[Any], list[float]]] | None = None
    """The likeliest labels, where each row had to be asked for them."""


class Lessons(Protocol):
    """How rows are taught and scored."""

    scoring: ClassVar[Any]
    """The class of the scores of a stream."""
    n_scored: ClassVar[int]
    """How many likeliest labels cost nothing to know: 0, or those that are scored."""

    def of(self, chunk: Chunk) -> Lesson:
        """Return what the rows of a chunk teach; those without a label are left out."""

    def asks_each(self, n_top: int) -> bool:
        """Return whether rows are asked one by one for so many likeliest labels, which is slow."""

    def teach(self, model: Any, lesson: Lesson, *, n_top: int = 0, number: int = 0) -> Told:
        """Learn the rows and return what was foreseen, with the ``n_top`` likeliest labels.

        ``number`` says how often they have been learned before.
        """

    def score(self, scores: Any, lesson: Lesson, told: Told) -> None:
        """Add the rows to the scores of the stream."""

    def answers(self, lesson: Lesson, told: Told) -> Iterator[Answer]:
        """Return what was foreseen of each row."""


@dataclass(frozen=True)
class OneLabelLessons:
    """Rows are taught with one label each: of several, each in turn, one drawn, or the first."""

    scoring: ClassVar[Any] = ProgressiveValidation
    n_scored: ClassVar[int] = 0

    how: str = "each"
    seed: int = 0

    def of(self, chunk: Chunk) -> Lesson:
        """Return the rows with one label each."""
        rows, labels, weights = chunk.examples(cast("OneLabel", self.how), self.seed)
        n_labels = np.diff(chunk.label_starts)
        chosen = np.flatnonzero(n_labels)
        if self.how == "each":
            chosen = np.repeat(chosen, n_labels[chosen])
        return Lesson(rows, labels, weights, _lines(chunk)[chosen])

    def asks_each(self, n_top: int) -> bool:
        """Return whether `learn` does not tell so many labels: it tells one."""
        return n_top > 1

    def teach(self, model: Any, lesson: Lesson, *, n_top: int = 0, number: int = 0) -> Told:
        """Learn the rows in turn."""
        if self.asks_each(n_top):
            each = [
                (_likeliest(model, one.rows, n_top), self._learn(model, one, foresee_top=True))
                for one in map(lesson.row, range(lesson.n_rows))
            ]
            parts = zip(*(seen for _, seen in each), strict=True)
            return Told(Foreseen(*map(np.concatenate, parts)), [tops for tops, _ in each])
        more: dict[str, Any] = {"again": True} if number else {}
        if n_top:
            more["foresee_top"] = True
        return Told(self._learn(model, lesson, **more))

    def _learn(self, model: Any, lesson: Lesson, **more: Any) -> Any:
        return model.learn(lesson.rows, lesson.labels, lesson.weights, **more)

    def score(self, scores: Any, lesson: Lesson, told: Told) -> None:
        """Add the rows to a `ProgressiveValidation`."""
        seen, found = told.seen, {}
        if len(seen.top):
            found = {"correct": seen.top == lesson.labels, "p_top": seen.p_top}
        scores.update(seen.p_label, is_new=seen.is_new, sample_weight=lesson.weights, **found)

    def answers(self, lesson: Lesson, told: Told) -> Iterator[Answer]:
        """Return what was foreseen of each row; no likeliest label where none was known."""
        seen = told.seen
        tops = told.tops or [
            ([], []) if top is None else ([top], [p])
            for top, p in zip(seen.top.tolist(), seen.p_top.tolist(), strict=True)
        ]
        own = zip(lesson.lines.tolist(), lesson.labels.tolist(), seen.p_label.tolist(), strict=True)
        for (line, label, p_label), (labels, p) in zip(own, tops, strict=True):
            yield line, label, p_label, labels, p


@dataclass(frozen=True)
class SetLessons:
    """Rows are taught with all their labels; readers name each label of a row once."""

    scoring: ClassVar[Any] = ProgressiveSetValidation
    n_scored: ClassVar[int] = 1  # and five with it

    n_foreseen: int = 0
    """How many of the likeliest labels `learn_sets` can tell; 0: any number."""
    path: str = ""
    """The file, for errors."""

    def of(self, chunk: Chunk) -> Lesson:
        """Return the rows that have labels, with their label sets."""
        known = labelled(chunk)
        sets = LabelSets.of_chunk(known, self.path)
        return Lesson(known.rows, sets, weights_of(known), _lines(known))

    def asks_each(self, n_top: int) -> bool:
        """Return whether `learn_sets` does not tell so many labels."""
        return 0 < self.n_foreseen < n_top

    def teach(self, model: Any, lesson: Lesson, *, n_top: int = 0, number: int = 0) -> Told:
        """Learn the rows in turn."""
        if self.asks_each(n_top):
            each = [
                (_likeliest(model, one.rows, n_top), self._learn(model, one, self._k(n_top)))
                for one in map(lesson.row, range(lesson.n_rows))
            ]
            seen = [np.concatenate(part) for part in zip(*(s for _, s in each), strict=True)]
            return Told(type(each[0][1])(*seen), [tops for tops, _ in each])
        return Told(self._learn(model, lesson, self._k(n_top), number=number))

    def _k(self, n_top: int) -> int:
        """Return how many of the likeliest labels `learn_sets` is asked for."""
        k = max(n_top, _N_TOP) if n_top else 0
        return min(k, self.n_foreseen) if self.n_foreseen else k

    def _learn(self, model: Any, lesson: Lesson, k: int, **more: Any) -> Any:
        return model.learn_sets(lesson.rows, lesson.labels, lesson.weights, k=k, **more)

    def score(self, scores: Any, lesson: Lesson, told: Told) -> None:
        """Add the rows to a `ProgressiveSetValidation`."""
        seen, found = told.seen, {}
        if seen.top.size:
            own = map(set, _pieces(lesson.labels))
            pairs = zip(seen.top.tolist(), own, strict=True)
            found = {
                "hits": [[label in labels for label in tops] for tops, labels in pairs],
                "p_top": seen.p_top[:, 0],
            }
        weights = lesson.weights
        scores.update(
            seen.p_label, lesson.labels.starts, is_new=seen.is_new, sample_weight=weights, **found
        )

    def answers(self, lesson: Lesson, told: Told) -> Iterator[Answer]:
        """Return what was foreseen of each row, its labels and their probabilities as lists."""
        seen, sets = told.seen, lesson.labels
        p_own = seen.p_label.tolist()
        tops = told.tops or map(_known, seen.top.tolist(), seen.p_top.tolist())
        bounds = pairwise(sets.starts.tolist())
        each = zip(lesson.lines.tolist(), _pieces(sets), bounds, tops, strict=True)
        for line, own, (begin, end), (labels, p) in each:
            yield line, own, p_own[begin:end], labels, p


def can_be_taught(model: object) -> bool:
    """Return whether a model, or every model of a class, learns row by row.

    >>> from labeltrees.models.extreme.model import ExtremeModel
    >>> can_be_taught(ExtremeModel)
    False
    """
    return can(model, Learns) or can(model, LearnsSets)


def lessons_of(model: Any, settings: Any, *, how: str, seed: int, path: str) -> Lessons:
    """Return how a model, or a class of models, is taught.

    Parameters
    ----------
    model : model or class of models that `can_be_taught`
    settings : Settings
        Its settings.
    how : {"each", "draw", "first"}
        What a model of one label per row learns of rows with several.
    seed : int
        Of drawing.
    path : str
        The file, for errors.
    """
    if can(model, LearnsSets):
        return SetLessons(settings.refine, path)
    return OneLabelLessons(how, seed)


def _lines(chunk: Chunk) -> NDArray[np.int64]:
    return chunk.first_line + np.arange(chunk.n_rows) if chunk.lines is None else chunk.lines


def _likeliest(model: Any, row: Rows, n_top: int) -> tuple[list[Any], list[float]]:
    """Return the likeliest labels of a row, as many as there are."""
    k = min(n_top, getattr(model, "n_tree_labels", len(model.vocabulary)))
    if not k:
        return [], []
    found = model.top_labels(row, k)
    return found.labels[0].tolist(), found.probabilities[0].tolist()


def _known(labels: list[Any], p: list[float]) -> tuple[list[Any], list[float]]:
    """Return labels up to the first that is None: fewer were known."""
    n = next((place for place, label in enumerate(labels) if label is None), len(labels))
    return labels[:n], p[:n]


def _pieces(sets: LabelSets) -> Iterator[list[Any]]:
    labels = sets.labels.tolist()
    return (labels[begin:end] for begin, end in pairwise(sets.starts.tolist()))
