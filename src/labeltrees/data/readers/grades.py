"""Labels with a relevance, ``3:2.5,7:1``, at the start of the rows of a text format."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from labeltrees.errors import DataFileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LABELS = re.compile(rb"^[^ \t\r\n#][^ \t\r\n]*", re.MULTILINE)
_GRADE = re.compile(rb"\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_LARGEST = 3.4e38  # of 32-bit floats
_FIRST_PAIRS = re.compile(rb"^([0-9]+):[^ \t\r\n,]+[ \t]+([0-9]+):", re.MULTILINE)
_LIST = re.compile(rb"^[^ \t\r\n#:,]+:[^ \t\r\n,]+,", re.MULTILINE)


def are_graded(text: bytes, begin: int = 0) -> bool | None:
    r"""Return whether the first labels have grades, or None if there are no labels.

    >>> are_graded(b"3:2.5 0:1\n"), are_graded(b"3 0:1\n"), are_graded(b" 0:1\n")
    (True, False, None)
    """
    first = _LABELS.search(text, begin)
    return None if first is None else b":" in first.group()


def looks_graded(text: bytes) -> bool:
    r"""Return whether the first words ``a:b`` of rows are labels, in a format without a header.

    They are labels if a row has a list of them, or if the first word cannot be a feature because
    features increase. Rows of features without a label may look the same if they do not begin with
    a space.

    >>> looks_graded(b"3:2.5 0:1\n"), looks_graded(b"0:1 2:3\n"), looks_graded(b"0:1,2:3 4:1\n")
    (True, False, True)
    """
    if _LIST.search(text):
        return True
    return any(int(pair[1]) >= int(pair[2]) for pair in _FIRST_PAIRS.finditer(text))


def without_grades(
    name: str, line: int, text: bytes, begin: int = 0, n_rows: int | None = None
) -> tuple[bytes, NDArray[np.float32]]:
    r"""Return the rows without the grades of their labels, and a grade for each distinct label.

    ``line`` is the line of the first row. If ``n_rows`` is given, later rows stay as they are.

    >>> without_grades("rows", 1, b"3:2.5,7:1 0:1\n")
    (b'3,7 0:1\n', array([2.5, 1. ], dtype=float32))
    """
    lines = text[begin:].split(b"\n")
    relevance: list[float] = []
    for at, row in enumerate(lines[:n_rows]):
        match = _LABELS.match(row)
        if match is None:
            continue
        grades: dict[bytes, float] = {}
        for pair in match.group().split(b","):
            label, _, grade = pair.partition(b":")
            if not _GRADE.fullmatch(grade) or not float(grade) <= _LARGEST:
                reason = (
                    f"the label {pair.decode()[:40]!r} has no relevance >= 0 after a colon, as the "
                    "first label of the file has."
                )
                raise DataFileError(name, line + at, reason)
            grades.setdefault(label.lstrip(b"+0") or b"0", float(grade))  # 03 is 3.
        lines[at] = b",".join(grades) + row[match.end() :]
        relevance.extend(grades.values())
    return b"\n".join(lines), np.array(relevance, np.float32)
