"""Rows of a file through the transformer of numbers in front of a model, such as a scaler."""

from __future__ import annotations

from typing import Any

from labeltrees.data.rows import Rows, as_rows
from labeltrees.errors import DataError
from labeltrees.transforms.conversion import input_width

__all__ = ["transformed"]


def transformed(rows: Rows, transformer: Any) -> Rows:
    """Return what a fitted transformer of numbers makes of rows; `DataError` if it cannot.

    Rows of a file that does not tell its width may be narrower than those it was fitted to.

    >>> from sklearn.preprocessing import StandardScaler
    >>> scaler = StandardScaler().fit([[1.0, 5.0], [3.0, 5.0]])
    >>> transformed(as_rows([[3.0]]), scaler).to_csr().toarray().tolist()
    [[1.0, -5.0]]
    """
    width = input_width(transformer)
    n_used = int(rows.indices.max(initial=-1)) + 1
    if width is not None and n_used > width:
        raise DataError(f"X must have {width} features, got a feature {n_used - 1}.")
    X = Rows(*rows.arrays, rows.n_features if width is None else width).to_csr()
    try:
        try:
            return as_rows(transformer.transform(X))
        except (TypeError, ValueError):  # means are taken off dense rows only
            return as_rows(transformer.transform(X.toarray()))
    except (TypeError, ValueError) as error:
        raise DataError(f"the model's transformer cannot take these rows: {error}") from None
