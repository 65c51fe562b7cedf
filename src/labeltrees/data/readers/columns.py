"""The meaning of a table's columns, by their usual names and by their content."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

LABEL_NAMES = [
    "label", "labels", "category", "categories", "class", "classes", "target", "intent",
    "intents", "tag", "tags", "y", "topic", "topics", "genre", "genres", "labelname", "classname",
    "labelid", "classid",
]  # fmt: skip
TEXT_NAMES = [
    "text", "texts", "sentence", "sentences", "title", "description", "query", "utterance",
    "question", "content", "body", "message", "review", "comment", "document", "headline",
    "abstract", "summary", "phrase", "tweet", "name",
]  # fmt: skip
RATING_NAMES = ["rating", "ratings", "relevance", "score", "grade"]
WEIGHT_NAMES = ["weight", "sampleweight", "importance"]
ID_NAMES = ["id", "index", "idx", "rowid", "uid", "uuid", "key", "unnamed0"]
#: Names of the columns with users or rated items, which are the labels of a table of ratings.
PARTY_NAMES = ["user", "userid", "item", "itemid", "product", "productid", "movie", "movieid"]
TIME_NAMES = ["timestamp", "time", "date", "datetime", "created", "createdat"]
_MISSING = frozenset(("", "na", "n/a", "nan", "null", "none", "?"))
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")

ColumnKind: TypeAlias = Literal["number", "category", "text"]


def plain(name: str) -> str:
    """Return a column's name in lower case, without punctuation and spaces.

    >>> plain(" Label_ID ")
    'labelid'
    """
    return re.sub(r"[^a-z0-9]", "", name.lower())


def is_header_pair(first: str, second: str) -> bool:
    """Return whether the two cells are the names of a column of labels and one of texts.

    >>> is_header_pair("Label", "text"), is_header_pair("text", "label")
    (True, False)
    """
    return plain(first) in LABEL_NAMES and plain(second) in TEXT_NAMES


def is_number(cell: str) -> bool:
    """Return whether a cell is a decimal number.

    >>> is_number(" -1.5e3 "), is_number("x1"), is_number("nan")
    (True, False, False)
    """
    return _NUMBER.fullmatch(cell.strip()) is not None


def is_missing(cell: str) -> bool:
    """Return whether a cell stands for a missing number.

    >>> is_missing("NA"), is_missing("0")
    (True, False)
    """
    return cell.strip().lower() in _MISSING


def kind_of(cells: Sequence[str]) -> ColumnKind:
    """Return the kind of a column's cells.

    Cells are numbers if all cells that are not missing are numbers. They are texts if they have
    three words or more on average, and otherwise categories.

    >>> kind_of(["1", "", "2.5"]), kind_of(["red", "blue"]), kind_of(["a perl library"])
    ('number', 'category', 'text')
    """
    present = [cell for cell in cells if not is_missing(cell)]
    if present and all(is_number(cell) for cell in present):
        return "number"
    n_words = sum(len(cell.split()) for cell in present)
    return "text" if present and n_words >= 3 * len(present) else "category"
