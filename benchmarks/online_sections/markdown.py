"""Tables of the report."""

from __future__ import annotations

from typing import Any


def table(header: list[str], rows: list[list[Any]]) -> str:
    """Return a Markdown table; the first column is text, the others are set to the right."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def number(value: float | None, digits: int = 4) -> str:
    """Return a number, or a dash where there is none."""
    return "-" if value is None else f"{value:,.{digits}f}"


def notes(*lines: str | None) -> str:
    """Return the lines that say something, as a list."""
    return "\n".join(f"- {line}" for line in lines if line)
