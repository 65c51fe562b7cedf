"""Aligned tables and lists of names and values, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def table_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return an aligned table. The first column is aligned left, the others right.

    >>> print(table_text(["", "P@1"], [["tree", 0.5], ["most frequent", None]]))
                         P@1
      ----------------------
      tree            0.5000
      most frequent        -
    """
    cells = [list(header), *([cell(value) for value in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = []
    for number, row in enumerate(cells):
        first = row[0].ljust(widths[0])
        rest = (text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True))
        lines.append("  " + "   ".join((first, *rest)).rstrip())
        if number == 0:
            lines.append("  " + "-" * (sum(widths) + 3 * (len(widths) - 1)))
    return "\n".join(lines)


def pairs_text(pairs: Mapping[str, object]) -> str:
    """Return one name and its value per line, aligned.

    >>> print(pairs_text({"rows": 1200, "log loss": 0.25}))
      rows       1,200
      log loss   0.2500
    """
    width = max(map(len, pairs), default=0)
    return "\n".join(f"  {name.ljust(width)}   {cell(value)}" for name, value in pairs.items())


def cell(value: object) -> str:
    """Return a value as tables show it.

    >>> cell(0.5), cell(1234), cell(None)
    ('0.5000', '1,234', '-')
    """
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4f}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
