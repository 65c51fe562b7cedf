"""`labeltrees predict`: each row's likeliest labels, likely enough ones, or those it names."""

from __future__ import annotations

import json as json_module
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from labeltrees.cli.inputs import FormatOption, Input, InputArgument, LimitOption, LineOption
from labeltrees.cli.methods import as_options
from labeltrees.cli.opening import ModelArgument, open_model
from labeltrees.cli.report import JsonOption, QuietOption, say
from labeltrees.cli.whole_file import stacked
from labeltrees.data.readers.source import MAX_LINE_BYTES
from labeltrees.errors import ArgumentError
from labeltrees.models.capabilities import Above, BestRows, demand
from labeltrees.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labeltrees.data.chunk import Chunk
    from labeltrees.models.model import FittedModel


def predict(
    model: ModelArgument,
    data: InputArgument,
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="How many labels per row.")] = 1,
    named: Annotated[
        bool, typer.Option("--named", help="The probabilities of the labels each row names.")
    ] = False,
    above: Annotated[
        float | None, typer.Option(help="All labels with at least this probability, in (0, 1].")
    ] = None,
    labelwise: Annotated[
        bool, typer.Option("--labelwise", help="For each label its best rows, counted from 0.")
    ] = False,
    format: FormatOption = None,  # noqa: A002
    limit: LimitOption = None,
    max_line_bytes: LineOption = MAX_LINE_BYTES,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Print a line for every row: labels and probabilities, separated by tabs, or JSON.

    With --labelwise a line for every label: the label, then rows and probabilities.
    """
    stored, opened = open_model(model)
    if named and above is not None:
        raise ArgumentError("--named and --above ask different questions; give one of them.")
    if labelwise and (named or above is not None):
        raise ArgumentError("--labelwise asks another question than --named and --above.")
    source = Input.like(stored, data, format=format, limit=limit, max_line_bytes=max_line_bytes)
    if labelwise:
        for line in _labelwise(opened, list(source.chunks()), top, json=json):
            say(line)
        return
    with Progress("predicting", total=limit, enabled=not quiet) as progress:
        for chunk in source.chunks():
            opened.check_width(chunk.rows)
            if named:
                answers = _named(opened, chunk)
            elif above is not None:
                answers = _above(opened, chunk, above)
            else:
                answers = _top(opened, chunk, top)
            for labels, probabilities in answers:
                say(_line(labels, probabilities, json=json))
            progress.advance(chunk.n_rows)


def _top(model: FittedModel, chunk: Chunk, k: int) -> Iterator[tuple[list[Any], list[float]]]:
    labels, probabilities = model.top_labels(chunk.rows, k)
    return zip(labels.tolist(), probabilities.tolist(), strict=True)


def _named(model: FittedModel, chunk: Chunk) -> Iterator[tuple[list[Any], list[float]]]:
    starts = chunk.label_starts
    p = np.empty(0)
    if len(chunk.labels):
        numbers = np.repeat(np.arange(chunk.n_rows), np.diff(starts))
        p = model.label_probabilities(chunk.rows.take(numbers), chunk.labels)
    for begin, end in pairwise(starts.tolist()):
        yield chunk.labels[begin:end].tolist(), p[begin:end].tolist()


def _above(
    model: FittedModel, chunk: Chunk, threshold: float
) -> Iterator[tuple[list[Any], list[float]]]:
    demand(model, Above, "--above")
    assert isinstance(model, Above)
    ask = partial(model.labels_above, chunk.rows)
    found = as_options(ask, {"threshold": threshold}, {"threshold": "above"})
    for begin, end in pairwise(found.indptr.tolist()):
        likeliest = begin + np.argsort(-found.data[begin:end], kind="stable")
        labels = model.vocabulary.labels[found.indices[likeliest]]
        yield labels.tolist(), found.data[likeliest].tolist()


def _labelwise(model: FittedModel, chunks: list[Chunk], k: int, *, json: bool) -> Iterator[str]:
    demand(model, BestRows, "--labelwise")
    assert isinstance(model, BestRows)
    if not chunks:
        return
    all_rows = stacked([chunk.rows for chunk in chunks])
    model.check_width(all_rows)
    labels = model.vocabulary.labels
    rows, probabilities = model.top_rows(all_rows, labels, k)
    for label, own, p in zip(labels, rows, probabilities, strict=True):
        found, p_found = own[own >= 0].tolist(), p[own >= 0].tolist()
        if json:
            answer = {"label": label, "rows": found, "probabilities": p_found}
            yield json_module.dumps(answer, ensure_ascii=False, default=int)
        else:
            pairs = zip(found, p_found, strict=True)
            yield "\t".join([str(label), *(f"{row}\t{value:.6g}" for row, value in pairs)])


def _line(labels: list[Any], probabilities: list[float], *, json: bool) -> str:
    if json:
        row = {"labels": labels, "probabilities": probabilities}
        return json_module.dumps(row, ensure_ascii=False)
    pairs = zip(labels, probabilities, strict=True)
    return "\t".join(f"{label}\t{p:.6g}" for label, p in pairs)
