"""The chart of the README: quality by training time, drawn from benchmarks/results/*.jsonl.

``python -m docs.site.comparison`` writes docs/images/comparison.svg. It is one SVG with text and a
style for light and dark pages, and it can be read at the width of a phone.
"""

from __future__ import annotations

import math
import re
from html import escape
from pathlib import Path
from typing import NamedTuple

from docs.site.benchmarks import Records, number, read, table

__all__ = ["CHART", "Panel", "Point", "chart", "panels"]

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "docs/images/comparison.svg"
TITLE = "The best quality in the shortest training time"
#: Width of the chart and height of a panel's plot, in pixels.
WIDTH, HEIGHT = 400, 190
#: Left and right ends of the axis of seconds, in pixels.
LEFT, RIGHT = 34, WIDTH - 12
STYLE = """
text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,Helvetica,Arial,sans-serif;fill:#1f2328}
.title{font-size:15px;font-weight:600}.head{font-weight:600}.axis{font-size:11px;fill:#59636e}
.grid{stroke:#d1d9e0;stroke-width:1}
.ours{fill:#0d7f74}.peer{fill:#a8642a}text.ours{font-weight:600}.page{fill:#ffffff}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.axis{fill:#9198a1}.grid{stroke:#3d444d}
.ours{fill:#2fb5a6}.peer{fill:#e0a467}.page{fill:#0d1117}}
"""


class Point(NamedTuple):
    """A learner, its seconds of training and its quality in percent."""

    name: str
    seconds: float
    quality: float

    @property
    def ours(self) -> bool:
        """Whether the learner is one of ours."""
        return self.name.startswith("labeltrees")


class Panel(NamedTuple):
    """A data set with its learners, what the axes show, and their numbers."""

    title: str
    quality: str
    seconds: str
    points: list[Point]
    ticks: tuple[tuple[float, ...], tuple[float, ...]]
    limits: tuple[tuple[float, float], tuple[float, float]]


def panels(records: Records) -> list[Panel]:
    """Return two panels, for classification and for extreme classification."""
    return [
        Panel(
            "Classification: 150 intents of questions (CLINC150)",
            "Accuracy on 4,500 test rows, %",
            "seconds of training, including the tuning of peers (log scale)",
            _intents(records),
            ((5, 10, 20, 50, 100), (90, 91, 92, 93)),
            ((3, 150), (89.4, 93.4)),
        ),
        Panel(
            "Extreme classification: 27,754 subjects (yso-en)",
            "nDCG@5 on 20,000 test rows, %",
            "seconds of training with two threads (log scale)",
            _subjects(records),
            ((2, 5, 10, 20, 50), (24, 25, 26, 27, 28)),
            ((1.4, 75), (23.2, 28.4)),
        ),
    ]


def _intents(records: Records) -> list[Point]:
    found = table(records, "first_contact", "clinc150")
    rows = zip(
        found.column("contestant"), found.column("file"), found.column("s"),
        found.column("accuracy %"), strict=True,
    )  # fmt: skip
    return [
        Point(re.sub(r" \(.*\)|scikit-learn, ", "", name), number(seconds), number(quality))
        for name, file, seconds, quality in rows
        if file in ("as found", "any order")
    ]


def _subjects(records: Records) -> list[Point]:
    time = table(records, "batch", "Cost and quality", "yso-en")
    quality = table(records, "batch", "Cost and quality", "yso-en", place=1).column("nDCG@5")
    rows = zip(
        time.column("contestant"), time.column("C"), time.column("train s"), quality, strict=True
    )
    return [
        Point(name.removesuffix(", default"), number(seconds), number(ndcg))
        for name, cost, seconds, ndcg in rows
        if "default" in cost
    ]


def chart(records: Records) -> str:
    """Return the chart as SVG."""
    drawn, top = [], 32
    for panel in panels(records):
        drawn.append(_panel(panel, top))
        top += HEIGHT + 92
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{top - 4}" '
        f'viewBox="0 0 {WIDTH} {top - 4}" role="img"><title>{TITLE}: {_alternative(records)}'
        f"</title><style>{STYLE.strip()}</style>\n"
        '<rect class="page" width="100%" height="100%" rx="6"/>\n'
        f'<text x="8" y="20" class="title">{TITLE}</text>\n' + "\n".join(drawn) + "\n</svg>\n"
    )


def _alternative(records: Records) -> str:
    sentences = []
    for panel in panels(records):
        ours = next(point for point in panel.points if point.ours)
        peer = max((point for point in panel.points if not point.ours), key=lambda p: p.quality)
        sentences.append(
            f"{panel.title}, labeltrees {ours.quality:g} % in {ours.seconds:.1f} s, "
            f"best peer {peer.name} {peer.quality:g} % in {peer.seconds:.1f} s"
        )
    return escape("; ".join(sentences))


def _panel(panel: Panel, top: int) -> str:
    (fast, slow), (low, high) = panel.limits
    seconds, qualities = panel.ticks
    floor = top + 44 + HEIGHT

    def across(seconds: float) -> float:
        return LEFT + (RIGHT - LEFT) * math.log(seconds / fast) / math.log(slow / fast)

    def up(quality: float) -> float:
        return floor - HEIGHT * (quality - low) / (high - low)

    parts = [
        f'<text x="8" y="{top + 18}" class="head">{panel.title}</text>',
        f'<text x="8" y="{top + 35}" class="axis">{panel.quality}</text>',
    ]
    for tick in qualities:
        y = f"{up(tick):.1f}"
        parts.append(f'<path class="grid" d="M{LEFT} {y}H{RIGHT}"/>')
        parts.append(_text(f"{tick:g}", LEFT - 6, up(tick) + 4, "axis", "end"))
    parts += [_text(f"{tick:g}", across(tick), floor + 16, "axis", "middle") for tick in seconds]
    parts.append(_text(panel.seconds, (LEFT + RIGHT) / 2, floor + 33, "axis", "middle"))
    parts += [_point(point, across(point.seconds), up(point.quality)) for point in panel.points]
    return "\n".join(parts)


#: Where a name stands whose place beside its point is taken: its anchor, and pixels to the right
#: and down.
_PLACES = {
    "Omikuji hinge, 3 trees": ("middle", 0, 17),
    "Omikuji log, 1 tree": ("middle", 10, 18),
    "napkinXC PLT": ("start", 9, 4),
}


def _point(point: Point, x: float, y: float) -> str:
    """Return a point with its name on the side that has room."""
    kind = "ours" if point.ours else "peer"
    beside = ("end", -9, 4) if x > WIDTH / 2 else ("start", 9, 4)
    anchor, right, down = _PLACES.get(point.name, beside)
    shape = (
        f'<path class="{kind}" d="M{x - 6:.1f} {y:.1f}l6-6 6 6-6 6z"/>'
        if point.ours
        else f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>'
    )
    return shape + _text(point.name, x + right, y + down, kind, anchor)


def _text(words: str, x: float, y: float, kind: str, anchor: str) -> str:
    ends = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}"{ends}>{escape(words)}</text>'


def main() -> None:
    """Write the chart."""
    CHART.write_text(chart(read(ROOT / "benchmarks/results")), encoding="utf-8")


if __name__ == "__main__":
    main()
