"""Train a model with one call, `labeltrees.train`."""

from __future__ import annotations

import csv
import io
import json
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

from labeltrees import checks
from labeltrees.autotrain._options import (
    AUTO_METHODS,
    AUTO_STREAM_METHODS,
    Effort,
    MethodOptions,
    streaming_methods,
)
from labeltrees.autotrain._run import TrainingRun
from labeltrees.data.readers import DataProfile, FileLayout, NoFeatures
from labeltrees.data.readers.detection.first_block import NamedBytes
from labeltrees.data.readers.source import MAX_LINE_BYTES
from labeltrees.data.rows import as_rows
from labeltrees.data.texts import as_texts
from labeltrees.errors import ArgumentError
from labeltrees.evaluation._truth import labelled_rows
from labeltrees.input import Input
from labeltrees.models.extreme.spilling import checked_folder
from labeltrees.models.registry import methods, model_from
from labeltrees.store import check_out
from labeltrees.store import read as read_stored

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labeltrees.autotrain._report import TrainingReport
    from labeltrees.data.chunk import Chunk, OneLabel
    from labeltrees.store import StoredModel

VECTORIZERS = ("tfidf", "counts", "hashing")
"""How features are made of texts."""
COLUMN_OPTIONS = (
    "label_column", "text_column", "rating_column", "label_separator", "quoted_labels",
)  # fmt: skip
"""Which columns of a file or a frame hold what (`labeltrees.data.readers.profile_file`)."""
_NAME = "The data"
"""The name in reports and errors of rows that are not from a file."""
_LABEL = "label"
"""The name of the column for labels that are passed separately."""


def train(
    source: Any,
    y: Any = None,
    *,
    out: str | os.PathLike[str] | None = None,
    method: str = "auto",
    effort: Effort = "usual",
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    n_jobs: int | None = 1,
    sample_weight: Any = None,
    online: bool = False,
    in_order: bool = False,
    init: str | os.PathLike[str] | None = None,
    one_label: OneLabel | None = None,
    vectorizer: str | None = None,
    join_rows: bool | None = None,
    folder: str | os.PathLike[str] | None = None,
    keep_state: bool = True,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, Any] | None = None,
    limit: int | None = None,
    order: str | None = None,
    max_line_bytes: int = MAX_LINE_BYTES,
    progress: bool = False,
) -> TrainingReport:
    """Train the model that suits the data, measure it on held-out rows, and report.

    This is what the command `labeltrees train` calls.

    Parameters
    ----------
    source : path, data frame, list of texts, or matrix
        A data file, "-" for the standard input, or with ``format="python"`` a folder of Python
        code; a frame of pandas, polars or Arrow with a column of labels; texts; or a sparse or
        dense matrix.
    y : labels, lists of labels, dicts or a matrix, optional
        The labels of each row, for texts, matrices and frames without a column of labels.
    out : path, optional
        The file to save the model to. You can also call `TrainingReport.save` later.
    method : str, default "auto"
        "auto" decides by the data; otherwise the name of a method, as in `labeltrees train --help`.
    effort : {"fast", "usual", "best"}, default "usual"
        "fast" makes one tree, "best" makes more trees than usual.
    settings : dict, optional
        Settings of the method by name, such as ``{"n_trees": 8}``.
    seed : int >= 0, default 0
        The seed of everything random.
    n_jobs : int or None, default 1
        The number of threads, -1 for all cores.
    sample_weight : numbers of shape (n_rows,), optional
        The weight of each row, with ``y``.
    online : bool, default False
        Whether to learn row by row at constant memory, in mixed order.
    in_order : bool, default False
        Whether to learn row by row in the order of the data.
    init : path, optional
        A saved model that continues learning, row by row.
    one_label : {"each", "draw", "first"}, optional
        What methods of one label per row learn of rows with several labels; by default each.
    vectorizer : {"tfidf", "counts", "hashing"}, optional
        The features of texts. The default depends on the method.
    join_rows : bool, optional
        Whether rows of one text become one row with all their labels; by default if each row
        rates a label.
    folder : path, optional
        The folder for rows that do not fit into memory. The default is the system's folder for
        temporary files.
    keep_state : bool, default True
        Whether the saved model can continue learning.
    format : str, optional
        The format of a file; by default its content decides.
    columns : dict, optional
        ``label_column``, ``text_column``, ``rating_column``, ``label_separator`` and
        ``quoted_labels`` of `labeltrees.data.readers.profile_file`.
    limit : int, optional
        The largest number of rows to read.
    order : {"files", "shuffled"}, optional
        The order of examples of Python code.
    max_line_bytes : int
        Longer lines of a file are refused.
    progress : bool, default False
        Whether to show progress on the terminal.

    Returns
    -------
    TrainingReport

    Examples
    --------
    >>> import labeltrees
    >>> texts = ["an apple", "a pear", "a saw", "a drill"] * 30
    >>> report = labeltrees.train(texts, ["fruit", "fruit", "tool", "tool"] * 30)
    >>> print(report)
      The data has 120 texts with one label each, and 2 different labels.
      Chosen: 4 conditional probability trees with a reranker, because every row has one label.
      Its features are TF-IDF of 10 words and pairs of words.
    <BLANKLINE>
      all rows, held out in 5 parts   accuracy   log loss ...
    ...
    >>> report.estimator.predict(["a red apple"]).tolist()
    ['fruit']
    >>> report.save("fruit.safetensors")
    """
    started = time.perf_counter()
    options = MethodOptions(dict(settings or {}), seed, n_jobs)
    one_by_one = online or in_order or init is not None
    _check(method, effort, vectorizer, options, folder, one_by_one=one_by_one)
    if out is not None:
        check_out(out, "out")
    _check_columns(columns, init)
    begun = None if init is None else read_stored(init)
    reading: dict[str, Any] = {
        "format": format, "columns": columns, "one_label": one_label, "limit": limit,
        "order": order, "seed": seed, "max_line_bytes": max_line_bytes,
    }  # fmt: skip
    if y is None and isinstance(source, (str, os.PathLike)):
        if sample_weight is not None:
            raise ArgumentError(
                "is for rows in memory, but source is a file.", argument="sample_weight"
            )
        rows = _rows_of_file(os.fspath(source), begun, options, reading, one_by_one=one_by_one)
    else:
        rows = rows_in_memory(source, y, sample_weight, begun, **reading)
    run = TrainingRun(
        rows, method, options, effort, one_label, join_rows, vectorizer, folder, progress
    )
    if begun is not None:
        report = run.continued(os.fspath(init or ""), model_from(begun), in_order=in_order)
    elif one_by_one or rows.format == "python":
        report = run.online(in_order=in_order or rows.format == "python")
    else:
        report = run.choose()
    if out is not None:
        report.save(out, keep_state=keep_state)
    report.seconds = time.perf_counter() - started
    return report


