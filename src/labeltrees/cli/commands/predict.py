"""The command `labeltrees predict`, which prints labels and probabilities of rows."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, cast

import numpy as np
import typer

from labeltrees.cli.answers import csv_line, json_line, tsv_line
from labeltrees.cli.raw_lines import RememberedLines, json_field, vw_tag
from labeltrees.cli.reading_options import (
    FormatOption,
    LimitOption,
    LineOption,
    ModelArgument,
    expanded,
    open_model,
)
from labeltrees.cli.report import JsonOption, QuietOption, say, say_now
from labeltrees.data.readers.source import MAX_LINE_BYTES
from labeltrees.data.rows import stacked
from labeltrees.errors import ArgumentError, DataError, DataFileError
from labeltrees.input import Input
from labeltrees.models.capabilities import Above, BestRows, demand
from labeltrees.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from labeltrees.data.chunk import Chunk
    from labeltrees.models.model import FittedModel

    Answers = Iterator[tuple[list[Any], list[float]]]


def predict(
    model: ModelArgument,
    data: Annotated[
        list[str] | None,
        typer.Argument(
            help="Data files, gzipped or not, or patterns such as 'part-*.tsv'. '-' is stdin, of "
            "which each line is answered as it comes."
        ),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(
            "--text", "-t", help="Text to predict instead of a file. You can repeat this option."
        ),
    ] = None,
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="Number of labels per row.")] = 1,
    above: Annotated[
        float | None,
        typer.Option(help="Print all labels with at least this probability, in (0, 1]."),
    ] = None,
    candidates: Annotated[
        str | None,
        typer.Option(
            help="Labels to print probabilities of: 'labels' for the labels in each row, a file "
            "with a line of labels (separated by tabs) per row, or a field of JSON lines."
        ),
    ] = None,
    named: Annotated[
        bool, typer.Option("--named", help="The same as --candidates labels.")
    ] = False,
    labelwise: Annotated[
        bool,
        typer.Option(
            "--labelwise", help="Print the most likely rows of each label, counted from 0."
        ),
    ] = False,
    id: Annotated[  # noqa: A002
        str | None,
        typer.Option(
            help="Start each answer with 'line' (its number), a field of JSON lines, or VW's 'tag'."
        ),
    ] = None,
    label_names: Annotated[
        Path | None,
        typer.Option(help="File with the names of integer labels. Its first line names label 0."),
    ] = None,
    csv: Annotated[
        bool, typer.Option("--csv", help="Print CSV, with one line per row and label.")
    ] = False,
    json: JsonOption = False,
    format: FormatOption = None,  # noqa: A002
    limit: LimitOption = None,
    max_line_bytes: LineOption = MAX_LINE_BYTES,
    quiet: QuietOption = False,
) -> None:
    """Print the most likely labels of every row, with their probabilities.

    Example:
        labeltrees predict intents.safetensors new.txt --top 5

    Every row has one line of labels and probabilities, separated by tabs. With --labelwise every
    label has one line, with its most likely rows and their probabilities.
    """
    stored, opened = open_model(model)
    if named:
        if candidates not in (None, "labels"):
            raise ArgumentError("--named and --candidates cannot be combined. Remove one of them.")
        candidates = "labels"
    _check_questions(candidates, above, id, labelwise=labelwise, json=json, csv=csv)
    names = None if label_names is None else _names(label_names, opened)
    if text and not data:
        sources = [Input.of_texts(stored, text)]
    elif data and not text:
        sources = [
            Input.like(stored, path, format=format, max_line_bytes=max_line_bytes)
            for path in expanded(data)
        ]
    else:
        raise ArgumentError("Give DATA (files, or '-' for stdin) or --text, and not both.")
    if labelwise:
        for line in _labelwise(opened, _all_rows(sources, limit), top, json=json):
            say(line)
        return
    requested = None if candidates is None else Candidates(candidates, sources, opened)
    form = "csv" if csv else "json" if json else "tsv"
    if csv:
        say(csv_line(["row" if id is None else "id", "rank", "label", "probability"]))
    n_rows = 0
    with Progress("predicting", total=limit, enabled=not quiet) as progress:
        for source in sources:
            for chunk, lines in _chunks(source, None if limit is None else limit - n_rows, id):
                opened.check_width(chunk.rows)
                if requested is not None:
                    answers = requested.answers(opened, chunk, lines)
                elif above is not None:
                    answers = _above(opened, chunk, above)
                else:
                    answers = _top(opened, chunk, top)
                ids = _ids(id, source, chunk, lines)
                for number, (labels, p) in enumerate(answers):
                    own = None if ids is None else ids[number]
                    first = n_rows + number if csv and ids is None else own
                    shown = labels if names is None else [names(label) for label in labels]
                    _say_answer(form, first, shown, p)
                say_now()
                n_rows += chunk.n_rows
                progress.advance(chunk.n_rows)
            if limit is not None and n_rows >= limit:
                break


def _check_questions(
    candidates: str | None,
    above: float | None,
    id: str | None,  # noqa: A002
    *,
    labelwise: bool,
    json: bool,
    csv: bool,
) -> None:
    if candidates is not None and above is not None:
        raise ArgumentError("--candidates and --above cannot be combined. Remove one of them.")
    if labelwise and (candidates is not None or above is not None):
        raise ArgumentError(
            "--labelwise cannot be combined with --candidates or --above. Remove one of them."
        )
    if labelwise and (csv or id is not None):
        raise ArgumentError("--labelwise cannot be combined with --csv or --id. Remove them.")
    if csv and json:
        raise ArgumentError("--csv and --json cannot be combined. Remove one of them.")


def _names(path: Path, model: FittedModel) -> Any:
    """Return a function from an integer label to its name, or to itself if it has none."""
    if model.vocabulary.is_text:
        raise ArgumentError(
            "--label-names is for integer labels, but the labels of this model are text. Remove it."
        )
    try:
        known = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise DataError(f"--label-names {path} is not valid UTF-8.") from None
    return lambda label: known[label] if label is not None and 0 <= label < len(known) else label


def _chunks(
    source: Input,
    limit: int | None,
    id: str | None,  # noqa: A002
) -> Iterator[tuple[Chunk, RememberedLines | None]]:
    """Yield the chunks, with their lines if the format has lines."""
    if limit is not None:
        if limit <= 0:
            return
        source = replace(source, limit=limit)
    if source.format in ("parquet", "npz", "csv", "python"):
        if id not in (None, "line"):
            raise ArgumentError.of("--id", id, f"'line' for the format {source.format}")
        yield from ((chunk, None) for chunk in source.chunks())
        return
    lines = RememberedLines(source.raw(), source.max_line_bytes, bare=source.format == "tsv")
    for chunk in source.read_from(cast("BinaryIO", lines)).chunks():
        lines.forget(chunk)
        yield chunk, lines


def _ids(
    id: str | None,  # noqa: A002
    source: Input,
    chunk: Chunk,
    lines: RememberedLines | None,
) -> list[Any] | None:
    if id is None:
        return None
    numbers = chunk.line_numbers
    if id == "line" or lines is None:
        return list(numbers.tolist())
    if source.format == "jsonl":
        return [json_field(lines.line(n), id, source.path, n) for n in numbers.tolist()]
    if source.format == "vw" and id == "tag":
        return [vw_tag(lines.line(n)) for n in numbers.tolist()]
    allowed = "'line' or 'tag'" if source.format == "vw" else "'line'"
    raise ArgumentError.of("--id", id, f"{allowed} for the format {source.format}")


def _top(model: FittedModel, chunk: Chunk, k: int) -> Answers:
    n_labels = getattr(model, "n_tree_labels", len(model.vocabulary))
    answer = model.top_labels(chunk.rows, min(k, n_labels))
    for labels, p in zip(*(part.tolist() for part in answer), strict=True):
        n_found = sum(label is not None for label in labels)  # A beam search may find fewer.
        yield labels[:n_found], p[:n_found]


def _above(model: FittedModel, chunk: Chunk, threshold: float) -> Answers:
    demand(model, Above, "--above")
    assert isinstance(model, Above)
    try:
        found = model.labels_above(chunk.rows, threshold)
    except ArgumentError as error:
        raise error.renamed("--above") from None
    for begin, end in pairwise(found.indptr.tolist()):
        order = begin + np.argsort(-found.data[begin:end], kind="stable")
        labels = model.vocabulary.labels[found.indices[order]]
        yield labels.tolist(), found.data[order].tolist()


def _all_rows(sources: list[Input], limit: int | None) -> list[Chunk]:
    chunks: list[Chunk] = []
    for source in sources:
        left = None if limit is None else limit - sum(chunk.n_rows for chunk in chunks)
        chunks += [chunk for chunk, _ in _chunks(source, left, None)]
    return chunks


def _labelwise(model: FittedModel, chunks: list[Chunk], k: int, *, json: bool) -> Iterator[str]:
    demand(model, BestRows, "--labelwise")
    assert isinstance(model, BestRows)
    if not chunks:
        return
    all_rows = stacked([chunk.rows for chunk in chunks])
    model.check_width(all_rows)
    labels = model.vocabulary.labels
    rows, probabilities = model.top_rows(all_rows, labels, min(k, all_rows.n_rows))
    for label, own, p in zip(labels, rows, probabilities, strict=True):
        found, p_found = own[own >= 0].tolist(), p[own >= 0].tolist()
        if json:
            yield json_line({"label": label, "rows": found, "probabilities": p_found})
        else:
            yield tsv_line([label], found, p_found)


def _say_answer(form: str, first: Any, labels: list[Any], probabilities: list[float]) -> None:
    """Print the labels of a row. ``first`` is the id of the row or None."""
    if form == "json":
        known = {} if first is None else {"id": first}
        say(json_line(known | {"labels": labels, "probabilities": probabilities}))
    elif form == "tsv":
        say(tsv_line([] if first is None else [first], labels, probabilities))
    else:
        for rank, (label, p) in enumerate(zip(labels, probabilities, strict=True), 1):
            say(csv_line([first, rank, label, p]))


class Candidates:
    """The candidates of rows, which are their labels, lines of a file, or a field of JSON."""

    def __init__(self, where: str, sources: list[Input], model: FittedModel) -> None:
        self.where = where
        self.file: Iterator[str] | None = None
        self._n_lines = 0
        self._is_text = model.vocabulary.is_text
        if where == "labels":
            return
        if os.path.exists(where):
            with open(where, encoding="utf-8") as file:
                try:
                    self.file = iter(file.read().splitlines())
                except UnicodeDecodeError:
                    raise DataFileError(where, 1, "the file is not valid UTF-8.") from None
        elif any(source.format != "jsonl" for source in sources):
            raise ArgumentError.of(
                "--candidates", where, "'labels', a file, or a field of JSON lines"
            )

    def answers(
        self, model: FittedModel, chunk: Chunk, lines: RememberedLines | None
    ) -> Iterator[tuple[list[Any], list[float]]]:
        """Yield the candidates of each row, in their order, and their probabilities."""
        labels: NDArray[Any]
        if self.where == "labels":
            labels, starts = _parted(chunk, model)
        else:
            lists = (
                self._from_file(chunk) if self.file is not None else self._from_field(chunk, lines)
            )
            kind = np.object_ if self._is_text else np.int64
            labels = np.array([label for each in lists for label in each], kind)
            starts = np.concatenate(([0], np.cumsum([len(each) for each in lists], dtype=np.int64)))
        p = np.empty(0)
        if len(labels):
            numbers = np.repeat(np.arange(chunk.n_rows), np.diff(starts))
            p = model.label_probabilities(chunk.rows.take(numbers), labels)
        for begin, end in pairwise(starts.tolist()):
            yield labels[begin:end].tolist(), p[begin:end].tolist()

    def _from_file(self, chunk: Chunk) -> list[list[Any]]:
        assert self.file is not None
        lists = [
            [self._label(word, self.where, self._n_lines + n) for word in line.split("\t") if word]
            for n, line in enumerate(islice(self.file, chunk.n_rows), 1)
        ]
        self._n_lines += len(lists)
        if len(lists) < chunk.n_rows:
            reason = "the file of candidates ends here, but there are more rows."
            raise DataFileError(self.where, self._n_lines, reason)
        return lists

    def _from_field(self, chunk: Chunk, lines: RememberedLines | None) -> list[list[Any]]:
        assert lines is not None
        assert chunk.lines is not None
        lists = []
        for number in chunk.lines.tolist():
            found = json_field(lines.line(number), self.where, lines.name, number)
            if found is None:
                found = []
            if not isinstance(found, list):
                reason = f"{self.where!r} must be a list of labels, got {found!r:.60}."
                raise DataFileError(lines.name, number, reason)
            lists.append([self._label(label, lines.name, number) for label in found])
        return lists

    def _label(self, label: Any, name: str, line: int) -> Any:
        if self._is_text:
            if isinstance(label, str):
                return label
        elif isinstance(label, str) and label.strip().lstrip("-").isdecimal():
            label = int(label)
        if not self._is_text and type(label) is int and -(2**63) <= label < 2**63:
            return label
        kind = "a string" if self._is_text else "a 64-bit integer"
        raise DataFileError(
            name,
            line,
            f"the labels of this model are of another type: {label!r:.60} is not {kind}.",
        )


def _parted(chunk: Chunk, model: FittedModel) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the labels of each row. An unknown label may be several labels with spaces."""
    labels: NDArray[Any] = chunk.labels
    if not len(labels) or not model.vocabulary.is_text:
        return labels, chunk.label_starts
    unknown = model.vocabulary.ids(labels) < 0
    parts = [
        str(label).split() if new else [label] for label, new in zip(labels, unknown, strict=True)
    ]
    n_before = np.concatenate(([0], np.cumsum([len(each) for each in parts])))
    flat = np.array([label for each in parts for label in each], np.object_)
    return flat, n_before[chunk.label_starts]
