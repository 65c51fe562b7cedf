"""The loop of `labeltrees stream`: predict, learn, write, save, and report that it runs."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.autotrain.batches import batch_of, predicted_rows, scored_k
from labeltrees.cli.answers import csv_line, json_line, tsv_line
from labeltrees.cli.report import stop_writing
from labeltrees.cli.streaming.signals import AskedToStop
from labeltrees.data.ahead import read_ahead
from labeltrees.errors import DataError
from labeltrees.models.online.online_model import faded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from labeltrees.autotrain.batches import PredictedRow
    from labeltrees.cli.answers import AnswerFile
    from labeltrees.cli.streaming.checkpoint import Position
    from labeltrees.cli.streaming.learner import Learner
    from labeltrees.cli.streaming.signals import Stopping
    from labeltrees.cli.units import Every
    from labeltrees.data.chunk import Chunk
    from labeltrees.input import Input
    from labeltrees.progress import Progress

_PART_ROWS = 1024
"""Number of rows learned between looks at signals and clocks, about ten milliseconds."""
_SLOW_PART_ROWS = 64
"""The same number if each row has a search before it is learned."""
_SHORT = {"accuracy": "acc", "log loss": "loss"}
"""What scores are called in the bar."""
_TICK = 0.25  # seconds after which clocks are looked at although no row has come


class Pulse:
    """Shows that the stream is running, by a bar on a terminal or lines on stderr."""

    def __init__(self, progress: Progress, seconds_between: float) -> None:
        self.progress = progress
        self.seconds_between = seconds_between
        self.seconds = 0.0
        """Spent on learning."""
        self.n_examples = 0
        """Learned since this process began."""
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
        """Move the bar by n rows; write a line if it is time for one."""
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
        except (OSError, ValueError):  # the reader of the log is gone
            self.seconds_between = 0.0


@dataclass
class PredictionWriter:
    """Writes the label, its probability and the most likely labels of each example."""

    file: AnswerFile
    form: str
    n_top: int

    def begin(self) -> None:
        """Write the names of the columns, if the form has such a line."""
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
    """Number of most likely labels found before a row is learned."""
    pulse: Pulse
    stopping: Stopping
    forget: int | None = None
    """Number of rows after which what was learned counts half, or None."""
    unread: bool = False
    """Whether stdout was closed by who read it."""
    _saved_at: float = field(default_factory=time.monotonic)

    def run(self) -> None:
        """Deal with all rows, or those before a signal or a closed stdout; save the model."""
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
        except AskedToStop:
            self._flush()
        except BrokenPipeError:
            self.writer, self.unread = None, True
            stop_writing()
        except (DataError, OSError):
            self._save()  # what was learned before the bad line
            raise
        self._save()

    def _parts(self) -> Iterator[Chunk]:
        """Yield the rows in parts that are short enough to handle signals in time.

        Parts end where chunks do and at multiples of their size, counted from the first row of the
        source. So the parts of a resumed stream are the same as without a pause.
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
        """In how many rows the square root of a half is left."""
        assert self.forget is not None
        return max(self.forget // 2, 1)

    def _fade_if_due(self) -> None:
        """Fade after a fixed number of rows, counted from the first row of the source."""
        due = self.forget is not None and self.position.rows % self._fading_step == 0
        if due and self.model is not None:
            self.model = faded(self.model, 0.5**0.5)

    @property
    def n_labels(self) -> int:
        """How many labels the model knows."""
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
        """Save model and position, unless that has been done since the last row."""
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
