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

__all__ = ["PLOTS", "Table", "number", "plots", "read", "table", "with_plots"]

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


def _colours(names: list[str]) -> list[str]:
    return [_OURS if name.startswith("labeltrees") else _PEER for name in names]


def _bars(axes: Any, names: list[str], values: list[float], said: list[str]) -> None:
    places = range(len(names))[::-1]
    axes.barh(places, values, color=_colours(names), height=0.62)
    axes.set_yticks(places, names)
    axes.set_xlim(0, 1.2 * max(values))
    for place, value, text in zip(places, values, said, strict=True):
        axes.text(value, place, f"  {text}", va="center", fontsize=8.5)
    axes.spines[["top", "right"]].set_visible(False)


def _end_to_end(results: Records, axes: Any) -> None:
    found = table(results, "online", "End to end from one file", "First 1,500,000 examples")
    seconds = [number(cell) for cell in found.column("wall s")]
    said = [
        f"{wall:.0f} s, {accuracy}" if accuracy != "-" else f"{wall:.0f} s"
        for wall, accuracy in zip(seconds, found.column("accuracy"), strict=True)
    ]
    _bars(axes, found.column("program"), seconds, said)
    axes.set_xlabel("seconds for 1.5 million rows, 63,908 labels; behind each its accuracy")


# Where a name would lie on another point.
_SHIFTS = {
    "PECOS XR-Linear": ((-6, 3), "right"),
    "labeltrees, hinge, 1 tree, C=0.3": ((6, -9), "left"),
    "Omikuji log, 1 tree": ((6, -6), "left"),
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
        shift, side = _SHIFTS.get(full, ((6, 3), "left"))
        axes.annotate(
            full, (left, up), shift, textcoords="offset points", fontsize=8, ha=side
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlim(1.2, 160)
    axes.set_xticks([2, 5, 10, 20, 50], ["2", "5", "10", "20", "50"])
    axes.minorticks_off()
    axes.set_xlabel("seconds to learn 99,999 rows with 27,754 labels, two threads")
    axes.set_ylabel("nDCG@5, %")
    axes.spines[["top", "right"]].set_visible(False)


def _calibration(results: Records, axes: Any) -> None:
    quality = table(results, "batch", "Cost and quality", "yso-en", place=1)
    cells = quality.column("ECE@1")
    names = [
        f"{name}{'' if 'default' in c else f', C={c}'}"
        for name, c in zip(quality.column("contestant"), quality.column("C"), strict=True)
    ]
    _bars(axes, names, [number(cell) for cell in cells], cells)
    axes.set_xlabel("ECE@1; in brackets: scores that do not claim to be probabilities")


def _growth(results: Records, axes: Any) -> None:
    found = table(results, "online", "Growth with the number of labels")
    rows = [row for row in found.rows if row[0] != "last / first"]
    labels = [number(row[0]) for row in rows]
    styles = {"learn µs": "o-", "P(label) µs": "s--", "exact top 1 µs": "^:"}
    for name, style in styles.items():
        cells = [row[found.columns.index(name)] for row in rows]
        axes.plot(labels, [number(cell) for cell in cells], style, label=name)
    axes.set_xscale("log")
    axes.set_xticks(labels, [f"{int(n):,}" for n in labels])
    axes.minorticks_off()
    axes.set_ylim(0)
    axes.set_xlabel("labels")
    axes.set_ylabel("µs per row")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)


_ONLINE_SETS = ("bibtex", "rcv1-sub1", "delicious", "yso-en", "identifiers")
_ONLINE = {
    "labeltrees, one pass": _OURS,
    "napkinXC OPLT": _PEER,
    "VW --plt": "#7a5ea8",
    "VW --plt --sgd": "#b7a5d6",
}


def _online_multilabel(results: Records, axes: Any) -> None:
    for place, (name, colour) in enumerate(_ONLINE.items()):
        scores = []
        for each in _ONLINE_SETS:
            found = table(results, "online_multilabel", "One pass over each set", each)
            by_name = dict(zip(found.column("learner"), found.column("P@1"), strict=True))
            scores.append(number(by_name[name]))
        left = [i + 0.2 * (place - 1.5) for i in range(len(_ONLINE_SETS))]
        axes.bar(left, scores, width=0.19, color=colour, label=name)
    axes.set_xticks(range(len(_ONLINE_SETS)), _ONLINE_SETS)
    axes.set_ylabel("P@1 after one pass, %")
    axes.legend(frameon=False, fontsize=8, ncols=2)
    axes.set_ylim(0, 82)
    axes.spines[["top", "right"]].set_visible(False)


_FIRST = (
    "iris", "wine", "breast-cancer", "digits", "letter", "clinc150",
    "bibtex", "rcv1-sub1", "debian", "delicious",
)  # fmt: skip


def _first_contact(results: Records, axes: Any) -> None:
    for place, each in enumerate(_FIRST[::-1]):
        found = table(results, "first_contact", each)
        score = "P@1 %" if "P@1 %" in found.columns else "accuracy %"
        cells = zip(found.column("contestant"), found.column(score), strict=True)
        scores = [(name, number(cell)) for name, cell in cells]
        ours = next(value for name, value in scores if name == "labeltrees")
        peers = [value for name, value in scores if name != "labeltrees"]
        axes.plot(peers, [place] * len(peers), "o", color=_PEER, ms=6, alpha=0.75)
        axes.plot(ours, place, "D", color=_OURS, ms=7)
    axes.plot([], [], "D", color=_OURS, label="labeltrees, no option given")
    axes.plot([], [], "o", color=_PEER, label="peers, tuned")
    axes.set_yticks(range(len(_FIRST)), _FIRST[::-1])
    axes.set_xlabel("accuracy or P@1 on test rows, %")
    axes.legend(
        frameon=False, fontsize=8.5, loc="lower left", bbox_to_anchor=(0, 1), ncols=2
    )  # fmt: skip
    axes.grid(axis="x", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


PLOTS: dict[str, tuple[Callable[[Records, Any], None], str]] = {
    "end_to_end": (_end_to_end, "Seconds for 1.5 million rows: labeltrees beside VW"),
    "batch": (_batch, "Seconds to learn yso-en and nDCG@5 of labeltrees and its peers"),
    "calibration": (_calibration, "Calibration error of labeltrees and its peers on yso-en"),
    "growth": (_growth, "Microseconds per row by the number of labels"),
    "online_multilabel": (_online_multilabel, "P@1 of online learners on five sets"),
    "first_contact": (_first_contact, "Accuracy of labeltrees train beside tuned peers, ten sets"),
}
"""Every plot by its name: how it is drawn, and what it shows in words."""


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
                figure = Figure(figsize=(7.2, 3.6), layout="constrained")
                draw(results, figure.add_subplot())
                out = io.BytesIO()
                figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
            found[f"{_FOLDER}/{name}_{theme}.svg"] = out.getvalue()
    return found
