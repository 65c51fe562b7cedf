"""The tables and the picture, from the file of measurements."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from harness import plots
from harness.report import Block, notes, number, table
from scale_sections import measurements

TITLES = {
    "identifiers": "Next identifier, source of many packages",
    "debian": "Debian: which package has this path",
}
FIRST_LABELS = 64_000  # the growth is reported from here
#: Tables are full where rows make less than this share of the most new lines and never more again.
FULL = 0.3
STREAM_HEADER = [
    "rows", "labels", "nodes on a path", "accuracy", "log loss (seen)", "new labels", "rows/s",
    "CPU µs/row", "P(label), far", "near", "tables MB", "resident MB", "load",
]  # fmt: skip
PREFIX_HEADER = ["program", "rows", "labels", "accuracy", "wall s", "CPU s", "CPU µs/row", "MB"]
GROWTH_HEADER = [
    "labels", "nodes on a path", "learn µs", "learn, times the first", "P(label) far µs",
    "far, times the first", "near µs", "near, times the first", "tables MB",
]  # fmt: skip
MEMORY_HEADER = ["memory, MB", "ns, median", "ns, least", "times the first"]
BATCH_HEADER = [
    "labels", "rows", "program", "train s", "train CPU s", "CPU ms/row", "train MB", "P@1", "P@3",
    "P@5", "ask ms/row", "single p50 ms", "model MB",
]  # fmt: skip


def section(path: Path) -> list[Block]:
    """Return all tables that the results have numbers for."""
    streams = [block for kind in TITLES for block in stream(path, kind)]
    picture = "![scale](../plots/scale.png)"
    return [*streams, *growth(path), *batch(path), picture]


def stream(path: Path, kind: str) -> list[Block]:
    windows = measured(path, kind)
    if not windows:
        return []
    some = thinned(windows)
    blocks = [f"### {TITLES[kind]}", table(STREAM_HEADER, [stream_row(each) for each in some])]
    said = [
        "Each line is about the rows since the one before it in the results, of which the table "
        "shows some. CPU µs/row: predicting and learning, all threads; making the features takes "
        f"{1e6 * windows[-1]['other_cpu_s'] / windows[-1]['n_rows']:.1f} more. P(label): µs of the "
        "processor per row, of rows not seen before (far) and of 40 rows again and again (near).",
        grown(windows),
        *(each["left_out"] for each in measurements.read(path, section=kind) if "left_out" in each),
    ]
    prefix = measurements.read(path, section=f"{kind}-prefix")
    rows = [prefix_row(each) for each in prefix]
    if rows:
        blocks += ["The first rows, from one text file.", table(PREFIX_HEADER, rows)]
    return [*blocks, notes(*said)]


def measured(path: Path, kind: str) -> list[dict[str, Any]]:
    """Return the windows of a stream, in their order."""
    return [each for each in measurements.read(path, section=kind) if "examples" in each]


def thinned(windows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the first window, each that ends at least 1.4 times as late, and the last."""
    some = windows[:1]
    for each in windows[1:-1]:
        if each["examples"] >= 1.4 * some[-1]["examples"]:
            some.append(each)
    return some + windows[1:][-1:]


def stream_row(each: dict[str, Any]) -> list[str]:
    n = each["n_rows"]
    return [
        f"{each['examples']:,}",
        f"{each['labels']:,}",
        number(each["depth_of_an_example"], 1),
        number(each["accuracy"], 3),
        number(each["log_loss_seen"], 3),
        f"{100 * each['new_share']:.1f} %",
        number(n / each["wall_s"], 0),
        number(1e6 * each["cpu_s"] / n, 1),
        number(each.get("far_us"), 1),
        number(each.get("near_us"), 1),
        number(each["table_mb"] + each["experts_mb"], 0),
        number(each["resident_mb"], 0),
        number(each["load"], 0),
    ]


