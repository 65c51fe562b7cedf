"""The loop of `labeltrees stream`: foresee, learn, write, save, say that it is alive."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from labeltrees.cli.answers import csv_line, json_line, tsv_line
from labeltrees.cli.report import stop_writing
from labeltrees.cli.signals import AskedToStop
from labeltrees.data.ahead import read_ahead
from labeltrees.errors import DataError
from labeltrees.models.model import Foreseen
from labeltrees.models.online.fading import faded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from labeltrees.cli.amounts import Every
    from labeltrees.cli.answers import AnswerFile
    from labeltrees.cli.checkpoint import Position
    from labeltrees.cli.inputs import Input
    from labeltrees.cli.signals import Stopping
    from labeltrees.data.chunk import Chunk, OneLabel
    from labeltrees.data.rows import Rows
    from labeltrees.progress import Progress

    Tops = list[tuple[list[Any], list[float]]]

__all__ = ["Answers", "Pulse", "Stream"]

_PART_ROWS = 1024
"""A part of a chunk is learned without a look at signals and clocks: some ten milliseconds."""
_SLOW_PART_ROWS = 64
"""The same if each row is asked for several labels before it is learned."""
_TICK = 0.25  # seconds after which clocks are looked at although no row has come


class Pulse:
    """Tells people that the stream is alive: the bar on a terminal, elsewhere lines on stderr."""

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
                scores = position.validation.scores()
                shown = {} if scores.accuracy is None else {"acc": scores.accuracy}
                loss = scores.log_loss_seen or 0.0
                self.progress.advance(n, loss=loss, labels=n_labels, **shown)
                return
        self.progress.advance(n)
        if self.seconds_between and now >= self._next_line and not sys.stderr.isatty():
            self._next_line = now + self.seconds_between
            self._write(now, position, n_labels)

    def _write(self, now: float, position: Position, n_labels: int) -> None:
        before, n_before = self._line_before
        self._line_before = now, self.n_examples
        rate = (self.n_examples - n_before) / max(now - before, 1e-9)
        scores = position.validation.scores()
        parts = [f"{position.rows:,} rows", f"{n_labels:,} labels", f"{rate:,.0f} examples/s"]
        if scores.accuracy is not None:
            parts.append(f"accuracy {scores.accuracy:.4f}")
        if scores.log_loss_seen is not None:
            parts.append(f"log loss {scores.log_loss_seen:.4f}")
        if (size := _resident_bytes()) is not None:
            parts.append(f"{size / 2**20:,.0f} MiB")
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        try:
            sys.stderr.write(f"labeltrees: {stamp} streaming: {', '.join(parts)}\n")
            sys.stderr.flush()
        except (OSError, ValueError):  # nobody reads the log
            self.seconds_between = 0.0


@dataclass
class Answers:
    """Writes what was foreseen of each example: its label and the likeliest ones."""

    file: AnswerFile
    form: str
    n_top: int

    def begin(self) -> None:
        """Write the names of the columns, if the form has such a line."""
        if self.form == "csv":
            ranks = range(1, self.n_top + 1)
            pairs = [name for rank in ranks for name in (f"top_{rank}", f"p_{rank}")]
            self.file.add(csv_line(["line", "label", "p_label", *pairs]))

    def write(self, lines: list[int], labels: NDArray[Any], seen: Foreseen, tops: Tops) -> None:
        """Write a line for each example."""
        each = zip(lines, labels.tolist(), seen.p_label.tolist(), tops, strict=True)
        for line, label, p_label, (likeliest, p_likeliest) in each:
            self.file.add(self._line(line, label, p_label, likeliest, p_likeliest))
        self.file.flush(now=False)

    def _line(
        self, line: int, label: Any, p_label: float, tops: list[Any], p_tops: list[float]
    ) -> str:
        if self.form == "tsv":
            return tsv_line([label, p_label], tops, p_tops)
        if self.form == "csv":
            pairs = [value for pair in zip(tops, p_tops, strict=True) for value in pair]
            nothing = [None] * (2 * (self.n_top - len(tops)))
            return csv_line([line, label, p_label, *pairs, *nothing])
        said = {"line": line, "label": label, "p_label": p_label}
        return json_line(said | {"labels": tops, "probabilities": p_tops})


@dataclass
class Stream:
    """A model that foresees the rows of a source and then learns them."""

    source: Input
    position: Position
    start: Callable[[int], Any]
    """Makes a model for rows of so many features."""
    model: Any
    out: Path | None
    extra: dict[str, Any]
    checkpoint: Every
    answers: Answers | None
    find_top: bool
    pulse: Pulse
    stopping: Stopping
    forget: int | None = None
    """In how many rows what was learned fades by half; None: it does not."""
    unread: bool = False
    """Whether stdout was closed by who read it."""
    _saved_at: float = field(default_factory=time.monotonic)

    def run(self) -> None:
        """Deal with all rows, or those before a signal or a closed stdout; save the model."""
        if self.answers is not None and self.position.rows == 0:
            self.answers.begin()
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
            self.answers, self.unread = None, True
            stop_writing()
        except (DataError, OSError):
            self._save()  # what was learned before the bad line
            raise
        self._save()

    def _parts(self) -> Iterator[Chunk]:
        """Yield the rows, at most so many that a signal is heard in time; wake up in between.

        Parts end where chunks do and at multiples of their size, counted from the first row of the
        source: a stream that is resumed is cut as one that was not.
        """
        size = _SLOW_PART_ROWS if self._several else _PART_ROWS
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
        how = cast("OneLabel", self.source.labels)
        rows, labels, weights = part.examples(how, self.source.seed)
        if rows.n_rows:
            if self.model is None:
                self.model = self.start(rows.n_features)
            started = time.perf_counter()
            seen, tops = self._foresee(rows, labels, weights)
            self.pulse.learned(len(labels), time.perf_counter() - started)
            found = {"correct": seen.top == labels, "p_top": seen.p_top} if self.find_top else {}
            self.position.validation.update(
                seen.p_label, is_new=seen.is_new, sample_weight=weights, **found
            )
        self.position.rows += part.n_rows
        self.position.unlabelled += part.n_unlabelled
        if rows.n_rows and self.answers is not None:
            self.answers.write(_lines_of(part, how), labels, seen, tops)
        self.pulse.show(part.n_rows, self.position, self.n_labels)

    @property
    def _fading_step(self) -> int:
        """In how many rows the square root of a half is left."""
        assert self.forget is not None
        return max(self.forget // 2, 1)

    def _fade_if_due(self) -> None:
        """Fade after every so many rows of the source, counted from its first."""
        due = self.forget is not None and self.position.rows % self._fading_step == 0
        if due and self.model is not None:
            self.model = faded(self.model, 0.5**0.5)

    @property
    def _several(self) -> bool:
        return self.answers is not None and self.answers.n_top > 1

    def _foresee(
        self, rows: Rows, labels: NDArray[Any], weights: NDArray[np.float32]
    ) -> tuple[Foreseen, Tops]:
        """Learn, and return what was foreseen; `learn` itself tells one likeliest label."""
        if not self._several:
            seen = self.model.learn(rows, labels, weights, foresee_top=self.find_top)
            pairs = zip(seen.top.tolist(), seen.p_top.tolist(), strict=True)
            return seen, [([], []) if top is None else ([top], [p]) for top, p in pairs]
        assert self.answers is not None
        each, tops = [], []
        for i in range(rows.n_rows):
            row = rows.take(np.array([i]))
            if k := min(self.answers.n_top, len(self.model.vocabulary)):
                found = self.model.top_labels(row, k)
                tops.append((found.labels[0].tolist(), found.probabilities[0].tolist()))
            else:
                tops.append(([], []))
            one = slice(i, i + 1)
            each.append(self.model.learn(row, labels[one], weights[one], foresee_top=True))
        return Foreseen(*map(np.concatenate, zip(*each, strict=True))), tops

    @property
    def n_labels(self) -> int:
        """How many labels the model knows."""
        return 0 if self.model is None else len(self.model.vocabulary)

    def _flush(self) -> None:
        if self.answers is not None:
            self.answers.file.flush()

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
        if self.answers is not None:
            self.position.predictions_bytes = self.answers.file.n_bytes
        extra = self.extra | {"stream": self.position.to_dict()}
        self.source.save(self.model, self.out, extra=extra)
        self.position.saved_rows, self._saved_at = self.position.rows, time.monotonic()


def _lines_of(part: Chunk, how: str) -> list[int]:
    """Return the line of each example that `Chunk.examples` makes."""
    n_labels = np.diff(part.label_starts)
    chosen = np.flatnonzero(n_labels)
    if how == "each":
        chosen = np.repeat(chosen, n_labels[chosen])
    lines = part.first_line + np.arange(part.n_rows) if part.lines is None else part.lines
    numbers: list[int] = lines[chosen].tolist()
    return numbers


def _resident_bytes() -> int | None:
    """Return how much memory this process takes, where the system tells."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096
    except (OSError, ValueError, LookupError):
        return None
