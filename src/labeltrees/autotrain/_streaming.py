"""Train a model row by row, on data larger than memory or in their order."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.autotrain._batches import batch_of, scored_k
from labeltrees.autotrain._held_out import Measured
from labeltrees.autotrain._memory import buffer_rows, given_up, kept_within_memory
from labeltrees.data.ahead import read_ahead
from labeltrees.data.shuffle import joined, shuffled
from labeltrees.errors import DataError
from labeltrees.evaluation import Evaluator
from labeltrees.evaluation._truth import task_of
from labeltrees.metrics import ProgressiveValidation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from labeltrees.data.chunk import Chunk, OneLabel
    from labeltrees.metrics import ProgressiveSummary

BUFFER_ROWS = 200_000
"""Maximum number of rows in the shuffle buffer, which is smaller if memory is short."""
_HELD_SHARE = 0.05
_MOST_HELD = 10_000


@dataclass
class Streamed:
    """A model that was trained row by row, with its scores."""

    model: Any
    progressive: ProgressiveSummary
    """The scores of predictions that were made before each row was learned."""
    measured: Measured | None
    """The scores on held-out rows, or None if all rows were learned."""
    n_unlabelled: int


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
    read: Callable[[], Iterable[Chunk]],
    start: Callable[[int], Any],
    *,
    in_order: bool,
    one_label: OneLabel | None = "each",
    path: str = "",
    n_passes: int = 1,
    seed: int = 0,
    name: str = "the model",
    advance: Callable[[int, dict[str, object]], None] | None = None,
) -> Streamed:
    """Train chunk by chunk, through a shuffle buffer unless the order is kept.

    Parameters
    ----------
    read : function without arguments
        Returns the chunks of a file, and is called for every pass over it.
    start : function of a number of features
        Returns the model that learns.
    in_order : bool
        Whether rows are learned in the order of the file. If not, one in twenty (10,000 at most)
        is kept from learning, and the model is measured by them.
    one_label : {"each", "draw", "first"} or None
        What the model learns of a row with several labels, or None for all of them together.
    path : str
        The name of the file for errors.
    n_passes : int
        The number of passes over the training rows.
    seed : int
    name : str
        The name of the model in the table.
    advance : function of a number of rows and what to show
    """
    single = one_label is not None
    validation = ProgressiveValidation(label_sets=not single)
    model: Any = None
    first = None
    mix = _Mixer(seed)
    with ExitStack() as memory:
        for number in range(n_passes):
            held = _HeldOut(0.0 if in_order else _HELD_SHARE, np.random.default_rng(seed))
            counted = _Counted(read())
            first = first or (held, counted)
            learned: Iterator[Chunk] = (held.split(chunk) for chunk in counted)
            if not in_order:
                learned = mix(learned, number)
            batches = (batch_of(chunk, one_label, seed=seed, path=path) for chunk in learned)
            for batch in read_ahead(batches):
                if not batch.n_rows:
                    continue
                if model is None:
                    model = start(batch.rows.n_features)
                    memory.enter_context(kept_within_memory(model))
                k = 0 if single else scored_k(model.settings, 1)
                predicted = model.update(
                    batch.rows, batch.targets, batch.row_weights, k=k, pass_number=number
                )
                if number == 0:
                    validation.observe(predicted, batch.targets, batch.weights)
                if advance is not None:
                    loss = validation.scores().log_loss_seen or 0.0
                    advance(batch.n_rows, {"loss": loss, "labels": len(model.vocabulary)})
    if model is None or first is None:
        raise DataError("No row of the data has a label.")
    measured = _measure(model, first[0].parts, name=name)
    return Streamed(model, validation.summary(), measured, first[1].n_unlabelled)


@dataclass
class _Mixer:
    """Shuffles the rows of each pass, through a buffer that is smaller where rows are long."""

    seed: int
    n_rows: int | None = None
    """The size of the buffer, which depends on the first rows."""

    def __call__(self, chunks: Iterator[Chunk], number: int) -> Iterator[Chunk]:
        """Return the rows of a pass."""
        held = list(islice(chunks, 1))
        if held and self.n_rows is None:
            self.n_rows = buffer_rows(held[0], BUFFER_ROWS)
        rest = chain(given_up(held), chunks)
        return shuffled(rest, self.n_rows or BUFFER_ROWS, self.seed + number)


class _Counted:
    """Chunks, and how many of their rows had no label."""

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self.chunks, self.n_unlabelled = chunks, 0

    def __iter__(self) -> Iterator[Chunk]:
        for chunk in self.chunks:
            self.n_unlabelled += chunk.n_unlabelled
            yield chunk


def _measure(model: Any, parts: list[Chunk], *, name: str) -> Measured | None:
    kept = [part for part in parts if part.n_rows]
    if not kept:
        return None
    data = joined(kept)
    evaluator = Evaluator(task=task_of(data))
    evaluator.add(model, data)
    found = evaluator.evaluation()
    return Measured(found.n_rows, 1, {name: found.headline})
