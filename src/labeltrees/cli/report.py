"""Print results to stdout as tables, learning curves and JSON."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labeltrees.tables import pairs_text, table_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from labeltrees.metrics import (
        ProgressiveSummary,
        StreamScores,
    )

JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]

_BARS = " ▏▎▍▌▋▊▉█"
_CURVE_ROWS = 15
_CURVE_WIDTH = 40
_TITLES = {
    "accuracy": "accuracy",
    "squared_loss": "squared",
    "log_loss": "log",
    "precision_at_1": "P@1",
    "ndcg_at_5": "nDCG@5",
    "log_loss_seen": "log",
}
"""Titles of the scores that a learning curve shows."""


_to_stderr: ContextVar[bool] = ContextVar("_to_stderr", default=False)


@contextmanager
def reporting_to_stderr(yes: bool = True) -> Iterator[None]:
    """Write the reports of this block to stderr, because stdout has other lines."""
    token = _to_stderr.set(yes)
    try:
        yield
    finally:
        _to_stderr.reset(token)


def say(text: str = "") -> None:
    """Write a line to stdout. End the command without an error if stdout was closed."""
    try:
        (sys.stderr if _to_stderr.get() else sys.stdout).write(f"{text}\n")
    except BrokenPipeError:
        stop_writing()
        raise typer.Exit(0) from None


def say_now() -> None:
    """Flush stdout. End the command without an error if stdout was closed."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        stop_writing()
        raise typer.Exit(0) from None


def say_all() -> None:
    """Flush stdout at the end of a command."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        stop_writing()


def stop_writing() -> None:
    """Discard further writes to stdout, which was closed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say_json(value: Any) -> None:
    """Write a value to stdout as one JSON document."""
    say(json.dumps(value, ensure_ascii=False, allow_nan=False))


def say_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write an aligned table. The first column is aligned left, the others right."""
    say(table_text(header, rows))


def say_pairs(pairs: dict[str, object]) -> None:
    """Write one name and its value per line, aligned."""
    say(pairs_text(pairs))


def say_curve(summary: ProgressiveSummary) -> None:
    """Write a learning curve with accuracy or P@1 as bars and two other scores as numbers."""
    from labeltrees.metrics._stream_scores import CURVES

    points = summary.curve
    if not points:
        return
    names = CURVES[summary.label_sets]
    rows = _grouped(points, names)
    is_known = any(getattr(point, names[0]) is not None for point in points)
    top = max(first for _, (first, _, _) in rows) or 1.0
    title, one, other = (_TITLES[name] for name in names)
    say(f"  {'examples':>11}   {title:<{_CURVE_WIDTH + 8}}   {one:>7}   {other:>6}")
    for n_rows, (first, second, third) in rows:
        bar = _bar(first / top).ljust(_CURVE_WIDTH)
        shown = f"{first:.3f}" if is_known else "    -"
        say(f"  {n_rows:>11,}   {bar}   {shown}   {second:7.3f}   {third:6.3f}")


def _grouped(points: Sequence[Any], names: Sequence[str]) -> list[tuple[int, list[float]]]:
    """Return at most _CURVE_ROWS means over consecutive blocks, weighted by their rows."""
    size = max(1, -(-len(points) // _CURVE_ROWS))
    starts = [0, *(point.n_rows for point in points)]
    rows = []
    for first in range(0, len(points), size):
        group = points[first : first + size]
        weights = [p.n_rows - starts[first + i] for i, p in enumerate(group)]
        means = [
            sum(w * (getattr(p, name) or 0.0) for w, p in zip(weights, group, strict=True))
            / sum(weights)
            for name in names
        ]
        rows.append((group[-1].n_rows, means))
    return rows


def progressive_pairs(summary: ProgressiveSummary) -> dict[str, object]:
    """Return the lines that describe a progressive validation."""
    tail, sets = summary.tail, summary.label_sets
    pairs: dict[str, object] = {"examples": summary.n_rows}
    if sets:
        pairs["labels per row"] = (summary.n_labels or 0) / max(1, summary.n_rows)
    pairs["new labels"] = summary.n_new_labels
    pairs |= _best(summary)
    if sets:
        pairs |= {"P@3": summary.precision_at_3, "P@5": summary.precision_at_5}
        pairs["nDCG@5"] = summary.ndcg_at_5
    else:
        loss = _with_radius(summary.squared_loss, summary.squared_loss_radius)
        pairs |= {"squared loss (1-p)²": loss, "equivalent labels": summary.equivalent_labels}
    seen = "log loss, a row's seen labels" if sets else "log loss, seen labels"
    pairs |= {seen: summary.log_loss_seen, "calibration error@1": summary.calibration_error}
    if tail is not None:
        pairs |= {f"{name}, last 20 %": value for name, value in _best(tail).items()}
        if sets:
            pairs["nDCG@5, last 20 %"] = tail.ndcg_at_5
        pairs["log loss, last 20 %"] = tail.log_loss_seen
    return pairs


def _best(scores: StreamScores) -> dict[str, object]:
    """Return P@1 where rows have label sets, else accuracy, with its radius."""
    if scores.label_sets:
        return {"P@1": _with_radius(scores.precision_at_1, scores.precision_at_1_radius)}
    return {"accuracy": _with_radius(scores.accuracy, scores.accuracy_radius)}


def _with_radius(value: float | None, radius: float | None) -> str:
    return "-" if value is None else f"{value:.4f} ± {radius or 0:.4f}"


def _bar(share: float) -> str:
    eighths = round(share * _CURVE_WIDTH * 8)
    return "█" * (eighths // 8) + _BARS[eighths % 8].strip()
