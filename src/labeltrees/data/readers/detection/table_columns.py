"""The meaning of a table's columns, detected from their names and from the first rows."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from labeltrees.data.readers.columns import (
    ID_NAMES,
    LABEL_NAMES,
    PARTY_NAMES,
    RATING_NAMES,
    TEXT_NAMES,
    TIME_NAMES,
    WEIGHT_NAMES,
    ColumnKind,
    is_number,
    kind_of,
    plain,
)
from labeltrees.data.readers.detection.separators import SEPARATORS, choose_separator
from labeltrees.errors import ArgumentError, DataFileError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

#: A column by its name or by its number, from 1.
Column = str | int
DELIMITERS = (",", "\t", ";", "|")
#: Maximum number of rows from which columns are detected.
_SAMPLE_ROWS = 2000
_SEPARATORS = SEPARATORS[:-1]  # In a table, spaces belong to names.
_KNOWN = frozenset((*LABEL_NAMES, *TEXT_NAMES, *RATING_NAMES, *WEIGHT_NAMES, *PARTY_NAMES, "id"))


@dataclass(frozen=True)
class TableLayout:
    """The delimiter of a table and the names of the columns that are used.

    Without a header, the names of columns are their numbers from 1.
    """

    delimiter: str
    quoted: bool
    header: bool
    columns: tuple[str, ...]
    label: str | None = None
    label_separator: str | None = None
    texts: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    rating: str | None = None
    weight: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableOptions:
    """The options of the caller for a table. Everything else is detected."""

    label: Column | None = None
    texts: tuple[Column, ...] | None = None
    rating: Column | None = None
    label_separator: str | None = "auto"
    header: bool | Literal["auto"] = "auto"
    labelled: bool = True


def choose_delimiter(text: str) -> str:
    r"""Return the delimiter with which the most rows have the same number of cells above one.

    >>> choose_delimiter('a;"b, c"\nd;e\n')
    ';'
    """
    best, most = ",", (0.0, 0)
    lines = text.split("\n")[:200]
    for delimiter in DELIMITERS:
        try:
            sizes = Counter(len(row) for row in csv.reader(lines, delimiter=delimiter) if row)
        except csv.Error:
            continue
        if sizes:
            n_cells, n_rows = sizes.most_common(1)[0]
            score = (round(n_rows / sizes.total(), 2), n_cells) if n_cells > 1 else (0.0, 0)
            best, most = (delimiter, score) if score > most else (best, most)
    return best


def is_quoted(text: str, delimiter: str) -> bool:
    r"""Return whether cells may be in quotes, which with tabs requires quotes in pairs.

    >>> is_quoted('a\t"b" he said', "\t"), is_quoted('a\t"b c"', "\t")
    (False, True)
    """
    if delimiter != "\t":
        return True
    cells = [cell for line in text.splitlines()[:2000] for cell in line.split("\t")]
    opened = [cell for cell in cells if cell.startswith('"')]
    return bool(opened) and all(len(cell) > 1 and cell.endswith('"') for cell in opened)


def has_known_name(cells: Sequence[str]) -> bool:
    """Return whether a row has a usual name of a column.

    >>> has_known_name(["Intent", "x"]), has_known_name(["greet", "good morning"])
    (True, False)
    """
    return any(plain(cell) in _KNOWN for cell in cells)


def table_layout(
    name: str, delimiter: str, quoted: bool, rows: Sequence[Sequence[str]], options: TableOptions
) -> TableLayout:
    """Return the layout of a table whose first rows are given.

    Raises `DataFileError` with the option to pass if the layout cannot be detected.

    >>> rows = [["kind", "length"], ["cat", "40"], ["dog", "70"], ["cat", "45"]]
    >>> table_layout("rows.csv", ",", True, rows, TableOptions()).label
    'kind'
    """
    rows = rows[:_SAMPLE_ROWS]
    header = _has_header(rows) if options.header == "auto" else options.header
    columns = [cell.strip() for cell in rows[0]] if header else _numbers(len(rows[0]))
    if len(set(columns)) < len(columns):
        twice = next(column for column in columns if columns.count(column) > 1)
        raise DataFileError(name, 1, f"two columns have the name {twice!r}. Rename one of them.")
    body = [row for row in rows[header:] if len(row) == len(columns)]
    layout = TableLayout(delimiter, quoted, header, tuple(columns))
    return _Chooser(name, layout, body, options).choose()


def _numbers(n_columns: int) -> list[str]:
    return [str(number) for number in range(1, n_columns + 1)]


def _has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row has usual names, or words above columns of numbers."""
    first, rest = rows[0], rows[1:]
    if any(is_number(cell) for cell in first):
        return False
    if has_known_name(first):
        return True
    return any(
        kind_of([row[at] for row in rest if len(row) > at]) == "number" for at in range(len(first))
    )


