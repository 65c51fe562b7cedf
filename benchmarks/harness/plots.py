"""Pictures with panels, a title above them, and one legend below them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any


def links(*names: str) -> list[str]:
    """Return the Markdown paragraphs that show pictures."""
    return [f"![{name.replace('_', ' ')}](../plots/{name}.png)" for name in names]


def figure(columns: int, *, rows: int = 1, size: tuple[float, float], sharey: bool = False) -> Any:
    """Return a figure and its panels in rows; ``size`` is the width and height of a panel."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    return pyplot.subplots(
        rows,
        columns,
        figsize=(size[0] * columns, size[1] * rows),
        sharey=sharey,
        squeeze=False,
        layout="constrained",
    )


def titled(drawn: Any, title: str) -> None:
    """Write what a picture shows above its panels, at the left."""
    drawn.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")


def linear(axis: Any, across: list[float], first: float) -> None:
    """Draw the line of a cost that grows like the labels, from the first cost, and name it."""
    costs = [first * each / across[0] for each in across]
    axis.plot(across, costs, "--", color="#666666", linewidth=1)
    middle = len(across) // 2
    axis.annotate(
        "O(n)", (across[middle], costs[middle]), (-8, 2), textcoords="offset points", ha="right"
    )


def finish(
    drawn: Any, panels: Iterable[Any], path: Path, *, ncols: int = 4, dpi: int = 130
) -> None:
    """Add a grid to the panels and the legend of all of them below, and save the figure."""
    from matplotlib import pyplot

    named: dict[str, Any] = {}
    for axis in panels:
        axis.grid(color="#DDDDDD", linewidth=0.6)
        axis.spines[["top", "right"]].set_visible(False)
        if axis.get_xscale() == "linear":
            axis.locator_params(axis="x", nbins=5)
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            named.setdefault(label, handle)
    # Below the panels, where it cannot hide a line.
    drawn.legend(
        named.values(), named, loc="outside lower center", ncols=ncols, frameon=False, fontsize=9
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    drawn.savefig(path, dpi=dpi)
    pyplot.close(drawn)
