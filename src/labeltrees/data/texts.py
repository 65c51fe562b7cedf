"""Normalise the input of texts."""

from __future__ import annotations

from typing import Any

from labeltrees.errors import DataError


def as_texts(texts: Any) -> list[str]:
    """Return texts as a list, or raise `DataError` with the first row that is no text.

    It takes lists, NumPy arrays, series of pandas and polars, and arrays of pyarrow.

    >>> as_texts(("good morning", "good night"))
    ['good morning', 'good night']
    >>> as_texts("good morning")
    Traceback (most recent call last):
    ...
    labeltrees.errors.DataError: texts must be a list of texts, got the one text 'good morning'. \
Put it into a list.
    """
    if isinstance(texts, (str, bytes)):
        raise DataError(
            f"texts must be a list of texts, got the one text {texts!r:.40}. Put it into a list."
        )
    shape: tuple[int, ...] = getattr(texts, "shape", ())
    n_columns = 1 if len(shape) < 2 else shape[1]
    if n_columns != 1 or hasattr(texts, "columns"):
        raise DataError(
            f"texts must have one dimension, got shape {shape}. Pass one column, as a series."
        )
    listed = _listed(texts)
    for row, text in enumerate(listed):
        if not isinstance(text, str):
            raise DataError(
                f"texts must be strings, got {text!r:.60} of {type(text).__name__} in row {row}."
            )
    return listed


def _listed(texts: Any) -> list[Any]:
    for method in ("to_pylist", "to_list", "tolist"):  # pyarrow; pandas and polars; NumPy
        convert = getattr(texts, method, None)
        if callable(convert):
            listed = convert()
            if listed and isinstance(listed[0], list) and len(listed[0]) == 1:  # a column
                return [row[0] for row in listed]
            return list(listed)
    if isinstance(texts, dict):
        raise DataError("texts must be a list of texts, got a dict.")
    try:
        return list(texts)
    except TypeError:
        kind = type(texts).__name__
        raise DataError(f"texts must be a list of texts, got {kind}.") from None
