"""Plots of the benchmarks page, drawn from the records of benchmarks/results/*.jsonl."""

from __future__ import annotations

import io
import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = [
    "FIRST_CONTACT_SETS", "ONLINE_SETS", "PLOTS", "Records", "Table", "is_ours", "number", "plots",
    "read", "table", "with_plots",
]  # fmt: skip

_FOLDER = "plots/made"
_OURS, _PEER = "#0d7f74", "#b0742a"
_THEMES = {"light": "#30363d", "dark": "#c9d1d9"}

Records = list[dict[str, Any]]


class Table(NamedTuple):
    """A table of a section, its cells as text."""

    columns: list[str]
    rows: list[list[str]]

    def column(self, name: str) -> list[str]:
        """Return a column as it is printed."""
        place = self.columns.index(name)
        return [row[place] for row in self.rows]


def read(folder: Path) -> Records:
    """Return the records of all benchmarks; numbers keep the digits they are written with."""
    files = sorted(folder.glob("*.jsonl"))
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return [json.loads(line, parse_float=Decimal) for line in lines]


def number(cell: str) -> float:
    """Return the number in a cell; brackets mark scores that do not claim to be probabilities.

    >>> number("4417"), number("(0.120)"), number("3 (default)")
    (4417.0, 0.12, 3.0)
    """
    found = re.match(r"\(?(-?\d*\.?\d+)", cell)
    return float("nan") if found is None else float(found[1])


def table(records: Records, benchmark: str, *section: str, place: int = 0) -> Table:
    """Return a table of a section, which is named by its headings; the first has place 0.

    >>> row = {"benchmark": "a", "section": ["B"], "table": 0, "row": {"x": "*y*", "z": 1}}
    >>> table([row], "a", "B")
    Table(columns=['x', 'z'], rows=[['y', '1']])
    """
    where = {"benchmark": benchmark, "section": list(section), "table": place}
    found = [each["row"] for each in records if where.items() <= each.items()]
    if not found:
        name = " > ".join((benchmark, *section))
        raise LookupError(f"benchmarks/results has no table {place} of {name}")
    rows = [["-" if cell is None else str(cell) for cell in row.values()] for row in found]
    return Table(list(found[0]), [[re.sub(r"[`*]", "", cell) for cell in row] for row in rows])


def is_ours(name: str) -> bool:
    """Return whether a learner is one of ours.

    >>> is_ours("labeltrees, 1 tree"), is_ours("VW --plt")
    (True, False)
    """
    return name.startswith("labeltrees")


def _colours(names: list[str]) -> list[str]:
    return [_OURS if is_ours(name) else _PEER for name in names]


def _titled(axes: Any, title: str, below: str) -> None:
    """Write the story of a plot above it, and its unit below the story."""
    axes.figure.suptitle(f"{title}\n", x=0.01, ha="left", fontsize=11.5, fontweight="bold")
    axes.figure.text(0.012, 0.9, below, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)


def _named(axes: Any, name: str, x: float, y: float, place: tuple[float, float, str]) -> None:
    """Write a name beside a point; the place is right, up and the name's end at the point."""
    axes.annotate(
        name, (x, y), place[:2], textcoords="offset points", fontsize=8.5, ha=place[2],
        color=_colours([name])[0], fontweight="bold" if is_ours(name) else "normal",
    )  # fmt: skip


def _end_to_end(results: Records, axes: Any) -> None:
    found = table(results, "online", "End to end from one file", "First 200,000 examples")
    times = [number(cell) for cell in found.column("CPU / default")]
    scores = [100 * number(cell) for cell in found.column("accuracy")]
    names = found.column("program")
    axes.scatter(times, scores, c=_colours(names), s=46, zorder=3)
    for name, memory, x, y in zip(names, found.column("peak MB"), times, scores, strict=True):
        _named(axes, f"{name}, {memory} MB", x, y, (-7, 6, "right") if x > 2 else (7, 3, "left"))
    axes.set_xlim(0.4, 3.5)
    axes.set_ylim(30, 54)
    axes.set_xlabel("processor time as a multiple of our default")
    _titled(axes, "More accurate than VW, in less time", "Accuracy on the last fifth, %")


# Names that would lie on another point: right, up, and the end of the name at the point.
_PLACES = {
    "PECOS XR-Linear": (-7, -3, "right"),
    "labeltrees, 1 tree": (-5, 7, "left"),
    "labeltrees, hinge, 1 tree, C=0.3": (-5, -13, "left"),
    "Omikuji log, 1 tree": (4, -13, "center"),
    "Omikuji hinge, 3 trees": (-7, -3, "right"),
    "Omikuji log, 3 trees": (4, 7, "right"),
}


