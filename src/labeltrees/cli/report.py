"""Results on stdout: tables, learning curves, JSON."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from labeltrees.metrics import CurvePoint, ProgressiveSummary

__all__ = [
    "JsonOption",
    "QuietOption",
    "progressive_pairs",
    "reporting_to_stderr",
    "say",
    "say_all",
    "say_curve",
    "say_json",
    "say_now",
    "say_pairs",
    "say_table",
    "stop_writing",
]

JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]

_BARS = " ▏▎▍▌▋▊▉█"
_CURVE_ROWS = 15
_CURVE_WIDTH = 40


_to_stderr: ContextVar[bool] = ContextVar("_to_stderr", default=False)


@contextmanager
def reporting_to_stderr(yes: bool = True) -> Iterator[None]:
    """Let what is said in this block go to stderr: stdout has other lines."""
    token = _to_stderr.set(yes)
    try:
        yield
    finally:
        _to_stderr.reset(token)


def say(text: str = "") -> None:
    """Write a line to stdout; end the command quietly if nobody reads it any more."""
    try:
        (sys.stderr if _to_stderr.get() else sys.stdout).write(f"{text}\n")
    except BrokenPipeError:
        stop_writing()
        raise typer.Exit(0) from None


def say_now() -> None:
    """Write what is held back; end the command quietly if nobody reads it any more."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        stop_writing()
        raise typer.Exit(0) from None


def say_all() -> None:
    """Write what is still held back."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        stop_writing()


def stop_writing() -> None:
    """Send what is still written to stdout nowhere: nobody reads it any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say_json(value: Any) -> None:
    """Write a value to stdout as one JSON document."""
    say(json.dumps(value, ensure_ascii=False, allow_nan=False))


def say_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write an aligned table: the first column to the left, the others to the right."""
    cells = [list(header), *([_text(value) for value in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    for number, row in enumerate(cells):
        first = row[0].ljust(widths[0])
        rest = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        say("  " + "   ".join((first, *rest)).rstrip())
        if number == 0:
            say("  " + "-" * (sum(widths) + 3 * (len(widths) - 1)))


def say_pairs(pairs: dict[str, object]) -> None:
    """Write one name and value a line, aligned."""
    width = max(map(len, pairs))
    for name, value in pairs.items():
        say(f"  {name.ljust(width)}   {_text(value)}")


def say_curve(points: Sequence[CurvePoint]) -> None:
    """Write a learning curve: accuracy as bars, with the losses beside it."""
    rows = _grouped(points)
    has_accuracy = any(point.accuracy is not None for point in points)
    top = max((accuracy for _, accuracy, _, _ in rows), default=0.0) or 1.0
    if rows:
        say(f"  {'examples':>11}   {'accuracy':<{_CURVE_WIDTH + 8}}   {'squared':>7}   {'log':>6}")
    for n_rows, accuracy, squared, log in rows:
        bar = _bar(accuracy / top).ljust(_CURVE_WIDTH)
        shown = f"{accuracy:.3f}" if has_accuracy else "    -"
        say(f"  {n_rows:>11,}   {bar}   {shown}   {squared:7.3f}   {log:6.3f}")


def _grouped(points: Sequence[CurvePoint]) -> list[tuple[int, float, float, float]]:
    """Return at most _CURVE_ROWS means over consecutive blocks, each weighted by its rows."""
    size = max(1, -(-len(points) // _CURVE_ROWS))
    starts = [0, *(point.n_rows for point in points)]
    rows = []
    for first in range(0, len(points), size):
        group = points[first : first + size]
        weights = [p.n_rows - starts[first + i] for i, p in enumerate(group)]
        scores = [(p.accuracy or 0.0, p.squared_loss or 0.0, p.log_loss or 0.0) for p in group]
        accuracy, squared, log = (
            sum(w * score[i] for w, score in zip(weights, scores, strict=True)) / sum(weights)
            for i in range(3)
        )
        rows.append((group[-1].n_rows, accuracy, squared, log))
    return rows


def progressive_pairs(summary: ProgressiveSummary) -> dict[str, object]:
    """Return the lines that describe a progressive validation."""
    tail = summary.tail
    pairs: dict[str, object] = {
        "examples": summary.n_rows,
        "new labels": summary.n_new_labels,
        "accuracy": _with_radius(summary.accuracy, summary.accuracy_radius),
        "squared loss (1-p)²": _with_radius(summary.squared_loss, summary.squared_loss_radius),
        "equivalent labels": summary.equivalent_labels,
        "log loss, seen labels": summary.log_loss_seen,
        "calibration error@1": summary.calibration_error,
    }
    if tail is not None:
        pairs["accuracy, last 20 %"] = _with_radius(tail.accuracy, tail.accuracy_radius)
        pairs["log loss, last 20 %"] = tail.log_loss_seen
    return pairs


def _with_radius(value: float | None, radius: float | None) -> str:
    return "-" if value is None else f"{value:.4f} ± {radius or 0:.4f}"


def _bar(share: float) -> str:
    eighths = round(share * _CURVE_WIDTH * 8)
    return "█" * (eighths // 8) + _BARS[eighths % 8].strip()


def _text(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4f}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
