"""The picture: rows per second, memory and accuracy, by rows and by labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scale_sections import report

if TYPE_CHECKING:
    from pathlib import Path

NAMES = {"identifiers": ("identifiers", "#0072B2"), "debian": ("Debian's paths", "#D55E00")}
HEIGHTS = {
    "rows per second of the processor": lambda each: each["n_rows"] / each["cpu_s"],
    "memory, GB (dashed: tables)": lambda each: each["resident_mb"] / 1e3,
    "accuracy": lambda each: each["accuracy"],
}
TABLES = "memory, GB (dashed: tables)"
ACROSS = {"examples": "rows", "labels": "labels"}


def draw(measured: Path, folder: Path) -> None:
    """Draw what there is into ``scale.png``."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    streams = {kind: report.measured(measured, kind) for kind in NAMES}
    if not any(streams.values()):
        return
    figure, axes = pyplot.subplots(2, 3, figsize=(12, 6.4), layout="constrained")
    for line, (across, title) in zip(axes, ACROSS.items(), strict=True):
        for axis, name in zip(line, HEIGHTS, strict=True):
            for kind, windows in streams.items():
                draw_one(axis, name, across, kind, windows)
            finish(axis, title, name)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "scale.png", dpi=80)
    pyplot.close(figure)


def draw_one(axis: Any, name: str, across: str, kind: str, windows: list[dict[str, Any]]) -> None:
    label, colour = NAMES[kind]
    if not windows:
        return
    x = [each[across] for each in windows]
    axis.plot(x, [HEIGHTS[name](each) for each in windows], color=colour, label=label)
    if name == TABLES:
        tables = [(each["table_mb"] + each["experts_mb"]) / 1e3 for each in windows]
        axis.plot(x, tables, "--", color=colour)


def finish(axis: Any, across: str, name: str) -> None:
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

    axis.set(xlabel=across, ylabel=name, ylim=(0, 1 if name == "accuracy" else None))
    axis.set_xscale("log")
    axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.xaxis.set_major_formatter(EngFormatter(sep=""))
    axis.xaxis.set_minor_formatter(NullFormatter())
    if "per second" in name:
        axis.yaxis.set_major_formatter(EngFormatter(sep=""))
    axis.grid(color="#DDDDDD", linewidth=0.6)
    axis.spines[["top", "right"]].set_visible(False)