def grown(windows: list[dict[str, Any]]) -> str | None:
    """Return a sentence on the processor's time per row, against that at the first 64,000 labels.

    Each cost is of up to four windows, as one alone is at the mercy of other programs.
    """
    later = [i for i, each in enumerate(windows) if each["labels"] >= FIRST_LABELS]
    if not later or len(windows) < later[0] + 8:
        return None
    first, last = windows[later[0] :][:4], windows[-4:]
    full = filled(windows)
    said = f"From {first[0]['labels']:,} labels"
    if full is not None and full >= later[0] + 8:
        said += f" to {grew(first, windows[full - 4 : full])}; then the tables were full, and"
    return f"{said} to {grew(first, last)} (means of four lines each)."


def grew(first: list[dict[str, Any]], last: list[dict[str, Any]]) -> str:
    before, after = per_row(first), per_row(last)
    return (
        f"{last[-1]['labels']:,} the processor's time per row grew {after / before:.2f} times, "
        f"from {before:.1f} to {after:.1f} µs, while the load went from {load(first):.0f} to "
        f"{load(last):.0f}"
    )


def filled(windows: list[dict[str, Any]]) -> int | None:
    """Return the first window in which tables had no room for most lines, or None.

    The very first window is left out, because every line is new there.
    """
    new = [(each["lines"] - before["lines"]) / each["n_rows"] for before, each in pairwise(windows)]
    n_free = len(windows)
    while n_free > 1 and new[n_free - 2] < FULL * max(new):
        n_free -= 1
    return None if n_free == len(windows) else n_free


def per_row(several: list[dict[str, Any]]) -> float:
    return 1e6 * sum(each["cpu_s"] for each in several) / sum(each["n_rows"] for each in several)


def load(several: list[dict[str, Any]]) -> float:
    return float(sum(each["load"] for each in several) / len(several))


def prefix_row(each: dict[str, Any]) -> list[str]:
    if "left_out" in each:
        return [each["name"], f"{each['rows']:,}", f"{each['labels']:,}", each["left_out"], *"----"]
    return [
        each["name"],
        f"{each['rows']:,}",
        f"{each['labels']:,}",
        number(each["accuracy"], 3),
        number(each["wall_s"], 1),
        number(each["cpu_s"], 1),
        number(1e6 * each["cpu_s"] / each["rows"], 1),
        number(each["peak_mb"], 0),
    ]


def growth(path: Path) -> list[Block]:
    """Return the controlled comparison of models of different sizes that take turns."""
    found = measurements.read(path, section="growth")
    if not found:
        return []
    blocks: list[Block] = ["### Cost per row by labels, models taking turns"]
    for name in dict.fromkeys(each["name"] for each in found):
        of_kind = [each for each in found if each["name"] == name]
        rows = [growth_row(each) for each in latest(of_kind, "labels")]
        blocks += [f"{name.capitalize()}.", table(GROWTH_HEADER, rows)]
    full = [
        growth_row(each) for each in latest(measurements.read(path, section="full"), "max_memory")
    ]
    if full:
        blocks += ["Refined; of two models of one size the second has half of the memory."]
        blocks += [table(GROWTH_HEADER, full)]
    read = [memory_row(each) for each in latest(measurements.read(path, section="memory"), "bytes")]
    if read:
        blocks += ["One number of a random line of 64 bytes, from plain arrays."]
        blocks += [table(MEMORY_HEADER, read)]
    said = notes(
        "Made-up rows of 20 features (`online.py`, *windows*), each label learned twice before. "
        "µs are medians over turns of 4,000 rows, of the thread's processor time; times are "
        "medians, and quartiles, over the turns of the ratio to the first model in the same round, "
        "so the load is the same for both."
    )
    return [*blocks, said]


def memory_row(each: dict[str, Any]) -> list[str]:
    numbers = each["ns"], each["least_ns"], each["times"]
    return [f"{each['bytes'] / 1e6:,.0f}", *(number(value, 2) for value in numbers)]


def growth_row(each: dict[str, Any]) -> list[str]:
    costs = []
    for kind in ("learn", "far", "near"):
        low, high = each[f"{kind}_range"]
        costs.append(number(each[f"{kind}_us"], 1))
        costs.append(f"{each[f'{kind}_times']:.2f} ({low:.2f}-{high:.2f})")
    size = number(each["table_mb"] + each["experts_mb"], 0)
    return [f"{each['labels']:,}", number(each["depth_of_an_example"], 1), *costs, size]


