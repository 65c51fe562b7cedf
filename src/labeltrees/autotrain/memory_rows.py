"""Rows that a user passes: texts, matrices and data frames, as an `Input`."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labeltrees.data.readers import DataProfile, FileLayout, NoFeatures
from labeltrees.data.readers.detection.first_block import NamedBytes
from labeltrees.data.rows import as_rows
from labeltrees.data.texts import as_texts
from labeltrees.errors import ArgumentError
from labeltrees.evaluation.truth import labelled_rows
from labeltrees.input import Input

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labeltrees.data.chunk import Chunk
    from labeltrees.store import StoredModel

_NAME = "The data"
"""The name in reports and errors of rows that are not from a file."""
_LABEL = "label"


def rows_in_memory(
    source: Any,
    y: Any,
    sample_weight: Any = None,
    begun: StoredModel | None = None,
    *,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, Any] | None = None,
    **reading: Any,
) -> Input:
    """Return texts, a matrix or a data frame as an input.

    A frame is read as the CSV file that it would be, or as JSON lines if it has lists.

    Parameters
    ----------
    source : list of texts, matrix, or frame of pandas, polars or Arrow
    y : labels of each row, or None for a frame that has a column of them
    sample_weight : weights of shape (n_rows,), optional
    begun : StoredModel, optional
        The model that continues, whose transformer makes the features.
    format : str, optional
        Must be None, because only files have a format.
    columns, reading
        The other arguments of `Input.choose`.
    """
    if format is not None:
        raise ArgumentError("is for files, but source is in memory. Remove it.", argument="format")
    if _is_frame(source):
        own = {} if y is None else {"label_column": _LABEL}
        file = _file_of_frame(source, y, sample_weight)
        if begun is not None:
            return Input.like(begun, file, format=None, **reading)
        return Input.choose(file, format=None, columns=own | dict(columns or {}), **reading)
    for name in columns or {}:
        raise ArgumentError(
            "is for files and data frames, but source is neither. Remove it.", argument=name
        )
    if reading.get("order") is not None:
        raise ArgumentError("is for the format python only. Remove it.", argument="order")
    if y is None:
        raise ArgumentError("must be the labels of each row, got None.", argument="y")
    data = _chunk(source, y, sample_weight)
    facts = {"format": "jsonl", "options": {}, "is_text": data.texts is not None}
    layout = FileLayout.from_facts(facts, NamedBytes(b"", _NAME))
    given = {name: value for name, value in reading.items() if value is not None}
    held = Input(_NAME, layout, DataProfile.of([data], layout=layout), held=data, **given)
    return held if begun is None else held.for_model(begun)


def _chunk(source: Any, y: Any, sample_weight: Any) -> Chunk:
    if not _are_texts(source):
        return labelled_rows(as_rows(source), y, sample_weight)
    texts = as_texts(source)
    return replace(labelled_rows(NoFeatures().transform(texts), y, sample_weight), texts=texts)


def _are_texts(source: Any) -> bool:
    """Return whether rows are texts, by the first of them."""
    if hasattr(source, "tocsr") or getattr(source, "ndim", 1) != 1:
        return False
    first = next(iter(source), None) if hasattr(source, "__iter__") else None
    return isinstance(first, str) or hasattr(first, "as_py")  # strings of Arrow


def _is_frame(source: Any) -> bool:
    """Return whether this is a table with named columns, whichever library it is of."""
    return hasattr(source, "columns") or hasattr(source, "column_names")


def _file_of_frame(frame: Any, y: Any, sample_weight: Any) -> NamedBytes:
    """Return the file that a frame would be: CSV, or JSON lines if it has lists."""
    table = _columns_of(frame)
    for name, values in ((_LABEL, y), ("weight", sample_weight)):
        if values is None:
            continue
        if name in table:
            raise ArgumentError(f"is passed twice: the frame has a column {name!r}.", argument="y")
        listed = values.tolist() if hasattr(values, "tolist") else list(values)
        table = {name: listed} | table
    if len({len(values) for values in table.values()}) != 1:
        raise ArgumentError("must have one entry for each row of the frame.", argument="y")
    rows = zip(*table.values(), strict=True)
    text = io.StringIO()
    if any(isinstance(value, (list, dict)) for column in table.values() for value in column):
        text.writelines(
            json.dumps(dict(zip(table, row, strict=True)), ensure_ascii=False, default=float) + "\n"
            for row in rows
        )
    else:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(table)
        writer.writerows(rows)
    return NamedBytes(text.getvalue().encode(), _NAME)


def _columns_of(frame: Any) -> dict[str, list[Any]]:
    """Return the columns of a frame of pandas, polars or Arrow, missing values as None."""
    if hasattr(frame, "to_pydict"):  # Arrow
        columns: dict[Any, list[Any]] = frame.to_pydict()
    elif hasattr(frame, "iter_columns"):  # polars
        columns = frame.to_dict(as_series=False)
    else:
        present = frame.notna()
        columns = {
            name: [
                v if known else None for v, known in zip(frame[name], present[name], strict=True)
            ]
            for name in frame.columns
        }
    return {
        str(name): [value.tolist() if hasattr(value, "tolist") else value for value in values]
        for name, values in columns.items()
    }
