"""What very many labels and rows would need, step by step from what was measured."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.report import Block, table
from scale_sections import measurements, report

LABELS, ROWS = 100e6, 10e9
#: A machine that can be hired anywhere, of which a quarter of the memory is left for the rest.
MACHINE_BYTES, NETWORK_BYTES = 0.75 * 256e9, 1.25e9
DAY = 86_400.0


@dataclass(frozen=True)
class Costs:
    """Measured costs of updating a refined tree, and sizes of the stream of identifiers."""

    row_us: float
    """Time to predict and learn a row, at the largest number of labels that took turns."""
    labels: float
    least_us: float
    least_labels: float
    """The same at the least labels, whose tables are small."""
    least_depth: float
    """Levels of that tree that a row passes."""
    entries: float
    """Features of a row of the stream."""
    rows: float
    table_bytes: float
    """Bytes of all tables of the stream after ``rows`` rows, before they reach their limit."""
    table_power: float
    """Tables grew with this power of the rows."""
    label_bytes: float
    """Bytes of a label without weights, for its name, its place in the tree and its counts."""
    stream_labels: float
    label_power: float

    @property
    def level_us(self) -> float:
        """What twice the labels add to a row: a level more, and all tables twice as large."""
        return (self.row_us - self.least_us) / math.log2(self.labels / self.least_labels)

    @property
    def near_level_us(self) -> float:
        """Cost of a level where the tables are small, as at the top of the tree."""
        return self.least_us / self.least_depth


def section(path: Path) -> list[Block]:
    """Return the arithmetic as a table of steps, or a sentence that says what is missing."""
    growth = report.latest(measurements.read(path, section="growth", name="refined"), "labels")
    windows = report.measured(path, "identifiers")
    label = measurements.read(path, section="label")
    if len(growth) < 2 or len(windows) < 2 or not label:
        return ["The projection needs measurements of the sections growth and identifiers."]
    measured = costs(growth, windows, label[-1]["bytes"])
    return [table(["step", "arithmetic", "gives"], steps(measured))]


def costs(growth: list[dict[str, Any]], windows: list[dict[str, Any]], label_bytes: float) -> Costs:
    """Return the costs of a row, a level and a byte.

    Microseconds are the least of the turns, because other programs can only add to them.
    """
    small, large = growth[0], growth[-1]
    full = report.filled(windows)
    first, last = windows[0], windows[-1 if full is None else max(full - 1, 1)]
    more = math.log(last["examples"] / first["examples"])
    return Costs(
        row_us=large["learn_least_us"],
        labels=large["labels"],
        least_us=small["learn_least_us"],
        least_labels=small["labels"],
        least_depth=small["depth_of_an_example"],
        entries=windows[-1]["entries_per_row"],
        rows=last["examples"],
        table_bytes=tables(last),
        table_power=math.log(tables(last) / tables(first)) / more,
        label_bytes=label_bytes,
        stream_labels=last["labels"],
        label_power=math.log(last["labels"] / first["labels"]) / more,
    )


def tables(window: dict[str, Any]) -> float:
    return 1e6 * (window["table_mb"] + window["experts_mb"])


def steps(c: Costs) -> list[list[str]]:
    """Return each step: what, how it is computed, what comes out."""
    levels = math.log2(LABELS / c.labels)
    row_us = c.row_us + levels * c.level_us
    seconds = ROWS * row_us / 1e6
    label_bytes = LABELS * c.label_bytes
    table_bytes = c.table_bytes * (ROWS / c.rows) ** c.table_power
    machines = max(1, math.ceil((table_bytes + label_bytes) / MACHINE_BYTES))
    full_rows = c.rows * (MACHINE_BYTES / c.table_bytes) ** (1 / c.table_power)
    top = math.log2(machines)
    top_us = top * c.near_level_us
    rest_us = row_us - top_us
    row_bytes = 4 * c.entries + 16
    sent = ROWS * row_bytes
    their_labels = c.stream_labels * (ROWS / c.rows) ** c.label_power
    return [
        ["a row", f"measured at {c.labels:,.0f} labels", f"{c.row_us:.1f} µs"],
        ["a level of small tables", f"{c.least_us:.1f} µs at {c.least_labels:,.0f} labels / "
         f"{c.least_depth:.1f} levels", f"{c.near_level_us:.2f} µs"],
        ["twice the labels: a level more, tables twice as large",
         f"({c.row_us:.1f} - {c.least_us:.1f} at {c.least_labels:,.0f}) / "
         f"{math.log2(c.labels / c.least_labels):.1f}", f"{c.level_us:.2f} µs"],
        ["a row at 100 M labels",
         f"{c.row_us:.1f} + log2({LABELS:.0e} / {c.labels:.0e}) = {levels:.1f} x "
         f"{c.level_us:.2f}", f"{row_us:.1f} µs"],
        ["10 G rows, one core", f"1e10 x {row_us:.1f} µs", f"{seconds / DAY:.1f} days"],
        ["tables",
         f"{c.table_bytes / 1e9:.2f} GB x (1e10 / {c.rows:.2e} rows)^{c.table_power:.2f}",
         f"{table_bytes / 1e12:.2f} TB"],
        ["vocabulary and tree", f"1e8 x {c.label_bytes:.0f} bytes", f"{label_bytes / 1e9:.0f} GB"],
        ["machines by memory",
         f"({table_bytes / 1e12:.2f} TB + {label_bytes / 1e9:.0f} GB) / "
         f"{MACHINE_BYTES / 1e9:.0f} GB", f"{machines}"],
        ["rows until one machine is full",
         f"{c.rows:.2e} x ({MACHINE_BYTES / 1e9:.0f} / {c.table_bytes / 1e9:.2f})^"
         f"(1 / {c.table_power:.2f})", f"{full_rows / 1e9:.2f} G"],
        ["of which the core has done", f"{full_rows:.2e} x {row_us:.1f} µs",
         f"{full_rows * row_us / 1e6 / DAY:.2f} days"],
        ["top levels, on one machine",
         f"1e10 x log2({machines}) = {top:.1f} x {c.near_level_us:.2f} µs",
         f"{ROWS * top_us / 1e6 / 3600:.0f} hours"],
        ["subtrees, a machine each, one core",
         f"1e10 x ({row_us:.1f} - {top_us:.1f}) µs / {machines}",
         f"{ROWS * rest_us / 1e6 / machines / 3600:.0f} hours"],
        ["rows over the network", f"1e10 x ({c.entries:.0f} x 4 + 16) = {row_bytes:.0f} bytes",
         f"{sent / 1e12:.2f} TB"],
        ["the same at 10 Gbit/s, one sender", f"{sent / 1e12:.2f} TB / 1.25 GB/s",
         f"{sent / NETWORK_BYTES / 60:.0f} minutes"],
        ["labels that so many rows of the stream would have",
         f"{c.stream_labels:,.0f} x (1e10 / {c.rows:.2e})^{c.label_power:.2f}",
         f"{their_labels / 1e6:.0f} M"],
    ]  # fmt: skip
