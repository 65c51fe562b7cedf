"""Rows kept from training, by which a model is measured."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["FEW_ROWS", "Split", "splits"]

FEW_ROWS = 1000
"""Of fewer rows each is held out once, in five parts: a tenth of them would tell little."""
_N_PARTS = 5
_SHARE = 0.1
_MOST_HELD = 10_000

Split = tuple[NDArray[np.int64], NDArray[np.int64]]
"""The numbers of the rows to learn from, and of those to measure by."""


def splits(n_rows: int, seed: int = 0) -> list[Split]:
    """Return how rows are split: once, or into five parts if there are few.

    >>> [len(held) for _, held in splits(50_000)], [len(held) for _, held in splits(12)]
    ([5000], [3, 3, 2, 2, 2])
    """
    order = np.random.default_rng(seed).permutation(n_rows)
    if n_rows < FEW_ROWS:
        parts = np.array_split(order, min(_N_PARTS, n_rows))
        return [
            (np.concatenate([part for j, part in enumerate(parts) if j != i] or [order[:0]]), held)
            for i, held in enumerate(parts)
        ]
    n_held = min(int(_SHARE * n_rows), _MOST_HELD)
    return [(order[n_held:], order[:n_held])]