def _check(
    method: str,
    effort: str,
    vectorizer: str | None,
    options: MethodOptions,
    folder: str | os.PathLike[str] | None,
    *,
    one_by_one: bool,
) -> None:
    """Raise `ArgumentError` for wrong arguments before any data are read."""
    checks.choice("method", method, ["auto", *methods()])
    checks.choice("effort", effort, get_args(Effort))
    if vectorizer is not None:
        checks.choice("vectorizer", vectorizer, VECTORIZERS)
    possible: tuple[str, ...] = (method,)
    if method == "auto":
        possible = AUTO_STREAM_METHODS if one_by_one else AUTO_METHODS
    elif one_by_one and not methods()[method].streams:
        allowed = f"one of {', '.join(streaming_methods())} to learn row by row"
        raise ArgumentError.of("method", method, allowed)
    options.check_some(possible)
    if folder is not None:
        if not any(methods()[name].trains_from_files for name in possible):
            names = " and ".join(possible)
            raise ArgumentError(
                f"is for methods that train from files, but {names} would not use it. Remove it.",
                argument="folder",
            )
        checked_folder(folder)


def _check_columns(columns: Mapping[str, Any] | None, init: Any) -> None:
    for name in columns or {}:
        if name not in COLUMN_OPTIONS:
            raise ArgumentError.of("columns", name, f"a dict with {', '.join(COLUMN_OPTIONS)}")
        if init is not None:
            raise ArgumentError(
                "cannot be combined with init, which reads the data like the data of the saved "
                "model. Remove it.",
                argument=name,
            )


def _rows_of_file(
    path: str,
    begun: StoredModel | None,
    options: MethodOptions,
    reading: dict[str, Any],
    *,
    one_by_one: bool,
) -> Input:
    """Return the rows of a file. With ``begun``, they are read as the data of that model were."""
    if path == "-" and one_by_one and options.n_passes > 1:
        allowed = "1 for the standard input, which can be read only once"
        raise ArgumentError.of("n_passes", options.n_passes, allowed)
    if begun is None:
        return Input.choose(path, **reading)
    return Input.like(begun, path, **{n: v for n, v in reading.items() if n != "columns"})


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
