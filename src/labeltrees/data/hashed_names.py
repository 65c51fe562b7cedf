"""What hashed features are called: only those of the row that is looked at have names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import overload

__all__ = ["HashedNames"]

_LONGEST = 200
"""Characters of a name: an explanation has it once for every turn."""


class HashedNames(Sequence[str]):
    """A name for every hashed column: of the given ones theirs, of the others their number.

    Parameters
    ----------
    n_features : int
        How many columns there are.
    named : iterable of (int, str)
        Columns and their names; those of one column are joined. Long ones are cut.

    Examples
    --------
    >>> names = HashedNames(2**30, [(7, "warm"), (7, "light"), (9, "warm light")])
    >>> names[7], names[9], names[8], len(names)
    ('warm or light', 'warm light', 'hashed 8', 1073741824)
    """

    def __init__(self, n_features: int, named: Iterable[tuple[int, str]]) -> None:
        self._n_features = n_features
        self._names: dict[int, list[str]] = {}
        for column, name in named:
            own = self._names.setdefault(column, [])
            short = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
            if short not in own:
                own.append(short)

    def __len__(self) -> int:
        return self._n_features

    @overload
    def __getitem__(self, column: int) -> str: ...
    @overload
    def __getitem__(self, column: slice) -> Sequence[str]: ...
    def __getitem__(self, column: int | slice) -> str | Sequence[str]:
        if isinstance(column, slice):
            return [self[each] for each in range(*column.indices(len(self)))]
        if not 0 <= column < len(self):
            raise IndexError(column)
        return " or ".join(self._names.get(column, [f"hashed {column}"]))