def batch(path: Path) -> list[Block]:
    found = latest(measurements.read(path, section="batch"), "labels", "name")
    if not found:
        return []
    said = notes(
        "Rows of three labels and 24 words, half of them any words (`batch.py`'s made-up sets). "
        "Rows are equal in number to labels, but at most 256,000, so some of a million labels have "
        "none. Two threads train, and one predicts the top 10 of 2,000 other rows. MB is the peak "
        "of the training program.",
    )
    rows = [batch_row(each) for each in sorted(found, key=lambda each: each["labels"])]
    return ["### Many labels per row, learned in batch", table(BATCH_HEADER, rows), said]


def batch_row(each: dict[str, Any]) -> list[str]:
    head = [f"{each['labels']:,}", f"{each['rows']:,}", each["name"]]
    if "left_out" in each:
        return [*head, each["left_out"], *"-" * (len(BATCH_HEADER) - 4)]
    return [
        *head,
        number(each["train_s"], 1),
        number(each["train_cpu_s"], 1),
        number(1e3 * each["train_cpu_s"] / each["rows"], 3),
        number(each["train_mb"], 0),
        *(number(100 * each[f"P@{k}"], 1) for k in (1, 3, 5)),
        number(each["batch_cpu_ms"], 3),
        number(each["p50_ms"], 3),
        number(each["model_mb"], 0),
    ]


def latest(records: list[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    """Return the last record of each combination of values, in the order of the first ones."""
    return list({tuple(each[name] for name in names): each for each in records}.values())


LINES = {"identifiers": ("identifiers", "#0072B2"), "debian": ("Debian's paths", "#D55E00")}
HEIGHTS = {
    "processor time per row, µs": lambda each: 1e6 * each["cpu_s"] / each["n_rows"],
    "memory, GB (dashed: tables)": lambda each: each["resident_mb"] / 1e3,
    "accuracy": lambda each: each["accuracy"],
}
COST, TABLES_HEIGHT = list(HEIGHTS)[:2]


def draw(path: Path, folder: Path) -> None:
    """Draw what there is into ``scale.png``."""
    streams = {kind: measured(path, kind) for kind in LINES}
    if not any(streams.values()):
        return
    figure, panels = plots.figure(1, rows=len(HEIGHTS), size=(4.8, 2.6))
    for axis, name in zip(panels[:, 0], HEIGHTS, strict=True):
        for kind, windows in streams.items():
            draw_line(axis, name, kind, windows)
        finish(axis, name)
    panels[-1, 0].set_xlabel("labels so far")
    plots.titled(figure, "The cost of a row grows far slower than the labels")
    plots.finish(figure, panels.flat, folder / "scale.png", ncols=2, dpi=110)


def draw_line(axis: Any, name: str, kind: str, windows: list[dict[str, Any]]) -> None:
    label, colour = LINES[kind]
    if not windows:
        return
    x = [each["labels"] for each in windows]
    heights = [HEIGHTS[name](each) for each in windows]
    axis.plot(x, heights, color=colour, label=label)
    if name == TABLES_HEIGHT:
        tables = [(each["table_mb"] + each["experts_mb"]) / 1e3 for each in windows]
        axis.plot(x, tables, "--", color=colour)
    if name == COST and kind == next(iter(LINES)):
        plots.linear(axis, x, heights[0])


def finish(axis: Any, name: str) -> None:
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter, StrMethodFormatter

    axis.set_title(name)
    axis.set_xscale("log")
    axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.xaxis.set_major_formatter(EngFormatter(sep=""))
    axis.xaxis.set_minor_formatter(NullFormatter())
    if name == COST:
        axis.set_yscale("log")
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        axis.yaxis.set_minor_formatter(NullFormatter())
    else:
        axis.set_ylim(0, 1 if name == "accuracy" else None)
