"""A reliability diagram as SVG, drawn without a plotting library."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from labeltrees.metrics import ReliabilityCurve

SIDE, LEFT, TOP, BOTTOM, RIGHT = 260, 56, 34, 46, 16
LEAST_RADIUS, MOST_RADIUS = 2.0, 5.0
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
STYLE = 'font-family="sans-serif" font-size="11" fill="#333333"'


def reliability_picture(curve: ReliabilityCurve, title: str) -> str:
    """Return the text of an SVG that plots the frequency of true labels by probability.

    Each bin is a disc whose area grows with the predictions that it holds.

    >>> from labeltrees.metrics import reliability_curve
    >>> curve = reliability_curve([1, 2], [[1], [1]], [[0.9], [0.4]])
    >>> reliability_picture(curve, "two rows").count("<circle")
    2
    """
    width, height = LEFT + SIDE + RIGHT, TOP + SIDE + BOTTOM
    said = escape(title)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img">',
        f"<title>{said}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        *_axes(),
        *_discs(curve),
        f'<text x="{LEFT}" y="18" {STYLE}>{said}</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _axes() -> list[str]:
    middle, end = LEFT + SIDE / 2, TOP + SIDE
    lines = [_line(_x(0), _y(0), _x(1), _y(1), "#777777", ' stroke-dasharray="4 4"')]
    for tick in TICKS:
        lines.append(_line(_x(tick), _y(0), _x(tick), _y(1), "#e5e5e5"))
        lines.append(_line(_x(0), _y(tick), _x(1), _y(tick), "#e5e5e5"))
        at = f'x="{_x(tick):.1f}" y="{end + 16}" text-anchor="middle"'
        lines.append(f"<text {at} {STYLE}>{tick:g}</text>")
        at = f'x="{LEFT - 6}" y="{_y(tick) + 4:.1f}" text-anchor="end"'
        lines.append(f"<text {at} {STYLE}>{tick:g}</text>")
    below = f'x="{middle}" y="{end + 36}" text-anchor="middle"'
    lines.append(f"<text {below} {STYLE}>probability given</text>")
    turn = f'transform="translate(14 {TOP + SIDE / 2}) rotate(-90)" text-anchor="middle"'
    return [*lines, f"<text {turn} {STYLE}>how often it was true</text>"]


def _discs(curve: ReliabilityCurve) -> list[str]:
    points = [
        (_x(min(p, 1.0)), _y(min(true, 1.0)))
        for p, true in zip(curve.mean_probability, curve.frequency, strict=True)
    ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    most = float(curve.count.max())
    discs = [f'<polyline points="{path}" fill="none" stroke="#0072b2" stroke-width="1.5"/>']
    for (x, y), count in zip(points, curve.count.tolist(), strict=True):
        radius = max(LEAST_RADIUS, MOST_RADIUS * (count / most) ** 0.5)
        discs.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="#0072b2"/>')
    return discs


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, more: str = "") -> str:
    at = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {at} stroke="{colour}"{more}/>'


def _x(value: float) -> float:
    return LEFT + SIDE * float(value)


def _y(value: float) -> float:
    return TOP + SIDE * (1 - float(value))
