"""The paragraphs and tables that a section of a benchmark returns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

#: The content of a cell. A number keeps the digits that it was printed with.
Value = int | Decimal | str | None

_NUMBER = re.compile(r"-?(\d+|\d{1,3}(,\d{3})+)(\.\d+)?")


@dataclass(frozen=True)
class Table:
    """Rows of values below the names of their columns, each of which occurs once."""

    columns: list[str]
    rows: list[list[Value]]

    def __post_init__(self) -> None:
        if len(set(self.columns)) != len(self.columns):
            raise ValueError(f"columns must differ, got {self.columns}")
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"every row must have {len(self.columns)} cells")

    def __str__(self) -> str:
        """Return the table in Markdown; all columns but the first are aligned to the right."""
        cells = [[text_of(value) for value in row] for row in self.rows]
        lines = [self.columns, ["---"] + ["---:"] * (len(self.columns) - 1), *cells]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)


@dataclass(frozen=True)
class LeftOut:
    """A section that cannot run here. It is printed, but earlier results of it are kept."""

    title: str
    reason: str

    def __str__(self) -> str:
        return f"### {self.title}\n\nLeft out: {self.reason}"


#: A heading or another paragraph of Markdown, a table, or the place of a missing section.
Block = str | Table | LeftOut


def left_out(title: str, folder: str) -> list[Block]:
    """Return the content of a section whose data set is missing."""
    return [LeftOut(title.removeprefix("### "), f"no {folder} was given (`--data DIR`).")]


def table(header: list[str], rows: Iterable[list[Any]]) -> Table:
    """Return a table from cells as `number` and f-strings format them."""
    return Table(list(header), [[value_of(str(cell)) for cell in row] for row in rows])


def number(value: float | None, digits: int = 4) -> str:
    """Return a number with this many decimal places, or a dash where there is none.

    >>> number(1234.5, 1), number(None)
    ('1,234.5', '-')
    """
    return "-" if value is None else f"{value:,.{digits}f}"


def notes(*lines: str | None) -> str:
    """Return the lines that are not empty as a Markdown list."""
    return "\n".join(f"- {line}" for line in lines if line)


def value_of(cell: str) -> Value:
    """Return the value that a cell shows.

    >>> value_of("1,234"), value_of("0.50"), value_of("-"), value_of("3 / 1")
    (1234, Decimal('0.50'), None, '3 / 1')
    """
    if cell == "-":
        return None
    if not _NUMBER.fullmatch(cell):
        return cell
    digits = cell.replace(",", "")
    return Decimal(digits) if "." in digits else int(digits)


def text_of(value: Value) -> str:
    """Return a cell's text, the opposite of `value_of`.

    >>> text_of(1234), text_of(Decimal("0.50")), text_of(None)
    ('1,234', '0.50', '-')
    """
    if value is None:
        return "-"
    if isinstance(value, Decimal):
        return f"{value:,f}"
    return value if isinstance(value, str) else f"{value:,}"


def heading(block: Block) -> tuple[int, str] | None:
    """Return the level and the title of a heading, or None for any other block.

    >>> heading("### Small sets"), heading("A paragraph.")
    ((3, 'Small sets'), None)
    """
    found = re.fullmatch(r"(#+) (.+)\n*", block) if isinstance(block, str) else None
    return (len(found[1]), found[2]) if found else None


def text_blocks(text: str) -> Iterator[str]:
    """Return the headings and paragraphs of some Markdown without tables."""
    return (part.strip("\n") for part in re.split(r"\n{2,}", text) if part.strip("\n"))
