"""A run of consecutive rows: features, labels and weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["Chunk"]


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive rows; row ``i`` has ``labels[label_starts[i]:label_starts[i + 1]]``.

    Parameters
    ----------
    features : csr_array of shape (n_rows, n_features)
        float32 values; int32 indices, strictly increasing in each row.
    labels : ndarray of str objects
        The labels of all rows, one row after the other.
    label_starts : ndarray of int64 of shape (n_rows + 1,)
        Where each row's labels start in ``labels``.
    weights : ndarray of float32 of shape (n_rows,), or None
        The importance of each row.
    first_line : int
        The place of the first row in its source, from 1.
    """

    features: csr_array
    labels: NDArray[np.object_]
    label_starts: NDArray[np.int64]
    weights: NDArray[np.float32] | None
    first_line: int
