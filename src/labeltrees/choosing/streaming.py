"""A model of a file that is too large for memory, or whose order is to be kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from labeltrees.choosing.gathering import Gathered, stacked, without_features
from labeltrees.choosing.scores import Answers, ask, scores
from labeltrees.choosing.training import Measured
from labeltrees.data.ahead import read_ahead
from labeltrees.data.shuffle import shuffled
from labeltrees.errors import DataError
from labeltrees.metrics import ProgressiveValidation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from labeltrees.data.chunk import Chunk, OneLabel
    from labeltrees.metrics import ProgressiveSummary

__all__ = ["BUFFER_ROWS", "Streamed", "learn_stream"]

BUFFER_ROWS = 200_000
"""Rows that wait in memory, so that those which follow each other in the file do not in learning."""
_HELD_SHARE = 0.05
_MOST_HELD = 10_000


@dataclass
class Streamed:
    """What became of a stream."""

    model: Any
    progressive: ProgressiveSummary
    """Of predictions made before each row was learned, in the order in which rows were learned."""
    measured: Measured | None
    """On rows that were not learned; None if all were."""
    n_without_label: int


@dataclass
class _HeldOut:
    """A share of the rows, kept from learning until there are enough."""

    share: float
    random: np.random.Generator
    parts: list[Chunk] = field(default_factory=list)
    n_rows: int = 0

    def split(self, chunk: Chunk) -> Chunk:
        """Return the rows of a chunk that are to be learned, and keep the others."""
        if not self.share or self.n_rows >= _MOST_HELD:
            return chunk
        has_label = np.diff(chunk.label_starts) > 0
        held = (self.random.random(chunk.n_rows) < self.share) & has_label
        self.parts.append(chunk.take(np.flatnonzero(held)))
        self.n_rows += int(held.sum())
        return chunk.take(np.flatnonzero(~held))


def learn_stream(
    chunks: Iterable[Chunk],
    start: Callable[[int], Any],
    *,
    in_order: bool,
    one_label: str = "each",
    several: bool = False,
    seed: int = 0,
    name: str = "the model",
    advance: Callable[[int, dict[str, object]], None] = lambda n, shown: None,
) -> Streamed:
    """Learn chunk by chunk, through a shuffle buffer unless the order is to be kept.

    Parameters
    ----------
    chunks : chunks of a file
    start : function of a number of features
        Returns the model that learns.
    in_order : bool
        Whether rows are learned in the order of the file. If not, one in twenty (10,000 at most)
        is kept from learning, and the model is measured by them.
    one_label : {"each", "draw", "first"}
        What is learned of rows with several labels.
    several : bool
        Whether rows have several labels, and answers are measured by all of them.
    seed : int
    name : str
        What the model is called in the table.
    advance : function of a number of rows and what to show
    """
    held = _HeldOut(0.0 if in_order else _HELD_SHARE, np.random.default_rng(seed))
    counted = _Counted(chunks)
    learned: Iterator[Chunk] = (held.split(chunk) for chunk in counted)
    if not in_order:
        learned = shuffled(learned, BUFFER_ROWS, seed)
    how = cast("OneLabel", one_label)
    validation, model = ProgressiveValidation(), None
    for rows, labels, weights in read_ahead(chunk.examples(how, seed) for chunk in learned):
        if not rows.n_rows:
            continue
        model = start(rows.n_features) if model is None else model
        seen = model.learn(rows, labels, weights)
        validation.update(seen.p_label, is_new=seen.is_new, sample_weight=weights)
        loss = validation.summary().log_loss_seen or 0.0
        advance(len(labels), {"loss": loss, "labels": len(model.vocabulary)})
    if model is None:
        raise DataError("the data have no row with a label.")
    measured = _measure(model, held.parts, several=several, name=name)
    return Streamed(model, validation.summary(), measured, counted.n_without)


class _Counted:
    """Chunks, and how many of their rows had no label."""

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self.chunks, self.n_without = chunks, 0

    def __iter__(self) -> Iterator[Chunk]:
        for chunk in self.chunks:
            self.n_without += int((np.diff(chunk.label_starts) == 0).sum())
            yield chunk


def _measure(model: Any, parts: list[Chunk], *, several: bool, name: str) -> Measured | None:
    kept = [part for part in parts if part.n_rows]
    if not kept:
        return None
    asked = [
        Gathered(
            stacked([part.rows]), part.labels, part.label_starts,
            np.ones(part.n_rows, np.float32) if part.weights is None else part.weights,
        )
        for part in kept
    ]  # fmt: skip
    answers = Answers.joined([ask(model, part, several=several) for part in asked])
    data = without_features(asked)
    return Measured(data.n_rows, 1, {name: scores(answers, data, several=several)})
