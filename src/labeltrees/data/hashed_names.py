"""Names of hashed features, which are known only for the features of one row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import overload

__all__ = ["HashedNames"]

_LONGEST = 200
"""Maximum number of characters in a name, which an explanation repeats for every turn."""


class HashedNames(Sequence[str]):
    """A name for every hashed column, which is its number if the name is unknown.

    Parameters
    ----------
    n_features : int
        The number of columns.
    named : iterable of (int, str)
        Columns and their names. Several names of one column are joined. Long names are cut.

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