def _batch(results: Records, axes: Any) -> None:
    time = table(results, "batch", "Cost and quality", "yso-en")
    quality = table(results, "batch", "Cost and quality", "yso-en", place=1)
    names = time.column("contestant")
    x = [number(cell) for cell in time.column("train s")]
    y = [number(cell) for cell in quality.column("nDCG@5")]
    axes.scatter(x, y, c=_colours(names), s=46, zorder=3)
    for name, c, left, up in zip(names, time.column("C"), x, y, strict=True):
        full = name if "default" in c else f"{name}, C={c}"
        _named(axes, full, left, up, _PLACES.get(full, (7, -3, "left")))
    axes.set_xscale("log")
    axes.set_xlim(1.4, 75)
    axes.set_ylim(23.2, 28.2)
    axes.set_xticks([2, 5, 10, 20, 50], ["2", "5", "10", "20", "50"])
    axes.minorticks_off()
    axes.set_xlabel("seconds of training with two threads")
    _titled(axes, "Better rankings in less training time", "nDCG@5 on yso-en, %")


def _calibration(results: Records, axes: Any) -> None:
    quality = table(results, "batch", "Cost and quality", "yso-en", place=1)
    cells = quality.column("ECE@1")
    names = [
        f"{name}{'' if 'default' in c else f', C={c}'}"
        for name, c in zip(quality.column("contestant"), quality.column("C"), strict=True)
    ]
    values, places = [number(cell) for cell in cells], range(len(names))[::-1]
    axes.barh(places, values, color=_colours(names), height=0.62)
    axes.set_yticks(places, [name.removeprefix("labeltrees, ") for name in names], fontsize=8.5)
    for place, value, text in zip(places, values, cells, strict=True):
        axes.text(value, place, f"  {text}", va="center", fontsize=8.5)
    axes.set_xlim(0, 1.2 * max(values))
    axes.text(0.06, places[0], "labeltrees", color=_OURS, fontweight="bold", va="center")
    title = "At most a third of the peers' calibration error"
    _titled(axes, title, "ECE@1 on yso-en; scores that are no probabilities in brackets")


def _growth(results: Records, axes: Any) -> None:
    found = table(results, "online", "Growth with the number of labels")
    rows = [row for row in found.rows if row[0] != "last / first"]
    labels = [number(row[0]) for row in rows]
    styles = {"learn µs": ("update", "o-"), "P(label) µs": ("P(label)", "s--"),
              "exact top 1 µs": ("top 1", "^:")}  # fmt: skip
    growth = []
    for name, (label, style) in styles.items():
        values = [number(row[found.columns.index(name)]) for row in rows]
        axes.plot(labels, values, style, color=_OURS, ms=5, label=label)
        growth.append(values[-1] / values[0])
    first = number(rows[0][found.columns.index("learn µs")])
    linear = [first * n / labels[0] for n in labels]
    axes.plot(labels, linear, color=_PEER, lw=1.2)
    axes.text(
        labels[1],
        1.6 * linear[1],
        "O(n): a model that \nscores every label ",
        color=_PEER,
        ha="right",
    )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(labels, [f"{int(n):,}" for n in labels])
    axes.set_yticks([10, 100, 1000], ["10", "100", "1,000"])
    axes.minorticks_off()
    axes.set_xlabel("labels")
    axes.legend(frameon=False, loc="center right")
    times = f"{min(growth):.1f} to {max(growth):.1f}"
    _titled(axes, f"1,000 times the labels, {times} times the cost", "µs per row")


ONLINE_SETS = ("bibtex", "rcv1-sub1", "delicious", "yso-en", "identifiers")
_ONLINE_PEERS = ("napkinXC OPLT", "VW --plt", "VW --plt --sgd", "VW --multilabel_oaa")


def _online_multilabel(results: Records, axes: Any) -> None:
    rows = {}
    for each in ONLINE_SETS:
        found = table(results, "online_multilabel", "One pass over each set", each)
        scores = dict(zip(found.column("learner"), found.column("P@1"), strict=True))
        peers = {name: number(scores[name]) for name in _ONLINE_PEERS if name in scores}
        rows[each] = (number(scores["labeltrees, one pass"]), peers)
    _dots(axes, rows)
    first = sum(ours > max(peers.values()) for ours, peers in rows.values())
    words = ("none", "one", "two", "three", "four", "five")
    axes.set_xlim(0, 80)
    title = f"Best of the online models on {words[first]} of five sets"
    _titled(axes, title, "P@1 after one pass, %; the best peer is named")


