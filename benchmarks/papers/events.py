"""Events in order of time, which are repeated rows with one label each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from labeltrees.data.python_source import PythonSource

PAIR_COLUMNS = 2**20
_MIX = 0x9E3779B1  # an odd number without pattern, to spread pairs over their columns


@dataclass(frozen=True, eq=False)
class Events:
    """Rows and labels in the order of time."""

    X: csr_array
    y: np.ndarray

    def halves(self) -> tuple[tuple[Any, np.ndarray], tuple[Any, np.ndarray]]:
        """Return the first four fifths and the rest, as the paper's 40 and 10 million."""
        cut = len(self.y) * 4 // 5
        return (self.X[:cut], self.y[:cut]), (self.X[cut:], self.y[cut:])


def next_identifiers(limit: int, order: str = "files") -> Events:
    """Return identifiers after three tokens of Python source, which are the row's only features.

    As a web page is shown again and again with other advertisements, three tokens come again with
    other identifiers after them. Features are each token with its place, and the last two as one.
    """
    chunks = list(PythonSource(order=order, limit=limit))  # type: ignore[arg-type]
    tokens = np.concatenate([chunk.contexts for chunk in chunks]).astype(np.int64)
    n_tokens = int(tokens.max()) + 1
    pairs = (tokens[:, 1] * n_tokens + tokens[:, 2]) * _MIX % PAIR_COLUMNS
    columns = np.column_stack([pairs, PAIR_COLUMNS + tokens + n_tokens * np.arange(3)])
    n_rows, per_row = columns.shape
    starts = np.arange(0, n_rows * per_row + 1, per_row)
    entries = (np.ones(columns.size, np.float32), columns.ravel().astype(np.int32), starts)
    X = csr_array(entries, shape=(n_rows, PAIR_COLUMNS + 3 * n_tokens))
    return Events(X, np.concatenate([chunk.labels for chunk in chunks]))
