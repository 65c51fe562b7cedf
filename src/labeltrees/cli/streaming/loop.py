"""The loop of `labeltrees stream`, which predicts, learns, writes, saves and shows progress."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.autotrain._batches import batch_of, predicted_rows, scored_k
from labeltrees.cli.answers import csv_line, json_line, tsv_line
from labeltrees.cli.method_options import AMOUNT
from labeltrees.cli.report import stop_writing
from labeltrees.cli.streaming.signals import StopRequested
from labeltrees.data.ahead import read_ahead
from labeltrees.errors import ArgumentError, DataError
from labeltrees.models.online.online_model import faded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from labeltrees.autotrain._batches import PredictedRow
    from labeltrees.cli.answers import AnswerFile
    from labeltrees.cli.streaming.signals import Stopping
    from labeltrees.cli.streaming.state import Learner, Position
    from labeltrees.data.chunk import Chunk
    from labeltrees.input import Input
    from labeltrees.progress import Progress

_PART_ROWS = 1024
"""Number of rows between two checks of signals and clocks, about ten milliseconds."""
_SLOW_PART_ROWS = 64
"""Number of rows between two checks if several labels of each row are predicted."""
_SHORT = {"accuracy": "acc", "log loss": "loss"}
"""Names of scores in the progress bar."""
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
"""Seconds of the units of an interval."""
_TICK = 0.25  # Seconds between two checks of clocks while no row comes.


@dataclass(frozen=True)
class Every:
    """An interval in rows or in seconds."""

    rows: int | None = None
    seconds: float | None = None

    def is_due(self, n_rows: int, seconds: float) -> bool:
        """Return whether the interval has passed after this number of rows and seconds."""
        if self.rows is not None:
            return n_rows >= self.rows
        return self.seconds is not None and n_rows > 0 and seconds >= self.seconds


def every(option: str, text: str) -> Every:
    """Return the interval of a text such as 10000 (rows), 30s, 5m or 2h.

    >>> every("--checkpoint-every", "10000"), every("--checkpoint-every", "5m")
    (Every(rows=10000, seconds=None), Every(rows=None, seconds=300.0))
    """
    found = AMOUNT.fullmatch(text)
    if found is not None and float(found[1]) > 0:
        number, unit = found[1], found[2].lower()
        if not unit and number.isdigit():
            return Every(rows=int(number))
        if unit in _SECONDS:
            return Every(seconds=float(number) * _SECONDS[unit])
    raise ArgumentError.of(option, text, "rows such as 10000, or a time such as 30s, 5m or 2h")


class Pulse:
    """The progress of a stream, which is a bar on a terminal, or else lines on stderr."""

    def __init__(self, progress: Progress, seconds_between: float) -> None:
        self.progress = progress
        self.seconds_between = seconds_between
        self.seconds = 0.0
        """Seconds spent on learning."""
        self.n_examples = 0
        """Number of examples learned since this process started."""
        self._next_show = 0.0
        self._next_line = time.monotonic() + seconds_between
        self._line_before = (time.monotonic(), 0)

    @property
    def rate(self) -> float:
        """Examples learned per second of learning."""
        return self.n_examples / self.seconds if self.seconds else 0.0

    def learned(self, n: int, seconds: float) -> None:
        """Count examples."""
        self.n_examples += n
        self.seconds += seconds

    def show(self, n: int, position: Position, n_labels: int) -> None:
        """Move the bar by n rows, or write a line if the interval has passed."""
        now = time.monotonic()
        if now >= self._next_show:
            self._next_show = now + 0.1
            if sys.stderr.isatty():
                brief = position.validation.scores().brief()
                shown: dict[str, object] = {_SHORT.get(name, name): v for name, v in brief.items()}
                self.progress.advance(n, labels=n_labels, **shown)
                return
        self.progress.advance(n)
        if self.seconds_between and now >= self._next_line and not sys.stderr.isatty():
            self._next_line = now + self.seconds_between
            self._write(now, position, n_labels)

    def _write(self, now: float, position: Position, n_labels: int) -> None:
        before, n_before = self._line_before
        self._line_before = now, self.n_examples
        rate = (self.n_examples - n_before) / max(now - before, 1e-9)
        parts = [f"{position.rows:,} rows", f"{n_labels:,} labels", f"{rate:,.0f} examples/s"]
        brief = position.validation.scores().brief()
        parts += [f"{name} {score:.4f}" for name, score in brief.items()]
        if (size := _resident_bytes()) is not None:
            parts.append(f"{size / 2**20:,.0f} MiB")
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        try:
            sys.stderr.write(f"labeltrees: {stamp} streaming: {', '.join(parts)}\n")
            sys.stderr.flush()
        except (OSError, ValueError):  # The log was closed.
            self.seconds_between = 0.0


@dataclass
class PredictionWriter:
    """Writes the label and the most likely labels of each example."""

    file: AnswerFile
    form: str
    n_top: int

    def begin(self) -> None:
        """Write the names of the columns if the format has such a line."""
        if self.form == "csv":
            ranks = range(1, self.n_top + 1)
            pairs = [name for rank in ranks for name in (f"top_{rank}", f"p_{rank}")]
            self.file.add(csv_line(["line", "label", "p_label", *pairs]))

    def write(self, rows: Iterable[PredictedRow]) -> None:
        """Write a line for each example."""
        for line, label, p_label, tops, p_tops in rows:
            self.file.add(
                self._line(line, label, p_label, tops[: self.n_top], p_tops[: self.n_top])
            )
        self.file.flush(now=False)

    def _line(
        self, line: int, label: Any, p_label: Any, tops: list[Any], p_tops: list[float]
    ) -> str:
        if self.form == "jsonl":
            values = {"line": line, "label": label, "p_label": p_label}
            return json_line(values | {"labels": tops, "probabilities": p_tops})
        if isinstance(label, list):  # all labels of the row
            label = ",".join(map(str, label))
            p_label = ",".join(f"{p:.6g}" for p in p_label)
        if self.form == "tsv":
            return tsv_line([label, p_label], tops, p_tops)
        pairs = [value for pair in zip(tops, p_tops, strict=True) for value in pair]
        nothing = [None] * (2 * (self.n_top - len(tops)))
        return csv_line([line, label, p_label, *pairs, *nothing])


@dataclass
class Stream:
    """A model that predicts the rows of a source and then learns them."""

    source: Input
    position: Position
    learner: Learner
    model: Any
    out: Path | None
    extra: dict[str, Any]
    checkpoint: Every
    writer: PredictionWriter | None
    n_top: int
    """Number of most likely labels that are predicted before a row is learned."""
    pulse: Pulse
    stopping: Stopping
    forget: int | None = None
    """Number of rows after which the weight of older rows has halved, or None."""
    unread: bool = False
    """Whether the reader of stdout has closed it."""
    _saved_at: float = field(default_factory=time.monotonic)

    def run(self) -> None:
        """Process the rows until a signal or until stdout is closed, and save the model."""
        if self.writer is not None and self.position.rows == 0:
            self.writer.begin()
        try:
            for part in self._parts():
                self._learn(part)
                self._fade_if_due()
                self._save_if_due()
                if self.stopping.caught is not None:
                    break
            self._flush()
        except StopRequested:
            self._flush()
        except BrokenPipeError:
            self.writer, self.unread = None, True
            stop_writing()
        except (DataError, OSError):
            self._save()  # It has learned the rows before the bad line.
            raise
        self._save()

    def _parts(self) -> Iterator[Chunk]:
        """Yield parts of chunks, small enough to react to signals, and check clocks in between.

        Parts end where chunks end and at multiples of their size, counted from the first row of the
        source. A resumed stream therefore has the same parts as one that was not stopped.
        """
        one_by_one = self.n_top > self.learner.settings.batch_k
        size = _SLOW_PART_ROWS if one_by_one else _PART_ROWS
        n_before = 0 if self.position.input is None else self.position.rows
        chunks = read_ahead(self.source.chunks(n_before), tick=_TICK)
        while True:
            with self.stopping.waiting():
                try:
                    chunk = next(chunks)
                except StopIteration:
                    return
            if chunk is None:
                self._look_at_clocks()
                continue
            begin = 0
            while begin < chunk.n_rows:
                end = min(chunk.n_rows, begin + size - self.position.rows % size)
                if self.forget is not None:
                    step = self._fading_step
                    end = min(end, begin + step - self.position.rows % step)
                whole = end - begin == chunk.n_rows
                yield chunk if whole else chunk.take(np.arange(begin, end))
                begin = end
            self._flush()

    def _learn(self, part: Chunk) -> None:
        source, single = self.source, not self.learner.model_class.takes_label_sets
        one_label = source.one_label if single else None
        batch = batch_of(part, one_label, seed=source.seed, path=source.path)
        if batch.n_rows:
            if self.model is None:
                self.model = self.learner.start(batch.rows.n_features)
            started = time.perf_counter()
            k = scored_k(self.learner.settings, self.n_top)
            predicted = self.model.update(batch.rows, batch.targets, batch.row_weights, k=k)
            self.pulse.learned(batch.n_rows, time.perf_counter() - started)
            self.position.validation.observe(predicted, batch.targets, batch.weights)
        self.position.rows += part.n_rows
        self.position.unlabelled += part.n_unlabelled
        if batch.n_rows and self.writer is not None:
            self.writer.write(predicted_rows(batch, predicted, single=single))
        self.pulse.show(part.n_rows, self.position, self.n_labels)

    @property
    def _fading_step(self) -> int:
        """Number of rows after which the weight is multiplied by the square root of 0.5."""
        assert self.forget is not None
        return max(self.forget // 2, 1)

    def _fade_if_due(self) -> None:
        """Fade after each `_fading_step` rows, counted from the first row of the source."""
        due = self.forget is not None and self.position.rows % self._fading_step == 0
        if due and self.model is not None:
            self.model = faded(self.model, 0.5**0.5)

    @property
    def n_labels(self) -> int:
        """The number of labels of the model."""
        return 0 if self.model is None else len(self.model.vocabulary)

    def _flush(self) -> None:
        if self.writer is not None:
            self.writer.file.flush()

    def _look_at_clocks(self) -> None:
        self._flush()
        self._save_if_due()
        self.pulse.show(0, self.position, self.n_labels)

    def _save_if_due(self) -> None:
        n_rows = self.position.rows - max(self.position.saved_rows, 0)
        if self.checkpoint.is_due(n_rows, time.monotonic() - self._saved_at):
            self._save()

    def _save(self) -> None:
        """Save model and position if there are new rows."""
        if self.out is None or self.model is None or self.position.saved_rows == self.position.rows:
            return
        self._flush()
        if self.writer is not None:
            self.position.predictions_bytes = self.writer.file.n_bytes
        extra = self.extra | {"stream": self.position.to_dict()}
        self.source.save(self.model, self.out, extra=extra)
        self.position.saved_rows, self._saved_at = self.position.rows, time.monotonic()


def _resident_bytes() -> int | None:
    """Return the resident memory of this process in bytes, None where /proc does not exist."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, LookupError):
        return None
