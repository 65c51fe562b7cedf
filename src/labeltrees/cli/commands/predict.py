"""`labeltrees predict`: each row's likeliest labels, likely enough ones, or its candidates."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, cast

import numpy as np
import typer

from labeltrees.cli.answers import csv_line, json_line, tsv_line
from labeltrees.cli.candidates import Candidates
from labeltrees.cli.opening import ModelArgument, open_model
from labeltrees.cli.raw_lines import RememberedLines, json_field, vw_tag
from labeltrees.cli.reading_options import (
    FormatOption,
    LimitOption,
    LineOption,
    expanded,
)
from labeltrees.cli.report import JsonOption, QuietOption, say, say_now
from labeltrees.data.readers.source import MAX_LINE_BYTES
from labeltrees.data.rows import stacked
from labeltrees.errors import ArgumentError, DataError
from labeltrees.input import Input
from labeltrees.models.capabilities import Above, BestRows, demand
from labeltrees.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator

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

    Example: labeltrees predict intents.safetensors new.txt --top 5

    Every row has one line of labels and probabilities, separated by tabs. With --labelwise every
    label has one line, with its most likely rows and their probabilities.
    """
    stored, opened = open_model(model)
    if named:
        if candidates not in (None, "labels"):
            raise ArgumentError("--named and --candidates name different labels; give one of them.")
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
        raise ArgumentError("name data files, '-' for stdin, or give --text: one of them.")
    if labelwise:
        for line in _labelwise(opened, _all_rows(sources, limit), top, json=json):
            say(line)
        return
    asked = None if candidates is None else Candidates(candidates, sources, opened)
    form = "csv" if csv else "json" if json else "tsv"
    if csv:
        say(csv_line(["row" if id is None else "id", "rank", "label", "probability"]))
    n_rows = 0
    with Progress("predicting", total=limit, enabled=not quiet) as progress:
        for source in sources:
            for chunk, lines in _chunks(source, None if limit is None else limit - n_rows, id):
                opened.check_width(chunk.rows)
                if asked is not None:
                    answers = asked.answers(opened, chunk, lines)
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
        raise ArgumentError("--candidates and --above ask different questions; give one of them.")
    if labelwise and (candidates is not None or above is not None):
        raise ArgumentError("--labelwise asks another question than --candidates and --above.")
    if labelwise and (csv or id is not None):
        raise ArgumentError("--labelwise has no --csv and no --id.")
    if csv and json:
        raise ArgumentError("--csv and --json are different forms; give one of them.")


def _names(path: Path, model: FittedModel) -> Any:
    """Return a function from an integer label to its name, or to itself if it has none."""
    if model.vocabulary.is_text:
        raise ArgumentError("--label-names is for integer labels; this model's have names.")
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
    """Yield the chunks, with the lines that they come from if the format has lines."""
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
        n_found = sum(label is not None for label in labels)  # a beam may find fewer than asked
        yield labels[:n_found], p[:n_found]


def _above(model: FittedModel, chunk: Chunk, threshold: float) -> Answers:
    demand(model, Above, "--above")
    assert isinstance(model, Above)
    try:
        found = model.labels_above(chunk.rows, threshold)
    except ArgumentError as error:
        raise error.renamed("--above") from None
    for begin, end in pairwise(found.indptr.tolist()):
        likeliest = begin + np.argsort(-found.data[begin:end], kind="stable")
        labels = model.vocabulary.labels[found.indices[likeliest]]
        yield labels.tolist(), found.data[likeliest].tolist()


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
    """Print what is answered to a row; ``first`` is its id or None."""
    if form == "json":
        known = {} if first is None else {"id": first}
        say(json_line(known | {"labels": labels, "probabilities": probabilities}))
    elif form == "tsv":
        say(tsv_line([] if first is None else [first], labels, probabilities))
    else:
        for rank, (label, p) in enumerate(zip(labels, probabilities, strict=True), 1):
            say(csv_line([first, rank, label, p]))