FIRST_CONTACT_SETS = (
    "iris", "wine", "breast-cancer", "digits", "letter", "clinc150",
    "bibtex", "rcv1-sub1", "debian", "delicious",
)  # fmt: skip


def _first_contact(results: Records, axes: Any) -> None:
    rows = {}
    for each in FIRST_CONTACT_SETS:
        found = table(results, "first_contact", each)
        score = "P@1 %" if "P@1 %" in found.columns else "accuracy %"
        cells = zip(found.column("contestant"), found.column(score), strict=True)
        scores = [
            (re.sub(r" \(.*\)|scikit-learn, |, 3 trees", "", name), number(cell))
            for name, cell in cells
        ]
        ours = next(value for name, value in scores if is_ours(name))
        rows[each] = (ours, {name: value for name, value in scores if not is_ours(name)})
    _dots(axes, rows)
    axes.set_xlim(32, 125)
    axes.set_xticks(range(40, 101, 20))
    _titled(axes, "Without options, close to tuned peers or better",
            "Accuracy or P@1 on test rows, %; the best peer is named")  # fmt: skip


def _dots(axes: Any, rows: dict[str, tuple[float, dict[str, float]]]) -> None:
    """Draw a line of scores for each data set, ours and the peers', and name the best peer."""
    for place, (ours, peers) in enumerate(reversed(rows.values())):
        axes.plot(list(peers.values()), [place] * len(peers), "o", color=_PEER, ms=6, alpha=0.75)
        axes.plot(ours, place, "D", color=_OURS, ms=7)
        best = max(peers, key=lambda name: peers[name])
        axes.text(max(ours, peers[best]) + 2, place, best, color=_PEER, fontsize=8.5, va="center")
        if place == len(rows) - 1:
            axes.text(
                ours,
                place + 0.35,
                "labeltrees",
                color=_OURS,
                fontweight="bold",
                ha="center",
                fontsize=8.5,
            )
    axes.set_yticks(range(len(rows)), list(rows)[::-1])
    axes.set_ylim(-0.6, len(rows) - 0.2)
    axes.grid(axis="x", alpha=0.25)


PLOTS: dict[str, tuple[Callable[[Records, Any], None], str]] = {
    "end_to_end": (_end_to_end, "Processor time and accuracy of labeltrees and VW on one stream"),
    "batch": (_batch, "Seconds to learn yso-en and nDCG@5 of labeltrees and its peers"),
    "calibration": (_calibration, "Calibration error of labeltrees and its peers on yso-en"),
    "growth": (_growth, "Microseconds per row by the number of labels"),
    "online_multilabel": (_online_multilabel, "P@1 of online learners on five sets"),
    "first_contact": (_first_contact, "Accuracy of labeltrees train beside tuned peers, ten sets"),
}
"""The function that draws each plot, and a sentence for readers who cannot see it."""


def with_plots(page: str) -> str:
    """Return a page with a plot wherever a comment names one, in a light and a dark copy.

    >>> with_plots("<!-- plot: growth -->").splitlines()[:2]
    ['::::{container} plot', ':::{image} plots/made/growth_light.svg']
    """

    def placed(found: re.Match[str]) -> str:
        name = found[1]
        images = "\n".join(
            f":::{{image}} {_FOLDER}/{name}_{theme}.svg\n"
            f":class: only-{theme}\n:alt: {PLOTS[name][1]}\n:::\n"
            for theme in _THEMES
        )
        return f"::::{{container}} plot\n{images}::::\n"

    return re.sub(r"<!-- plot: (\w+) -->", placed, page)


def plots(results: Records) -> dict[str, bytes]:
    """Return every plot as SVG, by its file, drawn from the records of benchmarks."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    found = {}
    for name, (draw, _) in PLOTS.items():
        for theme, ink in _THEMES.items():
            style = {
                "text.color": ink, "axes.labelcolor": ink, "axes.edgecolor": ink,
                "xtick.color": ink, "ytick.color": ink, "svg.hashsalt": name, "font.size": 9.5,
            }  # fmt: skip
            with mpl.rc_context(style):
                figure = Figure(figsize=(4.8, 3.6), layout="constrained")
                draw(results, figure.add_subplot())
                out = io.BytesIO()
                figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
            found[f"{_FOLDER}/{name}_{theme}.svg"] = out.getvalue()
    return found
