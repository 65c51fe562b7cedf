"""Where lists start that are stored one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray


def starts_of(lengths: ArrayLike) -> NDArray[np.int64]:
    """Return where lists of these lengths start, and at last where they end.

    >>> starts_of([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)))


def joined_starts(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return where lists start if those of all parts follow each other.

    >>> joined_starts([starts_of([2, 0]), starts_of([3])]).tolist()
    [0, 2, 2, 5]
    """
    return starts_of(np.concatenate([np.diff(part) for part in parts]))