class _Chooser:
    """Chooses one column after the other. A chosen column is no candidate for the next choice."""

    def __init__(
        self, name: str, layout: TableLayout, body: Sequence[Sequence[str]], options: TableOptions
    ) -> None:
        self.name, self.layout, self.options = name, layout, options
        self.cells = {
            column: [row[at].strip() for row in body] for at, column in enumerate(layout.columns)
        }
        self.kinds: dict[str, ColumnKind] = {c: kind_of(v) for c, v in self.cells.items()}
        self.left = list(layout.columns)
        self.notes: list[str] = []

    def choose(self) -> TableLayout:
        label = self._take(self._resolve("label_column", self.options.label))
        label = label or self._take(self._named(self._label_names()))
        texts = self._texts()
        weight = self._take(self._named(WEIGHT_NAMES, "number"))
        rating = self._rating(label, has_text=bool(texts))
        ignored = [c for c in self.left if self._is_useless(c, rating)]
        self.left = [column for column in self.left if column not in ignored]
        if label is None:
            label = self._take(self._label_by_content(texts, rating))
        numbers, categories = self._features() if not texts else ((), ())
        ignored += self.left
        if not texts and not numbers and not categories:
            raise DataFileError(self.name, 1, self._nothing_left(rating))
        if ignored:
            self.notes.append(f"The columns {_list(ignored)} are not used.")
        layout = self._with_separator(replace(self.layout, label=label))
        self._say(layout, texts, rating)
        return replace(
            layout,
            texts=texts,
            numbers=numbers,
            categories=categories,
            rating=rating,
            weight=weight,
            notes=tuple(self.notes),
        )

    def _resolve(self, argument: str, column: Column | None) -> str | None:
        """Return the name of the column that the caller chose."""
        columns = self.layout.columns
        if column is None or column in columns:
            return column if column is None else str(column)
        if isinstance(column, str) and column.isdigit():
            column = int(column)
        if isinstance(column, int) and 1 <= column <= len(columns):
            return columns[column - 1]
        allowed = f"one of the columns {_list(columns)} or a number in [1, {len(columns)}]"
        raise ArgumentError.of(argument, column, allowed)

    def _take(self, column: str | None) -> str | None:
        if column is not None and column in self.left:
            self.left.remove(column)
        return column

    def _named(self, names: Sequence[str], kind: ColumnKind | None = None) -> str | None:
        """Return the column with the first of these names."""
        if not self.layout.header:
            return None
        for name in names:
            for column in self.left:
                if plain(column) == name and kind in (None, self.kinds[column]):
                    return column
        return None

    def _label_names(self) -> list[str]:
        """Return the usual names of labels, without y if a column x makes it a coordinate."""
        has_x = any(plain(column) == "x" for column in self.left)
        return [name for name in LABEL_NAMES if name != "y" or not has_x]

    def _texts(self) -> tuple[str, ...]:
        if self.options.texts is not None:
            given = [self._resolve("text_column", column) for column in self.options.texts]
            return tuple(column for column in map(self._take, given) if column is not None)
        if self.layout.header:
            named = [c for c in self.left if plain(c) in TEXT_NAMES and self.kinds[c] != "number"]
            wordy = [c for c in named if self.kinds[c] == "text"]
            # A "name" or "title" of one word is no text if there are real texts.
            named = wordy or named
        else:
            named = []
        found = named or [c for c in self.left if self.kinds[c] == "text"]
        for column in found:
            self._take(column)
        return tuple(found)

    def _rating(self, label: str | None, *, has_text: bool) -> str | None:
        if self.options.rating is not None:
            return self._take(self._resolve("rating_column", self.options.rating))
        if label is None and not any(plain(column) in PARTY_NAMES for column in self.left):
            return None
        names = RATING_NAMES if has_text else [n for n in RATING_NAMES if n != "score"]
        return self._take(self._named(names, "number"))

    def _is_useless(self, column: str, rating: str | None) -> bool:
        """Return whether a column has row numbers, times, or the ids of users or items."""
        values = self.cells[column]
        distinct = len(set(values)) == len(values) > 1
        if self.layout.header:
            named = plain(column) in ID_NAMES or not column
            named = named or (plain(column).endswith("id") and _are_whole(values))
        else:  # In many files without names, the first column has row numbers.
            named = column == "1" and len(values) >= 20 and _are_whole(values)
        if named and (distinct or not values):
            return True
        if plain(column) == "timestamp" or (rating is not None and plain(column) in TIME_NAMES):
            return True
        if self.kinds[column] != "category" or len(values) < 20:
            return False
        return 2 * len(set(values)) > len(values)

    def _label_by_content(self, texts: tuple[str, ...], rating: str | None) -> str | None:
        """Return the column that looks like labels."""
        party = [c for c in self.left if plain(c) in PARTY_NAMES] if rating else []
        if party:
            return party[0] if len(party) == 1 or texts else None
        likely = [c for c in self.left if self.kinds[c] == "category"]
        if len(likely) != 1:
            likely = [c for c in (likely or self.left) if self._has_few_values(c)]
        if len(likely) > 1 and not texts:
            ends = (self.layout.columns[-1], self.layout.columns[0])
            likely = [c for c in ends if c in likely][:1]
        if len(likely) == 1:
            self.notes.append(
                f"The column {likely[0]!r} is used as the label. label_column= (--label-column) "
                "changes that."
            )
            return likely[0]
        if not self.options.labelled:
            return None
        raise DataFileError(
            self.name,
            1,
            f"the column of labels could not be detected among {_list(self.layout.columns)}. Pass "
            "label_column= (--label-column), a name or a number from 1.",
        )

    def _has_few_values(self, column: str) -> bool:
        values = set(self.cells[column])
        few = len(values) <= max(2, len(self.cells[column]) // 2)
        return few and (_are_whole(values) or self.kinds[column] == "category")

    def _features(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        parties = [c for c in self.left if plain(c) in PARTY_NAMES]
        left = [c for c in self.left if c not in parties]
        numbers = tuple(c for c in left if self.kinds[c] == "number")
        categories = tuple(c for c in left if self.kinds[c] != "number")
        self.left = parties
        return numbers, categories

    def _with_separator(self, layout: TableLayout) -> TableLayout:
        separator = self.options.label_separator
        if separator == "auto":
            fields = self.cells[layout.label] if layout.label is not None else []
            chosen = choose_separator(fields, _SEPARATORS)
            separator = chosen.separator
            self.notes.extend(chosen.notes)
        return replace(layout, label_separator=separator)

    def _nothing_left(self, rating: str | None) -> str:
        columns = _list(self.layout.columns)
        if rating is not None:
            return (
                f"a table of ratings needs a column with texts or features of the rated items. Its "
                f"columns are {columns}. Join such a column to the table first."
            )
        return (
            f"none of the columns {columns} holds a text or features. Pass text_column= "
            "(--text-column), a name or a number from 1."
        )

    def _say(self, layout: TableLayout, texts: tuple[str, ...], rating: str | None) -> None:
        if layout.header:
            self.notes.append("The first line is used as names of columns.")
        if texts and self.options.texts is None:
            self.notes.append(
                f"The text is in {_list(texts)}. text_column= (--text-column) changes that."
            )
        if rating is not None:
            self.notes.append(f"The column {rating!r} holds the relevance of the label.")


def _are_whole(values: Collection[str]) -> bool:
    return all(value.lstrip("+-").isdigit() for value in values if value)


def _list(columns: Sequence[str]) -> str:
    shown = [repr(column) for column in columns[:12]]
    return ", ".join(shown) + (f" and {len(columns) - 12} more" if len(columns) > 12 else "")
